"""Block device ioctls (include/uapi/linux/fs.h)."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntFlag
from glob import glob
from typing import NamedTuple

from fsconsole.errors.runs import KernelLacks
from fsconsole.system.files import Closing, opened, read_int_or, read_text_or

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


def diskseq(fd: int) -> int:
    """Return the disk's sequence number, unique within a boot (Documentation/ABI/stable/sysfs-block); 0 before 5.15."""
    try:
        return _u64(fd, _BLKGETDISKSEQ)
    except OSError as error:
        if error.errno in {errno.ENOTTY, errno.EINVAL}:
            return 0
        raise


def flush_buffers(fd: int) -> None:
    """Write out and drop the page cache of the device itself, not of files on it. Raises OSError (EACCES)."""
    fcntl.ioctl(fd, _BLKFLSBUF)


def forget_cached(path: str) -> None:
    """Drop the clean pages that were read through a device's own node; one that is gone is the next command's matter."""
    with suppress(OSError), opened(path) as fd:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def notice_medium(path: str) -> None:
    """Open and close a device: only then does the kernel notice another medium (block/disk-events.c)."""
    with suppress(OSError):
        if stat.S_ISBLK(os.stat(path).st_mode):
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def open_exclusive(path: str) -> int:
    """Open a block device with O_EXCL (man 2 open). Raises OSError: EBUSY if it is mounted, swap or a member."""
    return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)


def _u64(fd: int, request: int) -> int:
    answer = fcntl.ioctl(fd, request, bytes(8))
    return int.from_bytes(answer, sys.byteorder)


_FS_IOC_FIEMAP = 0xC020660B
_HEAD = struct.Struct("=2Q4I")
"""struct fiemap: start, length, flags, mapped extents, room for extents, reserved."""
_EXTENT = struct.Struct("=3Q16xI12x")
"""struct fiemap_extent: logical, physical, length, (reserved), flags, (reserved)."""
_FIRST_BATCH, _BATCH = 16, 512
"""Most files have few extents, and a large buffer costs more than the kernel's answer."""
_TO_THE_END = 2**64 - 1


class ExtentFlag(IntFlag):
    """Those of fe_flags that are looked at (include/uapi/linux/fiemap.h)."""

    LAST = 0x1
    UNKNOWN = 0x2
    DELALLOC = 0x4
    ENCODED = 0x8
    INLINE = 0x200


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
    """Yield an open file's extents by rising offset, without a flush. Raises OSError: EOPNOTSUPP, ENOTTY (no FIEMAP)."""
    start, room = 0, _FIRST_BATCH
    while True:
        buffer = bytearray(_HEAD.size + room * _EXTENT.size)
        _HEAD.pack_into(buffer, 0, start, _TO_THE_END - start, 0, 0, room, 0)
        fcntl.ioctl(fd, _FS_IOC_FIEMAP, buffer)
        mapped = _HEAD.unpack_from(buffer)[3]
        filled = memoryview(buffer)[_HEAD.size : _HEAD.size + mapped * _EXTENT.size]
        batch = list(map(RawExtent._make, _EXTENT.iter_unpack(filled)))
        yield from batch
        if not batch or batch[-1].flags & _LAST:
            return
        following = batch[-1].logical_bytes + batch[-1].length_bytes
        if following <= start:
            return
        start, room = following, _BATCH


_FS_IOC_GETVERSION = 2 << 30 | struct.calcsize("l") << 16 | ord("v") << 8 | 1
"""_IOR('v', 1, long); the kernel writes an int of it."""
_INT_BYTES = 4
_UNKNOWN = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def generation(fd: int) -> int:
    """Return the random generation of an open file's inode; 0 if the filesystem has none (tmpfs). Raises OSError."""
    try:
        answer = fcntl.ioctl(fd, _FS_IOC_GETVERSION, bytes(struct.calcsize("l")))
    except OSError as error:
        if error.errno in _UNKNOWN:
            return 0
        raise
    return int.from_bytes(answer[:_INT_BYTES], sys.byteorder)


_AT_EMPTY_PATH, _STATX_BTIME = 0x1000, 0x800
_STATX = struct.Struct("=I76xqI")
"""struct statx (include/uapi/linux/stat.h): mask; then, at byte 80, the time of birth in seconds and nanoseconds."""
_STATX_BYTES = 256


def born_ns(fd: int) -> int:
    """Return when an open file was made (man 2 statx); 0 where its filesystem doesn't tell. Raises OSError."""
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if ctypes.CDLL(None, use_errno=True).statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    mask, seconds, nanoseconds = _STATX.unpack_from(answer)
    return seconds * 10**9 + nanoseconds if mask & _STATX_BTIME else 0


_LOOP_SET_FD = 0x4C00
_LOOP_CLR_FD = 0x4C01
_LOOP_SET_STATUS64 = 0x4C04
_LOOP_GET_STATUS64 = 0x4C05
_LOOP_SET_DIRECT_IO = 0x4C08
_LOOP_CONFIGURE = 0x4C0A
_LOOP_CTL_ADD = 0x4C80
_LOOP_CTL_REMOVE = 0x4C81
_LOOP_CTL_GET_FREE = 0x4C82

