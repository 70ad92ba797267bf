"""The wipe gate: what speaks against wiping a device, and the proof, before every mkfs, that nothing does."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from fsconsole.devices.apart import bound_by, bound_by_content
from fsconsole.devices.ask import silent_among
from fsconsole.devices.claims import (
    SAME_BYTES,
    busy_uses,
    hidden_processes,
    is_busy,
    lock_uses,
    open_uses,
    reservation_uses,
)
from fsconsole.devices.content import probe_all, read_ends, sample_content
from fsconsole.devices.evidence import (
    SYSTEM_DISKS,
    Evidence,
    FoundSignature,
    GateContext,
    Relation,
    SystemPlace,
    Unread,
    Use,
    UseKind,
)
from fsconsole.devices.fingerprint import NOT_COUNTED, changes, placed, sectors_written
from fsconsole.devices.graph import DeviceGraph, number_of, relatives
from fsconsole.devices.hazards import (
    SCRATCH_KEPT,
    SYSTEM,
    TOO_SMALL,
    find_hazards,
    is_refused,
    signature_words,
)
from fsconsole.devices.identity import differences, lasting_differences, read_identity
from fsconsole.devices.snapshot import MachineSnapshot, find_device, system_places, take_snapshot
from fsconsole.devices.sysfs import slot_of
from fsconsole.devices.uses import active_groups, btrfs_without, named_in, volume_group_uses
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import (
    ConsentMissing,
    ConsentStale,
    DeviceChanged,
    DeviceLocked,
    DeviceMounted,
    DeviceOpen,
    DeviceRefused,
    DeviceTooSmall,
)
from fsconsole.model.command import Executor
from fsconsole.model.device import (
    SHARED,
    ContentSample,
    Device,
    Fingerprint,
    Hazard,
    Identity,
    Verdict,
)
from fsconsole.model.run import Target
from fsconsole.model.wire import to_plain
from fsconsole.system.block import notice_medium
from fsconsole.system.files import read_text
from fsconsole.system.locks import is_locked
from fsconsole.text import error_reason

# Evidence: claims that stand in tables first, a device itself only if those allow it.

_READERS = 16
"""Devices that are read from side by side."""
_T = TypeVar("_T")
_R = TypeVar("_R")


def gather(
    subjects: Iterable[tuple[Device, str]], snapshot: MachineSnapshot, context: GateContext
) -> tuple[Evidence, ...]:
    """Return all evidence on devices of a snapshot, each given with the resolved path that led to it.

    What a refusal makes needless is not tried: a device that tables show to be in use is read by the signature probe
    alone. What can't be read stands in the evidence as unread.
    """
    graph = snapshot.graph
    found = _with_real_twins(_from_tables(subjects, snapshot, context), graph, context.executor)
    found = tuple(_told_apart(one, partial(bound_by, graph=graph, executor=context.executor)) for one in found)
    found = _unless_refused(found, lambda free: _from_other_holders(free, graph, context))

    def opened(evidence: Evidence) -> Evidence:
        evidence = _with(
            evidence,
            "an exclusive open",
            lambda: busy_uses(evidence.relatives, graph, is_ours=context.holds_lock),
        )
        return _beside_hidden_places(evidence, is_ours=context.holds_lock)

    found = _unless_refused(found, lambda free: _side_by_side(opened, free))
    found = _from_signatures(found, snapshot, context)
    found = tuple(_told_apart(one, bound_by_content) if one.is_shared else one for one in found)
    if context.content_is_ours:
        return found

    def sampled(evidence: Evidence) -> Evidence:
        return replace(_with_content(evidence, context), named_in=tuple(named_in(evidence)))

    return _unless_refused(found, lambda free: _side_by_side(sampled, free))


def _beside_hidden_places(evidence: Evidence, *, is_ours: bool) -> Evidence:
    """Return the evidence with why the running system may stand on its disk, where that can't be told from tables.

    What it stands on is claimed: where the whole disk is not, that is elsewhere.
    """
    disks = [relative.path for relative in evidence.relatives if relative.role is Relation.DISK]
    try:
        if evidence.hidden_places and any(is_busy(path, is_ours=is_ours) for path in disks):
            return _unread(evidence, SYSTEM_DISKS, "; ".join(evidence.hidden_places))
    except OSError as error:
        return _unread(evidence, SYSTEM_DISKS, str(error))
    return evidence


def _unless_refused(
    found: Iterable[Evidence], look: Callable[[list[Evidence]], Iterable[Evidence]]
) -> tuple[Evidence, ...]:
    """Return the evidence with what look() finds on the devices that nothing refuses so far."""
    return _replaced(found, look([evidence for evidence in found if not is_refused(evidence)]))


def _replaced(found: Iterable[Evidence], newer: Iterable[Evidence]) -> tuple[Evidence, ...]:
    by_path = {evidence.device.path: evidence for evidence in newer}
    return tuple(by_path.get(evidence.device.path, evidence) for evidence in found)


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
        return f"has no usable node: {error_reason(error)}"
    if number != number_of(device):
        return f"has a node that leads to device {os.major(number)}:{os.minor(number)} instead"
    return ""


def _from_tables(
    subjects: Iterable[tuple[Device, str]], snapshot: MachineSnapshot, context: GateContext
) -> tuple[Evidence, ...]:
    """Return what a snapshot tells of the devices, without opening them."""
    graph, lost = snapshot.graph, ""
    places: tuple[SystemPlace, ...] = ()
    hidden: tuple[str, ...] = ()
    try:
        places, hidden = system_places(snapshot, context.runs_dir)
    except (OSError, LookupError) as error:
        lost = str(error) or type(error).__name__

    def told(device: Device, real: str) -> Evidence:
        family = relatives(device, graph)
        below = {layer.name for layer in graph.down(device)}
        inside = (relative for relative in family if relative.role is Relation.INSIDE)
        evidence = Evidence(
            device,
            family,
            partitions=tuple(graph.by_number[relative.number] for relative in inside),
            uses=tuple(use for relative in family for use in snapshot.uses.get(relative.number, ())),
            system_places=places,
            hidden_places=hidden,
            arrays=tuple(array for array in snapshot.arrays if array.name in below),
            min_bytes=context.min_bytes,
            max_bytes=context.max_bytes,
            strange_node=strange_node(real, device),
            unread=snapshot.unread,
        )
        if gaps := graph.gaps(device):
            evidence = _unread(evidence, "what it lies on", f"{', '.join(gaps)} is not in the listing")
        # A loop over a file is a disk of its own: that the machine's disks can't be found is no hazard to it, as
        # whatever is mounted from it is found by its mount and by O_EXCL.
        if graph.stands_on_files(device):
            evidence = replace(evidence, hidden_places=())
        elif lost:
            evidence = _unread(evidence, SYSTEM_DISKS, lost)
        try:
            # That sysfs hides the holders of a relative is an error, not none.
            for relative in family:
                folder = f"/sys/dev/block/{os.major(relative.number)}:{os.minor(relative.number)}"
                os.listdir(f"{folder}/holders")
                read_text(f"{folder}/ro")
        except OSError as error:
            return _unread(evidence, "its holders", str(error))
        return evidence

    return tuple(told(device, real) for device, real in subjects)


def _told_apart(evidence: Evidence, look: Callable[[Evidence], str]) -> Evidence:
    """Return the evidence with why a device on a disk of the system is bound to it, or that it is not."""
    if not evidence.shares_with:
        return evidence
    try:
        return replace(evidence, bound=look(evidence))
    except (OSError, FsconsoleError) as error:
        return _unread(evidence, SYSTEM_DISKS, str(error))


def _with_real_twins(found: tuple[Evidence, ...], graph: DeviceGraph, executor: Executor) -> tuple[Evidence, ...]:
    """Return the evidence without twins that hold something else, and with a question for those that are blank too.

    Two paths to one disk read the same. Where either is written meanwhile, uncounted, locked or silent, nothing is decided.
    """
    disks: dict[str, Device] = {}
    for relative in (relative for evidence in found for relative in evidence.relatives):
        own = graph.by_number[relative.number]
        twins = tuple(graph.twins(own)) if relative.role is not Relation.TWIN else ()
        disks |= {disk.path: disk for disk in (own, *twins) if twins}
    if not disks:
        return found
    # A dead path of a multipath disk answers no read, and whoever reads it can't be ended.
    silent = silent_among({path: disk.size_bytes for path, disk in disks.items()}, executor)
    free = [disk for path, disk in disks.items() if path not in silent and _is_free(path)]
    before = {disk.path: sectors_written(disk) for disk in free}
    samples = dict(read for found_there in _side_by_side(_sample, free) for read in found_there)
    known = {
        disk.path: samples[disk.path]
        for disk in free
        if disk.path in samples and NOT_COUNTED not in before[disk.path] and sectors_written(disk) == before[disk.path]
    }

    def judged(evidence: Evidence) -> Evidence:
        gone, blank = set[int](), []
        for relative in evidence.relatives:
            own = graph.by_number[relative.number]
            for twin in graph.twins(own) if relative.role is not Relation.TWIN else ():
                one, other = known.get(own.path), known.get(twin.path)
                if one is None or other is None or (one == other and one.blocks_nonzero):
                    continue
                gone |= {number_of(device) for device in (twin, *graph.partitions(twin))}
                if one == other:
                    blank.append(twin.path)
        return replace(
            evidence,
            relatives=tuple(
                relative
                for relative in evidence.relatives
                if relative.role is not Relation.TWIN or relative.number not in gone
            ),
            # One disk may have both the WWN and the serial number.
            blank_twins=tuple(dict.fromkeys(blank)),
        )

    return tuple(map(judged, found))


def _is_free(path: str) -> bool:
    """Return whether a disk is still there and unlocked."""
    try:
        return not is_locked(path)
    except OSError:
        return False


def _sample(disk: Device) -> tuple[tuple[str, ContentSample], ...]:
    """Return a disk's path with its content; nothing of one that can't be read, of which nothing is decided."""
    with suppress(OSError):
        return ((disk.path, sample_content(disk.path, disk.size_bytes)),)
    return ()


def _from_other_holders(found: Sequence[Evidence], graph: DeviceGraph, context: GateContext) -> Iterable[Evidence]:
    """Return the evidence with what other processes, runs and machines do with the devices at this moment."""
    if not found:
        return ()
    hidden, why = hidden_processes(), ""
    opened: dict[int, list[Use]] = defaultdict(list)
    try:
        family = {relative for evidence in found for relative in evidence.relatives}
        for use in open_uses(family, graph):
            opened[use.number].append(use)
    except OSError as error:
        why = str(error)

    def add(evidence: Evidence) -> Evidence:
        numbers = [relative.number for relative in evidence.relatives if relative.role in SAME_BYTES]
        uses = (*evidence.uses, *(use for number in numbers for use in opened.get(number, ())))
        evidence = replace(evidence, hidden_processes=hidden, uses=uses)
        if why:
            evidence = _unread(evidence, "open descriptors", why)
        if not context.holds_lock:
            evidence = _with(evidence, "locks", lambda: lock_uses(evidence.device, graph))
        return _with(evidence, "reservations", lambda: reservation_uses(evidence.relatives, graph))

    return _side_by_side(add, found)


def _from_signatures(
    found: Sequence[Evidence], snapshot: MachineSnapshot, context: GateContext
) -> tuple[Evidence, ...]:
    """Probe devices and their partitions, past what the page cache may still hold of another time.

    Where another run has locked a device, it measures there: nothing is read from it, nor dropped of what it has in
    memory. What is on a device that is refused before serves for words; that it can't be read is no further reason.
    """
    groups = active_groups(snapshot.devices)
    probed = [
        evidence
        for evidence in found
        if not evidence.strange_node and all(use.kind is not UseKind.LOCKED for use in evidence.uses)
    ]
    devices = {device.path: device for evidence in probed for device in (evidence.device, *evidence.partitions)}

    def unreadable(device: Device) -> str:
        """Return why the ends of a device can't be read; empty where they can."""
        try:
            read_ends(device.path, device.size_bytes)
        except OSError as error:
            return error_reason(error)
        return ""

    whys = dict(zip(devices, _side_by_side(unreadable, devices.values()), strict=True))
    probes = probe_all(context.executor, [path for path, why in whys.items() if not why])

    def add(evidence: Evidence) -> Evidence:
        before, those = evidence, []
        for device in (evidence.device, *evidence.partitions):
            read = whys[device.path] or probes[device.path]
            if isinstance(read, tuple):
                those += [FoundSignature(device, signature) for signature in read]
            else:
                evidence = _unread(evidence, f"the signatures on {device.path}", str(read))
        evidence = replace(evidence, signatures=tuple(those))
        evidence = _with(evidence, "its btrfs", lambda: btrfs_without(those, snapshot.btrfs_members))
        if groups:
            evidence = _with(evidence, "its volume group", lambda: volume_group_uses(those, groups))
        return replace(evidence, unread=before.unread) if is_refused(before) else evidence

    return _replaced(found, map(add, probed))


