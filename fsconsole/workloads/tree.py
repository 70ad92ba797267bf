"""Names of a load's files, the files of an earlier create, and the removal of a tree."""

from __future__ import annotations

import os
import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from fsconsole.model.wire import Wire
from fsconsole.model.workload import Directories, Layout
from fsconsole.system.files import mount_id

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_NAME_CHARACTERS = 60
_UNWANTED = re.compile(r"[^A-Za-z0-9._-]+")


def directory_name(workload_name: str) -> str:
    """Return a directory name for a workload: "large-files" for "large files"."""
    return _UNWANTED.sub("-", workload_name).strip("-.")[:_MAX_NAME_CHARACTERS] or "load"


def subdirectories(directories: Directories, *, threads: int, files: int) -> tuple[str, ...]:
    """Return the load's subdirectories; none if all files are in one directory."""
    if directories.layout is Layout.PER_THREAD:
        return tuple(f"t{thread:04d}" for thread in range(threads))
    if directories.layout is Layout.PER_COUNT:
        count = -(-files // directories.files_per_directory)
        return tuple(f"d{number:06d}" for number in range(count))
    return ()


def namer(directories: Directories, *, threads: int) -> Callable[[int], str]:
    """Return a function from a file's number (from 0) to its path, relative to the directory of the load."""
    if directories.layout is Layout.PER_THREAD:
        return lambda number: f"t{number % threads:04d}/f{number:08d}"
    if directories.layout is Layout.PER_COUNT:
        each = directories.files_per_directory
        return lambda number: f"d{number // each:06d}/f{number:08d}"
    return "f%08d".__mod__


def make_unused(name: str, tree_fd: int) -> str:
    """Make a directory of that name, or of the first of name-2, name-3, ... that isn't there, and return its name."""
    candidate, number = name, 1
    while True:
        try:
            os.mkdir(candidate, 0o755, dir_fd=tree_fd)
        except FileExistsError:
            number += 1
            candidate = f"{name}-{number}"
        else:
            return candidate


_BATCH = 100_000
"""Entries read at a time, as rm does: a directory of millions must not fill the memory."""
_WORTH_SORTING = 1000


class RemovalStopped(Exception):
    """The removal was stopped on request."""


MOST_LEVELS = 200
"""Depth of a recursive walk: each level holds a descriptor and frames of Python's stack, and a load can make thousands."""


def remove_tree(name: str, parent_fd: int, device: int, stop: Callable[[], bool], mount: int | None = None) -> None:
    """Remove a directory and all below it. Raises OSError, RemovalStopped.

    Symbolic links are not followed, and other filesystems than device not touched, nor other mounts than the one of that
    id, if it is given; stop is asked before each directory. Directories below MOST_LEVELS are moved up before they are removed.
    """
    _Removal(device, stop, mount).remove(name, parent_fd)


@dataclass
class _Removal:
    device: int
    stop: Callable[[], bool]
    mount: int | None
    moved: list[str] = field(default_factory=list)
    """Names in the topmost directory of those that were too deep."""

    def remove(self, name: str, parent_fd: int, above: tuple[int, ...] = ()) -> None:
        """Remove a directory with all below it; above has the descriptors of those that it is in, from the topmost on."""
        if self.stop():
            raise RemovalStopped
        fd = os.open(name, DIRECTORY_FLAGS, dir_fd=parent_fd)
        try:
            if os.fstat(fd).st_dev != self.device:
                raise OSError(f"{name} is on another filesystem")
            if self.mount is not None and mount_id(fd) != self.mount:
                raise OSError(f"something is mounted at {name}")
            for inner in _unlink_files(fd):
                if len(above) < MOST_LEVELS:
                    self.remove(inner, fd, (*above, fd))
                else:
                    self.moved.append(f"{secrets.token_hex(8)}.removed")
                    os.rename(inner, self.moved[-1], src_dir_fd=fd, dst_dir_fd=above[0])
            while self.moved and not above:
                self.remove(self.moved.pop(), fd, (fd,))
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent_fd)


def _unlink_files(fd: int) -> list[str]:
    """Remove all but the directories in a directory, and return the names of these. Raises OSError."""
    directories, unlink = [], os.unlink
    with os.scandir(fd) as entries:
        while batch := list(islice(entries, _BATCH)):
            directories += [entry.name for entry in batch if entry.is_dir(follow_symlinks=False)]
            files = [entry for entry in batch if not entry.is_dir(follow_symlinks=False)]
            if len(files) > _WORTH_SORTING:
                # In inode order: close together on the device.
                files.sort(key=os.DirEntry.inode)
            for file in files:
                unlink(file.name, dir_fd=fd)
    return directories


class SourceFiles(Wire, frozen=True):
    """Files below directory, a directory of the tree; counts[i] of them were made by thread i of len(counts)."""

    directory: str
    directories: Directories
    counts: tuple[int, ...]

    @property
    def threads(self) -> int:
        """Threads of the create."""
        return len(self.counts)

    @property
    def files(self) -> int:
        """All of them."""
        return sum(self.counts)

    def number_after(self, thread: int) -> int:
        """Return the number of a thread's next file."""
        return thread + self.counts[thread] * self.threads

    def numbers(self, thread: int, threads: int, *, shared: bool) -> Sequence[int]:
        """Return the numbers of one thread's files; as many threads as made them get back their own.

        With fewer files than threads some get none, or, if shared, the same.
        """
        if threads == self.threads and all(self.counts):
            return range(thread, self.number_after(thread), self.threads)
        shares = (len(range(maker, self.files, self.threads)) for maker in range(self.threads))
        is_without_gap = self.counts == tuple(shares)
        if is_without_gap and thread < self.files:
            return range(thread, self.files, threads)
        ends = tuple(accumulate(self.counts))
        if thread >= self.files and shared and self.files:
            return (self._number_at(thread % self.files, ends),)
        return tuple(self._number_at(place, ends) for place in range(thread, self.files, threads))

    def _number_at(self, place: int, ends: Sequence[int]) -> int:
        maker = bisect_right(ends, place)
        return maker + (place - (ends[maker] - self.counts[maker])) * self.threads
