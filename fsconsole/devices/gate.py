"""The wipe gate: what speaks against wiping a device, and the proof, before every mkfs, that nothing does."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from fsconsole.devices.claims import (
    PlaceFinder,
    busy_uses,
    hidden_processes,
    lock_uses,
    open_uses,
    reservation_uses,
)
from fsconsole.devices.content import probe_signatures, sample_content
from fsconsole.devices.discover import discover, find_device
from fsconsole.devices.evidence import (
    Evidence,
    FoundSignature,
    GateContext,
    Role,
    SystemPlace,
    Unread,
    Use,
    UseKind,
)
from fsconsole.devices.hazards import (
    LockedByRun,
    Mounted,
    MountedBtrfs,
    PartitionFound,
    TooSmall,
    find_hazards,
    signature_words,
)
from fsconsole.devices.identity import differences, differences_across_boots, read_identity
from fsconsole.devices.uses import (
    DeviceGraph,
    active_groups,
    array_uses,
    btrfs_uses,
    export_uses,
    holder_uses,
    init_mount_uses,
    loop_uses,
    mount_uses,
    number_of,
    read_arrays,
    read_btrfs_members,
    read_graph,
    read_loops,
    relatives,
    swap_uses,
    volume_group_uses,
)
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import (
    ConsentMissing,
    ConsentStale,
    DeviceChanged,
    DeviceLocked,
    DeviceMounted,
    DeviceRefused,
    DeviceTooSmall,
)
from fsconsole.model.device import (
    ContentSample,
    Device,
    DeviceKind,
    Hazard,
    Identity,
    Inspection,
    Signature,
    Verdict,
)
from fsconsole.model.run import Target
from fsconsole.system.block import notice_medium
from fsconsole.system.files import read_text
from fsconsole.system.mounts import read_mounts, read_swaps

# Reads the evidence for the wipe gate: claims that stand in tables first, the device itself only if those allow it.

_END_BYTES = 2**20
"""Where signatures lie: within the first and the last MiB, but for copies (ZFS labels, md 0.90 and 1.0, GPT)."""


def gather(path: str, context: GateContext, is_refused: Callable[[Evidence], bool]) -> Evidence:
    """Return all evidence on the device at path; what a refusal makes needless is not tried.

    A device that tables show to be in use is read by the signature probe alone, never opened for writing.
    Raises DeviceMissing, NotABlockDevice; what can't be read otherwise stands in the evidence as unread.
    """
    real = os.path.realpath(path)
    notice_medium(real)
    devices = discover()
    device = find_device(real, devices)
    graph, unread = _graph(devices)
    evidence = Evidence(device, relatives(device, graph), unread=unread)
    evidence = _from_tables(evidence, graph, context)
    evidence = replace(evidence, strange_node=strange_node(real, device))
    if evidence.strange_node:
        return evidence
    if not is_refused(evidence):
        evidence = _from_other_holders(evidence, graph, context)
    if any(use.kind is UseKind.LOCKED for use in evidence.uses):
        # Another run measures there: nothing is read from it, nor dropped of what it has in memory.
        return evidence
    if not is_refused(evidence):
        evidence = _with(evidence, "an exclusive open", lambda: busy_uses(evidence.relatives, graph))
    probed = _from_signatures(evidence, graph, context)
    if is_refused(evidence):
        # What is on it serves for words then; that it can't be read is no further reason.
        return replace(probed, unread=evidence.unread)
    return probed if is_refused(probed) or context.content_is_ours else _from_content(probed)


def _graph(devices: tuple[Device, ...]) -> tuple[DeviceGraph, tuple[Unread, ...]]:
    try:
        return read_graph(devices), ()
    except OSError as error:
        return DeviceGraph(devices, {}), (Unread("what the loop devices stand on", str(error)),)


def strange_node(real: str, device: Device) -> str:
    """Return a clause where a resolved node's name and number don't belong together; empty where they do.

    real is the path after symbolic links; device was found by the node's number. Only the kernel's own name
    and /dev/mapper/NAME, which is a node where no udev runs, are believed.
    """
    if real not in {device.path, f"/dev/mapper/{device.dm_name}"}:
        return f"is what {real} leads to, a node with another device's name"
    try:
        number = os.stat(device.path).st_rdev
    except OSError as error:
        return f"has no usable node: {error.strerror}"
    if number != number_of(device):
        return f"has a node that leads to device {os.major(number)}:{os.minor(number)} instead"
    return ""


def _from_tables(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add what /proc and /sys tell of claims, without opening any device but loops, to ask what they stand on."""
    device = evidence.device
    gaps = graph.gaps(device)
    if gaps:
        evidence = _unread(evidence, "what it lies on", f"{', '.join(gaps)} is not in the listing")
    evidence = replace(
        evidence,
        partitions=tuple(graph.by_number[r.number] for r in evidence.relatives if r.role is Role.INSIDE),
        min_bytes=context.min_bytes,
        max_bytes=context.max_bytes,
    )
    evidence = _with(evidence, "its mounts", lambda: mount_uses(read_mounts("self")))
    own = evidence.uses
    evidence = _with(evidence, "the mounts of PID 1", lambda: init_mount_uses(read_mounts("1"), own))
    evidence = _with(evidence, "the swap areas", lambda: swap_uses(read_swaps()))
    evidence = _with(evidence, "the mounted btrfs", lambda: btrfs_uses(read_btrfs_members()))
    evidence = _with(evidence, "its holders", lambda: _holders(evidence, graph))
    evidence = _with(evidence, "the loop devices", lambda: loop_uses(read_loops(graph.devices), graph))
    evidence = _with(evidence, "the exports", lambda: export_uses(_loops(graph)))
    evidence = _from_arrays(evidence, graph)
    return _from_places(evidence, graph, context)


