"""Extents of every file of a tree, counted as filefrag counts them, and the space of an empty filesystem."""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate, islice

from fsconsole.errors.runs import ExtentsUnreadable, KernelLacks
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.system.block import ExtentFlag, RawExtent, device_size_bytes, extents
from fsconsole.text import error_reason

# Plain numbers: an operation on enum members costs as much as the FIEMAP call for a file.
_ENCODED = int(ExtentFlag.ENCODED)
_NOWHERE_YET = int(ExtentFlag.DELALLOC | ExtentFlag.UNKNOWN)


@dataclass(frozen=True, slots=True)
class FileLayout:
    """One file: the sizes of its physically contiguous runs in bytes, in file order."""

    runs: tuple[int, ...]
    is_compressed: bool = False
    """Encoded extents are units of the compression (btrfs: one per 128 KiB), not fragments."""
    is_unwritten: bool = False
    """Delayed allocation: part of the file has no blocks yet, so its extents can't be counted."""
    offsets: tuple[int, ...] = ()
    """Offset of each run in the file."""


def layout_of(extents: Iterable[RawExtent]) -> FileLayout:
    """Return the layout of a file from its extents in file order.

    After a hole in the file a run continues right after the previous extent, or as far after it as the hole is long
    (e2fsprogs misc/filefrag.c, filefrag_fiemap).
    """
    flags = 0
    runs: list[int] = []
    offsets: list[int] = []
    before: RawExtent | None = None
    for extent in extents:
        if before is not None and extent.physical_bytes in {
            before.physical_bytes + before.length_bytes,
            before.physical_bytes + extent.logical_bytes - before.logical_bytes,
        }:
            runs[-1] += extent.length_bytes
        else:
            runs.append(extent.length_bytes)
            offsets.append(extent.logical_bytes)
        flags |= extent.flags
        before = extent
    return FileLayout(tuple(runs), bool(flags & _ENCODED), bool(flags & _NOWHERE_YET), tuple(offsets))


@dataclass(slots=True)
class ExtentSurvey:
    """Counts over all files of a tree, in bounded memory.

    It grows with the number of distinct values, not of files: n distinct run sizes need more than n * n / 2 blocks of
    disk, so 10 TB in 4 KiB blocks have fewer than 75,000.
    """

    files: int = 0
    """Regular files whose extents were read, compressed ones included."""
    compressed: int = 0
    """Files with encoded extents, which the two counts below leave out."""
    per_file: Counter[int] = field(default_factory=Counter)
    """Number of files by number of extents."""
    sizes: Counter[int] = field(default_factory=Counter)
    """Number of extents by size in bytes."""

    def add(self, layout: FileLayout) -> None:
        """Count one more file."""
        self.files += 1
        if layout.is_compressed:
            self.compressed += 1
            return
        self.per_file[len(layout.runs)] += 1
        self.sizes.update(layout.runs)


def layout_measurements(survey: ExtentSurvey) -> tuple[Measurement, ...]:
    """Return the figures of a survey; without countable files only their number."""
    figures = [
        Measurement(Metric.FILES_MAPPED, float(survey.files)),
        Measurement(Metric.FILES_COMPRESSED, float(survey.compressed)),
    ]
    counted = survey.per_file.total()
    if counted:
        extents = sum(number * files for number, files in survey.per_file.items())
        figures += [
            Measurement(Metric.EXTENTS_MEAN, extents / counted),
            Measurement(Metric.EXTENTS_MEDIAN, median(survey.per_file)),
            Measurement(Metric.EXTENTS_MAX, float(max(survey.per_file))),
        ]
    if survey.sizes:
        figures.append(Measurement(Metric.EXTENT_SIZE_MEDIAN, median(survey.sizes)))
    return tuple(figures)


