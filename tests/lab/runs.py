"""Runs in the guest that are begun by a test itself, with an engine to which something happens."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from fsconsole.client.engine import create_request
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.state import CellState, RunState
from fsconsole.preflight.prepare import prepare
from fsconsole.system.run import RealExecutor
from tests.lab.warm import Forked, fork_engine
from tests.loop.faulty_engine import AFTER_CELL, DRIVER, Event, argv_with, follow_through

RUNS = "/var/lib/fsconsole/runs"


def new_run(plan: str, *devices: str) -> RunFolder:
    """Make the folder of a run of a plan file on devices, all consented, without starting its engine."""
    run_id = make_run_id()
    prepared = prepare(plan, list(devices), executor=RealExecutor(), runs_dir=RUNS, run_id=run_id)
    return create_run(RUNS, create_request(run_id, prepared.plan, prepared.targets))


def begin(folder: RunFolder, *events: Event) -> Forked:
    """Start the run's engine, to whose devices the events will happen."""
    script = _script(folder, events)
    return fork_engine(lambda: follow_through(folder.path, script), folder.engine_log, os.environ.copy())


def begin_anew(folder: RunFolder, *events: Event, driver: str = DRIVER) -> Forked:
    """Do the same as it is really done: with an interpreter of its own, by whose words `cleanup` knows an engine."""
    argv = argv_with(folder.path, _script(folder, events), Path(f"/tmp/{folder.name}.script"), driver)
    return Forked(os.posix_spawnp(argv[0], argv, os.environ))


def _script(folder: RunFolder, events: tuple[Event, ...]) -> list[Event]:
    """Name all cells in their order: those that a script doesn't name are not carried out."""
    return [*(Event(cell.index, AFTER_CELL, ":") for cell in state_of(folder).cells), *events]


def act(cell: CellState, step: str, argv: tuple[str, ...], gone: str = "") -> Event:
    """Return what is to happen when a step of a cell begins; gone is the device that vanishes by it."""
    wait = f"; while [ -e {gone.replace('/dev', '/sys/block')} ]; do sleep 0.05; done" if gone else ""
    return Event(cell.index, step, shlex.join(argv) + wait, "middle" if step == "workload" else "before")


def cells_on(state: RunState, device: str) -> list[CellState]:
    """Return the cells of a target, in their order."""
    cells = state.request.plan.cells
    return [cell for cell in state.cells if cells[cell.index].target == device]


def state_of(folder: RunFolder) -> RunState:
    """Return a run as its journal tells it now."""
    return read_state(folder)
