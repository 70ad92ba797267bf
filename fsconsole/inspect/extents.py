"""The extents of every file below a directory, read by one process through descriptors."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from fsconsole.errors import ExtentsUnreadable, KernelLacks
from fsconsole.inspect.layout import ExtentSurvey, FileLayout, layout_of, measurements
from fsconsole.system.fiemap import extents

__all__ = ["ExtentSurvey", "measurements", "survey_tree"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.ENOTTY})


def survey_tree(tree_fd: int) -> ExtentSurvey:
    """Count the extents of all regular files below an open directory; a file with two names counts twice.

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
            survey.add(_layout(fd, path))
    finally:
        os.close(top)
    return survey


def _files(directory: int, device: int, place: str) -> Iterator[tuple[int, str]]:
    """Yield a descriptor, open until the next one is asked for, and the path below the tree of every file."""
    with os.scandir(directory) as entries:
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
    """Return a descriptor of an entry of a directory, proved to lie on the tree's own filesystem."""
    try:
        fd = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        raise ExtentsUnreadable(path=path, why=os.strerror(error.errno or 0)) from error
    if os.fstat(fd).st_dev != device:
        os.close(fd)
        raise ExtentsUnreadable(path=path, why="it is on another filesystem than the tree")
    return fd


def _layout(fd: int, path: str) -> FileLayout:
    try:
        layout = layout_of(extents(fd))
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            raise KernelLacks(
                what="extent maps of this filesystem",
                why=os.strerror(error.errno or 0),
                remedy="Leave the extents out, or choose a filesystem that has FIEMAP.",
            ) from error
        raise ExtentsUnreadable(path=path, why=os.strerror(error.errno or 0)) from error
    if layout.is_unwritten:
        raise ExtentsUnreadable(path=path, why="it was not flushed before, and has no place on the disk yet")
    return layout
