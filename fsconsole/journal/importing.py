"""Makes a run's folder of an archive from elsewhere, reading it with suspicion.

Members are read one by one and must be what the manifest lists next: plain files of that name and size. So none can
be a link or a device, lie elsewhere, come twice, or take more room than was checked.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from fsconsole.errors.runs import (
    ArchiveNewer,
    ArchiveRefused,
    ArchiveUnreadable,
    JournalNewer,
    JournalUnusable,
    NoRunFile,
    NoSpace,
    RunExists,
    RunsReadOnly,
)
from fsconsole.journal.archive import CHUNK_BYTES, FORMAT, MANIFEST, ArchivedFile, Manifest, padding
from fsconsole.journal.folder import RunFolder, is_full
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import make_directory, open_or_make
from fsconsole.model.wire import Mismatch, decode, encode
from fsconsole.system.files import nearest_existing, opened
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

MAX_MANIFEST_BYTES = 40 * 2**20
"""Of 200,000 files, each with the longest name."""


class _AnyForm(msgspec.Struct, frozen=True):
    """Fields of the manifest in every version."""

    format: int
    version: str


def import_run(path: str, runs_dir: str) -> RunFolder:
    """Make a run's folder of an archive, marked as imported; it appears whole, after all checks, or not at all.

    Raises ArchiveRefused, ArchiveNewer, RunExists, NoSpace, RunsReadOnly.
    """
    with ExitStack() as stack:
        with _refusals(path):
            file = stack.enter_context(open(path, "rb", opener=_without_waiting))
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ArchiveRefused(path, "it is no plain file")
            if file.peek(2)[:2] not in (b"", _GZIP):
                raise NoRunFile(path, "it begins like another kind of file")
            packed = stack.enter_context(gzip.GzipFile(fileobj=file))
        manifest = _read_manifest(packed, path)
        with _room_for(manifest, runs_dir):
            return _unpacked(packed, manifest, path, runs_dir)


_GZIP = b"\x1f\x8b"


def _without_waiting(path: str, flags: int) -> int:
    # A pipe would be waited for.
    return os.open(path, flags | os.O_NONBLOCK)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    """Turn what reading a damaged file raises into ArchiveRefused."""
    try:
        yield
    except EOFError as error:
        raise ArchiveRefused(path, "it is cut short") from error
    except (gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise ArchiveRefused(path, f"it is damaged, or no export of fsconsole: {error}") from error
    except OSError as error:
        raise ArchiveUnreadable(path, error_reason(error)) from error


@contextmanager
def _room_for(manifest: Manifest, runs_dir: str) -> Iterator[None]:
    """Turn what writing into the directory of runs raises into NoSpace and RunsReadOnly."""
    try:
        yield
    except OSError as error:
        if is_full(error, runs_dir):
            room = os.statvfs(nearest_existing(runs_dir))
            free = format_bytes(room.f_bavail * room.f_frsize)
            raise NoSpace(path=runs_dir, needed=format_bytes(manifest.size_bytes), free=free) from error
        raise RunsReadOnly(path=runs_dir, why=error_reason(error)) from error


def _unpacked(packed: gzip.GzipFile, manifest: Manifest, path: str, runs_dir: str) -> RunFolder:
    runs_dir = os.path.abspath(runs_dir)
    with ExitStack() as stack:
        runs_fd = open_or_make(runs_dir)
        stack.callback(os.close, runs_fd)
        room = os.fstatvfs(runs_fd)
        if manifest.size_bytes > room.f_bavail * room.f_frsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if manifest.run in os.listdir(runs_fd):
            raise RunExists(manifest.run, runs_dir)
        hidden = RunFolder(os.path.join(runs_dir, f".{manifest.run}.{os.getpid()}.import"))
        make_directory(hidden.name, runs_fd)
        undo = stack.enter_context(ExitStack())
        undo.callback(shutil.rmtree, hidden.path, ignore_errors=True)
        hidden_fd = stack.enter_context(opened(hidden.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        make_directory(os.path.basename(hidden.raw), hidden_fd)
        for listed in manifest.files:
            _unpack(packed, listed, hidden_fd, path)
        _require_end(packed, path)
        _put(os.path.basename(hidden.imported), [encode(manifest, indent=1).encode("ascii")], hidden_fd)
        _require_readable(hidden, manifest, path)
        os.fsync(hidden_fd)
        try:
            os.rename(hidden.name, manifest.run, src_dir_fd=runs_fd, dst_dir_fd=runs_fd)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
                raise RunExists(manifest.run, runs_dir) from error
            raise
        undo.pop_all()
        os.fsync(runs_fd)
    return RunFolder(os.path.join(runs_dir, manifest.run))


def _read_manifest(packed: gzip.GzipFile, path: str) -> Manifest:
    size_bytes = _header(packed, MANIFEST, path)
    if size_bytes > MAX_MANIFEST_BYTES:
        raise ArchiveRefused(path, f"its manifest has {format_bytes(size_bytes)}")
    document = b"".join(_exactly(packed, size_bytes, path))
    _skip_padding(packed, size_bytes, path)
    try:
        form = decode(_AnyForm, document)
        if form.format > FORMAT:
            raise ArchiveNewer(path, form.version)
        manifest = decode(Manifest, document)
    except Mismatch as mismatch:
        raise ArchiveRefused(path, f"its manifest does not fit: {mismatch}") from mismatch
    if why := manifest.objection():
        raise ArchiveRefused(path, why)
    return manifest


def _header(packed: gzip.GzipFile, name: str, path: str) -> int:
    """Read the header of the member that must come next, and return its size in bytes."""
    block = b"".join(_exactly(packed, tarfile.BLOCKSIZE, path))
    with _refusals(path):
        member = tarfile.TarInfo.frombuf(block, "ascii", "surrogateescape")
    if member.type != tarfile.REGTYPE:
        raise ArchiveRefused(path, f"its member '{member.name}' is no plain file")
    if member.name != name:
        raise ArchiveRefused(path, f"its member '{member.name}' stands where '{name}' is expected")
    if member.size < 0:
        raise ArchiveRefused(path, f"its member '{name}' has a size below 0")
    return member.size


def _exactly(packed: gzip.GzipFile, size_bytes: int, path: str) -> Iterator[bytes]:
    """Give so many bytes of an archive, in pieces. Raises ArchiveRefused."""
    while size_bytes:
        with _refusals(path):
            chunk = packed.read(min(size_bytes, CHUNK_BYTES))
            if not chunk:
                raise EOFError
        size_bytes -= len(chunk)
        yield chunk


def _unpack(packed: gzip.GzipFile, listed: ArchivedFile, hidden_fd: int, path: str) -> None:
    """Write the next member below the hidden folder. Raises ArchiveRefused, OSError where it can't be written."""
    if _header(packed, listed.name, path) != listed.size_bytes:
        raise ArchiveRefused(path, f"'{listed.name}' does not have the size in its manifest")
    digest = hashlib.sha256()

    def chunks() -> Iterator[bytes]:
        for chunk in _exactly(packed, listed.size_bytes, path):
            digest.update(chunk)
            yield chunk

    _put(listed.name, chunks(), hidden_fd)
    _skip_padding(packed, listed.size_bytes, path)
    if digest.hexdigest() != listed.sha256:
        raise ArchiveRefused(path, f"'{listed.name}' does not have the sha256 in its manifest")


