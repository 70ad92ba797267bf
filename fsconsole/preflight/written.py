"""Marks by which it is noticed that somebody wrote to a device, wherever on it. Reads sysfs and stat, no content."""

from __future__ import annotations

import os
import stat

from fsconsole.model.device import Device, LoopBacking
from fsconsole.system.text import read_text, read_text_or

NOT_COUNTED = "not counted"
"""Stands for a figure that the kernel doesn't keep or tell, or that didn't hold still: writes don't change it."""
_SECTORS_WRITTEN, _SECTORS_DISCARDED = 6, 13
"""Places in /sys/class/block/NAME/stat, from 0 (Documentation/block/stat.rst); the second is there since Linux 4.18."""
_TRIES = 20


def write_marks(device: Device, sys_root: str = "/sys") -> tuple[str, ...]:
    """Return what a write to a device changes, wherever on it, whichever process it came from.

    Sectors written and discarded so far, for a partition also those through its disk's own node, and for a loop
    device its file's time and size. A write below an array, a volume or a loop over a device changes none of them,
    nor does one by another path to the same disk, by a command passed through to the drive, or to the file below a
    partition's loop device; nor any where all are NOT_COUNTED. A sample of blocks may still show those.
    """
    block = f"{sys_root}/class/block"
    of_file = () if device.loop is None else _file_marks(device.loop)
    try:
        return (*_sector_marks(device, block), *of_file)
    except OSError:
        return (NOT_COUNTED, *of_file)


def _sector_marks(device: Device, block: str) -> tuple[str, ...]:
    disk = device.parent or device.name
    # The counts stand still, at what they were, where nobody keeps them (Documentation/block/queue-sysfs.rst).
    if read_text_or(f"{block}/{disk}/queue/iostats", "0") == "0":
        return (NOT_COUNTED,)
    own = tuple(str(sectors) for sectors in _sectors(block, device.name))
    return (*own, *_marks_beside(block, disk)) if device.parent else own


def _marks_beside(block: str, disk: str) -> tuple[str, ...]:
    """Return what went through a disk's own node. Its count has that of its partitions in it, whose I/O is no matter.

    Two passes that agree show all counts at one instant; a disk that others keep too busy for that has no mark.
    """
    names = sorted(
        entry.name for entry in os.scandir(f"{block}/{disk}") if os.path.exists(f"{entry.path}/partition")
    )
    for _ in range(_TRIES):
        first, second = ([_sectors(block, name) for name in (disk, *names)] for _ in range(2))
        if first == second:
            return tuple(str(whole - sum(parts)) for whole, *parts in zip(*first, strict=True))
    return (NOT_COUNTED,)


def _sectors(block: str, name: str) -> tuple[int, ...]:
    words = read_text(f"{block}/{name}/stat").split()
    return tuple(int(words[place]) for place in (_SECTORS_WRITTEN, _SECTORS_DISCARDED) if place < len(words))


def _file_marks(loop: LoopBacking) -> tuple[str, ...]:
    # Attaching and reading leave the time as it is; a write changes it, through the loop device or past it.
    try:
        found = os.stat(loop.path)
    except (OSError, ValueError):
        return (NOT_COUNTED,)
    is_that_file = (found.st_dev, found.st_ino) == (loop.file_device, loop.inode)
    if not is_that_file or not stat.S_ISREG(found.st_mode):
        return (NOT_COUNTED,)
    return (str(found.st_mtime_ns), str(found.st_size))
