"""Gathers the evidence on devices: claims in tables first, the device itself only if those allow it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

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
from fsconsole.devices.files import find_file_uses, images_mounted, stands_on_file
from fsconsole.devices.fingerprint import NOT_COUNTED, placed, sectors_written
from fsconsole.devices.graph import DeviceGraph, number_of, relatives
from fsconsole.devices.hazards import (
    is_refused,
)
from fsconsole.devices.named import named_in, read_mentions
from fsconsole.devices.snapshot import MachineSnapshot, system_places
from fsconsole.devices.uses import active_groups, btrfs_without, volume_group_uses
from fsconsole.errors import FsconsoleError
from fsconsole.model.command import Executor
from fsconsole.model.device import (
    ContentSample,
    Device,
)
from fsconsole.system.files import read_text
from fsconsole.system.locks import is_locked
from fsconsole.text import error_reason

_READERS = 16
"""Devices that are read from side by side."""
_T = TypeVar("_T")
_R = TypeVar("_R")


class _Pass(NamedTuple):
    """One look at devices. Later passes cost more, and rely on what the earlier ones found."""

    look: Callable[[tuple[Evidence, ...], MachineSnapshot, GateContext], Iterable[Evidence]]
    """Returns the evidence with what it found; all devices of a pass are looked at together."""
    applies: Callable[[Evidence, GateContext], bool]
    """Returns whether a device is looked at, by what is known of it so far."""


def gather(
    subjects: Iterable[tuple[Device, str]], snapshot: MachineSnapshot, context: GateContext
) -> tuple[Evidence, ...]:
    """Return all evidence on devices of a snapshot, each given with the resolved path that led to it.

    The passes of _PASSES follow one another. A source that can't be read is named in the evidence as unread.
    """
    gathered = _from_tables(subjects, snapshot, context)
    for step in _PASSES:
        if chosen := tuple(evidence for evidence in gathered if step.applies(evidence, context)):
            gathered = _replaced(gathered, step.look(chosen, snapshot, context))
    return gathered


_HAS_BYTES = frozenset({Relation.SELF, Relation.DISK, Relation.UNDER, Relation.BELOW})
"""Relatives whose file has the device's bytes."""


def _from_exclusive_open(
    evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, context: GateContext
) -> Iterable[Evidence]:
    """Return the evidence with what an exclusive open of the devices says."""

    def look(evidence: Evidence) -> Evidence:
        is_ours = context.holds_lock
        evidence = _with(
            evidence,
            "an exclusive open",
            lambda: busy_uses(evidence.relatives, snapshot.graph, is_ours=is_ours),
        )
        return _beside_hidden_places(evidence, is_ours=is_ours)

    return _side_by_side(look, evidences)


def _from_other_names(
    evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, _context: GateContext
) -> Iterable[Evidence]:
    """Return the evidence with uses of the files below loop devices under other names than those of their loop devices."""
    graph = snapshot.graph

    def files_below(evidence: Evidence) -> list[Device]:
        family = [graph.by_number[one.number] for one in evidence.relatives if one.role in _HAS_BYTES]
        return [device for device in family if stands_on_file(device)]

    targets = {device.path: device for evidence in evidences for device in files_below(evidence)}
    try:
        uses, doubts = find_file_uses(targets.values(), graph.devices)
    except (OSError, ValueError, LookupError) as error:
        return [_unread(evidence, "the uses of its file", str(error)) for evidence in evidences]

    def add(evidence: Evidence) -> Evidence:
        numbers = {number_of(device) for device in files_below(evidence)}
        uuids = [one.signature.uuid for one in evidence.signatures if numbers and one.signature.type == "erofs"]
        clauses = [clause for number in numbers for clause in doubts.get(number, ())]
        own = tuple(use for use in uses if use.number in numbers)
        clauses += images_mounted(uuids) if not own else ()
        return replace(evidence, uses=(*evidence.uses, *own), file_doubts=tuple(dict.fromkeys(clauses)))

    return map(add, evidences)


def _from_files(evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, context: GateContext) -> Iterable[Evidence]:
    """Return the evidence with the configuration files that name the devices."""
    lost = "whether a file names it"
    try:
        mentions = read_mentions()
    except OSError as error:
        return [_unread(evidence, lost, str(error)) for evidence in evidences]

    def add(evidence: Evidence) -> Evidence:
        try:
            return replace(evidence, named_in=named_in(evidence, mentions, snapshot.graph, context.executor))
        except (OSError, FsconsoleError) as error:
            return _unread(evidence, lost, str(error))

    return _side_by_side(add, evidences)


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


def _replaced(evidences: Iterable[Evidence], newer: Iterable[Evidence]) -> tuple[Evidence, ...]:
    by_path = {evidence.device.path: evidence for evidence in newer}
    return tuple(by_path.get(evidence.device.path, evidence) for evidence in evidences)


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


def _with_real_twins(evidences: tuple[Evidence, ...], graph: DeviceGraph, executor: Executor) -> tuple[Evidence, ...]:
    """Return the evidence without twins that hold something else, and with a question for those that are blank too.

    Two paths to one disk read the same. Where either is written meanwhile, uncounted, locked or silent, nothing is decided.
    """
    disks: dict[str, Device] = {}
    for relative in (relative for evidence in evidences for relative in evidence.relatives):
        own = graph.by_number[relative.number]
        twins = tuple(graph.twins(own)) if relative.role is not Relation.TWIN else ()
        disks |= {disk.path: disk for disk in (own, *twins) if twins}
    if not disks:
        return evidences
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

    return tuple(map(judged, evidences))


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


