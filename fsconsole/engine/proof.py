"""The wipe gate at work: the same proof before the run, before every cell and before every act that wipes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices import scratch
from fsconsole.devices.ask import require_answer
from fsconsole.devices.claims import held_exclusively, needs_hold
from fsconsole.devices.content import sample_content
from fsconsole.devices.discover import discover, find_device
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import GateReport, check_consent, consent_code, inspect_device, re_prove, require
from fsconsole.devices.identity import absence, differences, lasting_differences, read_identity
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
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.command import Executor
from fsconsole.model.device import Device, Identity
from fsconsole.model.events import Outcome, RequestRenewed
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import RunState, StepState
from fsconsole.plan.expand import array_uuid, moved_plan
from fsconsole.preflight.prepare import agreed_target, target_spec
from fsconsole.system.block import notice_medium
from fsconsole.system.files import boot_id
from fsconsole.system.locks import FileLock
from fsconsole.units import format_bytes_exact

# What a run's earlier attempts wrote on its targets, and what of it can be told from anybody else's data.

_WRITING = frozenset({StepKind.EQUALISE, StepKind.ARRAY, StepKind.MKFS, StepKind.RAW_WRITE})
_ENDED_WITHIN = "its engine was ended while it wiped the device"
_CUT_SHORT = "the step that wiped it was cut short, or failed"
_NO_PROOF = "nothing on it tells what the run wrote there from what others may have written since"


@dataclass(frozen=True, slots=True)
class PastWrites:
    """What is known of each target by its path; one that was agreed upon since its last write is in none of these."""

    begun: frozenset[str]
    """Written on by this run."""
    made: dict[str, str]
    """The UUID of the filesystem that must be on it."""
    left: dict[str, str]
    """The digest of what must be on it, as ContentSample has it: a former member of an array that was taken apart."""
    uncertain: dict[str, str]
    """Why what is on it can't be told from foreign data, as a clause."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A step that wrote on a target itself."""

    attempt: int
    cell: Cell
    step: StepState


def past_writes(state: RunState) -> PastWrites:
    """Return what a run's earlier attempts have left on its targets, by its journal."""
    writes, newest = _last_writes(state), _newest_attempts(state)
    # An earlier attempt at a cell that was begun once more leaves anything: its steps are no longer known.
    known = {path: write for path, write in writes.items() if write.attempt == newest[path]}
    made = {path: write.cell.uuid for path, write in known.items() if _is_filesystem(write)}
    left = {path: digest for path, write in known.items() if (digest := _left_digest(state, path, write))}
    told = made.keys() | left.keys()
    uncertain = {path: _why(write) for path, write in writes.items() if path not in told}
    return PastWrites(frozenset(writes), made, left, uncertain)


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


def _newest_attempts(state: RunState) -> dict[str, int]:
    """Return the last attempt at any cell on each target, whether it wrote or not."""
    newest: dict[str, int] = {}
    for known in state.cells:
        for path in state.request.plan.cells[known.index].devices:
            newest[path] = max(known.attempt, newest.get(path, 0))
    return newest


def _is_filesystem(write: _Write) -> bool:
    """Return whether a write left a filesystem; a step without an end, or with a bad one, leaves anything."""
    is_done = write.step.outcome is Outcome.DONE
    return write.cell.array is None and write.step.kind is StepKind.MKFS and is_done


def _left_digest(state: RunState, path: str, write: _Write) -> str:
    """Return what an array left on a member when it was taken apart, the cell's last act on it; else nothing.

    A cell's array is the last to write on its members: none of its steps comes after. They keep the middle of a
    filesystem and no UUID, so the content is the proof, as it is where consent is given.
    """
    if write.cell.array is None:
        return ""
    member = write.cell.members.index(path)
    found = [seen.content_digest for seen in state.cells[write.cell.index].left if seen.member == member]
    return found[-1] if found else ""


def _why(write: _Write) -> str:
    if write.step.outcome is None:
        return _ENDED_WITHIN
    return _NO_PROOF if write.step.outcome is Outcome.DONE else _CUT_SHORT


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


# Where a run's devices are now: under other names, plugged in or attached again, after a reboot or without.


def present_target(target: Target, executor: Executor) -> Target:
    """Return a run's device as it is reached now; a detached scratch device is attached.

    The identity stays the one that was agreed upon, but for a scratch device: that is proved by its file, whatever
    loop device it lies under. Raises DeviceChanged where it is not found, or more than one device answers to what
    is known of it.
    """
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
    if target.identity.scratch_id and target.backing_file:
        return _attached(target)
    if target.identity.boot_id == boot_id() and _is_in_place(target, executor):
        return target.path
    return _found_again(target, executor)


def _is_in_place(target: Target, executor: Executor) -> bool:
    """Return whether the disk is where it was; one that was pulled and plugged in again may have another name."""
    try:
        return not lasting_differences(target.identity, read_identity(find_device(target.path), executor))
    except (DeviceMissing, NotABlockDevice):
        return False


def _attached(target: Target) -> str:
    try:
        return scratch.attach(target.backing_file).device
    except ScratchMissing as error:
        raise DeviceChanged(target.path, f"its file {target.backing_file} is gone") from error