_LO_FLAGS_READ_ONLY = 1
_LO_FLAGS_AUTOCLEAR = 4
_LO_FLAGS_DIRECT_IO = 16

_INFO = struct.Struct("=5Q4I64s64s32s2Q")
"""struct loop_info64: device, inode, rdevice, offset, sizelimit; number, encryption type and key size,
flags; file name, encryption name and key; two spare words."""
_CONFIG_HEAD = struct.Struct("=2I")
_CONFIG_TAIL = bytes(64)
_FILE_NAME_BYTES = 63
_FLAGS_FIELD = 8

_CONTROL = "/dev/loop-control"
_ATTEMPTS = 64
_LOST_RACES = frozenset({errno.EBUSY, errno.ENXIO, errno.ENOENT})
"""The free number is only a hint: somebody else may take, or remove, the device before it is opened."""


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """Backing and flags of a loop device; device numbers as in os.stat()."""

    device_number_of_file: int
    """st_dev of the backing file."""
    inode: int
    number: int
    offset_bytes: int
    size_limit_bytes: int
    """0: to the end of the file."""
    read_only: bool
    autoclear: bool
    direct_io: bool
    file_name: str
    """The path as it was at attach time, cut to 63 bytes by the kernel: a hint, never a proof."""
    backing_device_number: int = 0
    """st_rdev where the backing is itself a block device, 0 for a file."""


class HeldLoop(Closing):
    """An autoclear loop device: the kernel detaches it after its last close, however the holder ended."""

    def __init__(self, fd: int, path: str) -> None:
        super().__init__(fd)
        self.path = path


def attach(path: str, *, direct_io: bool = True) -> str:
    """Attach a file to a new writable loop device, until detach(), and return its path.

    Without direct I/O if the filesystem below refuses it. Raises OSError, KernelLacks (no loop driver).
    """
    fd, device_path = _attach(path, _LO_FLAGS_DIRECT_IO if direct_io else 0)
    os.close(fd)
    return device_path


def attach_held(path: str, *, direct_io: bool = True) -> HeldLoop:
    """Attach a file to a new autoclear loop device and hold it open; otherwise as attach()."""
    flags = _LO_FLAGS_AUTOCLEAR | (_LO_FLAGS_DIRECT_IO if direct_io else 0)
    return HeldLoop(*_attach(path, flags))


def status(device_path: str) -> LoopStatus:
    """Return the backing of a loop device. Raises OSError: ENXIO if nothing is attached."""
    with opened(device_path) as fd:
        fields = _INFO.unpack(fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_INFO.size)))
    flags = fields[_FLAGS_FIELD]
    return LoopStatus(
        device_number_of_file=fields[0],
        inode=fields[1],
        number=fields[5],
        offset_bytes=fields[3],
        size_limit_bytes=fields[4],
        read_only=bool(flags & _LO_FLAGS_READ_ONLY),
        autoclear=bool(flags & _LO_FLAGS_AUTOCLEAR),
        direct_io=bool(flags & _LO_FLAGS_DIRECT_IO),
        file_name=os.fsdecode(fields[9].split(b"\0", 1)[0]),
        backing_device_number=fields[2],
    )


def detach(device_path: str) -> None:
    """Detach a loop device, at its last close if it is in use (man 4 loop). Raises OSError: ENXIO if not attached."""
    with opened(device_path) as fd:
        fcntl.ioctl(fd, _LOOP_CLR_FD, 0)
    with suppress(OSError):
        renew(device_path)


def forbid_discard(device_path: str) -> None:
    """Have a loop device refuse discards, which punch holes into its file, until it is detached. Raises OSError."""
    with opened(_discard_limit(device_path), os.O_WRONLY) as fd:
        os.write(fd, b"0")


def renew(device_path: str) -> None:
    """Give a detached loop device its discard back. Raises OSError: EBUSY while it is in use.

    discard_max_bytes stays 0 after a detach, and Linux 6.18 accepts no other value then: remove and add the device number.
    """
    if read_int_or(_discard_limit(device_path), 1) == 0:
        number = int(device_path.removeprefix("/dev/loop"))
        with opened(_CONTROL, os.O_RDWR) as control:
            fcntl.ioctl(control, _LOOP_CTL_REMOVE, number)
            fcntl.ioctl(control, _LOOP_CTL_ADD, number)


def _discard_limit(device_path: str) -> str:
    return f"/sys/block/{os.path.basename(device_path)}/queue/discard_max_bytes"