def _with_content(evidence: Evidence, context: GateContext) -> Evidence:
    try:
        device = evidence.device
        at_ends = device.is_scratch or not context.is_listing
        content = sample_content(device.path, device.size_bytes, at_ends=at_ends)
        signatures = placed(evidence.signatures, evidence.partitions, context.marks)
    except OSError as error:
        return _unread(evidence, "its content", error_reason(error))
    return replace(evidence, content=content, placed=signatures)


def _side_by_side(read: Callable[[_T], _R], found: Collection[_T]) -> Iterable[_R]:
    if len(found) < 2:
        return [read(one) for one in found]
    with ThreadPoolExecutor(_READERS) as threads:
        return list(threads.map(read, found))


def _with(evidence: Evidence, source: str, read: Callable[[], Iterable[Use]]) -> Evidence:
    """Return the evidence with a source's uses, or with the reason why it could not be read."""
    try:
        return replace(evidence, uses=(*evidence.uses, *read()))
    except (OSError, ValueError, LookupError, FsconsoleError) as error:
        return _unread(evidence, source, str(error))


def _unread(evidence: Evidence, source: str, why: str) -> Evidence:
    return replace(evidence, unread=(*evidence.unread, Unread(source, why.rstrip("."))))


_MOUNTS = frozenset({UseKind.MOUNT, UseKind.BTRFS})
_PASSING = frozenset({UseKind.OPEN, UseKind.BUSY})
"""Claims that may end by themselves: a monitor, a mount namespace that is given up later than its mounts elsewhere."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Everything found on one device at one moment, and who the device was then."""

    device: Device
    fingerprint: Fingerprint
    """Without content and write marks where the device is refused anyway, and where they are this run's own."""
    hazards: tuple[Hazard, ...]
    found: tuple[FoundSignature, ...]
    """Signatures of the device and of its partitions, copies included."""
    needs_consent: bool
    """False for a scratch device as fsconsole made or left it only; an empty disk needs consent too."""
    place: str
    """Port that its disk is plugged into."""
    lookalike: str
    """Another disk of the same model and size."""
    mark: str
    """Text that tells it from that one: the end of its serial number, or its place."""
    loss: str
    """Content that would be lost, in words that complete "holds ..."."""
    is_blank: bool
    """True where no signature, partition or data was found on it, looked for or not: ask after require()."""

    @property
    def identity(self) -> Identity:
        """Who the device was."""
        return self.fingerprint.identity

    @property
    def is_shared(self) -> bool:
        """True for a part of a disk that holds the system too."""
        return any(hazard.check == SHARED for hazard in self.hazards)

    @property
    def refusals(self) -> tuple[Hazard, ...]:
        """The hazards that end the matter."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.REFUSED)


def inspect_device(path: str, context: GateContext) -> GateReport:
    """Return what speaks against wiping the device at path; nothing on it is changed.

    Raises DeviceMissing, NotABlockDevice, and ToolMissing or ToolFailed where a device-mapper table can't be read.
    """
    real = os.path.realpath(path)
    notice_medium(real)
    snapshot = take_snapshot()
    device = find_device(real, snapshot.devices)
    # Counted before all else: a write from here on is a difference at the next look.
    written = sectors_written(device)
    (evidence,) = gather([(device, real)], snapshot, context)
    loss = [
        signature_words(found) + ("" if found.device == device else f" on {found.device.path}")
        for found in evidence.signatures
    ]
    loss += [f"the partition {partition.path}" for partition in evidence.partitions]
    content = evidence.content
    if content is not None and content.blocks_nonzero:
        loss.append(f"data in {content.blocks_nonzero} of {content.blocks_read} sampled blocks")
    evidence = replace(evidence, is_uncounted=NOT_COUNTED in written)
    hazards = find_hazards(evidence)
    place = slot_of(snapshot.graph.disk(device).path)
    alike = snapshot.graph.lookalikes(device)
    return GateReport(
        device=device,
        fingerprint=_fingerprint(evidence, written, context.executor),
        hazards=hazards,
        found=evidence.signatures,
        needs_consent=not device.is_scratch or any(hazard.check == SCRATCH_KEPT for hazard in hazards),
        place=place,
        lookalike=alike[0].path if alike else "",
        mark=(snapshot.graph.serial_end(device) or place) if alike else "",
        loss="; ".join(dict.fromkeys(loss)) or _no_loss(content),
        is_blank=not loss,
    )


def _no_loss(content: ContentSample | None) -> str:
    return "no signature" if content is None else f"nothing (looks empty, {content.blocks_read} blocks read)"


def take_fingerprint(path: str, context: GateContext) -> Fingerprint:
    """Return the fingerprint of a device that nobody else writes to, whoever else has it open.

    Raises OSError where it can't be read, DeviceMissing, NotABlockDevice, ToolMissing, ToolFailed.
    """
    snapshot = take_snapshot()
    device = find_device(path, snapshot.devices)
    written, family = sectors_written(device), relatives(device, snapshot.graph)
    inside = (relative for relative in family if relative.role is Relation.INSIDE)
    partitions = tuple(snapshot.graph.by_number[relative.number] for relative in inside)
    (evidence,) = _from_signatures([Evidence(device, family, partitions)], snapshot, context)
    evidence = _with_content(evidence, context)
    for unread in evidence.unread:
        raise OSError(errno.EIO, f"{unread.source}: {unread.why}")
    return _fingerprint(evidence, written, context.executor)


def _fingerprint(evidence: Evidence, written: tuple[str, ...], executor: Executor) -> Fingerprint:
    return Fingerprint(
        identity=read_identity(evidence.device, executor),
        partitions=tuple(sorted((p.partition_start_bytes, p.size_bytes) for p in evidence.partitions)),
        signatures=evidence.placed,
        content=evidence.content.digest if evidence.content is not None else "",
        written=written,
    )


def require(report: GateReport) -> None:
    """Raise for a device that is refused; what is only asked about needs consent.

    Raises DeviceMounted, DeviceLocked, DeviceTooSmall, DeviceOpen or DeviceRefused, with the reason and the remedy.
    """
    path = report.device.path
    if report.refusals and {hazard.check for hazard in report.refusals} <= _PASSING:
        raise DeviceOpen(path, report.refusals[0].reason, report.refusals[0].hint)
    is_mounted = any(hazard.check in _MOUNTS for hazard in report.refusals)
    # What says most first: that a disk holds the system, that a device is mounted.
    for hazard in sorted(report.refusals, key=lambda hazard: (hazard.check != SYSTEM, hazard.check not in _MOUNTS)):
        if is_mounted:
            raise DeviceMounted(path, hazard.reason, hazard.hint)
        if hazard.check == UseKind.LOCKED:
            raise DeviceLocked(path)
        if hazard.check == TOO_SMALL:
            raise DeviceTooSmall(path, hazard.reason, hazard.hint)
        raise DeviceRefused(path, hazard.reason, hazard.hint)


def require_same(report: GateReport, target: Target, known: Fingerprint) -> None:
    """Raise unless a device is the target, free, consented to, and as it was when its fingerprint was taken.

    report must be fresh. Raises DeviceChanged, ConsentMissing, and what require() raises.
    """
    is_same_boot = known.identity.boot_id == report.identity.boot_id
    compare = differences if is_same_boot else lasting_differences
    if changed := compare(known.identity, report.identity):
        raise DeviceChanged(target.path, "; ".join(changed))
    require(report)
    if changed := changes(known, report.fingerprint):
        if report.found and known.signatures == report.fingerprint.signatures:
            # In the middle of a cell none are compared: what is there now tells who wrote.
            changed = (*changed, f"it holds {report.loss}")
        raise DeviceChanged(target.path, "; ".join(changed))
    if report.is_shared and not target.shared:
        raise DeviceChanged(target.path, "its disk is shared with the system now")
    if report.needs_consent and not target.consent:
        raise ConsentMissing(target.path, report.loss)


# Consent codes: short words for one device's identity and exactly what was shown on it.

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O, U, so that a code can be read aloud and typed."""
_GROUPS, _GROUP_CHARACTERS, _BITS = 3, 5, 5
_MISREAD = str.maketrans("ILO", "110", "- ")


def consent_code(reports: Sequence[GateReport]) -> str:
    """Return the code, "7K2QX-9M4PT-0ABCD", for the devices that need consent, in this order; "" for none.

    It fits one boot, one device and one state: the fingerprint and the hazards are hashed.
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
    """Return all that is agreed to of a device: who it is, what speaks against wiping it, and what is on it.

    Not who has it open for a moment: the gate refuses that until it is over, and the code must fit then.
    """
    return {
        "fingerprint": to_plain(report.fingerprint),
        "hazards": [(h.check, h.verdict.value, h.device, h.reason) for h in report.hazards if h.check not in _PASSING],
    }


def check_consent(code: str, reports: Sequence[GateReport]) -> None:
    """Raise unless a run's code fits the devices as they are now; scratch devices alone need none.

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
