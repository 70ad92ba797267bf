"""Questions and requests to an open block device, by ioctl (include/uapi/linux/fs.h)."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import sys
from contextlib import suppress

_BLKROSET = 0x125D
_BLKROGET = 0x125E
_BLKFLSBUF = 0x1261
_BLKGETSIZE64 = 0x80081272
_BLKGETDISKSEQ = 0x80081280


def device_size_bytes(fd: int) -> int:
    """Return the size of the block device. Raises OSError (ENOTTY: not a block device)."""
    return _u64(fd, _BLKGETSIZE64)


def is_read_only(fd: int) -> bool:
    """Return whether the kernel refuses writes to the block device. Raises OSError."""
    answer = fcntl.ioctl(fd, _BLKROGET, bytes(struct.calcsize("i")))
    return any(answer)


def make_writable(fd: int) -> None:
    """Take back a read-only mark that was set on the device by hand. Raises OSError (EACCES without root)."""
    fcntl.ioctl(fd, _BLKROSET, struct.pack("i", 0))


def diskseq(fd: int) -> int:
    """Return the number of this disk in the order of all that appeared since boot; 0 before kernel 5.15.

    Unlike major:minor it is never given twice within a boot (Documentation/ABI/stable/sysfs-block, diskseq).
    Raises OSError.
    """
    try:
        return _u64(fd, _BLKGETDISKSEQ)
    except OSError as error:
        if error.errno in {errno.ENOTTY, errno.EINVAL}:
            return 0
        raise


def flush_buffers(fd: int) -> None:
    """Write out what is dirty, and drop what the page cache holds of the device itself (not of files on it).

    Raises OSError (EACCES without CAP_SYS_ADMIN).
    """
    fcntl.ioctl(fd, _BLKFLSBUF)


def notice_medium(path: str) -> None:
    """Have the kernel look whether another medium is in a drive: it does so when the device is opened.

    Until then its size and its sequence number are those of the medium before (block/disk-events.c). What can't be
    opened, or is no block device, is left to whoever looks at it next.
    """
    with suppress(OSError):
        if stat.S_ISBLK(os.stat(path).st_mode):
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def open_exclusive(path: str) -> int:
    """Open a block device that nothing in the kernel uses, and keep others from claiming it (man 2 open).

    Returns the descriptor. Raises OSError: EBUSY where it is mounted, swapped on or a member of something.
    """
    return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)


def _u64(fd: int, request: int) -> int:
    answer = fcntl.ioctl(fd, request, bytes(8))
    return int.from_bytes(answer, sys.byteorder)
