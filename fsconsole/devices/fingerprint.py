"""The fingerprint of a device: who it is, what is on it, and what a write to it changes; taken and compared here alone."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from fsconsole.devices.content import read_start
from fsconsole.devices.evidence import FoundSignature
from fsconsole.devices.identity import differences, lasting_differences
from fsconsole.model.device import Device, Fingerprint, PlacedSignature, WriteMark
from fsconsole.model.wire import to_plain
from fsconsole.system.files import read_text, read_text_or
from fsconsole.units import format_bytes_exact

NOT_COUNTED = "not counted"
"""Stands for a figure that the kernel doesn't keep or tell, or that didn't hold still: writes don't change it."""
_SECTORS_WRITTEN, _SECTORS_DISCARDED = 6, 13
"""Places in /sys/class/block/NAME/stat, from 0 (Documentation/block/stat.rst); the second is there since Linux 4.18."""
_TRIES = 200
"""Beside a disk that takes 10,000 writes a second 20 failed once in a thousand looks, and 200 never in 3,000."""
_SECTOR_BYTES = 512
_MARKED_BYTES = 128 * 1024
"""All marks of the catalog lie in a device's first 128 KiB."""


def placed(
    found: Sequence[FoundSignature],
    partitions: Sequence[Device],
    declared: Mapping[str, tuple[WriteMark, ...]],
) -> tuple[PlacedSignature, ...]:
    """Return signatures with where they lie and their write marks; declared is the catalog's. Raises OSError."""
    starts = {partition.path: partition.partition_start_bytes for partition in partitions}
    return tuple(
        PlacedSignature(starts.get(one.device.path, 0), one.signature, write_marks(one, declared)) for one in found
    )


def left_digest(signatures: Sequence[PlacedSignature], content: str) -> str:
    """Return a digest of what is on a device, for the mark of a scratch file."""
    return hashlib.sha256(json.dumps([to_plain(tuple(signatures)), content]).encode()).hexdigest()


