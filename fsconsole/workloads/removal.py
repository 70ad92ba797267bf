"""Removing a tree entry by entry: what rm -rf does, without a program's start."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice

from fsconsole.workloads.naming import DIRECTORY_FLAGS

_BATCH = 100_000
"""Entries at a time, so that a directory of millions does not fill the memory; as many as rm takes."""
_WORTH_SORTING = 1000


class RemovalStopped(Exception):
    """Somebody asked for an end before all was removed."""


def remove_tree(name: str, parent_fd: int, device: int, stop: Callable[[], bool]) -> int:
    """Remove a directory of an open one with all that is in it; returns the number of entries removed.

    Symbolic links are removed, not followed, and what lies on another filesystem than device is not touched.
    stop is asked before each directory. Raises OSError, RemovalStopped.
    """
    if stop():
        raise RemovalStopped
    fd = os.open(name, DIRECTORY_FLAGS, dir_fd=parent_fd)
    try:
        if os.fstat(fd).st_dev != device:
            raise OSError(f"{name} is on another filesystem")
        removed, directories = 0, []
        with os.scandir(fd) as entries:
            while batch := list(islice(entries, _BATCH)):
                directories += [entry.name for entry in batch if entry.is_dir(follow_symlinks=False)]
                removed += _unlink(batch, fd)
        removed += sum(remove_tree(inner, fd, device, stop) for inner in directories)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent_fd)
    return removed + 1


def _unlink(entries: list[os.DirEntry[str]], fd: int) -> int:
    """Remove those that are no directories, in the order of their inodes: near one another on the device."""
    unlink = os.unlink
    files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
    if len(files) > _WORTH_SORTING:
        files.sort(key=os.DirEntry.inode)
    for file in files:
        unlink(file.name, dir_fd=fd)
    return len(files)
