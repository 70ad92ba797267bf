"""Where the files of a load lie below its tree, and how they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from fsconsole.model.workload import Directories, Layout

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_NAME_CHARACTERS = 60
_UNWANTED = re.compile(r"[^A-Za-z0-9._-]+")


def directory_name(workload_name: str) -> str:
    """Return a workload's name as that of a directory: "large files" becomes "large-files"."""
    return _UNWANTED.sub("-", workload_name).strip("-.")[:_MAX_NAME_CHARACTERS] or "load"


def subdirectories(directories: Directories, *, threads: int, files: int) -> tuple[str, ...]:
    """Return the directories to be made below that of the load; none where all files lie in one."""
    if directories.layout is Layout.PER_THREAD:
        return tuple(f"t{thread:04d}" for thread in range(threads))
    if directories.layout is Layout.PER_COUNT:
        count = -(-files // directories.files_per_directory)
        return tuple(f"d{number:06d}" for number in range(count))
    return ()


def file_name(directories: Directories, number: int, *, threads: int) -> str:
    """Return the path of file number (from 0), relative to the directory of the load."""
    return namer(directories, threads=threads)(number)


def namer(directories: Directories, *, threads: int) -> Callable[[int], str]:
    """Return what makes the path of a file of its number; for one that makes many."""
    if directories.layout is Layout.PER_THREAD:
        return lambda number: f"t{number % threads:04d}/f{number:08d}"
    if directories.layout is Layout.PER_COUNT:
        each = directories.files_per_directory
        return lambda number: f"d{number // each:06d}/f{number:08d}"
    return "f%08d".__mod__
