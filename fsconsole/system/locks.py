"""Whole-file locks that vanish with their holder, however it ended (man 2 flock)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable
from contextlib import suppress

from fsconsole.system.files import Closing, opened, read_text_or

_DEVICES, _MEMORY = "/dev/", "/dev/shm/"  # noqa: S108 (runs may be kept there)
_PAUSES_S = (0.005, 0.01, 0.02, 0.04)
"""is_locked() holds the lock for some microseconds; who acquires must not take that for a holder."""


class FileLock(Closing):
    """An exclusive lock on a file or device node until release() or the process's end; its descriptor is close-on-exec."""

    def __init__(self, fd: int, path: str) -> None:
        super().__init__(fd)
        self.path = path

    @classmethod
    def acquire(cls, path: str) -> FileLock:
        """Lock path; a missing file is created, but not among devices. Raises BlockingIOError (held), OSError."""
        for pause_s in _PAUSES_S:
            try:
                return cls._acquire_once(path)
            except BlockingIOError:
                time.sleep(pause_s)
        return cls._acquire_once(path)

    @classmethod
    def _acquire_once(cls, path: str) -> FileLock:
        while True:
            # Closing a device that was open for writing makes udev probe it anew (man 7 udev, OPTIONS watch).
            is_node = path.startswith(_DEVICES) and not path.startswith(_MEMORY)
            flags = os.O_RDONLY if is_node else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            fd = os.open(path, flags | os.O_CLOEXEC, 0o640)
            try:
                lock_descriptor(fd)
                with suppress(FileNotFoundError):
                    # Whoever held it before may have removed or replaced the file meanwhile.
                    if os.path.samestat(os.fstat(fd), os.stat(path)):
                        return cls(fd, path)
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)

    release = Closing.close


def lock_descriptor(fd: int) -> None:
    """Take the exclusive lock on an open file without waiting. Raises BlockingIOError where it is held."""
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(path: str) -> bool:
    """Return whether somebody holds the exclusive lock on path, which must be readable or missing. Raises OSError."""
    try:
        # A pipe in the place of a lock would be waited for.
        with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def lockers(paths: Iterable[str], table: str = "/proc/locks") -> dict[str, int]:
    """Return the pid that holds the exclusive lock on each of these files, of those that are locked (man 5 proc_locks).

    Takes no lock itself, so that it can be asked while somebody acquires. A holder in a PID namespace that this one
    can't see is not listed.
    """
    holders = {}
    for line in read_text_or(table, "").splitlines():
        words = line.split()
        if words[1:2] == ["FLOCK"] and words[3:4] == ["WRITE"] and len(words) > 5:
            holders[words[5]] = int(words[4])
    found = {}
    for path in paths:
        with suppress(FileNotFoundError):
            file = os.stat(path)
            place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
            if place in holders:
                found[path] = holders[place]
    return found
