"""Wipes for real, as a step of the engine does, with something that happens while the tool is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fsconsole.devices.claims import lock_disks
from fsconsole.devices.snapshot import find_device
from fsconsole.engine.proof import Prover
from fsconsole.engine.wipe import wipe
from fsconsole.journal.past import read_state
from fsconsole.model.command import Command, CommandResult, Watch
from fsconsole.model.plan import Cell
from fsconsole.system.run import RealExecutor
from tests.loop.runs import TINY_PLAN, new_run


@contextmanager
def proved(device: str, directory: Path) -> Iterator[tuple[Prover, Cell]]:
    """Prove a device as an engine does that has locked it, right before it wipes."""
    folder = new_run(TINY_PLAN, device, str(directory / "runs"))
    state = read_state(folder)
    prover = Prover(RealExecutor(), state, folder.path)
    with lock_disks(find_device(device)):
        prover.prove_cell(state.request.plan.cells[0])
        yield prover, state.request.plan.cells[0]


def wiped(
    prover: Prover,
    cell: Cell,
    argv: tuple[str, ...],
    *,
    before: Callable[[str, int], object] = lambda *_: None,
    at_handover: Callable[[], object] = lambda: None,
) -> CommandResult:
    """Wipe for real.

    before is given the tool's directory in /proc and the number of the stop, 0 at its exec, before the watch sees it;
    at_handover is called when the tool is proved to have the device, and may go on.
    """
    stops: list[str] = []

    def start(watch: Watch) -> CommandResult:
        def look(process: str) -> bool:
            before(process, len(stops))
            stops.append(process)
            is_done = watch(process)
            if is_done:
                at_handover()
            return is_done

        return RealExecutor().run(Command(argv, watch=look))

    return wipe(prover, cell, argv, start)
