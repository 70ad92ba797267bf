"""Runs the wipe gate: the same proof before the run, before every cell and before every command that wipes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices import scratch
from fsconsole.devices.ask import require_answer
from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.content import sample_content
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, check_consent, consent_code, inspect_device, re_prove, require
from fsconsole.devices.identity import absence, differences, lasting_differences, read_identity
from fsconsole.devices.snapshot import discover, find_device
from fsconsole.engine.arrays import require_own
from fsconsole.errors.runs import RunLives
from fsconsole.errors.targets import (
    ConsentMissing,
    ConsentOutdated,
    DeviceChanged,
    DeviceMissing,
    NotABlockDevice,
    ScratchMissing,
)
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.writer import record_all
from fsconsole.model.command import Executor
from fsconsole.model.device import Identity
from fsconsole.model.events import Outcome, RequestRenewed
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import CellState, RunState, StepState
from fsconsole.plan.expand import array_uuid, moved_plan
from fsconsole.preflight.prepare import agreed_target, target_spec
from fsconsole.system.block import notice_medium
from fsconsole.system.files import boot_id
from fsconsole.system.locks import FileLock
from fsconsole.units import format_bytes_exact

_WRITING = frozenset({StepKind.EQUALISE, StepKind.ARRAY, StepKind.MKFS, StepKind.RAW_WRITE})
_ENDED_WITHIN = "its engine was killed while it wiped the device"
_CUT_SHORT = "the step that wiped it was interrupted, or failed"
_NO_PROOF = "nothing on it distinguishes the run's data from what others may have written since"


@dataclass(frozen=True, slots=True)
class LastWrite:
    """What must be on a device since this run's last write to it; all empty while that write is not finished."""

    made: str = ""
    """The UUID of the filesystem that must be on it."""
    left: str = ""
    """The content digest (ContentSample) that a former member of a stopped array must have."""
    uncertain: str = ""
    """Why its content can't be distinguished from foreign data, as a clause."""


def last_writes(state: RunState) -> dict[str, LastWrite]:
    """Return the last write of earlier attempts to each target since its consent.

    An array's write counts for each member. A cell that was started again may have left anything: its earlier steps
    are no longer known.
    """
    cells = state.request.plan.cells
    agreed = {target.path: target.agreed_attempt for target in state.request.targets}
    newest: dict[str, int] = {}
    writes: list[tuple[CellState, StepState]] = []
    for known in state.cells:
        for path in cells[known.index].devices:
            newest[path] = max(known.attempt, newest.get(path, 0))
        writes += [(known, step) for step in known.steps if step.kind in _WRITING]
    # The monotonic clock restarts with each boot, but an attempt lies within one boot.
    writes.sort(key=lambda write: (write[0].attempt, write[1].started_monotonic_ns))
    return {
        path: _last_write(known, step, cells[known.index], path, is_known=known.attempt == newest[path])
        for known, step in writes
        for path in cells[known.index].devices
        if known.attempt >= agreed.get(path, 1)
    }


def _last_write(known: CellState, step: StepState, cell: Cell, path: str, *, is_known: bool) -> LastWrite:
    is_done = step.outcome is Outcome.DONE
    # A step without an end, or with a bad one, leaves anything.
    if is_known and is_done and cell.array is None and step.kind is StepKind.MKFS:
        return LastWrite(made=cell.uuid)
    if is_known and cell.array is not None:
        # A member keeps the middle of a filesystem and no UUID: its content is the proof, as it is for consent.
        member = cell.members.index(path)
        found = [seen.content_digest for seen in known.left if seen.member == member]
        if found and found[-1]:
            return LastWrite(left=found[-1])
    if step.outcome is None:
        return LastWrite(uncertain=_ENDED_WITHIN)
    return LastWrite(uncertain=_NO_PROOF if is_done else _CUT_SHORT)


_PROOF_HOLDS_S = 1.0
"""A journal write to a blocked disk can take minutes between the gate and the wipe."""


