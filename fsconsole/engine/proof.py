"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.devices.claims import needs_proof, prove_exclusive
from fsconsole.devices.gate import GateContext, inspect_device, re_prove
from fsconsole.model.command import Executor
from fsconsole.model.observation import Outcome
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import RunState, StepState
from fsconsole.model.step import StepKind

_WRITING = frozenset({StepKind.EQUALISE, StepKind.MKFS})


class Prover:
    """Proves targets against what the operator agreed to and against what this run itself has made.

    The run must hold the targets' locks. state is the run as its journal tells it, earlier attempts included.
    """

    def __init__(self, executor: Executor, state: RunState, folder_path: str) -> None:
        self._executor = executor
        self._targets = {target.path: target for target in state.request.targets}
        self._ours = frozenset(cell.uuid for cell in state.request.plan.cells)
        self._runs_dir = os.path.dirname(folder_path)
        writes = _last_writes(state)
        self._begun = set(writes)
        self._last_made = _last_made(state, writes)

    def prove_target(self, target: Target) -> None:
        """Pass the whole gate for one target, or raise what stands against it."""
        context = GateContext(
            self._executor,
            self._runs_dir,
            holds_lock=True,
            content_is_ours=target.path in self._begun,
        )
        last_made = self._last_made.get(target.path, "")
        re_prove(inspect_device(target.path, context), target, self._ours, last_made)

    def prove_cell(self, cell: Cell) -> None:
        """Pass the whole gate for a cell's target."""
        self.prove_target(self._targets[cell.target])

    def about_to_wipe(self, cell: Cell, argv: tuple[str, ...]) -> None:
        """Make the last proof before a tool that writes on the device itself is started.

        Tools that go ahead on a claimed device get the O_EXCL test here, as late as can be. From now on the
        device's content is this run's own.
        """
        if needs_proof(argv):
            prove_exclusive(cell.target)
        self._begun.add(cell.target)
        self._last_made.pop(cell.target, None)

    def has_made(self, cell: Cell) -> None:
        """Take note that the cell's filesystem is on its target: until the next wipe it has to stay there."""
        self._last_made[cell.target] = cell.uuid


@dataclass(frozen=True, slots=True)
class _Write:
    """A step that wrote on a target itself."""

    attempt: int
    cell: Cell
    step: StepState


def _last_writes(state: RunState) -> dict[str, _Write]:
    """Return the last write on each target, by its path."""
    cells = state.request.plan.cells
    writes = [
        _Write(known.attempt, cells[known.index], step)
        for known in state.cells
        for step in known.steps
        if step.kind in _WRITING
    ]
    # The clock begins anew with each boot, but an attempt lies within one.
    writes.sort(key=lambda write: (write.attempt, write.step.started_monotonic_ns))
    return {write.cell.target: write for write in writes}


def _last_made(state: RunState, writes: dict[str, _Write]) -> dict[str, str]:
    """Return the UUID of the filesystem that must be on each target; what may hold anything is left out.

    A step without an end, or with a bad one, leaves anything. So may an earlier attempt at a cell that was begun
    once more: its steps are no longer known.
    """
    cells = state.request.plan.cells
    newest: dict[str, int] = {}
    for known in state.cells:
        path = cells[known.index].target
        newest[path] = max(known.attempt, newest.get(path, 0))
    return {
        path: write.cell.uuid
        for path, write in writes.items()
        if write.step.kind is StepKind.MKFS
        and write.step.outcome is Outcome.DONE
        and write.attempt == newest[path]
    }
