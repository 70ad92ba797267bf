"""The parts of a run's folder, raw outputs, and checks of a folder that somebody else may have written."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.errors.runs import JournalFull, JournalUnusable, RunImported
from fsconsole.system.files import memory_bytes, opened
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

_FULL = "database or disk is full"
"""SQLITE_FULL, which SQLite's Unix layer also makes of ENOSPC (sqlite.org/rescode.html#full)."""

_IO_ERROR = "disk I/O error"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
SPARE_BYTES = 2**20
"""Room below which a disk counts as full.

SQLite maps its -shm file, and on a filesystem that copies on write a store into a mapped page needs new room:
on a btrfs without any the process is killed by SIGBUS (seen on 6.18) before SQLite can say that it is full.
"""


def journal_fault(error: sqlite3.Error, path: str) -> JournalFull | JournalUnusable:
    """Return the error that a failure of SQLite means for the journal at path."""
    if is_full(error, os.path.dirname(path) or "."):
        return JournalFull(path=path)
    return JournalUnusable(path=path, why=str(error))


def is_full(error: sqlite3.Error | OSError, directory: str) -> bool:
    """Return whether SQLite or the system failed because the disk below directory has no room.

    Python 3.10 has no sqlite_errorcode, so the message is looked at. A full disk that is noticed by fsync or
    by the -shm file comes as an I/O error, and so does a quota: there the disk itself is asked.
    """
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    said = str(error)
    return said == _FULL or (said == _IO_ERROR and has_no_room(directory))


def has_no_room(directory: str) -> bool:
    """Return whether the disk below directory has next to no room; False where it does not say."""
    try:
        room = os.statvfs(directory)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < SPARE_BYTES


BESIDE_JOURNAL = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's files beside a database (sqlite.org/tempfiles.html)."""
LATEST = "latest"
"""The word for the run that was made on this machine and arrived last (journal.arrival)."""


class _Part:
    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: RunFolder, _owner: object) -> str:
        return os.path.join(folder.path, self._name)


Stamp = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run; its name is the run's id."""

    path: str
    journal = _Part("journal.sqlite")
    """The SQLite database; while the run lives, -wal and -shm lie beside it (sqlite.org/wal.html)."""
    lock = _Part("lock")
    """The file whose flock says that an engine lives."""
    last_word = _Part("last-word")
    """The file that takes the engine's last word where the journal can't."""
    engine_log = _Part("engine.log")
    """The file that takes what an engine says on its standard outputs."""
    control = _Part("control")
    """The Unix socket on which a living engine takes requests."""
    raw = _Part("raw")
    """The directory of the tools' own outputs."""
    arrived = _Part("arrived")
    """The file that says when among the runs of this machine it arrived (journal.arrival)."""
    imported = _Part("imported")
    """The manifest of the archive that the folder was imported from; a run of this machine has none."""

    @property
    def name(self) -> str:
        """The run's id."""
        return os.path.basename(self.path)

    @property
    def is_imported(self) -> bool:
        """True if the run came by `fsconsole import`: it may be read and deleted, never changed or resumed."""
        return os.path.lexists(self.imported)

    def stamp(self) -> Stamp:
        """Return what differs once the journal, or the last word beside it, was written: their inodes, sizes and times."""
        found: list[object] = [self.path]
        for path in (self.journal, self.journal + "-wal", self.last_word):
            with suppress(OSError):
                status = os.stat(path)
                found += [path, status.st_ino, status.st_size, status.st_mtime_ns]
        return tuple(found)


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class RawOutputs:
    """Keeps raw outputs of one run; nothing that was written is ever replaced."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def write(self, cell: int, step: int, name: str, data: bytes) -> str:
        """Write one output durably and return its path relative to the run's folder.

        A cell that is done again gets new files: "raw/003-05-mkfs.2". Raises JournalFull, JournalUnusable.
        """
        stem = f"{cell:03d}-{step:02d}-{_UNSAFE.sub('_', name)[:_LONGEST_NAME]}"
        number = 1
        try:
            while True:
                path = os.path.join(self._folder.raw, stem if number == 1 else f"{stem}.{number}")
                with suppress(FileExistsError):
                    fd = os.open(path, _FLAGS, 0o640)
                    break
                number += 1
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
        except OSError as error:
            if is_full(error, self._folder.raw):
                raise JournalFull(path=self._folder.raw) from error
            raise JournalUnusable(path=self._folder.raw, why=error_reason(error)) from error
        return os.path.relpath(path, self._folder.path)


def read_tail(folder: RunFolder, output: str, limit: int) -> tuple[bytes, int]:
    """Return the last bytes of an output that the journal names, at most limit, and how many were before them.

    A journal from elsewhere may name any file: only those in the folder's own raw directory are read, and no
    symbolic link is followed. Raises OSError.
    """
    name = os.path.basename(output)
    if output != os.path.join(os.path.basename(folder.raw), name):
        raise FileNotFoundError(errno.ENOENT, "it is no output of this run", output)
    with opened(os.path.join(folder.raw, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        before = max(0, os.fstat(fd).st_size - limit)
        return os.pread(fd, limit, before), before


_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""First bytes of a rollback journal, and the last ones of one that names a super-journal (SQLite's pager.c)."""


def require_no_super_journal(path: str, database: str) -> None:
    """Raise where a database's rollback journal names a super-journal; path is the one in the error.

    SQLite deletes the file of that name once it has played the journal back: a run folder from elsewhere could have
    root delete any file. A transaction over several databases has one; a run has one database. Raises
    JournalUnusable, OSError.
    """
    with suppress(FileNotFoundError), opened(f"{database}-journal", os.O_RDONLY | os.O_NONBLOCK) as fd:
        if os.pread(fd, len(_MAGIC), max(0, os.fstat(fd).st_size - len(_MAGIC))) == _MAGIC:
            why = "its rollback journal names another file, which no run's does"
            raise JournalUnusable(path=path, why=why)


def require_room(path: str, size_bytes: int) -> None:
    """Raise JournalUnusable for a journal that can't be copied: a sparse one may claim any size."""
    if size_bytes > memory_bytes() // 2:
        raise JournalUnusable(path=path, why=f"of its {format_bytes(size_bytes)} no copy fits into memory")


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_own(folder: RunFolder) -> None:
    """Raise unless all parts of a run's folder belong to this user or root, and nobody else can write them.

    A journal holds the consent to a wipe: in a folder that somebody else has filled, it is worth nothing. A
    symbolic link leads to where nobody looked. Raises JournalUnusable, RunImported, OSError.
    """
    if folder.is_imported:
        raise RunImported(folder.journal)
    journals = tuple(folder.journal + suffix for suffix in ("", *BESIDE_JOURNAL))
    for path in (folder.path, *journals, folder.lock, folder.last_word, folder.engine_log, folder.raw):
        with suppress(FileNotFoundError):
            if why := _objection(os.lstat(path)):
                raise JournalUnusable(folder.journal, f"{path} {why}")


def _objection(found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        # SQLite would wait for a pipe for ever.
        return "is neither a file nor a directory"
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to user {found.st_uid}, who may have written anything into it"
    return "can be written by others than its owner" if found.st_mode & _OTHERS_WRITE else ""
