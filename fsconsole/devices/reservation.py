"""SCSI reservations, asked of the disk itself."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os

_SG_IO = 0x2285
_FROM_DEVICE = -3
_TIMEOUT_MS = 5000
_ANSWER_BYTES = 24
_RESERVATION_CONFLICT = 0x18
_GOOD = 0x00
_HEADER_BYTES = 8


class _SgIoHdr(ctypes.Structure):
    """struct sg_io_hdr (include/scsi/sg.h)."""

    _fields_ = (
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    )


def is_reserved(path: str) -> bool:
    """Return whether the disk answers that an initiator has reserved it (SPC-4, PERSISTENT RESERVE IN).

    False where the device doesn't know the command: no SCSI disk, or one without reservations.
    Raises OSError.
    """
    command = (ctypes.c_ubyte * 10)(0x5E, 0x01, 0, 0, 0, 0, 0, 0, _ANSWER_BYTES, 0)
    answer = (ctypes.c_ubyte * _ANSWER_BYTES)()
    sense = (ctypes.c_ubyte * 32)()
    header = _SgIoHdr(
        interface_id=ord("S"),
        dxfer_direction=_FROM_DEVICE,
        cmd_len=len(command),
        mx_sb_len=len(sense),
        dxfer_len=len(answer),
        dxferp=ctypes.addressof(answer),
        cmdp=ctypes.addressof(command),
        sbp=ctypes.addressof(sense),
        timeout=_TIMEOUT_MS,
    )
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _SG_IO, header)
    except OSError as error:
        if error.errno in {errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV}:
            return False
        raise
    finally:
        os.close(fd)
    return says_reserved(header.status, bytes(answer))


def says_reserved(status: int, answer: bytes) -> bool:
    """Return what a SCSI status and a READ RESERVATION answer mean: a descriptor in it is a reservation.

    The answer is 4 bytes of generation, 4 of additional length, and 16 of descriptor where there is one.
    """
    if status == _RESERVATION_CONFLICT:
        return True
    return status == _GOOD and int.from_bytes(answer[4:_HEADER_BYTES], "big") > 0