class Prover:
    """Proves targets against the operator's consent and against what this run itself wrote.

    holds_lock: the run holds the targets' locks, as an engine must. state comes from the journal, earlier attempts
    included. Raises what re_prove() raises, and ConsentOutdated.
    """

    def __init__(
        self, executor: Executor, state: RunState, folder_path: str, *, holds_lock: bool = True
    ) -> None:
        self._executor = executor
        self._run, self._holds_lock = state.request.run_id, holds_lock
        self._targets = {target.path: target for target in state.request.targets}
        cells = state.request.plan.cells
        arrays = {array_uuid(self._run, cell.index) for cell in cells if cell.array is not None}
        self._ours = frozenset({cell.uuid for cell in cells} | arrays)
        self._proved_s: dict[str, float] = {}
        """time.monotonic() of the last proof, by target."""
        self._proved_as: dict[str, Identity] = {}
        """The identity of each target at that proof, which it must keep from then on."""
        self._runs_dir = os.path.dirname(folder_path)
        self._written = last_writes(state)
        """By path of the target."""

    def prove_target(self, target: Target) -> None:
        """Pass the whole gate for one target."""
        path = target.path
        written = self._written.get(path, LastWrite())
        left = "" if target.identity.scratch_id else written.left
        context = GateContext(
            self._executor,
            self._runs_dir,
            holds_lock=self._holds_lock,
            content_is_ours=path in self._written and not left,
        )
        report = inspect_device(path, context)
        shown = replace(report, content=None) if left else report
        re_prove(shown, target, self._ours, written.made, self._proved_as.get(path))
        if left and report.content_digest != left:
            raise DeviceChanged(path, "its content has changed since this run stopped its array")
        if report.needs_consent and written.uncertain:
            raise ConsentOutdated(self._run, path, written.uncertain)
        self._proved_s[path] = time.monotonic()
        self._proved_as[path] = report.identity

    def absence(self, path: str) -> str:
        """Return why a proved target is gone, as a clause; empty if it is there, or was never proved."""
        known = self._proved_as.get(path)
        return absence(path, known) if known is not None else ""

    def prove_cell(self, cell: Cell) -> None:
        """Pass the whole gate for a cell's target, or for every member of its array."""
        for path in cell.devices:
            self.prove_place(cell, path)

    def prove_place(self, cell: Cell, path: str) -> None:
        """Pass the whole gate for a target; prove that an array is the run's own, of the cell's members, not in use."""
        if path in self._targets:
            self.prove_target(self._targets[path])
            return
        require_own(cell.target, array_uuid(self._run, cell.index), cell.members)
        context = GateContext(self._executor, self._runs_dir, holds_lock=True, content_is_ours=True)
        require(inspect_device(cell.target, context))
        self._proved_s[cell.target] = time.monotonic()

    def changed(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the targets that are not the devices of their last proof, each with the reason."""
        for path in paths:
            notice_medium(path)
        devices, found = discover(), {}
        for path in paths:
            known = self._proved_as.get(path, self._targets[path].identity)
            try:
                now = read_identity(find_device(path, devices), self._executor)
            except (DeviceMissing, NotABlockDevice):
                found[path] = "it is gone"
            else:
                found[path] = "; ".join(differences(known, now))
        return {path: why for path, why in found.items() if why}

    @contextmanager
    def wiping(self, cell: Cell, argv: tuple[str, ...], devices: tuple[str, ...] = ()) -> Iterator[None]:
        """Make the last proof before a command that writes to devices; run it within this context.

        The devices are the cell's target, or the given members of its array. For a tool that takes no O_EXCL of its
        own, the engine holds the device exclusively: nobody can mount it between proof and wipe. From now on the
        device's content is this run's own.
        """
        paths = devices or (cell.target,)
        with ExitStack() as held:
            for path in paths:
                if time.monotonic() - self._proved_s.get(path, -math.inf) > _PROOF_HOLDS_S:
                    self.prove_place(cell, path)
                self._prove_file(path, argv)
                # With many members the first proof is old by the time the last one is made.
                if needs_hold(argv) or len(paths) > 1:
                    held.enter_context(held_exclusively(path))
            self._written |= dict.fromkeys(paths, LastWrite())
            if not needs_hold(argv):
                held.close()
            yield
        # Nobody could come in while it was held. A mkfs that takes no UUID leaves a random one, which no proof would
        # accept: the command right after it sets the run's own.
        self._proved_s |= dict.fromkeys(paths, time.monotonic())

    def _prove_file(self, device: str, argv: tuple[str, ...]) -> None:
        """Prove that a fallocate command names the very file below the scratch device."""
        if argv[0] != "fallocate":
            return
        identity, path = self._targets[device].identity, argv[-1]
        try:
            found = os.lstat(path)
        except OSError as error:
            raise DeviceChanged(device, f"its file {path} is gone") from error
        if (found.st_dev, found.st_ino) != (identity.backing_device, identity.backing_inode):
            raise DeviceChanged(device, f"another file than its own is at {path} now")

    def note_made(self, cell: Cell) -> None:
        """Record that the cell's filesystem is on its target, where it must stay until the next wipe."""
        self._written[cell.target] = LastWrite(made=cell.uuid)

    def note_left(self, path: str) -> str:
        """Record and return the digest of a target's content, which must stay until the next wipe. Raises OSError."""
        digest = sample_content(path, self._targets[path].identity.size_bytes).digest
        self._written[path] = LastWrite(left=digest)
        return digest

    def note_gone(self, cell: Cell) -> None:
        """Record that the cell's array is gone: whatever gets its name next must be proved again."""
        self._proved_s.pop(cell.target, None)
        self._written.pop(cell.target, None)


def present_target(target: Target, executor: Executor) -> Target:
    """Return a run's device under its present path; a detached scratch device is attached.

    The identity stays the one of the consent, except for a scratch device: its file proves it, under any loop device.
    Raises DeviceChanged if no device matches, or more than one.
    """
    if target.identity.scratch_id and target.backing_file:
        try:
            path = scratch.attach(target.backing_file).device
        except ScratchMissing as error:
            raise DeviceChanged(target.path, f"its file {target.backing_file} is gone") from error
    else:
        path = _present_path(target, executor)
    if not target.identity.scratch_id:
        return replace(target, path=path)
    identity = read_identity(find_device(path), executor)
    changes = lasting_differences(target.identity, identity)
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))
    shown = tuple(replace(hazard, device=path) for hazard in target.shown)
    return replace(target, path=path, identity=identity, shown=shown)


