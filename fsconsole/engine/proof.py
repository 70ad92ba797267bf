"""Runs the wipe gate: the same proof before the run, before every cell and before every command that wipes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices import records, scratch
from fsconsole.devices.ask import require_answer
from fsconsole.devices.claims import ACCOUNTED, held_exclusively, lock_disks, lock_node
from fsconsole.devices.consent import check_consent, consent_code
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.fingerprint import NOT_COUNTED, bytes_between, is_written, left_digest, sectors_written
from fsconsole.devices.gate import GateReport, inspect_device, require, require_same, take_fingerprint
from fsconsole.devices.graph import number_of
from fsconsole.devices.hazards import RESYNCING, SCRATCH_KEPT
from fsconsole.devices.identity import absence, differences, lasting_differences, read_identity
from fsconsole.devices.md import kernel_name
from fsconsole.devices.snapshot import discover, find_device, system_numbers, take_snapshot
from fsconsole.engine.arrays import arrays_left, give_up, inspect_left, require_own
from fsconsole.engine.directories import require_same_directories
from fsconsole.engine.target_state import (
    KILLED,
    Agreed,
    Left,
    Ours,
    Proof,
    TargetState,
    Unknown,
    initial_states,
)
from fsconsole.errors.runs import JournalUnusable, RunLives
from fsconsole.errors.targets import (
    ConsentMissing,
    ConsentOutdated,
    DeviceChanged,
    DeviceLocked,
    DeviceMissing,
    DeviceOpen,
    NotABlockDevice,
    ScratchMissing,
)
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.seal import check_seals
from fsconsole.journal.writer import record_all
from fsconsole.model.command import Executor
from fsconsole.model.device import Fingerprint
from fsconsole.model.events import RequestRenewed
from fsconsole.model.plan import Cell
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import RunState
from fsconsole.plan.expand import array_uuid, cell_uuid, moved_plan
from fsconsole.preflight.prepare import agreed_target, target_spec
from fsconsole.system.block import notice_medium
from fsconsole.system.files import boot_id
from fsconsole.system.locks import FileLock
from fsconsole.system.run import RealExecutor
from fsconsole.units import format_bytes_exact

_ACCOUNTING = "/proc/self/io"
"""Missing where the kernel accounts no writes to processes (man 5 proc_pid_io)."""
OPENERS_WAIT_S = 60.0
"""Seconds that a cell waits for other processes to close its device."""
_LOOK_AGAIN_S = 1.0
_PROOF_HOLDS_S = 1.0
"""A journal write to a blocked disk can take minutes between the gate and the wipe."""


class Prover:
    """Proves targets against the operator's consent and against what this run itself wrote.

    holds_lock: the run holds the targets' locks, as an engine must. state comes from the journal, earlier attempts
    included. Raises what require_same() raises, and ConsentOutdated.
    """

    def __init__(self, executor: Executor, state: RunState, folder_path: str, *, holds_lock: bool = True) -> None:
        self._executor = executor
        self._run, self._holds_lock = state.request.run_id, holds_lock
        self._targets = {target.path: target for target in state.request.targets}
        self._runs_dir = os.path.dirname(folder_path)
        self._states = initial_states(state)
        """By path of the target; arrays of a cell from their first proof on."""
        self._disk_to_lock: dict[str, str] = {}
        """The disk that the system is on too, by path of the target: locked only during each write."""
        self.is_patient = False
        """True once a cell has ended: who has a device open then, a monitor or smartctl, is waited for."""
        self.blocked_by = ""
        """Who had a device open for too long at the last proof, as a sentence; empty where it passed."""
        self.is_interrupted: Callable[[], bool] = lambda: False

    def lock(self, target: Target) -> ExitStack:
        """Lock a target with all that it lies on until the stack is closed, but a disk of the system only during each write.

        udevd skips every event of a locked disk. Raises what lock_disks() raises, DeviceMissing, NotABlockDevice.
        """
        snapshot = take_snapshot()
        device = find_device(target.path, snapshot.devices)
        disk, system = snapshot.graph.disk(device), system_numbers(snapshot, self._runs_dir)
        locks = lock_disks(device, system)
        if disk != device and number_of(disk) in system:
            self._disk_to_lock[target.path] = disk.path
        return locks

    def prove_target(self, target: Target) -> GateReport:
        """Pass the whole gate for one target; raises DeviceOpen where somebody has it open, after a wait."""
        content = self._states[target.path].content
        # In the middle of a cell only the counters tell what was written meanwhile.
        is_uncounted = isinstance(content, Ours | Unknown) and NOT_COUNTED in content.counters
        may_wait = self.is_patient and not is_uncounted
        deadline_s = time.monotonic() + (OPENERS_WAIT_S if may_wait else 0.0)
        while True:
            self.blocked_by = ""
            try:
                return self._prove_once(target)
            except DeviceOpen as error:
                self.blocked_by = str(error)
                if time.monotonic() >= deadline_s or self.is_interrupted():
                    raise
            time.sleep(_LOOK_AGAIN_S)

    def _prove_once(self, target: Target) -> GateReport:
        path, state = target.path, self._states[target.path]
        content = state.content
        report = inspect_device(path, self._context(content_is_ours=isinstance(content, Ours | Unknown)))
        if isinstance(content, Agreed | Left):
            expected = content.fingerprint
        else:
            # In the middle of a cell, or after one without an end, only identity and counters are compared.
            identity = state.proof.identity if state.proof is not None else target.identity
            counters = content.counters or report.fingerprint.written
            expected = replace(report.fingerprint, identity=identity, written=counters)
        require_same(report, target, expected)
        # Only counters that this engine took itself vouch for unknown content.
        if isinstance(content, Unknown) and not (content.counters == report.fingerprint.written != ()):
            raise ConsentOutdated(self._run, path, content.reason)
        proof = Proof(report.device, report.identity, report.fingerprint.written, time.monotonic())
        self._states[path] = replace(state, proof=proof)
        return report

    def _context(self, *, content_is_ours: bool) -> GateContext:
        return GateContext(
            self._executor,
            self._runs_dir,
            load_catalog().marks,
            holds_lock=self._holds_lock,
            content_is_ours=content_is_ours,
        )

    def absence(self, path: str) -> str:
        """Return why a proved target is gone, as a clause; empty if it is there, or was never proved."""
        proof = self._states[path].proof if path in self._targets else None
        return absence(path, proof.identity) if proof is not None else ""

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
        report = inspect_device(cell.target, self._context(content_is_ours=True))
        require(report)
        device = find_device(cell.target)
        proof = Proof(device, report.identity, sectors_written(device), time.monotonic())
        self._states[cell.target] = TargetState(Ours(), proof)

    def _is_as_proved(self, path: str) -> bool:
        """Return whether the last proof is fresh, of the device that has the path now, and of all writes to it."""
        proof = self._last_proof(path)
        is_fresh = proof is not None and time.monotonic() - proof.time_s <= _PROOF_HOLDS_S
        return is_fresh and not (self.absence(path) or self.is_written(path))

    def is_written(self, path: str) -> bool:
        """Return whether the kernel has counted a write to a device since its last proof."""
        proof = self._last_proof(path)
        return proof is not None and is_written(proof.counters, sectors_written(proof.device))

    def _last_proof(self, path: str) -> Proof | None:
        return self._states[path].proof if path in self._states else None

    def _proved(self, path: str) -> Proof:
        proof = self._last_proof(path)
        if proof is None:
            raise LookupError(f"{path} was never proved")
        return proof

    def changed(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the targets that are not the devices of their last proof, each with the reason."""
        for path in paths:
            notice_medium(path)
        devices, found = discover(), {}
        for path in paths:
            proof = self._states[path].proof
            known = proof.identity if proof is not None else self._targets[path].identity
            try:
                now = read_identity(find_device(path, devices), self._executor)
            except (DeviceMissing, NotABlockDevice):
                found[path] = "it is gone"
            else:
                found[path] = "; ".join(differences(known, now))
        return {path: why for path, why in found.items() if why}

    @contextmanager
    def disks_locked(self, paths: Sequence[str]) -> Iterator[None]:
        """Lock the disks of the system that targets lie on: udevd would look at what is half written."""
        with ExitStack() as stack:
            for disk, path in [(self._disk_to_lock[path], path) for path in paths if path in self._disk_to_lock]:
                try:
                    stack.enter_context(lock_node(disk, path))
                except DeviceLocked as error:
                    self.blocked_by = str(error)
                    raise
            yield

    @contextmanager
    def proved(self, cell: Cell, paths: Sequence[str], *, is_held: bool) -> Iterator[None]:
        """Prove devices right before a command writes to them, and hold them exclusively within this context.

        Each is held from its own proof until all are proved, then only if is_held. Raises what prove_place() raises,
        and DeviceChanged.
        """
        with ExitStack() as held:
            for path in paths:
                while not self._is_as_proved(path):
                    self.prove_place(cell, path)
                try:
                    held.enter_context(held_exclusively(path))
                except DeviceOpen:
                    # Claimed since the proof: made anew it waits, and tells what that left.
                    self.prove_place(cell, path)
                    held.enter_context(held_exclusively(path))
            for path in paths:
                self.require_as_proved(cell, path)
            if not is_held:
                held.close()
            yield

    def require_as_proved(self, cell: Cell, path: str) -> None:
        """Raise DeviceChanged unless a device, and all below it, is that of its last proof, and nobody has written to it."""
        if path not in self._targets:
            require_own(path, array_uuid(self._run, cell.index), cell.members)
        elif why := self.changed((path,)):
            raise DeviceChanged(path, why[path])
        if self.is_written(path):
            raise DeviceChanged(path, "somebody wrote to it between its proof and the command that was to write to it")

    def sample_uncounted(self, path: str) -> tuple[Fingerprint, ...]:
        """Return the fingerprint of a proved device whose writes the kernel does not count; nothing if it counts them."""
        is_counted = NOT_COUNTED not in self._proved(path).counters[:1]
        return () if is_counted else (take_fingerprint(path, self._context(content_is_ours=False)),)

    def numbers(self, paths: Sequence[str]) -> dict[str, int]:
        """Return the device numbers of proved devices, by path."""
        return {path: number_of(self._proved(path).device) for path in paths}

    def note_writing(self, paths: Sequence[str]) -> None:
        """Record that a command of this run is about to write to devices: from now on their content is the run's own."""
        self._set_content(paths, Ours())

    def note_written(self, paths: Sequence[str], argv: Sequence[str], written_bytes: int) -> None:
        """Record the counts after a command to which the kernel accounts written_bytes of writes.

        Raises DeviceChanged if a device is another one now, or was written to by somebody else too.
        """
        tool, present = os.path.basename(argv[0]), discover()
        moved = self.changed([path for path in paths if path in self._targets])
        for path in paths:
            device = find_device(path, present)
            proof, now = self._proved(path), sectors_written(device)
            extra_bytes = bytes_between(proof.counters, now) - written_bytes
            why = f"{moved[path]}, since {tool} began to write to it" if path in moved else ""
            if not why and tool in ACCOUNTED and extra_bytes > 0 and os.path.exists(_ACCOUNTING):
                why = f"somebody wrote {format_bytes_exact(extra_bytes)} to it while {tool} was at work"
            if why:
                self.doubt(path)
                raise DeviceChanged(path, why)
            proof = replace(proof, device=device, counters=now, time_s=time.monotonic())
            self._states[path] = TargetState(Ours(now), proof)

    def note_left(self, path: str) -> Fingerprint | None:
        """Take, keep and return the fingerprint of a target as a cell left it, None where it wrote nothing to it.

        Raises what take_fingerprint() and held_exclusively() raise: then new consent is needed, unless this
        engine finds later that nobody has written to it since.
        """
        target = self._targets[path]
        if not isinstance(self._states[path].content, Ours):
            return None
        self.doubt(path)
        deadline_s = time.monotonic() + OPENERS_WAIT_S
        written = sectors_written(find_device(path))

        def may_wait() -> bool:
            # A mount may have got files by its end, of which only the count tells where the mount is not seen.
            is_mounted = any(mount.mount_point for mount in find_device(path).mounts)
            is_told = NOT_COUNTED not in written and not is_mounted
            return is_told and time.monotonic() < deadline_s and not self.is_interrupted()

        # Should it not be readable: as long as this engine lives, the kernel's count, where there is one, tells of any write.
        if NOT_COUNTED not in written:
            self._set_content((path,), Unknown(counters=written))
        # Who only has it open is no matter; a claim is one.
        with held_exclusively(path, may_wait):
            # A mount in another namespace, which is not seen, may have got files by its end.
            if sectors_written(find_device(path)) != written:
                raise DeviceChanged(path, "it was written to while something else had claimed it")
            scratch_id = target.identity.scratch_id
            # Before it is read: whatever is written meanwhile is later than the record.
            record = records.observe(target.backing_file, scratch_id) if scratch_id else records.NO_RECORD
            found = take_fingerprint(path, self._context(content_is_ours=False))
            if scratch_id:
                records.write_record(replace(record, left=left_digest(found.signatures, found.content)))
        self._set_content((path,), Left(found))
        return found

    def doubt(self, path: str) -> None:
        """Record that what is on a target may not be the run's own any more."""
        self._set_content((path,), Unknown())

    def note_gone(self, cell: Cell) -> None:
        """Record that the cell's array is gone: whatever gets its name next must be proved again."""
        self._states.pop(cell.target, None)

    def _set_content(self, paths: Sequence[str], content: Agreed | Ours | Left | Unknown) -> None:
        for path in paths:
            self._states[path] = TargetState(content, self._last_proof(path))


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
    return replace(target, path=path, fingerprint=replace(target.fingerprint, identity=identity), shown=shown)


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
    """A device that failed its proof at resume, with everything that is on it now.

    An array that a killed engine left stands for all targets that are its members.
    """

    targets: tuple[Target, ...]
    report: GateReport
    why: DeviceChanged | ConsentMissing | ConsentOutdated

    @property
    def reason(self) -> str:
        """Why consent is required again, as a clause."""
        if isinstance(self.why, DeviceChanged):
            return self.why.difference
        return self.why.why if isinstance(self.why, ConsentOutdated) else "consent required"


