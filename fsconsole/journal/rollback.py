"""What a rollback journal beside a database may ask of who plays it back: nothing outside the database."""

from __future__ import annotations

import os

from fsconsole.errors import JournalUnusable
from fsconsole.system.host import memory_bytes
from fsconsole.units import format_bytes

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""What a rollback journal begins with, and ends with where it names a super-journal (SQLite's pager.c)."""


def require_no_super_journal(path: str, database: str) -> None:
    """Let a database pass whose rollback journal, if it has one, names no super-journal; path is what is told.

    SQLite deletes the file of that name once it has played the journal back: a run folder from elsewhere could have
    root delete any file. A transaction over several databases has one; a run has one database. Raises
    JournalUnusable, OSError.
    """
    try:
        fd = os.open(f"{database}-journal", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        end = os.pread(fd, len(_MAGIC), max(0, os.fstat(fd).st_size - len(_MAGIC)))
    finally:
        os.close(fd)
    if end == _MAGIC:
        raise JournalUnusable(path=path, why="its rollback journal names another file, which no run's does")


def require_room(path: str, size_bytes: int) -> None:
    """Let a journal pass that can be copied: a sparse one may say that it has any size. Raises JournalUnusable."""
    if size_bytes > memory_bytes() // 2:
        raise JournalUnusable(path=path, why=f"of its {format_bytes(size_bytes)} no copy fits into memory")
