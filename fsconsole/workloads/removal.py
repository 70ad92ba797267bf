"""Removing a tree entry by entry: what rm -rf does, without a program's start."""

from __future__ import annotations

import os
from collections.abc import Callable

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RemovalStopped(Exception):
    """Somebody asked for an end before all was removed."""


def remove_tree(name: str, parent_fd: int, device: int, stop: Callable[[], bool]) -> int:
    """Remove a directory of an open one with all that is in it; returns the number of entries removed.

    Symbolic links are removed, not followed, and what lies on another filesystem than device is not touched.
    stop is asked before each directory. Raises OSError, RemovalStopped.
    """
    if stop():
        raise RemovalStopped
    fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    try:
        if os.fstat(fd).st_dev != device:
            raise OSError(f"{name} is on another filesystem")
        removed = 0
        directories = []
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                    continue
                os.unlink(entry.name, dir_fd=fd)
                removed += 1
        removed += sum(remove_tree(inner, fd, device, stop) for inner in directories)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent_fd)
    return removed + 1
