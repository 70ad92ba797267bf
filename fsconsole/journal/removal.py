"""A run's folder removed: through descriptors, so that no link leads anywhere else meanwhile."""

from __future__ import annotations

import errno
import os
import stat

from fsconsole.errors import RunLives, RunMissing, RunsReadOnly
from fsconsole.journal.folder import RunFolder
from fsconsole.system.locks import FileLock

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def delete_run(folder: RunFolder) -> None:
    """Remove a run with all that is in its folder; no link is followed, and no other filesystem entered.

    Raises RunLives where an engine carries it out, RunMissing, RunsReadOnly where it can't be removed.
    """
    runs_dir, name = os.path.split(os.path.abspath(folder.path))
    try:
        runs_fd = os.open(runs_dir, _DIRECTORY)
        try:
            _delete_locked(folder, runs_dir, name, runs_fd)
        finally:
            os.close(runs_fd)
    except OSError as error:
        raise RunsReadOnly(path=runs_dir, why=error.strerror or str(error)) from error


def _delete_locked(folder: RunFolder, runs_dir: str, name: str, runs_fd: int) -> None:
    if name not in os.listdir(runs_fd) or not stat.S_ISDIR(os.lstat(name, dir_fd=runs_fd).st_mode):
        raise RunMissing(run=name, runs_dir=runs_dir)
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=name) from error
    with lock:
        # Under a name that no list has: a run is there as a whole, or not at all.
        hidden = f".{name}.{os.getpid()}.gone"
        os.rename(name, hidden, src_dir_fd=runs_fd, dst_dir_fd=runs_fd)
        _remove_tree(hidden, runs_fd)
        os.fsync(runs_fd)


def _remove_tree(name: str, parent_fd: int) -> None:
    """Remove a directory with all below it. Raises OSError."""
    mount = _mount_of(parent_fd)
    walk = os.fwalk(name, topdown=False, onerror=_raise, follow_symlinks=False, dir_fd=parent_fd)
    for _, directories, files, fd in walk:
        if _mount_of(fd) != mount:
            raise OSError(errno.EXDEV, "something is mounted in it")
        for entry in files:
            os.unlink(entry, dir_fd=fd)
        for entry in directories:
            # A link to a directory is listed among directories, and is never entered.
            if stat.S_ISDIR(os.lstat(entry, dir_fd=fd).st_mode):
                os.rmdir(entry, dir_fd=fd)
            else:
                os.unlink(entry, dir_fd=fd)
    os.rmdir(name, dir_fd=parent_fd)


def _mount_of(fd: int) -> str:
    """Return which mount a descriptor lies in (man 5 proc, fdinfo): a bind mount has the same st_dev."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        return next(line for line in file if line.startswith("mnt_id:"))


def _raise(error: OSError) -> None:
    raise error
