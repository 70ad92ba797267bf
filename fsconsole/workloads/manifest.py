"""Source trees of copies and commands: their manifest, its hash, and the reading of their files into the page cache."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from fsconsole.system.files import opened_without_links
from fsconsole.text import error_reason
from fsconsole.workloads.launcher import Seen
from fsconsole.workloads.tree import DIRECTORY_FLAGS

_READ_BYTES = 2**20
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: what has become a FIFO since it was listed must not block the engine."""
MAX_ROOTS_BYTES = 512 * 1024
"""Of all paths of a subset in one command; the kernel takes a quarter of the stack limit, 2 MiB (man 2 execve)."""


class Stopped(Exception):
    """The reading was stopped on request."""


class SourceUnusable(Exception):
    """A source can't be read, copied or named; its text says which, and why."""


class _Hash(Protocol):
    def update(self, data: bytes | memoryview, /) -> None: ...


@dataclass(slots=True)
class Counts:
    """Numbers of a tree's entries, and the bytes of its regular files."""

    files: int = 0
    """Regular files, by name: two hard links are two files."""
    links: int = 0
    """Symbolic links."""
    directories: int = 0
    sockets: int = 0
    pipes: int = 0
    """FIFOs: whoever opens one that a service reads can write to it, also where it is mounted read-only."""
    size_bytes: int = 0
    """Sum of st_size over all files by name, as cp -r copies them."""
    linked_bytes: int = 0
    """The same with each inode once, as cp -a copies them."""

    @property
    def names(self) -> int:
        """All but directories: what a copy must have again."""
        return self.files + self.links + self.sockets + self.pipes


@dataclass(frozen=True, slots=True)
class Survey:
    """A source tree as its directories and inodes say; no file was read."""

    counts: Counts
    stamp: str
    """SHA-256 over path, type, mode, size, inode, mtime and ctime of everything: the same as long as nobody changes it."""
    roots: tuple[str, ...]
    """Paths that together hold all of it, each whole: the sources, or with at_most what cp is given."""
    seen: tuple[Seen, ...] = ()
    """The sources themselves, as far as the walk came."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of a source tree: SHA-256 over path, type, mode, size, link target and content of every entry."""

    digest: str
    counts: Counts
    stamp: str
    """That of the survey before the files were read."""
    roots: tuple[str, ...] = ()
    """As of the survey, like seen."""
    seen: tuple[Seen, ...] = ()
    is_steady: bool = True
    """False if something changed while the files were read."""
    by_directory: Mapping[str, bytes] = field(default_factory=dict)
    """A short digest for each directory's own entries, to name what changed."""


@dataclass(frozen=True, slots=True)
class _Entry:
    folder: str
    name: str
    status: os.stat_result
    folder_fd: int

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)


Stop = Callable[[], bool]


def _never() -> bool:
    return False


def survey(sources: Sequence[str], *, at_most: int = 0, hidden: Sequence[str] = (), stop: Stop = _never) -> Survey:
    """Walk the sources: sorted, without following links (also on the way to them), into other filesystems or hidden directories.

    at_most (bytes) ends the walk before the first file that exceeds it; 0: no limit. Raises SourceUnusable, Stopped.
    """
    counter, digest, seen = _Counter(), sha256(), list[Seen]()
    cut: _Entry | None = None
    for entry in _walk(sources, hidden, stop):
        if (
            at_most
            and stat.S_ISREG(entry.status.st_mode)
            and (counter.counts.size_bytes + entry.status.st_size > at_most)
        ):
            cut = entry
            break
        _require_copyable(entry)
        counter.add(entry.status)
        at = entry.status
        if entry.path in sources:
            seen.append(Seen(entry.path) if stat.S_ISLNK(at.st_mode) else Seen(entry.path, at.st_dev, at.st_ino))
        facts = (at.st_mode, at.st_size, at.st_dev, at.st_ino, at.st_mtime_ns, at.st_ctime_ns)
        digest.update(b"%o %d %d %d %d %d " % facts + os.fsencode(entry.path) + b"\0")
    roots = tuple(sources) if cut is None else _roots_before(cut, sources, hidden)
    if at_most and not counter.counts.names:
        raise SourceUnusable(f"at_most is less than the first file, {shown(cut.path) if cut else sources[0]}")
    return Survey(counter.counts, digest.hexdigest(), roots, tuple(seen))


