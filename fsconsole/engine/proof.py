"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import os

from fsconsole.devices.claims import needs_proof, prove_exclusive
from fsconsole.devices.gate import GateContext, inspect_device, re_prove
from fsconsole.model.command import Executor
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import RunState
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
        self._begun = _targets_written(state)

    def prove_target(self, target: Target) -> None:
        """Pass the whole gate for one target, or raise what stands against it."""
        context = GateContext(
            self._executor,
            self._runs_dir,
            holds_lock=True,
            content_is_ours=target.path in self._begun,
        )
        re_prove(inspect_device(target.path, context), target, self._ours)

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


def _targets_written(state: RunState) -> set[str]:
    cells = state.request.plan.cells
    return {
        cells[cell.index].target for cell in state.cells if any(step.kind in _WRITING for step in cell.steps)
    }
