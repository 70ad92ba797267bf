"""Arrays that a plan makes of its targets: levels, sizes, stripes, and combinations that mdadm refuses.

man 8 mdadm; Documentation/admin-guide/md.rst; mdadm's Create.c and mdadm.c for what it refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.model.device import Device, DeviceKind, MdArray
from fsconsole.model.plan import ArraySpec
from fsconsole.plan.planfile import NO_DEVICE, TargetSpec
from fsconsole.text import GIB, KIB, MIB
from fsconsole.units import format_bytes, format_bytes_exact

LEVELS = ("linear", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10")
ABOUT_LEVELS = {
    "linear": "One member after the other: the room of all; the loss of one is the loss of all.",
    "raid0": "Striped over all members, without redundancy: the loss of one is the loss of all.",
    "raid1": "All members hold the same: the room of one; all but one may be lost.",
    "raid4": "Striped, with parity on one member: any one may be lost.",
    "raid5": "Striped, with parity on each in turn: any one may be lost.",
    "raid6": "Striped, with two parities: any two may be lost; at least 4 members.",
    "raid10": "Striped over mirrors: half of the room; one of each pair may be lost.",
}
"""A line of help on each."""
REDUNDANT = LEVELS[2:]
PARITY = ("raid4", "raid5", "raid6")
BITMAPS = ("none", "internal")
POLICIES = ("resync", "bitmap", "ppl")
MAX_MEMBERS = 256
"""The most that mdadm takes for raid6."""


def least_members(level: str) -> int:
    """Return the least number of members that mdadm takes without --force."""
    return 4 if level == "raid6" else 2


def resyncs(spec: ArraySpec) -> bool:
    """Return whether md resyncs the array when it is created."""
    return spec.level in REDUNDANT and not spec.assume_clean


def array_objections(spec: ArraySpec) -> tuple[str, ...]:
    """Return why mdadm refuses such an array on any devices, in clauses; empty where it takes it."""
    reasons = []
    least = least_members(spec.level)
    if spec.members and spec.members < least:
        reasons.append(f"{spec.level} needs at least {least} members")
    if spec.consistency_policy == "ppl" and spec.level != "raid5":
        reasons.append(f"{spec.level} has no partial parity log: only raid5 has one")
    if spec.consistency_policy == "bitmap" and spec.bitmap == "none":
        reasons.append('consistency_policy "bitmap" needs a bitmap, and bitmap is "none"')
    if spec.consistency_policy in ("resync", "ppl") and spec.bitmap == "internal":
        reasons.append(f'a bitmap makes consistency_policy "bitmap", not "{spec.consistency_policy}"')
    return tuple(reasons)


ARRAY_PATH = "/dev/md400"
"""The same for every run, so that a plan tells it exactly: a number needs no udev for its node, and neither mdadm
(127 downwards, then 511 downwards) nor anybody else comes to this one soon. Only one run at a time makes arrays."""
ARRAY_NAME = ARRAY_PATH.removeprefix("/dev/")
_CHUNK_BYTES = 512 * KIB
"""mdadm's own (man 8 mdadm, --chunk)."""
_TABLES_BYTES, _LEAST_HEADROOM_CHUNKS, _HEADROOM_SHARE, _MOST_HEADROOM_BYTES = 3 * MIB, 2, 1024, 128 * MIB
"""Bytes that mdadm 4.2 leaves free before the data, rounded up (super1.c, validate_geometry1): it depends on its version."""


Lacking = Mapping[str, str]
"""Levels of which this machine makes no arrays, each with the reason as a clause."""
EVERY_LEVEL: Lacking = {}


@dataclass(frozen=True, slots=True)
class Site:
    """Device of a cell's filesystem: a target, or an array of several; reasons: why it can't be made."""

    target: TargetSpec
    array: ArraySpec | None = None
    members: tuple[TargetSpec, ...] = ()
    reasons: tuple[str, ...] = ()


def site_of(spec: ArraySpec | None, devices: Sequence[TargetSpec], reasons: tuple[str, ...] = ()) -> Site:
    """Return an array of these devices as a site, or without one the first of them."""
    if spec is None:
        return Site(devices[0])
    return Site(array_place(spec, devices), spec, tuple(devices), reasons)


def members_of(spec: ArraySpec, targets: Sequence[TargetSpec]) -> tuple[TargetSpec, ...]:
    """Return the targets that the array is made of, the first ones; of too few targets all."""
    if tuple(targets) == (NO_DEVICE,):
        count = spec.members or least_members(spec.level)
        return tuple(replace(NO_DEVICE, path=f"{NO_DEVICE.path}{number + 1}") for number in range(count))
    return tuple(targets[: spec.members or len(targets)])