def read_manifest(
    sources: Sequence[str], *, at_most: int = 0, hidden: Sequence[str] = (), stop: Stop = _never
) -> Manifest:
    """Read every file of the sources, which leaves them in the page cache, and hash what was read.

    Raises SourceUnusable, also for what vanishes meanwhile; Stopped.
    """
    before = survey(sources, at_most=at_most, hidden=hidden, stop=stop)
    whole, parts = sha256(), dict[str, bytes]()
    for entry in _walk(before.roots, hidden, stop):
        line = (
            b"%o %d " % (entry.status.st_mode, _size(entry.status))
            + os.fsencode(entry.path)
            + b"\0"
            + _said(entry, stop)
        )
        whole.update(line)
        parts[entry.folder] = sha256(parts.get(entry.folder, b"") + line).digest()[:8]
    is_steady = survey(sources, at_most=at_most, hidden=hidden, stop=stop).stamp == before.stamp
    return Manifest(whole.hexdigest(), before.counts, before.stamp, before.roots, before.seen, is_steady, parts)


def warm(sources: Sequence[str], *, hidden: Sequence[str] = (), stop: Stop = _never) -> None:
    """Read every file below paths into the page cache. Raises SourceUnusable, Stopped."""
    for entry in _walk(sources, hidden, stop):
        if stat.S_ISREG(entry.status.st_mode):
            _read(entry, None, stop)


def changed_directories(before: Manifest, after: Manifest) -> tuple[str, ...]:
    """Return the directories whose own entries differ between two manifests, sorted."""
    old, new = before.by_directory, after.by_directory
    return tuple(sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path)))


def count(directory_fd: int, *, stop: Stop = _never) -> Counts:
    """Return what lies below an open directory, itself left out. Raises SourceUnusable, Stopped."""
    counter = _Counter()
    try:
        for entry in _below("", directory_fd, os.fstat(directory_fd).st_dev, (), stop):
            counter.add(entry.status)
    except (OSError, RecursionError) as error:
        raise SourceUnusable(str(error)) from error
    return counter.counts


def shown(path: str) -> str:
    """Return a path with what is no printable text replaced."""
    return "".join(one if one.isprintable() else "?" for one in os.fsencode(path).decode("utf-8", "replace"))


class _Counter:
    def __init__(self) -> None:
        self.counts = Counts()
        self._seen: set[tuple[int, int]] = set()

    def add(self, status: os.stat_result) -> None:
        kind, counts = stat.S_IFMT(status.st_mode), self.counts
        if kind == stat.S_IFDIR:
            counts.directories += 1
        elif kind == stat.S_IFLNK:
            counts.links += 1
        elif kind == stat.S_IFREG:
            counts.files += 1
            counts.size_bytes += status.st_size
            inode = (status.st_dev, status.st_ino)
            if status.st_nlink == 1 or inode not in self._seen:
                counts.linked_bytes += status.st_size
            if status.st_nlink > 1:
                self._seen.add(inode)
        elif kind == stat.S_IFIFO:
            counts.pipes += 1
        else:
            counts.sockets += 1


def _walk(sources: Sequence[str], hidden: Sequence[str], stop: Stop) -> Iterator[_Entry]:
    """Yield every entry: in each directory first what is no directory, then each directory with all below it, sorted."""
    with _in_words(sources):
        for source in sources:
            with _at(source) as top:
                yield top
                if _is_entered(top, top.status.st_dev, hidden):
                    with _opened(top.name, DIRECTORY_FLAGS, top.folder_fd) as fd:
                        yield from _below(source, fd, top.status.st_dev, hidden, stop)


