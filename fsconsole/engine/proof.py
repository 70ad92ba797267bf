"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.content import sample_content
from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.gate import GateContext, inspect_device, re_prove, require
from fsconsole.devices.identity import differences, read_identity
from fsconsole.devices.presence import absence
from fsconsole.engine.arrays import require_own
from fsconsole.engine.past_writes import past_writes
from fsconsole.errors import ConsentOutdated, DeviceChanged, DeviceMissing, NotABlockDevice
from fsconsole.model.command import Executor
from fsconsole.model.device import Device, Identity
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import RunState
from fsconsole.plan.expand import array_uuid
from fsconsole.system.blockdev import notice_medium

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
        past = past_writes(state)
        self._begun = set(past.begun)
        self._last_made, self._left = dict(past.made), dict(past.left)
        self._uncertain = dict(past.uncertain)

    def prove_target(self, target: Target) -> None:
        """Pass the whole gate for one target, or raise what stands against it."""
        path = target.path
        left = "" if target.identity.scratch_id else self._left.get(path, "")
        context = GateContext(
            self._executor,
            self._runs_dir,
            holds_lock=self._holds_lock,
            content_is_ours=path in self._begun and not left,
        )
        report = inspect_device(path, context)
        shown = replace(report, content=None) if left else report
        re_prove(shown, target, self._ours, self._last_made.get(path, ""), self._proved_as.get(path))
        if left and report.content_digest != left:
            raise DeviceChanged(path, "what is written on it has changed since this run took its array apart")
        if report.needs_consent and path in self._uncertain:
            raise ConsentOutdated(self._run, path, self._uncertain[path])
        self._proved_s[path] = time.monotonic()
        self._proved_as[path] = report.identity

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
        for path in paths:
            notice_medium(path)
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
                for told in (self._uncertain, self._last_made, self._left):
                    told.pop(path, None)
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

    def has_left(self, path: str) -> str:
        """Return the digest of what is on a target now: until the next wipe that has to stay there. Raises OSError."""
        digest = sample_content(path, self._targets[path].identity.size_bytes).digest
        self._left[path] = digest
        return digest

    def has_gone(self, cell: Cell) -> None:
        """Take note that the cell's array is no more: whatever gets its name is to be proved anew."""
        self._proved_s.pop(cell.target, None)
        self._last_made.pop(cell.target, None)


def _uuids(run_id: str, cell: Cell) -> tuple[str, ...]:
    """Return the UUIDs that a cell may leave on its devices."""
    return (cell.uuid,) if cell.array is None else (cell.uuid, array_uuid(run_id, cell.index))
