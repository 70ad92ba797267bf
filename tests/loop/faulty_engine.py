"""An engine under whose cells something happens at certain instants, as a script of commands says.

It carries out only the cells that the script names, in the script's order (all where it names none).

python faulty_engine.py RUN_FOLDER SCRIPT_FILE
"""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from types import SimpleNamespace

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.engine.work import CellWork
from fsconsole.model.plan import StepKind
from fsconsole.system.mounts import engine_argv
from fsconsole.workloads.builtin import BuiltInLoad

DRIVER = __file__
AFTER_CELL = "after-cell"


@dataclass(frozen=True, slots=True)
class Event:
    """Shell commands for one instant of one cell, once: before a step, in the middle of a load, after the cell."""

    cell: int
    step: str
    """The kind of a step, or AFTER_CELL."""
    commands: str
    when: str = "before"
    """Or "after"; or "ready", of a load: its writers stand at the barrier; or "middle": of a load when its first
    bytes are written, of mkfs when the device is proved."""


def argv_with(folder_path: str, events: list[Event], script: pathlib.Path, driver: str = DRIVER) -> tuple[str, ...]:
    """Write a script down and return the command of an engine that follows it."""
    script.write_text(json.dumps([asdict(event) for event in events]))
    return engine_argv((sys.executable, driver, folder_path, str(script)))


def follow_through(folder_path: str, events: list[Event]) -> int:
    """Be the engine of a run under which events happen, and return its exit code."""
    follow(events)
    return runner.main([folder_path])


def follow(events: list[Event]) -> None:
    """Replace the handlers of steps, and the end of a cell, by ones at which events happen."""
    for kind in HANDLERS:
        _replace(kind, events)
    _before_wiping(events)
    real_cell, real_open = runner.run_cell, runner._open_cells
    named = list(dict.fromkeys(event.cell for event in events))

    def run_cell(run, cell):
        try:
            return real_cell(run, cell)
        finally:
            _happen(events, cell.index, AFTER_CELL, "before")

    runner.run_cell = run_cell

    def open_cells(state):
        cells = {cell.index: cell for cell in real_open(state)}
        return tuple(cells[index] for index in named if index in cells) if named else tuple(cells.values())

    runner._open_cells = open_cells


def _replace(kind: StepKind, events: list[Event]) -> None:
    real = HANDLERS[kind]

    def handler(work, step):
        _happen(events, work.cell.index, kind.value, "before")
        if kind in (StepKind.WORKLOAD, StepKind.CRASH_LOAD):
            _in_the_middle(events, work.cell.index, kind)
        result = real(work, step)
        _happen(events, work.cell.index, kind.value, "after")
        return result

    HANDLERS[kind] = handler


def _in_the_middle(events: list[Event], cell: int, kind: StepKind) -> None:
    """Have what is to happen in a load happen when its writers are ready, and when its first bytes are written."""

    def go(load):
        _happen(events, cell, kind.value, "ready")
        _REAL_GO(load)
        due = [event for event in events if (event.cell, event.step, event.when) == _middle]
        while due and not load.finished(0.02) and not any(thread.bytes_done for thread in load.page.read()):
            pass
        _happen(events, *_middle)

    _middle = (cell, kind.value, "middle")
    BuiltInLoad.go = go


def _before_wiping(events: list[Event]) -> None:
    """Have what is to happen in mkfs happen after the last proof: before it, it would be the proof that fails."""
    real = CellWork.wipe

    def wipe(work, argv, devices=()):
        def command(argv, *, watch, **how):
            def let_go(process):
                is_done = watch(process)
                if is_done:
                    _happen(events, work.cell.index, work.cell.steps[work.step_number].kind.value, "middle")
                return is_done

            return CellWork.command(work, argv, watch=let_go, **how)

        return real(SimpleNamespace(run=work.run, cell=work.cell, command=command), argv, devices)

    CellWork.wipe = wipe


def _happen(events: list[Event], cell: int, step: str, when: str) -> None:
    for event in events[:]:
        if (event.cell, event.step, event.when) == (cell, step, when):
            events.remove(event)
            done = subprocess.run(["sh", "-ec", event.commands], check=False, stdin=subprocess.DEVNULL)
            # A skip ends every program of the engine, the one that asks for it too.
            if done.returncode != -signal.SIGKILL:
                done.check_returncode()


_REAL_GO = BuiltInLoad.go

if __name__ == "__main__":
    folder, script_path = sys.argv[1:]
    script = json.loads(pathlib.Path(script_path).read_text())
    sys.exit(follow_through(folder, [Event(**event) for event in script]))