def _found_again(target: Target, executor: Executor) -> str:
    """Return the one device that has what lasts across boots; one that has nothing of it may be asked about."""
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
        raise DeviceChanged(target.path, f"several devices answer to its name: {', '.join(found)}")
    names = (("WWN", target.identity.wwn), ("serial number", target.identity.serial))
    known = " and ".join(f"{word} {value}" for word, value in names if value) or "its device-mapper UUID"
    size = format_bytes_exact(target.identity.size_bytes)
    raise DeviceChanged(target.path, f"no device of {size} with {known} is there now")


# A run taken up again: its devices found, proved once more, and asked about anew where proof fails.


@dataclass(frozen=True, slots=True)
class Doubt:
    """A device that is not proved to be as it was agreed upon, with everything that is on it now."""

    target: Target
    report: GateReport
    why: DeviceChanged | ConsentMissing | ConsentOutdated


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a run would go on with: its request with the devices of now, and what has to be agreed to anew."""

    state: RunState
    """As the journal tells it, with the devices where they are now."""
    is_moved: bool
    doubts: tuple[Doubt, ...]

    @property
    def reports(self) -> tuple[GateReport, ...]:
        """What is on the devices that must be agreed to anew; a scratch device is asked about like any other."""
        return tuple(replace(doubt.report, needs_consent=True) for doubt in self.doubts)

    @property
    def consent(self) -> str:
        """The code that agrees to it; empty where nothing is asked, and where a device is refused."""
        refused = any(report.inspection.refusals for report in self.reports)
        return "" if refused else consent_code(self.reports)


def look_again(folder: RunFolder, executor: Executor) -> Renewal:
    """Return where a run's devices are now and what speaks against going on; their content stays as it is.

    Scratch devices are attached where a reboot has detached them. Raises DeviceChanged for a device that is gone
    or another one, DeviceSilent, and what inspect_device() and the journal's readers raise.
    """
    state = read_state(folder)
    request = _moved(state.request, tuple(present_target(t, executor) for t in state.request.targets))
    moved = replace(state, request=request)
    prover = Prover(executor, moved, folder.path, holds_lock=False)
    context = GateContext(executor, os.path.dirname(folder.path))
    doubts = []
    for target in request.targets:
        require_answer(target.path, target.identity.size_bytes, executor)
        try:
            prover.prove_target(target)
        except (DeviceChanged, ConsentMissing, ConsentOutdated) as why:
            doubts.append(_doubt(target, inspect_device(target.path, context), why))
    return Renewal(moved, request != state.request, tuple(doubts))


def _doubt(
    target: Target, report: GateReport, why: DeviceChanged | ConsentMissing | ConsentOutdated
) -> Doubt:
    """Return a doubt that consent can end. Raises why itself for another device: its figures would be too."""
    if lasting_differences(target.identity, report.identity):
        raise why
    return Doubt(target, report, why)


def renew(folder: RunFolder, renewal: Renewal, code: str) -> None:
    """Write down what the run goes on with, where anything has changed; code agrees to what the doubts show.

    Raises what is refused, ConsentOutdated where a code is needed and none is given, ConsentStale, RunLives.
    """
    for report in renewal.reports:
        require(report)
    run_id = renewal.state.request.run_id
    if renewal.doubts and not code:
        doubt = renewal.doubts[0]
        raise _asked(run_id, doubt)
    check_consent(code, renewal.reports)
    if renewal.doubts or renewal.is_moved:
        _write_down(folder, _agreed(renewal))


def _asked(run_id: str, doubt: Doubt) -> ConsentOutdated:
    if isinstance(doubt.why, ConsentOutdated):
        return doubt.why
    why = doubt.why.difference if isinstance(doubt.why, DeviceChanged) else "nobody has consented"
    return ConsentOutdated(run_id, doubt.target.path, why)


def _agreed(renewal: Renewal) -> RequestRenewed:
    attempt = len(renewal.state.started) + 1
    request = renewal.state.request
    anew = {
        doubt.target.path: replace(agreed_target(report, renewal.consent), agreed_attempt=attempt)
        for doubt, report in zip(renewal.doubts, renewal.reports, strict=True)
    }
    targets = tuple(anew.get(target.path, target) for target in request.targets)
    return RequestRenewed(attempt, replace(request, targets=targets))


def _write_down(folder: RunFolder, renewed: RequestRenewed) -> None:
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error
    with lock:
        journal = JournalWriter(folder)
        try:
            journal.record(renewed, durable=True)
        finally:
            journal.close(finished=True)


def _moved(request: RunRequest, present: tuple[Target, ...]) -> RunRequest:
    """Return the request with its devices as they are reached now."""
    pairs = tuple(zip(request.targets, present, strict=True))
    if all(target.path == now.path for target, now in pairs):
        return replace(request, targets=present)
    specs = {target.path: target_spec(find_device(now.path)) for target, now in pairs}
    plan = moved_plan(request.plan, specs, load_catalog(), request.run_id)
    return replace(request, targets=present, plan=plan)