def array_place(spec: ArraySpec, members: Sequence[TargetSpec]) -> TargetSpec:
    """Return the array as a target."""
    queues = {queue.disk: queue for member in members for queue in member.scheduled}
    return TargetSpec(
        path=ARRAY_PATH,
        size_bytes=usable_bytes(spec, [member.size_bytes for member in members]),
        can_discard=all(member.can_discard for member in members),
        disk=ARRAY_NAME,
        queues=tuple(queues.values()),
        has_stripe_cache=spec.level in PARITY,
        memory_limit=members[0].memory_limit,
    )


def usable_bytes(spec: ArraySpec, sizes_bytes: Sequence[int]) -> int:
    """Return about the size of an array of members of these sizes, rather less; 0 where it isn't known, or none."""
    if len(sizes_bytes) < least_members(spec.level) or 0 in sizes_bytes:
        return 0
    chunk_bytes = 1 if spec.level in ("linear", "raid1") else spec.chunk_bytes or _CHUNK_BYTES
    least_bytes = _LEAST_HEADROOM_CHUNKS * (spec.chunk_bytes or _CHUNK_BYTES)
    headroom = [
        max(least_bytes, min(_MOST_HEADROOM_BYTES, size // _HEADROOM_SHARE)) + _TABLES_BYTES for size in sizes_bytes
    ]
    data = [
        max(0, size - taken) // chunk_bytes * chunk_bytes for size, taken in zip(sizes_bytes, headroom, strict=True)
    ]
    least, count = min(data), len(data)
    if spec.level in ("linear", "raid0"):
        return sum(data) if least else 0
    if spec.level == "raid1":
        return least
    if spec.level == "raid10":
        return least * count // 2 // chunk_bytes * chunk_bytes
    return least * (count - (2 if spec.level == "raid6" else 1))


def array_reasons(spec: ArraySpec, targets: Sequence[TargetSpec], support: Lacking = EVERY_LEVEL) -> tuple[str, ...]:
    """Return why the array can't be made of these targets on this machine, in clauses; empty where it can."""
    members = members_of(spec, targets)
    reasons = [support[spec.level]] if spec.level in support else []
    reasons += array_objections(spec)
    if spec.members > len(members):
        reasons.append(f"the array wants {spec.members} members, and there are {len(members)} targets")
    elif len(members) < least_members(spec.level) and not spec.members:
        least = least_members(spec.level)
        reasons.append(f"{spec.level} needs at least {least} members, and there are {len(members)} targets")
    elif 0 not in (sizes := [member.size_bytes for member in members]) and usable_bytes(spec, sizes) == 0:
        chunk = format_bytes_exact(spec.chunk_bytes or _CHUNK_BYTES)
        least_size = format_bytes(min(sizes))
        reasons.append(f"a member of {least_size} has no room for {spec.level} with chunks of {chunk}")
    return tuple(reasons)


BLOCK_BYTES = 4096
"""Block size of ext4 and xfs, unless a plan says otherwise."""
_PARITY_DISKS = {"raid0": 0, "raid4": 1, "raid5": 1, "raid6": 2}
_NOT_IN_THE_ROW = frozenset("SJ")
"""Flags of mdstat: a spare, and the disk of a write journal."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A chunk goes to each data disk in turn; all of them in a row are a stripe.

    Documentation/admin-guide/md.rst, man 8 mke2fs (stride, stripe_width), man 8 mkfs.xfs (su, sw).
    """

    chunk_bytes: int
    data_disks: int
    has_parity: bool = False
    """True where a part of a stripe can't be written without reading others of it first."""

    @property
    def stripe_bytes(self) -> int:
        """The chunks of all data disks."""
        return self.chunk_bytes * self.data_disks

    @property
    def ext4_words(self) -> str:
        """Words for mkfs.ext4, in blocks of 4 KiB."""
        return self.ext4_words_of(BLOCK_BYTES)

    def ext4_words_of(self, block_bytes: int) -> str:
        """Return the words for mkfs.ext4 with this block size."""
        chunk, stripe = self.chunk_bytes // block_bytes, self.stripe_bytes // block_bytes
        return f"-E stride={max(1, chunk)},stripe_width={max(1, stripe)}"

    @property
    def xfs_words(self) -> str:
        """Words for mkfs.xfs."""
        return f"-d su={self.chunk_bytes // KIB}k,sw={self.data_disks}"


def geometry(level: str, chunk_bytes: int, disks: int, near_copies: int = 2) -> Geometry | None:
    """Return the geometry of an array of so many disks without spares; None for a level that has no stripes.

    level as in mdstat; near_copies counts for raid10 alone: 0 where all its copies are far or offset (man 4 md).
    """
    if level == "raid10":
        # Copies side by side that don't come out even shift from row to row: the kernel counts all disks then.
        data_disks = disks if near_copies < 1 or disks % near_copies else disks // near_copies
    elif level in _PARITY_DISKS:
        data_disks = disks - _PARITY_DISKS[level]
    else:
        return None
    if chunk_bytes < BLOCK_BYTES or data_disks < 1:
        return None
    return Geometry(chunk_bytes, data_disks, has_parity=_PARITY_DISKS.get(level, 0) > 0)


def geometry_of(array: MdArray) -> Geometry | None:
    """Return the geometry of an array as it is now; None also while it is reshaped into another."""
    if array.action == "reshape":
        return None
    in_the_row = [member for member in array.members if not _NOT_IN_THE_ROW.intersection(member.flags)]
    return geometry(array.level, array.chunk_bytes, len(array.slots) or len(in_the_row), array.near_copies)


_LEFT_ALONE = {
    (True, False): "mkfs sees that itself",
    # Below, mkfs.xfs takes no stripes unless they are named: "small data volume".
    (True, True): "mkfs.ext4 sees that itself, mkfs.xfs only from 1 GiB on",
    (False, False): "the kernel tells mkfs otherwise, so name it",
    (False, True): "the kernel tells mkfs otherwise, so name it",
}
"""Notes on mkfs without these words: by whether the kernel reports the same stripes, and whether the device is small."""


@dataclass(frozen=True, slots=True)
class Stripes:
    """Advice for one device; texts are empty where there is nothing to say."""

    path: str
    shape: str = ""
    words: str = ""
    """The words for mkfs, and whether it finds the stripes without them."""
    cautions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, for whoever has no labels."""
        return (*((f"{self.path} holds {self.shape}: {self.words}",) if self.shape else ()), *self.cautions)


def stripes_of(device: Device, devices: Iterable[Device]) -> Stripes:
    """Return advice for a device; devices are all of the machine."""
    by_name = {each.name: each for each in devices}
    layers = tuple(_down(device, by_name))
    shape = _geometry_below(device, by_name)
    cautions = tuple(dict.fromkeys(text for layer in layers for text in _misalignments(layer, by_name)))
    if shape is None:
        return Stripes(device.path, cautions=cautions)
    told = (shape.chunk_bytes, shape.stripe_bytes) == (device.minimum_io_bytes, device.optimal_io_bytes)
    left_alone = _LEFT_ALONE[told, device.size_bytes < GIB]
    words = f"ext4 {shape.ext4_words}; xfs {shape.xfs_words}; {left_alone}"
    chunk = format_bytes_exact(shape.chunk_bytes)
    data = f"{shape.data_disks} data disks" if shape.data_disks > 1 else "1 data disk"
    whole = format_bytes_exact(shape.stripe_bytes)
    return Stripes(device.path, f"{chunk} on each of {data}, {whole} in all", words, cautions)


def _geometry_below(device: Device, by_name: dict[str, Device]) -> Geometry | None:
    """Return the geometry of the one array that a device lies on in whole; of several none holds for it."""
    if device.md is not None:
        return geometry_of(device.md)
    below = (device.parent,) if device.parent else device.lower
    if len(below) != 1 or below[0] not in by_name:
        return None
    return _geometry_below(by_name[below[0]], by_name)


def _down(device: Device, by_name: dict[str, Device]) -> Iterator[Device]:
    yield device
    for name in (device.parent, *device.lower):
        if name in by_name:
            yield from _down(by_name[name], by_name)


def _misalignments(device: Device, by_name: dict[str, Device]) -> Iterator[str]:
    if device.kind is not DeviceKind.PARTITION or device.parent not in by_name:
        return
    disk, start = by_name[device.parent], device.partition_start_bytes
    shape = geometry_of(disk.md) if disk.md is not None else None
    sector = max(BLOCK_BYTES, disk.physical_sector_bytes)
    begins = f"{device.path} begins at byte {start}"
    if start % sector:
        yield f"{begins}, no multiple of {sector}: each block lies on two sectors"
    elif shape is not None and start % shape.chunk_bytes:
        yield f"{begins}, inside a chunk of {disk.path}: blocks that belong together lie on two disks"
    elif shape is not None and shape.has_parity and start % shape.stripe_bytes:
        yield f"{begins}, inside a stripe of {disk.path}: what fills one is written to two, and read before"