def _holders(evidence: Evidence, graph: DeviceGraph) -> Iterator[Use]:
    """Yield the holders of all devices; where sysfs hides those of a relative, that is an error, not none."""
    for relative in evidence.relatives:
        folder = f"/sys/dev/block/{os.major(relative.number)}:{os.minor(relative.number)}"
        os.listdir(f"{folder}/holders")
        read_text(f"{folder}/ro")
    yield from holder_uses(graph)


def _loops(graph: DeviceGraph) -> tuple[tuple[int, Device], ...]:
    return tuple((number_of(device), device) for device in graph.devices if device.kind is DeviceKind.LOOP)


def _from_arrays(evidence: Evidence, graph: DeviceGraph) -> Evidence:
    try:
        arrays = read_arrays()
    except (OSError, FsconsoleError) as error:
        return _unread(evidence, "the md arrays", str(error))
    names = {device.name for device in graph.down(evidence.device)}
    below = tuple(array for array in arrays if array.name in names)
    return replace(evidence, arrays=below, uses=(*evidence.uses, *array_uses(arrays, graph)))


def _from_places(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add the disks of /, /boot and the run folder.

    A loop over a file is a disk of its own: that the machine's disks can't be found is no hazard to it, as
    whatever is mounted from it is found by its mount and by O_EXCL.
    """
    try:
        return replace(evidence, system_places=_places(graph, context))
    except (OSError, LookupError) as error:
        if graph.stands_on_files(evidence.device):
            return evidence
        return _unread(evidence, "the disks of /, /boot and the run folder", str(error))


def _places(graph: DeviceGraph, context: GateContext) -> tuple[SystemPlace, ...]:
    finder = PlaceFinder(graph, read_mounts("self"), read_mounts("1"), read_btrfs_members())
    return finder.system_places(context.runs_dir)


def _from_other_holders(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Add what other processes, runs and machines do with the device at this moment."""
    shared = evidence.relatives
    evidence = replace(evidence, hidden_processes=hidden_processes(context.own_pids))
    evidence = _with(evidence, "open descriptors", lambda: open_uses(shared, graph, context.own_pids))
    if not context.holds_lock:
        evidence = _with(evidence, "locks", lambda: lock_uses(evidence.device, graph))
    return _with(evidence, "reservations", lambda: reservation_uses(shared, graph))


def _from_signatures(evidence: Evidence, graph: DeviceGraph, context: GateContext) -> Evidence:
    """Probe the device and its partitions, past what the page cache may still hold of another time."""
    found: list[FoundSignature] = []
    for device in (evidence.device, *evidence.partitions):
        try:
            _read_anew(device.path, device.size_bytes)
            found += (FoundSignature(device, s) for s in probe_signatures(context.executor, device.path))
        except (OSError, FsconsoleError) as error:
            evidence = _unread(evidence, f"the signatures on {device.path}", _why(error))
    evidence = replace(evidence, signatures=tuple(found))
    groups = active_groups(graph.devices)
    if not groups:
        return evidence
    return _with(evidence, "its volume group", lambda: volume_group_uses(found, groups))


def _read_anew(path: str, size_bytes: int) -> None:
    """Drop clean cached pages, and read both ends, where signatures lie: what a probe can't read, it takes for none.

    BLKFLSBUF would drop more, but it used to empty a RAM disk (drivers/block/brd.c). Raises OSError.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for offset in (0, max(size_bytes - _END_BYTES, 0)):
            _read_whole(fd, offset, min(_END_BYTES, size_bytes))
    finally:
        os.close(fd)


def _read_whole(fd: int, offset: int, length: int) -> None:
    while length > 0:
        # A read that meets a bad block in the middle is short; the next one is the error.
        got = len(os.pread(fd, length, offset))
        if not got:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        offset, length = offset + got, length - got


def _from_content(evidence: Evidence) -> Evidence:
    try:
        return replace(evidence, content=sample_content(evidence.device.path, evidence.device.size_bytes))
    except OSError as error:
        return _unread(evidence, "its content", _why(error))


def _with(evidence: Evidence, source: str, read: Callable[[], Iterable[Use]]) -> Evidence:
    """Return the evidence with a source's uses, or with the reason why it could not be read."""
    try:
        return replace(evidence, uses=(*evidence.uses, *read()))
    except (OSError, ValueError, LookupError, FsconsoleError) as error:
        return _unread(evidence, source, str(error))


def _why(error: OSError | FsconsoleError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _unread(evidence: Evidence, source: str, why: str) -> Evidence:
    return replace(evidence, unread=(*evidence.unread, Unread(source, why.rstrip("."))))


_MOUNTS = frozenset({Mounted.name, MountedBtrfs.name})


@dataclass(frozen=True, slots=True)
class GateReport:
    """Everything found on one device at one moment, and who the device was then."""

    device: Device
    identity: Identity
    hazards: tuple[Hazard, ...]
    found: tuple[FoundSignature, ...]
    """Signatures of the device and of its partitions, copies included."""
    content: ContentSample | None
    """None where the device is refused anyway, and where the content is this run's own."""
    needs_consent: bool
    """False for a proved scratch device only; an empty disk needs consent too."""
    loss: str
    """What would be lost, in words that complete "holds ..."."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the device itself."""
        return tuple(found.signature for found in self.found if found.device == self.device)

    @property
    def content_digest(self) -> str:
        """The digest of the sampled blocks; empty where none were sampled."""
        return self.content.digest if self.content is not None else ""

    @property
    def inspection(self) -> Inspection:
        """The hazards as refusals and questions."""
        return Inspection(self.device.path, self.hazards)


def inspect_device(path: str, context: GateContext) -> GateReport:
    """Return what speaks against wiping the device at path; nothing on it is changed.

    Raises DeviceMissing, NotABlockDevice, and ToolMissing or ToolFailed where a device-mapper table can't be read.
    """
    evidence = gather(path, context, _is_refused)
    return GateReport(
        device=evidence.device,
        identity=read_identity(evidence.device, context.executor),
        hazards=find_hazards(evidence),
        found=evidence.signatures,
        content=evidence.content,
        needs_consent=not evidence.device.is_scratch,
        loss=_loss(evidence),
    )


def _is_refused(evidence: Evidence) -> bool:
    return any(hazard.verdict is Verdict.REFUSED for hazard in find_hazards(evidence))


def _loss(evidence: Evidence) -> str:
    words = [_place_words(evidence.device, found) for found in evidence.signatures]
    words += [f"the partition {partition.path}" for partition in evidence.partitions]
    content = evidence.content
    if content is not None and content.blocks_nonzero:
        words.append(f"data in {content.blocks_nonzero} of {content.blocks_read} sampled blocks")
    return "; ".join(dict.fromkeys(words)) or "nothing that a probe and a sample of its blocks show"


def _place_words(device: Device, found: FoundSignature) -> str:
    where = "" if found.device == device else f" on {found.device.path}"
    return signature_words(found) + where


def require(report: GateReport) -> None:
    """Let a device pass that has no refusal; what is asked about is consent's matter.

    Raises DeviceMounted, DeviceLocked, DeviceTooSmall or DeviceRefused, with the reason and the remedy.
    """
    refusals = sorted(report.inspection.refusals, key=lambda hazard: hazard.check not in _MOUNTS)
    if refusals:
        raise _refusal(report.device.path, refusals[0])


def _refusal(path: str, hazard: Hazard) -> FsconsoleError:
    if hazard.check in _MOUNTS:
        return DeviceMounted(path, hazard.reason, hazard.hint)
    if hazard.check == LockedByRun.name:
        return DeviceLocked(path)
    if hazard.check == TooSmall.name:
        return DeviceTooSmall(path, hazard.reason, hazard.hint)
    return DeviceRefused(path, hazard.reason, hazard.hint)


def re_prove(
    report: GateReport,
    target: Target,
    ours: frozenset[str],
    last_made: str = "",
    proved_as: Identity | None = None,
) -> None:
    """Let a device pass that is still what was agreed upon: the same one, in no use, nothing new on it.

    report must be fresh. ours are the filesystem UUIDs that this run has assigned; last_made is that of the
    filesystem which must be on it now, empty where none need be. proved_as is who it was when it last passed:
    across a reboot a filesystem of the run proves it once, and must not be there still after a wipe. Raises
    DeviceChanged, ConsentMissing, and what require() raises.
    """
    own_uuids = frozenset(uuid.lower() for uuid in ours if uuid)
    changes = _identity_changes(report, proved_as or target.identity, own_uuids)
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))
    require(report)
    if report.needs_consent and not target.consent:
        raise ConsentMissing(target.path, report.loss)
    changes = (
        *_unknown_on_it(report, target, own_uuids),
        *_missing_on_it(report, last_made),
        *_content_changes(report, target),
    )
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))


