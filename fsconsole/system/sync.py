"""Getting data out of the page cache: onto the device, or out of memory."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syncfs.argtypes = (ctypes.c_int,)
_libc.syncfs.restype = ctypes.c_int

_DROP_CACHES = "/proc/sys/vm/drop_caches"
_PAGES_AND_SLABS = b"3"


def syncfs(fd: int) -> None:
    """Write out all that is dirty on the filesystem of an open file (man 2 syncfs).

    Raises OSError: since Linux 5.8 also for a write-back error that nobody was told of yet.
    """
    if _libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def fsync_device(fd: int) -> None:
    """Write out what is cached for an open block device and have it flush its own cache (man 2 fsync)."""
    os.fsync(fd)


def drop_caches() -> None:
    """Drop clean pages, dentries and inodes of the whole host. Raises OSError without root.

    Documentation/admin-guide/sysctl/vm.rst, drop_caches. What is dirty or in use stays: sync first, unmount.
    """
    fd = os.open(_DROP_CACHES, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, _PAGES_AND_SLABS)
    finally:
        os.close(fd)
