"""SQLite's failures in the journal's own words."""

from __future__ import annotations

import os
import sqlite3

from fsconsole.errors import JournalFull, JournalUnusable

_FULL = "database or disk is full"
"""SQLITE_FULL, which SQLite's Unix layer also makes of ENOSPC (sqlite.org/rescode.html#full)."""

_IO_ERROR = "disk I/O error"
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


def is_full(error: sqlite3.Error, directory: str) -> bool:
    """Return whether SQLite failed because the disk below directory has no room.

    Python 3.10 has no sqlite_errorcode, so the message is looked at. A full disk that is noticed by fsync or
    by the -shm file comes as an I/O error, and so does a quota: there the disk itself is asked.
    """
    said = str(error)
    return said == _FULL or (said == _IO_ERROR and has_no_room(directory))


def has_no_room(directory: str) -> bool:
    """Return whether the disk below directory has next to no room; False where it does not say."""
    try:
        room = os.statvfs(directory)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < SPARE_BYTES