def _from_other_holders(
    evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, context: GateContext
) -> Iterable[Evidence]:
    """Return the evidence with what other processes, runs and machines do with the devices at this moment."""
    graph = snapshot.graph
    hidden, why = hidden_processes(), ""
    opened: dict[int, list[Use]] = defaultdict(list)
    try:
        family = {relative for evidence in evidences for relative in evidence.relatives}
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

    return _side_by_side(add, evidences)


def _from_signatures(
    evidences: Sequence[Evidence], snapshot: MachineSnapshot, context: GateContext
) -> tuple[Evidence, ...]:
    """Probe devices and their partitions, past what the page cache may still hold of another time.

    Where another run has locked a device, it measures there: nothing is read from it, nor dropped of what it has in
    memory. What is on a device that is refused before serves for words; that it can't be read is no further reason.
    """
    groups = active_groups(snapshot.devices)
    probed = [
        evidence
        for evidence in evidences
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

    return _replaced(evidences, map(add, probed))


def _with_content(evidence: Evidence, context: GateContext) -> Evidence:
    try:
        device = evidence.device
        content = sample_content(device.path, device.size_bytes)
        signatures = placed(evidence.signatures, evidence.partitions, context.marks)
    except OSError as error:
        return _unread(evidence, "its content", error_reason(error))
    return replace(evidence, content=content, placed=signatures)


def _side_by_side(read: Callable[[_T], _R], evidences: Collection[_T]) -> Iterable[_R]:
    if len(evidences) < 2:
        return [read(one) for one in evidences]
    with ThreadPoolExecutor(_READERS) as threads:
        return list(threads.map(read, evidences))


def _with(evidence: Evidence, source: str, read: Callable[[], Iterable[Use]]) -> Evidence:
    """Return the evidence with a source's uses, or with the reason why it could not be read."""
    try:
        return replace(evidence, uses=(*evidence.uses, *read()))
    except (OSError, ValueError, LookupError, FsconsoleError) as error:
        return _unread(evidence, source, str(error))


def _unread(evidence: Evidence, source: str, why: str) -> Evidence:
    return replace(evidence, unread=(*evidence.unread, Unread(source, why.rstrip("."))))


def _from_content(
    evidences: tuple[Evidence, ...], _snapshot: MachineSnapshot, context: GateContext
) -> Iterable[Evidence]:
    return _side_by_side(partial(_with_content, context=context), evidences)


def _from_twins(evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, context: GateContext) -> Iterable[Evidence]:
    return _with_real_twins(evidences, snapshot.graph, context.executor)


def _from_volume_tables(
    evidences: tuple[Evidence, ...], snapshot: MachineSnapshot, context: GateContext
) -> Iterable[Evidence]:
    return (_told_apart(one, partial(bound_by, graph=snapshot.graph, executor=context.executor)) for one in evidences)


def _from_partition_content(
    evidences: tuple[Evidence, ...], _snapshot: MachineSnapshot, _context: GateContext
) -> Iterable[Evidence]:
    return (_told_apart(one, bound_by_content) for one in evidences)


def _every(_evidence: Evidence, _context: GateContext) -> bool:
    return True


def _unrefused(evidence: Evidence, _context: GateContext) -> bool:
    return not is_refused(evidence)


def _shared(evidence: Evidence, _context: GateContext) -> bool:
    return evidence.is_shared


def _unrefused_and_foreign(evidence: Evidence, context: GateContext) -> bool:
    return not context.content_is_ours and not is_refused(evidence)


def _unrefused_and_foreign_or_shared(evidence: Evidence, context: GateContext) -> bool:
    return (evidence.is_shared or not context.content_is_ours) and not is_refused(evidence)


_PASSES = (
    _Pass(_from_twins, _every),  # reads two disks that may be one
    _Pass(_from_volume_tables, _every),  # of devices on a disk of the system
    _Pass(_from_other_holders, _unrefused),  # processes, locks, reservations
    _Pass(_from_exclusive_open, _unrefused),  # the first open of the device itself
    _Pass(_from_signatures, _every),  # a refused device too: the probe names what is on it
    _Pass(_from_other_names, _unrefused),  # reads files below loop devices
    _Pass(_from_files, _unrefused_and_foreign_or_shared),  # fstab and the like, by the signatures found
    _Pass(_from_partition_content, _shared),  # needs the signatures
    _Pass(_from_content, _unrefused_and_foreign),  # the longest read comes last
)


def gather_content(device: Device, snapshot: MachineSnapshot, context: GateContext) -> Evidence:
    """Return evidence of what is on a device alone: partitions, signatures and content, whoever uses it."""
    family = relatives(device, snapshot.graph)
    inside = (relative for relative in family if relative.role is Relation.INSIDE)
    partitions = tuple(snapshot.graph.by_number[relative.number] for relative in inside)
    (evidence,) = _from_signatures([Evidence(device, family, partitions)], snapshot, context)
    return _with_content(evidence, context)
