"""Whether the disk of a run's folder still takes what is written."""

from __future__ import annotations

import os

from fsconsole.errors import JournalUnusable
from fsconsole.journal.store import RunFolder
from fsconsole.system.mounts import read_mounts

_NO_WRITES = frozenset({"ro", "emergency_ro", "shutdown"})
"""Mount options; ext4 that met an error shows the second, and is "rw" all the same (man 5 ext4, errors)."""


def is_read_only(folder: RunFolder) -> bool:
    """Return whether the filesystem that holds a run's folder says that it takes no writes. Raises OSError."""
    if os.statvfs(folder.path).f_flag & os.ST_RDONLY:
        return True
    number = os.stat(folder.path).st_dev
    of_disk = [entry for entry in read_mounts() if entry.device_number == number]
    return any(not _NO_WRITES.isdisjoint(entry.super_options) for entry in of_disk)


def require_writable(folder: RunFolder) -> None:
    """Let a run's folder pass that can be written. Raises JournalUnusable, OSError."""
    if is_read_only(folder):
        raise JournalUnusable(path=folder.journal, why="its disk is read-only")
