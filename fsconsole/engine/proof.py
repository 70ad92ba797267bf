"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.gate import GateContext, inspect_device, re_prove, require
from fsconsole.devices.identity import differences, read_identity
from fsconsole.devices.presence import absence
from fsconsole.engine.arrays import require_own
from fsconsole.errors import ConsentOutdated, DeviceChanged, DeviceMissing, NotABlockDevice
from fsconsole.model.command import Executor
from fsconsole.model.device import Device, Identity
from fsconsole.model.observation import Outcome
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import RunState, StepState
from fsconsole.model.step import StepKind
from fsconsole.plan.expand import array_uuid

_WRITING = frozenset({StepKind.EQUALISE, StepKind.ARRAY, StepKind.MKFS, StepKind.RAW_WRITE})


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
        self._ours = frozenset(uuid for cell in state.request.plan.cells for uuid in _uuids(self._run, cell))
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

    def absence(self, path: str) -> str:
        """Return why a target is not to be had any more, as a clause; empty where it is, or was never proved."""
        known = self._proved_as.get(path)
        return absence(path, known) if known is not None else ""

    def prove_cell(self, cell: Cell) -> None:
        """Pass the whole gate for a cell's target, or for every member of its array."""
        for path in cell.devices:
            self.prove_target(self._targets[path])

    def prove_place(self, cell: Cell) -> None:
        """Pass the whole gate for what the cell's filesystem is made on: its array, once that is there."""
        self._prove(cell, cell.target)

    def prove_array(self, cell: Cell) -> None:
        """Prove that the cell's array is the run's own, of just its members, and that nobody else has it."""
        require_own(cell.target, array_uuid(self._run, cell.index), cell.members)
        context = GateContext(self._executor, self._runs_dir, holds_lock=True, content_is_ours=True)
        require(inspect_device(cell.target, context))
        self._proved_s[cell.target] = time.monotonic()

    def changed(self, paths: Sequence[str]) -> dict[str, str]:
        """Return which of these targets are not the very devices they were at their last proof, each with why."""
        devices = discover()
        return {path: why for path in paths if (why := self._change(path, devices))}

    def _change(self, path: str, devices: tuple[Device, ...]) -> str:
        known = self._proved_as.get(path, self._targets[path].identity)
        try:
            return "; ".join(differences(known, read_identity(find_device(path, devices), self._executor)))
        except (DeviceMissing, NotABlockDevice):
            return "it is gone"

    def _prove(self, cell: Cell, path: str) -> None:
        if path in self._targets:
            self.prove_target(self._targets[path])
        else:
            self.prove_array(cell)

    @contextmanager
    def wiping(self, cell: Cell, argv: tuple[str, ...], devices: tuple[str, ...] = ()) -> Iterator[None]:
        """Make the last proof before a tool that writes on devices themselves, which runs within this context.

        They are the cell's target, or those given: members of its array.

        From a tool that goes ahead on a claimed device, the engine keeps everybody else away meanwhile: nobody
        can mount it between proof and wipe. From now on the device's content is this run's own.
        """
        paths = devices or (cell.target,)
        with ExitStack() as held:
            for path in paths:
                if time.monotonic() - self._proved_s.get(path, -math.inf) > _PROOF_HOLDS_S:
                    self._prove(cell, path)
                self._prove_file(path, argv)
                # Of many members the proof of the first is old when the last one is proved.
                if needs_hold(argv) or len(paths) > 1:
                    held.enter_context(held_exclusively(path))
            for path in paths:
                self._begun.add(path)
                self._uncertain.discard(path)
                self._last_made.pop(path, None)
            if not needs_hold(argv):
                held.close()
            yield
        # Nobody came in while it was held. A mkfs that takes no UUID leaves one that no proof would know: a
        # command right after it gives the run's own.
        self._proved_s |= dict.fromkeys(paths, time.monotonic())

    def _prove_file(self, device: str, argv: tuple[str, ...]) -> None:
        """Prove that a command on a scratch device's file reaches the very file below that device."""
        if argv[0] != "fallocate":
            return
        identity, path = self._targets[device].identity, argv[-1]
        try:
            found = os.lstat(path)
        except OSError as error:
            raise DeviceChanged(device, f"its file {path} is gone") from error
        if (found.st_dev, found.st_ino) != (identity.backing_device, identity.backing_inode):
            raise DeviceChanged(device, f"another file than its own is called {path} now")

    def has_made(self, cell: Cell) -> None:
        """Take note that the cell's filesystem is on its target: until the next wipe it has to stay there."""
        self._last_made[cell.target] = cell.uuid

    def has_gone(self, cell: Cell) -> None:
        """Take note that the cell's array is no more: whatever gets its name is to be proved anew."""
        self._proved_s.pop(cell.target, None)
        self._last_made.pop(cell.target, None)


def _uuids(run_id: str, cell: Cell) -> tuple[str, ...]:
    """Return the UUIDs that a cell may leave on its devices."""
    return (cell.uuid,) if cell.array is None else (cell.uuid, array_uuid(run_id, cell.index))


@dataclass(frozen=True, slots=True)
class _Write:
    """A step that wrote on a target itself."""

    attempt: int
    cell: Cell
    step: StepState


def _last_writes(state: RunState) -> dict[str, _Write]:
    """Return the last write on each target since it was agreed upon, by its path; of an array on each member."""
    cells = state.request.plan.cells
    agreed = {target.path: target.agreed_attempt for target in state.request.targets}
    writes = [
        _Write(known.attempt, cells[known.index], step)
        for known in state.cells
        for step in known.steps
        if step.kind in _WRITING
    ]
    # The clock begins anew with each boot, but an attempt lies within one.
    writes.sort(key=lambda write: (write.attempt, write.step.started_monotonic_ns))
    return {
        path: write for write in writes for path in write.cell.devices if write.attempt >= agreed.get(path, 1)
    }


def _last_made(state: RunState, writes: dict[str, _Write]) -> dict[str, str]:
    """Return the UUID of the filesystem that must be on each target; what may hold anything is left out.

    A step without an end, or with a bad one, leaves anything. So may an earlier attempt at a cell that was begun
    once more: its steps are no longer known.
    """
    cells = state.request.plan.cells
    newest: dict[str, int] = {}
    for known in state.cells:
        for path in cells[known.index].devices:
            newest[path] = max(known.attempt, newest.get(path, 0))
    return {
        path: write.cell.uuid
        for path, write in writes.items()
        if write.cell.array is None
        and write.step.kind is StepKind.MKFS
        and write.step.outcome is Outcome.DONE
        and write.attempt == newest[path]
    }
