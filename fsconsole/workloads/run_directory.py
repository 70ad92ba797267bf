"""The one directory that a run makes inside a directory: made, written out, dropped from caches and removed.

All of it goes by descriptors: no symbolic link is followed, no mount entered, and a directory that was put in its place
is left alone.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from fsconsole.model.place import own_name
from fsconsole.system.block import start_writeback
from fsconsole.system.files import mount_id, opened
from fsconsole.workloads.tree import DIRECTORY_FLAGS, MOST_LEVELS, RemovalStopped, remove_tree

TREE_NAME = "tree"
"""Directory that a generator is confined to; the marker lies beside it, out of its reach."""
MARKER = "made-by-fsconsole"
_MARKER_BYTES = 4096
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotOwn(Exception):
    """An entry with the name of a run's directory is not that directory, or nothing proves it; the text is a clause."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """An open directory of a run's own, inside an open directory of somebody's."""

    parent_path: str
    parent_fd: int
    name: str
    fd: int

    @property
    def path(self) -> str:
        """Its path when it was made."""
        return f"{self.parent_path.rstrip('/')}/{self.name}"

    @property
    def tree(self) -> str:
        """Path of the part that generators are confined to."""
        return f"{self.path}/{TREE_NAME}"

    def close(self) -> None:
        """Close its descriptors."""
        os.close(self.fd)
        os.close(self.parent_fd)


def make(parent_path: str, parent_fd: int, run_id: str) -> RunDirectory:
    """Make a run's directory with its marker and its tree; parent_fd is taken over. Raises OSError (EEXIST: it is there)."""
    name = own_name(run_id)
    with ExitStack() as undo:
        undo.callback(os.close, parent_fd)
        os.mkdir(name, 0o700, dir_fd=parent_fd)
        fd = os.open(name, DIRECTORY_FLAGS, dir_fd=parent_fd)
        undo.callback(os.close, fd)
        made, above = os.fstat(fd), os.fstat(parent_fd)
        is_new = made.st_dev == above.st_dev and mount_id(fd) == mount_id(parent_fd) and not os.listdir(fd)
        if not is_new or (made.st_uid != os.geteuid() and os.geteuid() != 0):
            raise OSError(errno.EEXIST, "something else was put in the place of the new directory")
        # A full filesystem, or a quota, may end this at any point.
        undo.callback(_unmake, name, parent_fd, fd)
        # A default ACL or a set-group-id bit of the parent must not open it to others.
        os.fchmod(fd, 0o700)
        text = json.dumps({"run": run_id, "by": "fsconsole", "use": "`fsconsole cleanup` removes this directory"})
        with opened(MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=fd) as marker:
            os.write(marker, text.encode())
            os.fsync(marker)
        os.mkdir(TREE_NAME, 0o700, dir_fd=fd)
        undo.pop_all()
    return RunDirectory(parent_path, parent_fd, name, fd)


def _unmake(name: str, parent_fd: int, fd: int) -> None:
    """Remove a directory that was made in part; what can't be removed is cleanup's matter."""
    with suppress(OSError):
        for entry, remove_it in ((MARKER, os.unlink), (TREE_NAME, os.rmdir)):
            with suppress(FileNotFoundError):
                remove_it(entry, dir_fd=fd)
        os.rmdir(name, dir_fd=parent_fd)


def find_left(parent_path: str, parent_fd: int, run_id: str) -> RunDirectory | None:
    """Open what a killed run left in a directory, None where nothing is; parent_fd is taken over.

    Raises NotOwn for what has its name without its marker, OSError.
    """
    name = own_name(run_id)
    with ExitStack() as undo:
        undo.callback(os.close, parent_fd)
        try:
            fd = os.open(name, DIRECTORY_FLAGS, dir_fd=parent_fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise NotOwn("it is a symbolic link or a file") from error
            raise
        undo.callback(os.close, fd)
        if mount_id(fd) != mount_id(parent_fd):
            raise NotOwn("something is mounted there")
        entries = set(os.listdir(fd))
        # Killed right after mkdir: an empty directory, or one with an empty marker, holds nothing of anybody.
        is_bare = entries <= {MARKER} and _marker(fd) in (b"", None)
        if not is_bare and not _is_of(fd, run_id):
            raise NotOwn("its marker is not this run's")
        if entries - {MARKER, TREE_NAME}:
            raise NotOwn(f"it holds {', '.join(sorted(entries - {MARKER, TREE_NAME})[:3])}, which no run makes there")
        undo.pop_all()
    return RunDirectory(parent_path, parent_fd, name, fd)


def _marker(fd: int) -> bytes | None:
    try:
        with opened(MARKER, _FILE_FLAGS, dir_fd=fd) as marker:
            found = os.fstat(marker)
            is_own = stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), os.fstat(fd).st_uid)
            return os.read(marker, _MARKER_BYTES) if is_own else b"?"
    except FileNotFoundError:
        return None


