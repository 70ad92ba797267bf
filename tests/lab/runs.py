"""Runs in the guest that are begun by a test itself, with an engine to which something happens."""

from __future__ import annotations

import json
import os
import sys

from fsconsole.client.engine import create_request
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.state import CellState, RunState
from fsconsole.preflight.prepare import prepare
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from tests.lab import acting_engine
from tests.lab.acting_engine import Act, carry_out
from tests.lab.warm import Forked, fork_engine

RUNS = "/var/lib/fsconsole/runs"


def new_run(plan: str, *devices: str) -> RunFolder:
    """Make the folder of a run of a plan file on devices, all consented, without starting its engine."""
    run_id = make_run_id()
    prepared = prepare(plan, list(devices), executor=RealExecutor(), runs_dir=RUNS, run_id=run_id)
    return create_run(RUNS, create_request(run_id, prepared.plan, prepared.targets))


def begin(folder: RunFolder, *acts: Act) -> Forked:
    """Start the run's engine, to whose devices the acts will happen."""
    return fork_engine(lambda: carry_out(folder.path, acts), folder.engine_log, os.environ.copy())


def begin_anew(folder: RunFolder, *acts: Act) -> Forked:
    """Do the same as it is really done: with an interpreter of its own, by whose words `cleanup` knows an engine."""
    argv = engine_argv((sys.executable, acting_engine.__file__, folder.path, json.dumps(acts)))
    return Forked(os.posix_spawnp(argv[0], argv, os.environ))


def act(cell: CellState, step: str, argv: tuple[str, ...], gone: str = "") -> Act:
    """Return what is to happen when a step of a cell begins; gone is the device that vanishes by it."""
    return {"cell": cell.index, "step": step, "argv": argv, "gone": gone.replace("/dev", "/sys/block")}


def cells_on(state: RunState, device: str) -> list[CellState]:
    """Return the cells of a target, in their order."""
    cells = state.request.plan.cells
    return [cell for cell in state.cells if cells[cell.index].target == device]


def state_of(folder: RunFolder) -> RunState:
    """Return a run as its journal tells it now."""
    return read_state(folder)