def _attach(path: str, flags: int) -> tuple[int, str]:
    name = os.fsencode(os.path.abspath(path))[:_FILE_NAME_BYTES]
    info = _INFO.pack(*[0] * _FLAGS_FIELD, flags, name, b"", b"", 0, 0)
    attempts_left = _ATTEMPTS
    if not os.path.exists(_CONTROL):
        remedy = "Load the driver: `modprobe loop`."
        raise KernelLacks(what="loop devices", why=f"there is no {_CONTROL}", remedy=remedy)
    with opened(path, os.O_RDWR) as backing, opened(_CONTROL, os.O_RDWR) as control:
        while True:
            device_path = f"/dev/loop{fcntl.ioctl(control, _LOOP_CTL_GET_FREE)}"
            try:
                return _open_configured(device_path, backing, info), device_path
            except OSError as error:
                attempts_left -= 1
                if error.errno not in _LOST_RACES or not attempts_left:
                    raise


def _open_configured(device_path: str, backing: int, info: bytes) -> int:
    fd = os.open(device_path, os.O_RDWR | os.O_CLOEXEC)
    try:
        _configure(fd, backing, info)
        # A mark set by `blockdev --setro` stays with the number when the device itself is gone (measured on 6.18).
        fcntl.ioctl(fd, _BLKROSET, struct.pack("i", 0))
    except BaseException:
        os.close(fd)
        raise
    return fd


def _configure(fd: int, backing: int, info: bytes) -> None:
    try:
        fcntl.ioctl(fd, _LOOP_CONFIGURE, _CONFIG_HEAD.pack(backing, 0) + info + _CONFIG_TAIL)
    except OSError as error:
        # Kernels before 5.8 don't know the request, and say so by one of these.
        if error.errno not in {errno.EINVAL, errno.ENOTTY}:
            raise
    else:
        return
    fcntl.ioctl(fd, _LOOP_SET_FD, backing)
    fields = list(_INFO.unpack(info))
    flags = fields[_FLAGS_FIELD]
    fields[_FLAGS_FIELD] = flags & ~_LO_FLAGS_DIRECT_IO
    try:
        fcntl.ioctl(fd, _LOOP_SET_STATUS64, _INFO.pack(*fields))
    except OSError:
        fcntl.ioctl(fd, _LOOP_CLR_FD, 0)
        raise
    if flags & _LO_FLAGS_DIRECT_IO:
        # EINVAL: the filesystem below refuses it.
        with suppress(OSError):
            fcntl.ioctl(fd, _LOOP_SET_DIRECT_IO, 1)


def mapped_as(name: str) -> str:
    """Return the kernel's name ("dm-0") of the device-mapper device of that name; empty where there is none."""
    found = (path for path in glob("/sys/block/dm-*") if read_text_or(f"{path}/dm/name", "") == name)
    return os.path.basename(next(found, ""))


def forget_mapped(name: str) -> None:
    """Remove the node of a device-mapper device that is gone: where udevd doesn't run, it stays. Raises OSError."""
    if not mapped_as(name):
        with suppress(FileNotFoundError):
            os.unlink(f"/dev/mapper/{name}")


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syncfs.argtypes = (ctypes.c_int,)
_libc.syncfs.restype = ctypes.c_int

_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_libc.fallocate.restype = ctypes.c_int
_FALLOC_FL_KEEP_SIZE = 1

_DROP_CACHES = "/proc/sys/vm/drop_caches"
_PAGES_AND_SLABS = b"3"


def syncfs(fd: int) -> None:
    """Write out the filesystem of an open file (man 2 syncfs). Raises OSError: since 5.8 also for lost writes."""
    if _libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


_START_WRITE = 2
"""SYNC_FILE_RANGE_WRITE (man 2 sync_file_range)."""


def start_writeback(fd: int) -> None:
    """Start to write out an open file without waiting for it; a filesystem that can't is none the worse."""
    _libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), _START_WRITE)


_FS_IOC_SHUTDOWN = 0x8004587D
"""_IOR('X', 125, __u32): include/uapi/linux/fs.h since 6.10; before, the same number in each filesystem's own header."""
_NOLOGFLUSH = struct.pack("I", 2)


def shut_down(fd: int) -> None:
    """Shut down an open file's filesystem as a power cut would: nothing in memory, nor its log's, is written from then on.

    What the device has taken, its own cache included, stays. Raises OSError (ENOTTY: the driver has no shutdown).
    """
    fcntl.ioctl(fd, _FS_IOC_SHUTDOWN, _NOLOGFLUSH)


def reserve(fd: int, size_bytes: int) -> None:
    """Allocate blocks for a file, in as few pieces as there can be, but leave its size. Raises OSError (man 2 fallocate)."""
    if _libc.fallocate(fd, _FALLOC_FL_KEEP_SIZE, 0, size_bytes) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def drop_caches() -> None:
    """Drop the host's clean pages, dentries and inodes (admin-guide/sysctl/vm.rst). Raises OSError without root.

    Dirty ones and those in use stay: sync and unmount before.
    """
    with opened(_DROP_CACHES, os.O_WRONLY) as fd:
        os.write(fd, _PAGES_AND_SLABS)