def _present_path(target: Target, executor: Executor) -> str:
    """Return the one device with the same lasting identity; a device without any is found by its path."""
    if target.identity.boot_id == boot_id():
        # A replugged disk may have another name.
        with suppress(DeviceMissing, NotABlockDevice):
            if not lasting_differences(target.identity, read_identity(find_device(target.path), executor)):
                return target.path
    if not target.identity.stable_key()[0]:
        try:
            return find_device(target.path).path
        except (DeviceMissing, NotABlockDevice) as error:
            raise DeviceChanged(target.path, "it is gone") from error
    found = [
        device.path
        for device in discover()
        if device.size_bytes == target.identity.size_bytes
        and not lasting_differences(target.identity, read_identity(device, executor))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise DeviceChanged(target.path, f"several devices match: {', '.join(found)}")
    names = (("WWN", target.identity.wwn), ("serial number", target.identity.serial))
    known = " and ".join(f"{word} {value}" for word, value in names if value) or "its device-mapper UUID"
    size = format_bytes_exact(target.identity.size_bytes)
    raise DeviceChanged(target.path, f"there is no device of {size} with {known} now")


@dataclass(frozen=True, slots=True)
class UnprovenTarget:
    """A device that failed its proof at resume, with everything that is on it now."""

    target: Target
    report: GateReport
    why: DeviceChanged | ConsentMissing | ConsentOutdated


@dataclass(frozen=True, slots=True)
class Renewal:
    """A run to be resumed: its request with the present device paths, and the devices that need consent again."""

    state: RunState
    """As journalled, with the present device paths."""
    is_moved: bool
    unproven: tuple[UnprovenTarget, ...]

    @property
    def reports(self) -> tuple[GateReport, ...]:
        """Reports of the devices that need consent; scratch devices need it here, too."""
        return tuple(replace(unproved.report, needs_consent=True) for unproved in self.unproven)

    @property
    def consent(self) -> str:
        """The consent code; empty if none is needed, or a device is refused."""
        refused = any(report.refusals for report in self.reports)
        return "" if refused else consent_code(self.reports)


def look_again(folder: RunFolder, executor: Executor) -> Renewal:
    """Find and prove a run's devices for resume, without writing to them.

    Attaches scratch devices that a reboot detached. Raises DeviceChanged for a device that is gone or replaced,
    DeviceSilent, and what inspect_device() and the journal's readers raise.
    """
    state = read_state(folder)
    request = _moved(state.request, tuple(present_target(t, executor) for t in state.request.targets))
    moved = replace(state, request=request)
    prover = Prover(executor, moved, folder.path, holds_lock=False)
    context = GateContext(executor, os.path.dirname(folder.path))
    unproven = []
    for target in request.targets:
        require_answer(target.path, target.identity.size_bytes, executor)
        try:
            prover.prove_target(target)
        except (DeviceChanged, ConsentMissing, ConsentOutdated) as why:
            report = inspect_device(target.path, context)
            # Consent can't make the figures of another device comparable.
            if lasting_differences(target.identity, report.identity):
                raise
            unproven.append(UnprovenTarget(target, report, why))
    return Renewal(moved, request != state.request, tuple(unproven))


def renew(folder: RunFolder, renewal: Renewal, code: str) -> None:
    """Check the consent code and journal the renewed request, if anything changed.

    Raises the hazards' refusals, ConsentOutdated if a code is needed and missing, ConsentStale, RunLives.
    """
    for report in renewal.reports:
        require(report)
    request = renewal.state.request
    if renewal.unproven and not code:
        first = renewal.unproven[0]
        if isinstance(first.why, ConsentOutdated):
            raise first.why
        why = first.why.difference if isinstance(first.why, DeviceChanged) else "consent required"
        raise ConsentOutdated(request.run_id, first.target.path, why)
    check_consent(code, renewal.reports)
    if not (renewal.unproven or renewal.is_moved):
        return
    attempt = len(renewal.state.started) + 1
    anew = {
        unproved.target.path: replace(agreed_target(report, renewal.consent), agreed_attempt=attempt)
        for unproved, report in zip(renewal.unproven, renewal.reports, strict=True)
    }
    targets = tuple(anew.get(target.path, target) for target in request.targets)
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error
    with lock:
        record_all(folder, (RequestRenewed(attempt, replace(request, targets=targets)),))


def _moved(request: RunRequest, present: tuple[Target, ...]) -> RunRequest:
    """Return the request with the present device paths."""
    pairs = tuple(zip(request.targets, present, strict=True))
    if all(target.path == now.path for target, now in pairs):
        return replace(request, targets=present)
    specs = {target.path: target_spec(find_device(now.path)) for target, now in pairs}
    plan = moved_plan(request.plan, specs, load_catalog(), request.run_id)
    return replace(request, targets=present, plan=plan)
