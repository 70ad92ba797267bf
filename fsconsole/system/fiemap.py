"""The extents of a file, from the kernel (Documentation/filesystems/fiemap.rst)."""

from __future__ import annotations

import fcntl
import struct
from collections.abc import Iterator
from enum import IntFlag
from typing import NamedTuple

_FS_IOC_FIEMAP = 0xC020660B
_HEAD = struct.Struct("=2Q4I")
"""struct fiemap: start, length, flags, mapped extents, room for extents, reserved."""
_EXTENT = struct.Struct("=3Q16xI12x")
"""struct fiemap_extent: logical, physical, length, (reserved), flags, (reserved)."""
_FIRST_BATCH, _BATCH = 16, 512
"""Most files have few extents, and a large buffer costs more than the kernel's answer."""
_TO_THE_END = 2**64 - 1


class ExtentFlag(IntFlag):
    """fe_flags (include/uapi/linux/fiemap.h)."""

    LAST = 0x1
    UNKNOWN = 0x2
    DELALLOC = 0x4
    ENCODED = 0x8
    DATA_ENCRYPTED = 0x80
    NOT_ALIGNED = 0x100
    DATA_INLINE = 0x200
    DATA_TAIL = 0x400
    UNWRITTEN = 0x800
    MERGED = 0x1000
    SHARED = 0x2000


_LAST = int(ExtentFlag.LAST)
"""An operation on members of an enum costs as much as the kernel's answer."""


class RawExtent(NamedTuple):
    """One extent as the filesystem reports it, unmerged; flags are ExtentFlag bits.

    A tuple, since millions of them are made.
    """

    logical_bytes: int
    physical_bytes: int
    length_bytes: int
    flags: int


def extents(fd: int) -> Iterator[RawExtent]:
    """Yield the extents of an open file by rising offset, without flushing it first.

    Raises OSError: EOPNOTSUPP or ENOTTY where the filesystem can't tell.
    """
    start, room = 0, _FIRST_BATCH
    while True:
        batch = _query(fd, start, room)
        yield from batch
        if not batch or batch[-1].flags & _LAST:
            return
        following = batch[-1].logical_bytes + batch[-1].length_bytes
        if following <= start:
            return
        start, room = following, _BATCH


def _query(fd: int, start: int, room: int) -> list[RawExtent]:
    """Return up to room extents from an offset on."""
    buffer = bytearray(_HEAD.size + room * _EXTENT.size)
    _HEAD.pack_into(buffer, 0, start, _TO_THE_END - start, 0, 0, room, 0)
    fcntl.ioctl(fd, _FS_IOC_FIEMAP, buffer)
    mapped = _HEAD.unpack_from(buffer)[3]
    filled = memoryview(buffer)[_HEAD.size : _HEAD.size + mapped * _EXTENT.size]
    return list(map(RawExtent._make, _EXTENT.iter_unpack(filled)))
