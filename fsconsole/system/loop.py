"""Loop devices by ioctl (man 4 loop, include/uapi/linux/loop.h)."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from types import TracebackType

from fsconsole.errors import KernelLacks
from fsconsole.system.blockdev import make_writable

_LOOP_SET_FD = 0x4C00
_LOOP_CLR_FD = 0x4C01
_LOOP_SET_STATUS64 = 0x4C04
_LOOP_GET_STATUS64 = 0x4C05
_LOOP_SET_DIRECT_IO = 0x4C08
_LOOP_CONFIGURE = 0x4C0A
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

_ATTEMPTS = 64
_LOST_RACES = frozenset({errno.EBUSY, errno.ENXIO, errno.ENOENT})
"""The free number is only a hint: somebody else may take, or remove, the device before it is opened."""


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """What a loop device stands on. Device numbers are as os.stat gives them."""

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


class HeldLoop:
    """An autoclear loop device: it lives while this, a mount or another descriptor holds it open.

    The kernel detaches it after the last close, however the holder ended.
    """

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    def close(self) -> None:
        """Let go of it; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> HeldLoop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def attach(path: str, *, direct_io: bool = True) -> str:
    """Make a loop device over a file, writable and lasting until detach(), and return its path.

    Where the filesystem below refuses direct I/O the device is made without; status() tells.
    Raises OSError, and KernelLacks where there is no loop driver.
    """
    fd, device_path = _attach(path, _LO_FLAGS_DIRECT_IO if direct_io else 0)
    os.close(fd)
    return device_path


def attach_held(path: str, *, direct_io: bool = True) -> HeldLoop:
    """Make an autoclear loop device over a file, as attach() does, and hold it open."""
    flags = _LO_FLAGS_AUTOCLEAR | (_LO_FLAGS_DIRECT_IO if direct_io else 0)
    return HeldLoop(*_attach(path, flags))


def status(device_path: str) -> LoopStatus:
    """Return what a loop device stands on. Raises OSError: ENXIO where nothing is attached."""
    fd = os.open(device_path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return parse_status(_get_info(fd))
    finally:
        os.close(fd)


def detach(device_path: str) -> None:
    """Detach a loop device; one in use is detached by the kernel at its last close (man 4 loop, autoclear).

    Raises OSError: ENXIO where nothing is attached.
    """
    fd = os.open(device_path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _LOOP_CLR_FD, 0)
    finally:
        os.close(fd)


def parse_status(info: bytes) -> LoopStatus:
    """Return the status in a struct loop_info64 of 232 bytes."""
    fields = _INFO.unpack(info)
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


def _attach(path: str, flags: int) -> tuple[int, str]:
    backing = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        info = _new_info(os.fsencode(os.path.abspath(path)), flags)
        return _attach_to_free(backing, info)
    finally:
        os.close(backing)


def _attach_to_free(backing: int, info: bytes) -> tuple[int, str]:
    control = _open_control()
    attempts_left = _ATTEMPTS
    try:
        while True:
            device_path = f"/dev/loop{fcntl.ioctl(control, _LOOP_CTL_GET_FREE)}"
            try:
                return _open_configured(device_path, backing, info), device_path
            except OSError as error:
                attempts_left -= 1
                if error.errno not in _LOST_RACES or not attempts_left:
                    raise
    finally:
        os.close(control)


def _open_configured(device_path: str, backing: int, info: bytes) -> int:
    fd = os.open(device_path, os.O_RDWR | os.O_CLOEXEC)
    try:
        _configure(fd, backing, info)
        # A mark set by `blockdev --setro` stays with the number when the device itself is gone (measured on 6.18).
        make_writable(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_control() -> int:
    try:
        return os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise KernelLacks(
            what="loop devices",
            why="there is no /dev/loop-control",
            remedy="Load the driver: `modprobe loop`.",
        ) from error


def _configure(fd: int, backing: int, info: bytes) -> None:
    try:
        fcntl.ioctl(fd, _LOOP_CONFIGURE, _CONFIG_HEAD.pack(backing, 0) + info + _CONFIG_TAIL)
    except OSError as error:
        # Kernels before 5.8 don't know the request, and say so by one of these.
        if error.errno not in {errno.EINVAL, errno.ENOTTY}:
            raise
        _configure_in_steps(fd, backing, info)


def _configure_in_steps(fd: int, backing: int, info: bytes) -> None:
    fcntl.ioctl(fd, _LOOP_SET_FD, backing)
    flags = _INFO.unpack(info)[_FLAGS_FIELD]
    try:
        _set_info(fd, _with_flags(info, flags & ~_LO_FLAGS_DIRECT_IO))
        if flags & _LO_FLAGS_DIRECT_IO:
            _ask_for_direct_io(fd)
    except OSError:
        fcntl.ioctl(fd, _LOOP_CLR_FD, 0)
        raise


def _ask_for_direct_io(fd: int) -> None:
    try:
        fcntl.ioctl(fd, _LOOP_SET_DIRECT_IO, 1)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _new_info(path: bytes, flags: int) -> bytes:
    return _INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, flags, path[:_FILE_NAME_BYTES], b"", b"", 0, 0)


def _with_flags(info: bytes, flags: int) -> bytes:
    fields = list(_INFO.unpack(info))
    fields[_FLAGS_FIELD] = flags
    return _INFO.pack(*fields)


def _get_info(fd: int) -> bytes:
    return fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_INFO.size))


def _set_info(fd: int, info: bytes) -> None:
    fcntl.ioctl(fd, _LOOP_SET_STATUS64, info)
