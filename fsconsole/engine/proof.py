"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.gate import GateContext, inspect_device, re_prove
from fsconsole.errors import ConsentOutdated, DeviceChanged
from fsconsole.model.command import Executor
from fsconsole.model.device import Identity
from fsconsole.model.observation import Outcome
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import RunState, StepState
from fsconsole.model.step import StepKind

_WRITING = frozenset({StepKind.EQUALISE, StepKind.MKFS, StepKind.RAW_WRITE})


_PROOF_HOLDS_S = 1.0
"""A journal on a blocked disk can stand between the gate and the wipe for minutes."""


class Prover:
    """Proves targets against what the operator agreed to and against what this run itself has made.

    With holds_lock the run holds the targets' locks, as an engine must. state is the run as its journal tells it,
    earlier attempts included. Raises what re_prove() raises, and ConsentOutdated.
    """

    def __init__(
        self, executor: Executor, state: RunState, folder_path: str, *, holds_lock: bool = True
    ) -> None:
        self._executor = executor
        self._run, self._holds_lock = state.request.run_id, holds_lock
        self._targets = {target.path: target for target in state.request.targets}
        self._ours = frozenset(cell.uuid for cell in state.request.plan.cells)
        self._proved_s: dict[str, float] = {}
        """time.monotonic() of the last proof, by target."""
        self._proved_as: dict[str, Identity] = {}
        """Who each target was at that proof: from then on it has to be just that one."""
        self._runs_dir = os.path.dirname(folder_path)
        writes = _last_writes(state)
        self._begun = set(writes)
        self._last_made = _last_made(state, writes)
        self._uncertain = self._begun - set(self._last_made)
        """Targets that an engine wrote to and left in the middle: what is on them can't be told from foreign data."""

    def prove_target(self, target: Target) -> None:
        """Pass the whole gate for one target, or raise what stands against it."""
        context = GateContext(
            self._executor,
            self._runs_dir,
            holds_lock=self._holds_lock,
            content_is_ours=target.path in self._begun,
        )
        report = inspect_device(target.path, context)
        last_made, proved_as = self._last_made.get(target.path, ""), self._proved_as.get(target.path)
        re_prove(report, target, self._ours, last_made, proved_as)
        if report.needs_consent and target.path in self._uncertain:
            raise ConsentOutdated(self._run, target.path, "its engine was ended while it wiped the device")
        self._proved_s[target.path] = time.monotonic()
        self._proved_as[target.path] = report.identity

    def prove_cell(self, cell: Cell) -> None:
        """Pass the whole gate for a cell's target."""
        self.prove_target(self._targets[cell.target])

    @contextmanager
    def wiping(self, cell: Cell, argv: tuple[str, ...]) -> Iterator[None]:
        """Make the last proof before a tool that writes on the device itself, which runs within this context.

        From a tool that goes ahead on a claimed device, the engine keeps everybody else away meanwhile: nobody
        can mount it between proof and wipe. From now on the device's content is this run's own.
        """
        if time.monotonic() - self._proved_s.get(cell.target, -math.inf) > _PROOF_HOLDS_S:
            self.prove_cell(cell)
        self._prove_file(cell, argv)
        with ExitStack() as stack:
            if needs_hold(argv):
                stack.enter_context(held_exclusively(cell.target))
            self._begun.add(cell.target)
            self._uncertain.discard(cell.target)
            self._last_made.pop(cell.target, None)
            yield
        # Nobody came in while it was held. A mkfs that takes no UUID leaves one that no proof would know: a
        # command right after it gives the run's own.
        self._proved_s[cell.target] = time.monotonic()

    def _prove_file(self, cell: Cell, argv: tuple[str, ...]) -> None:
        """Prove that a command on a scratch device's file reaches the very file below that device."""
        if argv[0] != "fallocate":
            return
        identity, path = self._targets[cell.target].identity, argv[-1]
        try:
            found = os.lstat(path)
        except OSError as error:
            raise DeviceChanged(cell.target, f"its file {path} is gone") from error
        if (found.st_dev, found.st_ino) != (identity.backing_device, identity.backing_inode):
            raise DeviceChanged(cell.target, f"another file than its own is called {path} now")

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
    """Return the last write on each target since it was agreed upon, by its path."""
    cells = state.request.plan.cells
    agreed = {target.path: target.agreed_attempt for target in state.request.targets}
    writes = [
        _Write(known.attempt, cells[known.index], step)
        for known in state.cells
        for step in known.steps
        if step.kind in _WRITING and known.attempt >= agreed.get(cells[known.index].target, 1)
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