def median(counts: Counter[int]) -> float:
    """Return the median of counted values; the mean of the middle two for an even number. Raises ValueError for none."""
    total = counts.total()
    if total == 0:
        raise ValueError("no values")
    values = sorted(counts)
    ends = tuple(accumulate(counts[value] for value in values))
    return (values[bisect_right(ends, (total - 1) // 2)] + values[bisect_right(ends, total // 2)]) / 2


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.ENOTTY})


Record = Callable[[str, int, Sequence[RawExtent], FileLayout], None]
"""Takes a file's path below the tree, inode number, extents and layout."""


def survey_tree(tree_fd: int, record: Record | None = None) -> ExtentSurvey:
    """Count the extents of all regular files below an open directory; a file with two names counts twice.

    record is given each file too, in the order of names within a directory of up to _IN_ORDER entries.

    Nothing outside the directory's own filesystem is looked at. Raises ExtentsUnreadable where a file has no
    place on the disk yet (sync before), where another filesystem lies in the tree, or where something can't be
    read; KernelLacks where the filesystem has no extent maps.
    """
    survey = ExtentSurvey()
    device = os.fstat(tree_fd).st_dev
    # "." is opened anew, since scanning moves the place in a directory that the caller may be reading.
    top = _open(".", _DIRECTORY, tree_fd, device, "the tree")
    try:
        for fd, path in _files(top, device, ""):
            try:
                found = tuple(extents(fd))
            except OSError as error:
                why = error_reason(error)
                if error.errno in _UNSUPPORTED:
                    remedy = "Leave the extents out, or choose a filesystem that has FIEMAP."
                    raise KernelLacks("extent maps of this filesystem", why, remedy) from error
                raise ExtentsUnreadable(path, why) from error
            layout = layout_of(found)
            if layout.is_unwritten:
                raise ExtentsUnreadable(path, "it was not flushed, and has no blocks on the disk yet")
            survey.add(layout)
            if record is not None:
                record(path, os.fstat(fd).st_ino, found, layout)
    finally:
        os.close(top)
    return survey


_IN_ORDER = 4096
"""A directory of more entries is walked in batches: one of millions must not fill the memory."""


def _by_name(directory: int) -> Generator[os.DirEntry[str], None, None]:
    with os.scandir(directory) as entries:
        while batch := list(islice(entries, _IN_ORDER)):
            yield from sorted(batch, key=_name)


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _files(directory: int, device: int, place: str) -> Iterator[tuple[int, str]]:
    """Yield a descriptor, open until the next one is asked for, and the path below the tree of every file."""
    # Whoever stops early closes the directory all the same.
    with closing(_by_name(directory)) as entries:
        for entry in entries:
            path = place + entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            if not is_directory and not entry.is_file(follow_symlinks=False):
                continue
            fd = _open(entry.name, _DIRECTORY if is_directory else _FILE, directory, device, path)
            # A context manager around each would cost a tenth of the survey.
            try:
                if is_directory:
                    yield from _files(fd, device, path + "/")
                else:
                    yield fd, path
            finally:
                os.close(fd)


def _open(name: str, flags: int, directory: int, device: int, path: str) -> int:
    """Return a descriptor of a directory's entry, checked to be on the tree's own filesystem."""
    try:
        fd = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        raise ExtentsUnreadable(path=path, why=error_reason(error)) from error
    if os.fstat(fd).st_dev != device:
        os.close(fd)
        raise ExtentsUnreadable(path=path, why="it is on another filesystem than the tree")
    return fd


def space_measurements(mount_point: str, device: str) -> tuple[Measurement, ...]:
    """Return USABLE and AVAILABLE in bytes and OVERHEAD in percent of a new filesystem, just mounted. Raises OSError.

    Usable is f_bfree, what root can write: blocks reserved for root are no overhead (man 3 statvfs). Available is
    f_bavail, without them, as df prints it.
    """
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size_bytes = device_size_bytes(fd)
    finally:
        os.close(fd)
    room = os.statvfs(mount_point)
    free_bytes = room.f_bfree * room.f_frsize
    return (
        Measurement(Metric.USABLE, float(free_bytes)),
        Measurement(Metric.AVAILABLE, float(room.f_bavail * room.f_frsize)),
        Measurement(Metric.OVERHEAD, 100 * (size_bytes - free_bytes) / size_bytes),
    )