@dataclass(frozen=True, slots=True)
class Renewal:
    """A run to be resumed: its request with the present device paths, and the devices that need consent again."""

    state: RunState
    """As journalled, with the present device paths."""
    is_moved: bool
    unproven: tuple[UnprovenTarget, ...]
    proven: tuple[GateReport, ...]
    """Of the devices that are as the run left them."""

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
    if state.request.is_on_directories:
        _, unsealed = check_seals(folder)
        # It may name any command, and no consent is asked. Without root there is no seal, and a run can do no more than its user.
        if unsealed and os.geteuid() == 0:
            raise JournalUnusable(folder.journal, f"{unsealed}: its loads are not run, start a new run")
        require_same_directories(state.request)
        return Renewal(state, is_moved=False, unproven=(), proven=())
    request = _moved(state.request, tuple(present_target(t, executor) for t in state.request.targets))
    moved = replace(state, request=request)
    prover = Prover(executor, moved, folder.path, holds_lock=False)
    _, unsealed = check_seals(folder)
    context = GateContext(executor, os.path.dirname(folder.path), load_catalog().marks)
    for target in request.targets:
        require_answer(target.path, target.identity.size_bytes, executor)
    unproven, proven, held = [], [], set[str]()
    for array in arrays_left(moved):
        require_answer(array.path, find_device(array.path).size_bytes, executor)
        members = tuple(target for target in request.targets if kernel_name(target.path) in array.members)
        report = inspect_left(array, moved, context)
        # A resync that ends meanwhile must not change the code.
        lasting = tuple(hazard for hazard in report.hazards if hazard.check != RESYNCING)
        report = replace(report, hazards=lasting)
        unproven.append(UnprovenTarget(members, report, ConsentOutdated(request.run_id, array.path, KILLED.reason)))
        held |= {target.path for target in members}
    for target in request.targets:
        if target.path in held:
            continue
        why: DeviceChanged | ConsentMissing | ConsentOutdated | None = None
        try:
            report = prover.prove_target(target)
        except (DeviceChanged, ConsentMissing, ConsentOutdated) as error:
            why = error
        is_killed = isinstance(why, ConsentOutdated) and why.why == KILLED.reason
        if unsealed:
            why = ConsentOutdated(request.run_id, target.path, unsealed)
        if why is None:
            proven.append(report)
        else:
            report = inspect_device(target.path, context)
            # Consent can't make the figures of another device comparable.
            if changed := lasting_differences(target.identity, report.identity):
                raise DeviceChanged(target.path, "; ".join(changed)) from why
            if is_killed and not unsealed:
                report = _as_left_by_killed(report)
                why = ConsentOutdated(request.run_id, target.path, _killed_words(moved, target.path, report))
            unproven.append(UnprovenTarget((target,), report, why))
    return Renewal(moved, request != state.request, tuple(unproven), tuple(proven))


