"""The mark on a scratch file that says fsconsole made it: an extended attribute that only root can set.

Names of the class trusted are seen and set by CAP_SYS_ADMIN alone (man 7 xattr). A mark is believed only
on the very file that a loop device stands on, never by its path, and only on the file that it was made for:
`cp -a`, `rsync -X` and `tar --xattrs` copy it along with whatever else a file holds by then.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat

import msgspec

from fsconsole.model.wire import Wire, decode, encode
from fsconsole.system.block import born_ns, generation
from fsconsole.system.files import opened

SCRATCH_XATTR = "trusted.fsconsole.scratch"
MAX_PURPOSE_CHARACTERS = 200
"""Keeps the attribute well inside one small filesystem block, the limit of ext2 to ext4 (man 7 xattr)."""

_SCRATCH_ID = re.compile(r"[0-9a-f]{8,32}")
_UNMARKED_ERRORS = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.ERANGE})


class Marker(Wire, frozen=True, forbid_unknown_fields=False):
    """Content of the attribute; an empty scratch_id: the file is not marked. Older versions kept more in it."""

    scratch_id: str = msgspec.field(name="id")
    purpose: str
    inode: int
    """Of the file that it was made for, as its generation; write_marker() puts them in."""
    generation: int
    born_ns: int
    """When that file was made, which no copy can take over; 0 where its filesystem doesn't tell."""
    place: str
    """A digest of its path."""
    bytes_per_s: float = 0.0
    """Rate at which it was written when it was made; 0 on a file of an older version."""


UNMARKED = Marker("", "", 0, 0, 0, "")


def proven_marker(path: str, file_device: int, inode: int) -> Marker:
    """Return the mark on the file at path, if it is the regular file of that st_dev and inode; else UNMARKED.

    A path proves nothing: after a rename, or in another mount namespace, it names another file than the one
    below the loop device.
    """

    def is_that_file(found: os.stat_result) -> bool:
        return stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (file_device, inode)

    try:
        if not is_that_file(os.lstat(path)):
            return UNMARKED
        with opened(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            return marker_of(fd) if is_that_file(os.fstat(fd)) else UNMARKED
    except (OSError, ValueError):
        return UNMARKED


def marker_of(fd: int) -> Marker:
    """Return the mark on an open file, UNMARKED where it has none, another file's or none that may be read.

    Raises OSError.
    """
    try:
        marker = parse_marker(os.getxattr(fd, SCRATCH_XATTR))
    except OSError as error:
        if error.errno in _UNMARKED_ERRORS:
            return UNMARKED
        raise
    return marker if (marker.inode, marker.generation, marker.born_ns) == _file_of(fd) else UNMARKED


def write_marker(fd: int, scratch_id: str, purpose: str = "", bytes_per_s: float = 0.0) -> None:
    """Mark an open file. Raises OSError: EOPNOTSUPP where the filesystem has no such attributes."""
    place = place_of(os.readlink(f"/proc/self/fd/{fd}"))
    marker = Marker(scratch_id, purpose[:MAX_PURPOSE_CHARACTERS], *_file_of(fd), place, bytes_per_s)
    os.setxattr(fd, SCRATCH_XATTR, encode(marker).encode())


def place_of(path: str) -> str:
    """Return the digest by which a mark knows its file's path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def parse_marker(raw: bytes) -> Marker:
    """Return the mark in an attribute's value; what fsconsole would not have written is UNMARKED."""
    try:
        marker = decode(Marker, raw)
    except ValueError:
        return UNMARKED
    is_ours = _SCRATCH_ID.fullmatch(marker.scratch_id) is not None
    return marker if is_ours else UNMARKED


def _file_of(fd: int) -> tuple[int, int, int]:
    return os.fstat(fd).st_ino, generation(fd), born_ns(fd)
