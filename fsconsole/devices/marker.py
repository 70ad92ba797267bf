"""The mark on a scratch file that says fsconsole made it: an extended attribute that only root can set.

Names of the class trusted are seen and set by CAP_SYS_ADMIN alone (man 7 xattr). A mark is believed only
on the very file that a loop device stands on, never by its path, and only on the file that it was made for:
`cp -a`, `rsync -X` and `tar --xattrs` copy it along with whatever else a file holds by then.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass

from fsconsole.system.block import generation

SCRATCH_XATTR = "trusted.fsconsole.scratch"
MAX_PURPOSE_CHARACTERS = 200
"""Keeps the attribute well inside one small filesystem block, the limit of ext2 to ext4 (man 7 xattr)."""

_SCRATCH_ID = re.compile(r"[0-9a-f]{8,32}")
_UNMARKED_ERRORS = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.ERANGE})


@dataclass(frozen=True, slots=True)
class Marker:
    """What the attribute holds; an empty scratch_id says that the file is not marked."""

    scratch_id: str
    purpose: str = ""
    file: tuple[int, int] = (0, 0)
    """Inode number and generation of the file that it was made for; write_marker() puts them in."""


UNMARKED = Marker("")


def read_marker(path: str) -> str:
    """Return the scratch id on a regular file, or "" where there is none; symbolic links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return proven_marker(path, found.st_dev, found.st_ino).scratch_id


def proven_marker(path: str, file_device: int, inode: int) -> Marker:
    """Return the mark on the file at path, if it is the regular file of that st_dev and inode; else UNMARKED.

    A path proves nothing: after a rename, or in another mount namespace, it names another file than the one
    below the loop device.
    """
    try:
        if not _is_that_file(os.lstat(path), file_device, inode):
            return UNMARKED
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return UNMARKED
    try:
        return marker_of(fd) if _is_that_file(os.fstat(fd), file_device, inode) else UNMARKED
    finally:
        os.close(fd)


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
    return marker if marker.file == _file_of(fd) else UNMARKED


def write_marker(fd: int, marker: Marker) -> None:
    """Mark an open file. Raises OSError: EOPNOTSUPP where the filesystem has no such attributes."""
    inode, made = _file_of(fd)
    document = {
        "id": marker.scratch_id,
        "purpose": marker.purpose[:MAX_PURPOSE_CHARACTERS],
        "inode": inode,
        "generation": made,
    }
    os.setxattr(fd, SCRATCH_XATTR, json.dumps(document).encode())


def parse_marker(raw: bytes) -> Marker:
    """Return the mark in an attribute's value; what fsconsole would not have written is UNMARKED."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return UNMARKED
    match document:
        case {"id": str(scratch_id), "purpose": str(purpose), "inode": int(inode), "generation": int(made)}:
            is_ours = _SCRATCH_ID.fullmatch(scratch_id) is not None
            return Marker(scratch_id, purpose, (inode, made)) if is_ours else UNMARKED
        case _:
            return UNMARKED


def _is_that_file(found: os.stat_result, file_device: int, inode: int) -> bool:
    return stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (file_device, inode)


def _file_of(fd: int) -> tuple[int, int]:
    return os.fstat(fd).st_ino, generation(fd)