def _skip_padding(packed: gzip.GzipFile, size_bytes: int, path: str) -> None:
    for _ in _exactly(packed, len(padding(size_bytes)), path):
        pass


def _put(name: str, chunks: Iterable[bytes], hidden_fd: int) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640, dir_fd=hidden_fd)
    with os.fdopen(fd, "wb") as file:
        # The readers' group may read it, whatever the umask.
        os.fchmod(fd, 0o640)
        file.writelines(chunks)
        file.flush()
        os.fsync(fd)


def _require_end(packed: gzip.GzipFile, path: str) -> None:
    """Raise ArchiveRefused unless the archive ends here, with the right check sum."""
    end = b"".join(_exactly(packed, 2 * tarfile.BLOCKSIZE, path))
    with _refusals(path):
        more = packed.read(1)
    if any(end) or more:
        raise ArchiveRefused(path, "something follows the last file of its manifest")


def _require_readable(hidden: RunFolder, manifest: Manifest, path: str) -> None:
    """Raise unless the reader takes the whole journal, within its limits."""
    try:
        read_state(hidden)
        JournalReader(hidden.journal).require_whole()
    except JournalNewer as error:
        raise ArchiveNewer(path, manifest.version) from error
    except JournalUnusable as error:
        raise ArchiveRefused(path, f"its journal can't be used: {error.why}") from error