@contextmanager
def _in_words(sources: Sequence[str]) -> Iterator[None]:
    """Make errors of a walk SourceUnusable."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else ", ".join(sources)
        raise SourceUnusable(f"{shown(where)}: {error_reason(error)}") from error
    except RecursionError as error:
        raise SourceUnusable(f"{shown(', '.join(sources))}: directories are nested too deeply") from error


@contextmanager
def _at(source: str) -> Iterator[_Entry]:
    """Give a source as an entry of its directory. Raises OSError."""
    folder, name = os.path.split(source)
    with ExitStack() as held:
        try:
            fd = held.enter_context(opened_without_links(folder))
            entry = _Entry(folder, name, os.stat(name, dir_fd=fd, follow_symlinks=False), fd)
        except NotADirectoryError as error:
            raise OSError(error.errno, "the way to it has a symbolic link in it, or a file", source) from error
        except OSError as error:
            raise OSError(error.errno, error.strerror, source) from error
        yield entry


def _below(folder: str, fd: int, device: int, hidden: Sequence[str], stop: Stop) -> Iterator[_Entry]:
    if stop():
        raise Stopped
    directories = []
    for entry in _listed(folder, fd):
        if stat.S_ISDIR(entry.status.st_mode):
            directories.append(entry)
        else:
            yield entry
    for entry in directories:
        yield entry
        if _is_entered(entry, device, hidden):
            with _opened(entry.name, DIRECTORY_FLAGS, fd) as below:
                yield from _below(entry.path, below, device, hidden, stop)


def _listed(folder: str, fd: int) -> list[_Entry]:
    try:
        return [
            _Entry(folder, name, os.stat(name, dir_fd=fd, follow_symlinks=False), fd)
            for name in sorted(os.listdir(fd), key=os.fsencode)
        ]
    except OSError as error:
        raise OSError(error.errno, error.strerror, folder) from error


def _is_entered(entry: _Entry, device: int, hidden: Sequence[str]) -> bool:
    """Return whether the walk goes below an entry, as cp -x does in a cage that empties the hidden directories."""
    return stat.S_ISDIR(entry.status.st_mode) and entry.status.st_dev == device and entry.path not in hidden


def _roots_before(cut: _Entry, sources: Sequence[str], hidden: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that hold all that a walk yields before an entry. Raises SourceUnusable."""
    number = next(n for n, source in enumerate(sources) if f"{cut.path}/".startswith(f"{source.rstrip('/')}/"))
    roots, source = list(sources[:number]), sources[number]
    steps = os.path.relpath(cut.path, source).split("/") if cut.path != source else []
    with _in_words(sources), _at(source) as top, ExitStack() as held:
        folder, name, fd = source, top.name, top.folder_fd
        for step in steps:
            fd = held.enter_context(_opened(name, DIRECTORY_FLAGS, fd))
            is_last = os.path.join(folder, step) == cut.path
            for entry in _listed(folder, fd):
                is_before = os.fsencode(entry.name) < os.fsencode(step)
                if not stat.S_ISDIR(entry.status.st_mode):
                    roots += [entry.path] if is_before or not is_last else []
                elif is_before and not is_last and _is_entered(entry, top.status.st_dev, hidden):
                    # As an argument of its own cp -x would go below a mount point.
                    roots.append(entry.path)
            folder, name = os.path.join(folder, step), step
    for root in roots:
        if not _is_text(root):
            raise SourceUnusable(f"at_most ends beside {shown(root)}, whose name is not UTF-8")
    if sum(len(os.fsencode(root)) + 9 for root in roots) > MAX_ROOTS_BYTES:
        raise SourceUnusable(f"at_most ends in a directory with too many entries for one cp, {shown(cut.folder)}")
    return tuple(roots)


def _is_text(path: str) -> bool:
    """Return whether a path can be handed on in JSON: what Python reads of other bytes are surrogates."""
    return not any("\ud800" <= one <= "\udfff" for one in path)


@contextmanager
def _opened(name: str, flags: int, folder_fd: int) -> Iterator[int]:
    """Give a descriptor that leaves no time of access behind, which would be written back. Raises OSError."""
    try:
        fd = os.open(name, flags | os.O_NOATIME, dir_fd=folder_fd)
    except PermissionError:
        # Only the owner and root may ask for that (man 2 open).
        fd = os.open(name, flags, dir_fd=folder_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def _require_copyable(entry: _Entry) -> None:
    if stat.S_ISBLK(entry.status.st_mode) or stat.S_ISCHR(entry.status.st_mode):
        raise SourceUnusable(f"{shown(entry.path)} is a device node, which no load may copy or open")


def _size(status: os.stat_result) -> int:
    """Return a size that says something of the content: that of a directory depends on its filesystem."""
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _said(entry: _Entry, stop: Stop) -> bytes:
    """Return a file's digest, or a link's target."""
    kind = stat.S_IFMT(entry.status.st_mode)
    if kind == stat.S_IFLNK:
        return os.fsencode(os.readlink(entry.name, dir_fd=entry.folder_fd))
    if kind != stat.S_IFREG:
        return b""
    digest = sha256()
    _read(entry, digest, stop)
    return digest.digest()


def _read(entry: _Entry, digest: _Hash | None, stop: Stop) -> None:
    """Read a file up to the size that it had when it was listed: one that grows meanwhile would have no end."""
    try:
        with _opened(entry.name, _FILE_FLAGS, entry.folder_fd) as fd:
            _require_file(fd)
            left = entry.status.st_size
            while left > 0 and (got := os.readv(fd, [_BUFFER])):
                left -= got
                if digest is not None:
                    digest.update(_BUFFER[:got])
                if stop():
                    raise Stopped
    except OSError as error:
        raise OSError(error.errno, error.strerror, entry.path) from error


def _require_file(fd: int) -> None:
    """Raise OSError for what has become a FIFO: what is read of one is lost to its reader."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.ESTALE, "it was replaced while the sources were read")


_BUFFER = memoryview(bytearray(_READ_BYTES))