def _as_left_by_killed(report: GateReport) -> GateReport:
    """Return the report without the note that no run left the content: the run itself was interrupted on it."""
    loop = report.device.loop
    if loop is None or not loop.is_in_place:
        return report
    return replace(report, hazards=tuple(hazard for hazard in report.hazards if hazard.check != SCRATCH_KEPT))


def _killed_words(state: RunState, path: str, report: GateReport) -> str:
    """Return what the cell that an engine was killed in has to do with what is on its device now, as a clause."""
    cells = state.request.plan.cells
    writing = (cell for cell in state.cells if path in cells[cell.index].devices and cell.steps)
    last = max(writing, key=lambda cell: (cell.attempt, cell.steps[-1].started_monotonic_ns))
    uuid = cell_uuid(state.request.run_id, last.index)
    made = [each.signature.type for each in report.found if each.signature.uuid == uuid]
    lead = f"the engine was killed in the middle of cell {last.index + 1}"
    if not made:
        return f"{lead}, and what is on it now is not known to be that cell's"
    return f"{lead}, which made the {made[0]} that is on it now; what else was written to it since is not known"


def renew(folder: RunFolder, renewal: Renewal, code: str) -> None:
    """Check the consent code and journal the renewed request, if anything changed.

    Raises the hazards' refusals, ConsentOutdated if a code is needed and missing, ConsentStale, RunLives.
    """
    for report in renewal.reports:
        require(report)
    request = renewal.state.request
    if renewal.unproven and not code:
        first = renewal.unproven[0]
        raise ConsentOutdated(request.run_id, first.report.device.path, first.reason)
    check_consent(code, renewal.reports)
    if not (renewal.unproven or renewal.is_moved):
        return
    attempt = len(renewal.state.started) + 1
    context = GateContext(RealExecutor(), os.path.dirname(folder.path), load_catalog().marks, holds_lock=True)
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error
    with ExitStack() as stack:
        stack.enter_context(lock)
        anew = {}
        for unproved in renewal.unproven:
            paths, reports = [target.path for target in unproved.targets], [unproved.report]
            if unproved.report.device.path not in paths:
                for path in paths:
                    stack.enter_context(lock_disks(find_device(path)))
                give_up(unproved.report, paths, renewal.state, context)
                reports = [inspect_device(path, context) for path in paths]
            for path, report in zip(paths, reports, strict=True):
                agreed = agreed_target(replace(report, needs_consent=True), renewal.consent)
                anew[path] = replace(agreed, agreed_attempt=attempt)
        targets = tuple(anew.get(target.path, target) for target in request.targets)
        seals, _ = check_seals(folder)
        record_all(folder, (seals.put_on(RequestRenewed(attempt, replace(request, targets=targets))),))


def _moved(request: RunRequest, present: tuple[Target, ...]) -> RunRequest:
    """Return the request with the present device paths."""
    pairs = tuple(zip(request.targets, present, strict=True))
    if all(target.path == now.path for target, now in pairs):
        return replace(request, targets=present)
    specs = {target.path: target_spec(find_device(now.path)) for target, now in pairs}
    plan = moved_plan(request.plan, specs, load_catalog(), request.run_id)
    return replace(request, targets=present, plan=plan)
