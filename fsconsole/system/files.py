"""Reads sysfs and /proc files, and host facts that come from them; writes new files whole."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import IO, TypeVar

from fsconsole.text import decode

_READ_BYTES = 65536
_SURROUNDING = " \t\r\n\0"
_Closing = TypeVar("_Closing", bound="Closing")


def read_text(path: str) -> str:
    """Return a file's text without surrounding white space and NULs. Raises OSError.

    Sysfs attributes end in a newline, those that firmware fills in may end in blanks or NULs
    (Documentation/filesystems/sysfs.rst).
    """
    with open(path, "rb") as file:
        return decode(file.read()).strip(_SURROUNDING)


def read_text_or(path: str, default: str) -> str:
    """Return a file's text, or default where it can't be read: an attribute that this kernel or device lacks."""
    try:
        return read_text(path)
    except OSError:
        return default


def read_int_or(path: str, default: int) -> int:
    """Return a file's whole number, or default where there is no file or no number in it."""
    try:
        return int(read_text(path))
    except (OSError, ValueError):
        return default


@contextmanager
def opened(
    path: str | bytes, flags: int = os.O_RDONLY, mode: int = 0o640, *, dir_fd: int | None = None
) -> Iterator[int]:
    """Give a close-on-exec descriptor for a with block. Raises OSError."""
    fd = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def read_regular_file(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Return the first bytes of a file that a user named, at most so many.

    Raises OSError and ValueError, also for what is no regular file: to open a pipe, or to read a device, may never end.
    """
    with opened(os.fspath(path), os.O_RDONLY | os.O_NONBLOCK) as fd, open(fd, "rb", closefd=False) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return file.read(most_bytes)


_WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def opened_without_links(path: str) -> Iterator[int]:
    """Give a descriptor (O_PATH) of a directory, by an absolute path on which no symbolic link is followed. Raises OSError."""
    with ExitStack() as walked:
        fd = walked.enter_context(opened("/", _WALK))
        for name in filter(None, path.split("/")):
            fd = walked.enter_context(opened(name, _WALK, dir_fd=fd))
        yield fd


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def new_file(
    path: str, *, overwrite: bool, mode: int = 0o640, before_placing: Callable[[], None] = lambda: None
) -> Iterator[IO[bytes]]:
    """Give a file for a with block; it gets its name, whole and synced, when the block ends without an error.

    With overwrite, links are resolved, and only a regular file is replaced, by a rename. Without it, a file or link of that
    name is an error. mode is subject to the umask. before_placing is called last before the file gets its name and may
    raise. Raises OSError (FileExistsError without overwrite).
    """
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    directory, name = os.path.split(_replaceable(path) if overwrite else os.path.abspath(path))
    draft = f".fsconsole-{os.getpid()}-{os.urandom(4).hex()}"
    # By its descriptor: the directory's own name may become a link meanwhile.
    with opened_without_links(os.path.realpath(directory)) as folder, ExitStack() as undo:
        fd = os.open(draft, _NEW, mode, dir_fd=folder)
        undo.callback(_remove, draft, folder)
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(fd)
        before_placing()
        if overwrite:
            _require_replaceable(name, folder)
        else:
            # Takes the name, or fails where somebody else was first.
            os.close(os.open(name, _NEW, mode, dir_fd=folder))
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        undo.pop_all()


def _replaceable(path: str) -> str:
    """Return the place of the file that path leads to, where there is a regular file or nothing. Raises OSError."""
    try:
        entry = os.lstat(path)
        if not stat.S_ISLNK(entry.st_mode):
            # Another process may replace it right now: what is compared below would differ.
            _require_regular(entry)
            return os.path.realpath(path)
        if entry.st_uid not in (0, os.geteuid()):
            # In /tmp it could lead to any file of this user's.
            raise PermissionError(errno.EACCES, "it is a symbolic link of another user")
        target, place = os.stat(path), os.path.realpath(path)
        _require_regular(target)
        if not os.path.exists(place) or not os.path.samestat(target, os.lstat(place)):
            raise OSError(errno.EINVAL, "it leads to an open file that has no name")
    except FileNotFoundError:
        return os.path.realpath(path)
    return place


def _require_replaceable(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        _require_regular(os.lstat(name, dir_fd=folder))


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a symbolic link"),
)


def _require_regular(entry: os.stat_result) -> None:
    if not stat.S_ISREG(entry.st_mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(entry.st_mode)), "a special file")
        raise OSError(errno.EINVAL, f"it is {kind}, and only a regular file is replaced")


def _remove(name: str, folder: int) -> None:
    # Not pathlib: nothing else that a load's process imports needs it, and it takes a tenth of that process's start.
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


class Closing:
    """Holds a descriptor, which leaving the with block closes."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self: _Closing) -> _Closing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class KeptFile(Closing):
    """A kernel file that is opened once and read many times, each time fresh from its start.

    A pread at offset 0 makes /proc and sysfs produce the file anew (fs/seq_file.c, fs/kernfs/file.c),
    at a fraction of the cost of opening it again.
    """

    def __init__(self, path: str) -> None:
        super().__init__(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        self.path = path

    def read(self) -> bytes:
        """Return the file as it is now, whole. Raises OSError (ENODEV: what it told about is gone)."""
        parts = [os.pread(self.fd, _READ_BYTES, 0)]
        offset = len(parts[0])
        while parts[-1]:
            # A short read is no end: seq_file hands out whole records, as many as fit a page.
            parts.append(os.pread(self.fd, _READ_BYTES, offset))
            offset += len(parts[-1])
        return b"".join(parts)

    def text(self) -> str:
        """Return the file as read(), as text."""
        return self.read().decode("ascii", errors="replace")


def mount_id(fd: int) -> int:
    """Return which mount a descriptor lies in (man 5 proc_pid_fdinfo): a bind mount has the same st_dev. Raises OSError."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("mnt_id:")), -1)


def boot_id() -> str:
    """Return the UUID of this boot (man 5 proc_sys_kernel). Raises OSError."""
    return read_text("/proc/sys/kernel/random/boot_id")


def kernel_release() -> str:
    """Return what uname -r says."""
    return os.uname().release


def memory_bytes() -> int:
    """Return the memory that the kernel manages (MemTotal of man 5 proc_meminfo)."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def available_bytes() -> int:
    """Return the memory that programs can have without swapping (MemAvailable, man 5 proc_meminfo). Raises OSError."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", read_text("/proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def cpu_count() -> int:
    """Return the number of CPUs that this process may run on (man 2 sched_getaffinity)."""
    return len(os.sched_getaffinity(0))


def load_average() -> float:
    """Return how many tasks ran, or waited for a CPU or a disk, on average over the last minute (man 3 getloadavg)."""
    return os.getloadavg()[0]


def nearest_existing(path: str) -> str:
    """Return the path, free of links, or the nearest of its parents that exists."""
    path = os.path.realpath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path