def _is_of(fd: int, run_id: str) -> bool:
    with suppress(ValueError):
        told = json.loads((_marker(fd) or b"").decode())
        return isinstance(told, dict) and told.get("run") == run_id
    return False


def remove(own: RunDirectory, stop: Callable[[], bool] = lambda: False) -> None:
    """Remove a run's directory with all below it. Raises OSError, RemovalStopped, NotOwn.

    What is mounted below it, or is on another filesystem, stays, and the directories above that.
    """
    remove_below(own, stop)
    with suppress(FileNotFoundError):
        os.unlink(MARKER, dir_fd=own.fd)
    now = None
    with suppress(FileNotFoundError):
        now = os.stat(own.name, dir_fd=own.parent_fd, follow_symlinks=False)
    if now is None or not os.path.samestat(now, os.fstat(own.fd)):
        raise NotOwn("it was moved, and is empty now; what has its name now was left alone")
    # Another one that is put in its place now is empty, or stays.
    os.rmdir(own.name, dir_fd=own.parent_fd)


def remove_below(own: RunDirectory, stop: Callable[[], bool] = lambda: False) -> None:
    """Remove the tree of a run's directory, if it is there. Raises as remove()."""
    with suppress(FileNotFoundError):
        os.stat(TREE_NAME, dir_fd=own.fd, follow_symlinks=False)
        remove_tree(TREE_NAME, own.fd, os.fstat(own.fd).st_dev, stop, mount_id(own.fd))


def sync_files(own: RunDirectory, stop: Callable[[], bool] = lambda: False) -> None:
    """Write out all own files, then flush each to its storage, and the directories. Raises OSError, RemovalStopped.

    Writing is started for all files first: an fsync of one after the other would keep one request in flight.
    """
    for fd, is_directory in _all_of(own, stop):
        if not is_directory:
            start_writeback(fd)
    for fd, _ in _all_of(own, stop):
        os.fsync(fd)


def drop_cached(own: RunDirectory, stop: Callable[[], bool] = lambda: False) -> None:
    """Drop own files from the page cache, where they are clean (man 2 posix_fadvise). Raises OSError, RemovalStopped."""
    for fd, is_directory in _all_of(own, stop):
        if not is_directory:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _all_of(own: RunDirectory, stop: Callable[[], bool]) -> Iterator[tuple[int, bool]]:
    """Yield descriptors of all regular files and directories of the tree, directories after what they hold."""
    with opened(TREE_NAME, DIRECTORY_FLAGS, dir_fd=own.fd) as fd:
        yield from _below(fd, mount_id(own.fd), stop)


def _below(directory: int, mount: int, stop: Callable[[], bool], level: int = 0) -> Iterator[tuple[int, bool]]:
    if stop():
        raise RemovalStopped
    if level > MOST_LEVELS:
        raise OSError(errno.ENAMETOOLONG, f"directories are nested more than {MOST_LEVELS} deep")
    if mount_id(directory) != mount:
        raise OSError(errno.EXDEV, "something was mounted in the run's directory")
    inner = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                with opened(entry.name, _FILE_FLAGS, dir_fd=directory) as fd:
                    yield fd, False
    for name in inner:
        with opened(name, DIRECTORY_FLAGS, dir_fd=directory) as fd:
            yield from _below(fd, mount, stop, level + 1)
    yield directory, True
