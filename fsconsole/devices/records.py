"""Records of how fsconsole left each scratch file, kept apart from the file.

A backup tool restores a file's content, attributes and mtime, but not its ctime, inode and generation. The records are in a
directory that only root can write to, next to the key of the machine's seals.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fsconsole.devices.marker import Marker, marker_of
from fsconsole.model.wire import Wire, decode, encode
from fsconsole.system.files import nearest_existing, new_file, opened
from fsconsole.text import error_reason

RECORDS_DIR = "/var/lib/fsconsole/scratch-records"
_ENDING = ".json"
_MAX_BYTES = 64 * 1024
"""A path has at most 4096 bytes, of which JSON makes six each."""
_FORGOTTEN_S = 3600.0
"""A new record is renamed into place at once; one that is older was left by a process that was killed."""
_TICK_S = 0.01
"""The longest tick of a kernel (CONFIG_HZ=100)."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Record(Wire, frozen=True):
    """The state of a scratch file when fsconsole had made it, or when a run had ended a cell on it."""

    scratch_id: str
    path: str
    filesystem: int
    """f_fsid of the filesystem that it lies on (man 3 statvfs)."""
    inode: int
    generation: int
    ctime_ns: int
    """Every write changes it, also through a mapping or another loop device, and no call sets it (man 7 inode)."""
    left: str = ""
    """A digest of what a run left on it (fingerprint.left_digest); empty while none has been there."""


NO_RECORD = Record("", "", 0, 0, 0, 0)


def observe(path: str, scratch_id: str) -> Record:
    """Return the state of a scratch file, all writes to it and its ctime on the disk. Raises OSError: ESTALE for another file.

    After the sync a process that has the file mapped can't write to it without changing its ctime.
    """
    with opened(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        marker = marker_of(fd)
        if marker.scratch_id != scratch_id:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        os.fsync(fd)
        file, filesystem = os.fstat(fd), os.fstatvfs(fd).f_fsid
        # Before Linux 6.13 a write within the same tick leaves ctime as it is (fs/inode.c, current_time).
        time.sleep(_TICK_S)
    return Record(scratch_id, os.path.abspath(path), filesystem, file.st_ino, marker.generation, file.st_ctime_ns)


def is_written(path: str, marker: Marker, record: Record) -> bool:
    """Return whether a marked file is another one than in its record, or was written to since.

    True for a file that is gone, as while its device is removed: nothing tells that it was not.
    """
    try:
        file = os.lstat(path)
    except OSError:
        return True
    now = (file.st_ino, marker.generation, file.st_ctime_ns)
    return now != (record.inode, record.generation, record.ctime_ns)


def read_record(scratch_id: str) -> Record:
    """Return the record of a scratch file; NO_RECORD if there is none, or if others than root could have written it."""
    with suppress(OSError, ValueError), _folder() as folder:
        return _read(folder, f"{scratch_id}{_ENDING}")
    return NO_RECORD


def write_record(record: Record) -> None:
    """Replace the record of a scratch file by a whole new one, durably. Raises OSError that names the directory."""
    try:
        os.makedirs(RECORDS_DIR, mode=0o700, exist_ok=True)
        with _folder() as folder:
            with new_file(f"{RECORDS_DIR}/{record.scratch_id}{_ENDING}", overwrite=True, mode=0o600) as file:
                file.write(encode(record).encode())
            os.fsync(folder)
    except OSError as error:
        raise OSError(error.errno, f"no record can be kept in {RECORDS_DIR}: {error_reason(error)}") from error


def remove_record(scratch_id: str) -> None:
    """Remove the record of a scratch file. One that stays does no harm: the file with its mark is gone."""
    with suppress(OSError), _folder() as folder:
        os.unlink(f"{scratch_id}{_ENDING}", dir_fd=folder)


def remove_stale() -> None:
    """Remove records of files that are gone, and what killed processes left, as far as possible.

    A file on a filesystem that is not mounted now is not gone.
    """
    with suppress(OSError), _folder() as folder:
        for name in os.listdir(folder):
            with suppress(OSError):
                if name.startswith("."):
                    age_s = time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
                    is_stale = age_s > _FORGOTTEN_S
                else:
                    is_stale = _is_gone(folder, name)
                if is_stale:
                    os.unlink(name, dir_fd=folder)


def _is_gone(folder: int, name: str) -> bool:
    with suppress(ValueError):
        record = _read(folder, name)
        if record == NO_RECORD or os.path.lexists(record.path):
            return False
        return os.statvfs(nearest_existing(os.path.dirname(record.path))).f_fsid == record.filesystem
    return False


@contextmanager
def _folder() -> Iterator[int]:
    """Give a descriptor of the records' directory. Raises OSError: EPERM if others than root could write there."""
    with opened(RECORDS_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as folder:
        if not _is_roots(os.fstat(folder)):
            raise PermissionError(errno.EPERM, "others than root may write to it")
        yield folder


def _read(folder: int, name: str) -> Record:
    with opened(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder) as fd:
        file = os.fstat(fd)
        if not (stat.S_ISREG(file.st_mode) and _is_roots(file)):
            return NO_RECORD
        record = decode(Record, os.read(fd, _MAX_BYTES))
    return record if name == f"{record.scratch_id}{_ENDING}" else NO_RECORD


def _is_roots(file: os.stat_result) -> bool:
    return file.st_uid == 0 and not file.st_mode & _OTHERS_WRITE