def changes(known: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """Return, in words, all by which a device is not what it was; empty where it is the same, and nobody wrote to it.

    Within one boot every field counts. After a reboot names, numbers and the kernel's counters say nothing.
    """
    is_same_boot = known.identity.boot_id == now.identity.boot_id
    compare = differences if is_same_boot else lasting_differences
    found = [*compare(known.identity, now.identity)]
    if not is_same_boot:
        found += _unproved_across_boots(known)
    found += _changed_signatures(known, now)
    found += [f"{_partition(one)} is new on it" for one in now.partitions if one not in known.partitions]
    found += [f"{_partition(one)} is gone from it" for one in known.partitions if one not in now.partitions]
    if known.content != now.content:
        found.append("sampled blocks changed")
    if is_same_boot and (NOT_COUNTED in known.written[:1]) != (NOT_COUNTED in now.written[:1]):
        found.append("its writes were not counted all the time (queue/iostats was changed)")
    elif is_same_boot and is_written(known.written, now.written):
        found.append("somebody wrote to it (sectors written and discarded, or its file's time)")
    return tuple(found)


def _unproved_across_boots(known: Fingerprint) -> Iterator[str]:
    if not known.identity.stable_key()[0]:
        yield "it has no WWN, serial number or marker that lasts across a reboot"
    elif not known.identity.scratch_id and not any(one.signature.uuid for one in known.signatures):
        # Docks give all their disks one serial number, and blank disks are all alike.
        yield "the machine was started anew, and no UUID is on it as proof"


def _changed_signatures(known: Fingerprint, now: Fingerprint) -> Iterator[str]:
    before = {(one.start_bytes, one.signature): one for one in known.signatures}
    after = {(one.start_bytes, one.signature): one for one in now.signatures}
    for key, one in after.items():
        if key not in before:
            yield f"{_named(one)} is new on it"
        elif one.marks != before[key].marks:
            was = ", ".join(mark for mark in before[key].marks if mark not in one.marks)
            yield f"{_named(one)} was written: {was}, now {', '.join(one.marks)}"
    yield from (f"{_named(one)} is gone from it" for key, one in before.items() if key not in after)


def _named(placed: PlacedSignature) -> str:
    signature = placed.signature
    words = signature.type
    if signature.label:
        words += f" '{signature.label}'"
    if signature.uuid:
        words += f" UUID {signature.uuid}"
    return words + (f" in the partition at byte {placed.start_bytes}" if placed.start_bytes else "")


def _partition(start_and_size: tuple[int, int]) -> str:
    start, size = start_and_size
    return f"a partition of {format_bytes_exact(size)} at byte {start}"


# Marks that a filesystem itself leaves at each mount or write: they last across a reboot.


def write_marks(found: FoundSignature, declared: Mapping[str, tuple[WriteMark, ...]]) -> tuple[str, ...]:
    """Return what a mount for writing changes in a filesystem's superblock, "mount count 3"; declared is the catalog's.

    Read past the page cache. Raises OSError.
    """
    marks = declared.get(found.signature.type, ())
    start = read_start(found.device.path, found.device.size_bytes, _MARKED_BYTES) if marks else b""
    return tuple(_in_words(mark, start[mark.offset : mark.offset + mark.bytes]) for mark in marks)


def _in_words(mark: WriteMark, value: bytes) -> str:
    if mark.bytes > 8:
        return f"{mark.name} {hashlib.sha256(value).hexdigest()[:16]}"
    return f"{mark.name} {int.from_bytes(value, mark.order)}"


# What the kernel counts within a boot: every write, wherever on the device, whichever process it came from.


def sectors_written(device: Device, sys_root: str = "/sys") -> tuple[str, ...]:
    """Return what a write to a device changes, wherever on it, whichever process it came from.

    Sectors written and discarded so far, for a partition also those through its disk's own node, and for a loop
    device its file's change time and size. A write below an array, a volume or a loop over a device changes none of
    them, nor does one by another path to the same disk, by a command passed through to the drive, or to the file below
    a partition's loop device; nor any where all are NOT_COUNTED. A sample of blocks may still show those.
    """
    block, disk = f"{sys_root}/class/block", device.parent or device.name
    of_file: tuple[str, ...] = ()
    if (loop := device.loop) is not None:
        of_file = (NOT_COUNTED,)
        # Attaching and reading leave the time as it is; a write, a rename and a new owner change it.
        with suppress(OSError, ValueError):
            found = os.stat(loop.path)
            place = (found.st_dev, found.st_ino)
            if stat.S_ISREG(found.st_mode) and place == (loop.file_device, loop.inode):
                of_file = (str(found.st_ctime_ns), str(found.st_size))
    try:
        # The counts stand still, at what they were, where nobody keeps them (Documentation/block/queue-sysfs.rst).
        is_counted = read_text_or(f"{block}/{disk}/queue/iostats", "0") != "0"
        if any(os.path.exists(f"{block}/{disk}/{driver}") for driver in ("dm", "md")):
            is_counted = _counts_reads(block, device)
        if not is_counted:
            return (NOT_COUNTED, *of_file)
        own = tuple(str(sectors) for sectors in _sectors(block, device.name))
        beside = _marks_beside(block, disk) if device.parent else ()
    except OSError:
        return (NOT_COUNTED, *of_file)
    return (*own, *beside, *of_file)


def _counts_reads(block: str, device: Device) -> bool:
    """Return whether the kernel counts a read, tried out.

    Whatever iostats says, dm counts before Linux 6.4 (drivers/md/dm.c), and linear arrays don't since 5.14
    (drivers/md/md-linear.c).
    """
    path = f"{block}/{device.name}/stat"
    before = read_text(path).split()[0]
    with suppress(OSError):  # counted too
        read_start(device.path, device.size_bytes, _SECTOR_BYTES)
    return read_text(path).split()[0] != before


def is_written(known: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Return whether two answers of sectors_written() differ in anything that both have counted."""
    pairs = zip(known, now, strict=False)
    return any(before != after for before, after in pairs if NOT_COUNTED not in (before, after))


def bytes_between(before: tuple[str, ...], now: tuple[str, ...]) -> int:
    """Return the bytes written between two answers of sectors_written(); 0 unless both have them counted."""
    if NOT_COUNTED in (*before[:1], *now[:1]) or not before:
        return 0
    return (int(now[0]) - int(before[0])) * _SECTOR_BYTES


def _marks_beside(block: str, disk: str) -> tuple[str, ...]:
    """Return what went through a disk's own node. Its count has that of its partitions in it, whose I/O is no matter.

    Two passes that agree show all counts at one instant; a disk that others keep too busy for that has no mark.
    """
    names = sorted(entry.name for entry in os.scandir(f"{block}/{disk}") if os.path.exists(f"{entry.path}/partition"))
    for _ in range(_TRIES):
        first, second = ([_sectors(block, name) for name in (disk, *names)] for _ in range(2))
        if first == second:
            return tuple(str(whole - sum(parts)) for whole, *parts in zip(*first, strict=True))
    return (NOT_COUNTED,)


def _sectors(block: str, name: str) -> tuple[int, ...]:
    words = read_text(f"{block}/{name}/stat").split()
    return tuple(int(words[place]) for place in (_SECTORS_WRITTEN, _SECTORS_DISCARDED) if place < len(words))