def _identity_changes(report: GateReport, known: Identity, ours: frozenset[str]) -> tuple[str, ...]:
    if report.identity.boot_id == known.boot_id:
        return differences(known, report.identity)
    found = frozenset(signature.uuid.lower() for signature in report.signatures)
    return differences_across_boots(known, report.identity, found, ours)


def _unknown_on_it(report: GateReport, target: Target, ours: frozenset[str]) -> Iterator[str]:
    """Yield, in words, every signature and partition that was neither shown nor made by this run."""
    # After a reboot the same disk may have another name; its identity is proved by then.
    same_boot = report.identity.boot_id == target.identity.boot_id
    shown = {(hazard.device if same_boot else "", hazard.reason) for hazard in target.shown}
    for found in report.found:
        is_ours = found.device == report.device and found.signature.uuid.lower() in ours
        words = signature_words(found)
        if not is_ours and (found.device.path if same_boot else "", f"holds {words}") not in shown:
            yield f"{found.device.path} holds {words}, which was not there when it was agreed upon"
    for hazard in report.hazards:
        if (
            hazard.check == PartitionFound.name
            and (hazard.device if same_boot else "", hazard.reason) not in shown
        ):
            yield f"it {hazard.reason}, which was not there when it was agreed upon"


def _missing_on_it(report: GateReport, last_made: str) -> Iterator[str]:
    """Yield words where this run's last filesystem has gone: whatever is there instead, signature or none."""
    if last_made and last_made.lower() not in {s.uuid.lower() for s in report.signatures}:
        yield f"the filesystem that this run made on it, UUID {last_made}, is no longer there"


def _content_changes(report: GateReport, target: Target) -> Iterator[str]:
    if report.content is not None and report.content.digest != target.content_digest:
        yield "what is written on it has changed since it was agreed upon"


# Consent codes: short words for one device's identity and exactly what was shown on it.

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O, U, so that a code can be read aloud and typed."""
_GROUPS, _GROUP_CHARACTERS, _BITS = 3, 5, 5
_MISREAD = str.maketrans("ILO", "110", "- ")


def consent_code(reports: Sequence[GateReport]) -> str:
    """Return the code, "7K2QX-9M4PT-0ABCD", for the devices that need consent, in this order; "" for none.

    It fits one boot, one device and one state: identity, hazards, signatures and sampled blocks are hashed.
    75 bits: nobody guesses it, and two states don't share it by chance.
    """
    asked = [report for report in reports if report.needs_consent]
    return short_code(json.dumps([shown_on(report) for report in asked], sort_keys=True)) if asked else ""


def short_code(text: str) -> str:
    """Return 75 bits of the digest of a text, as three groups that can be read aloud."""
    value = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    characters = [_ALPHABET[value >> _BITS * place & 31] for place in range(_GROUPS * _GROUP_CHARACTERS)]
    text = "".join(characters)
    return "-".join(text[i : i + _GROUP_CHARACTERS] for i in range(0, len(text), _GROUP_CHARACTERS))


def shown_on(report: GateReport) -> dict[str, object]:
    """Return all that is shown of a device: who it is, what speaks against wiping it, and what is on it."""
    return {
        "identity": asdict(report.identity),
        "hazards": [(h.check, h.verdict.value, h.device, h.reason) for h in report.hazards],
        "signatures": [(found.device.path, asdict(found.signature)) for found in report.found],
        "content": report.content_digest,
    }


def check_consent(code: str, reports: Sequence[GateReport]) -> None:
    """Let a run pass whose code fits the devices as they are now; scratch devices alone need none.

    Raises ConsentMissing for an empty code, ConsentStale for one that doesn't fit.
    """
    asked = [report for report in reports if report.needs_consent]
    if not asked:
        return
    if not _plain(code):
        raise ConsentMissing(asked[0].device.path, asked[0].loss)
    if _plain(code) != _plain(consent_code(reports)):
        raise ConsentStale(", ".join(report.device.path for report in asked))


def _plain(code: str) -> str:
    """Return a code as it is compared: upper case, no dashes or blanks, and the letters that Crockford maps."""
    return code.upper().translate(_MISREAD)
