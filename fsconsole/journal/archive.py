"""Runs as files: a gzipped tar of a manifest, the journal and the raw outputs; and how one is written.

Plain ustar headers (man 5 tar) without extensions, whose names and sizes the manifest, which comes first, foretells.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
import shutil
import sqlite3
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import IO

from fsconsole import __version__
from fsconsole.errors.runs import ExportFailed, ExportThere
from fsconsole.journal import last_word
from fsconsole.journal.fold import fold, start
from fsconsole.journal.folder import RunFolder, is_full
from fsconsole.journal.reader import JournalReader, open_journal
from fsconsole.journal.store import is_run_name
from fsconsole.model.events import CommandFinished
from fsconsole.model.wire import Wire, encode
from fsconsole.system.files import new_file, opened
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

FORMAT = 1
"""Version of the archive's own form; the journal has its own in its header."""
MAX_FILES = 200_000
"""A grid of a thousand rows in five rounds has half of it."""
MAX_BYTES = 4 * 2**30
"""Of all files together; a run of a day has a tenth of it."""
CHUNK_BYTES = 2**20
MANIFEST, JOURNAL, LAST_WORD = "manifest.json", "journal.sqlite", "last-word"
_OUTPUT = re.compile(r"raw/(?!\.{1,2}$)[A-Za-z0-9._-]{1,96}")
"""Names of raw outputs' files; a ustar header has room for 100 characters."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class ArchivedFile(Wire, frozen=True):
    """One file of an archive, by its name in the run's folder."""

    name: str
    size_bytes: int
    sha256: str


class Manifest(Wire, frozen=True):
    """Manifest of an archive: its files in order; kept in the folder of an imported run."""

    format: int
    version: str
    """Of the fsconsole that exported it."""
    run: str
    exported_wall_ns: int
    files: tuple[ArchivedFile, ...]

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(listed.size_bytes for listed in self.files)

    def objection(self) -> str:
        """Return why no archive may have this manifest, as a clause; empty where one may."""
        names = [listed.name for listed in self.files]
        strange = [listed.name for listed in self.files if not _is_of_a_run(listed)]
        if self.format != FORMAT:
            return f"there is no format {self.format}"
        if not is_run_name(self.run):
            return f"'{self.run}' is not the name of a run"
        if strange:
            return f"'{strange[0]}' is no file of a run, or has no size or sha256"
        if len(names) > MAX_FILES or self.size_bytes > MAX_BYTES:
            size, limit = format_bytes(self.size_bytes), format_bytes(MAX_BYTES)
            return f"it has {len(names)} files and {size}; at most {MAX_FILES} files and {limit} are allowed"
        if len(set(names)) < len(names):
            return "it lists a file twice"
        return "" if JOURNAL in names else "it has no journal"


def _is_of_a_run(listed: ArchivedFile) -> bool:
    is_named = listed.name in (JOURNAL, LAST_WORD) or _OUTPUT.fullmatch(listed.name)
    return bool(is_named and 0 <= listed.size_bytes <= MAX_BYTES and _SHA256.fullmatch(listed.sha256))


def padding(size_bytes: int) -> bytes:
    """Return what fills the last block of a file in a tar."""
    return bytes(-size_bytes % tarfile.BLOCKSIZE)


def export_run(folder: RunFolder, path: str, *, overwrite: bool = False) -> int:
    """Write a run as it is at one instant to a file of mode 0600; return its size in bytes.

    Raises ExportThere, ExportFailed, and as JournalReader.
    """
    try:
        with (
            new_file(path, overwrite=overwrite, mode=0o600) as file,
            # Next to the file, where room is needed anyway.
            tempfile.TemporaryDirectory(prefix=".fsconsole-", dir=os.path.dirname(os.path.realpath(path))) as directory,
        ):
            sources = _sources(folder, RunFolder(directory), path)
            _write(file, _manifest_of(folder.name, sources, path), sources, path)
        return os.stat(path).st_size
    except FileExistsError as error:
        raise ExportThere(path) from error
    except OSError as error:
        raise ExportFailed(path=path, why=error_reason(error)) from error


def _sources(folder: RunFolder, copy: RunFolder, path: str) -> dict[str, str]:
    """Return what the archive holds, by its names, and where that lies; what may change is copied first."""
    # Listed before the journal is copied: unnamed outputs that a living engine writes later may not be whole.
    has_raw = os.path.isdir(folder.raw) and not os.path.islink(folder.raw)
    names = sorted(os.listdir(folder.raw)) if has_raw else []
    _copy_journal(folder, copy, path)
    sources = {JOURNAL: copy.journal, **_outputs(folder, copy, names)}
    if last_word.read(folder):
        sources[LAST_WORD] = shutil.copyfile(folder.last_word, copy.last_word)
    return sources


def _copy_journal(folder: RunFolder, copy: RunFolder, path: str) -> None:
    """Copy a journal by SQLite's backup, which sees one instant also while its engine writes (sqlite.org/backup.html)."""
    with open_journal(folder.journal) as source:
        try:
            with closing(sqlite3.connect(copy.journal, isolation_level=None)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            why = "its disk is full" if is_full(error, copy.path) else f"the journal can't be copied: {error}"
            raise ExportFailed(path=path, why=why) from error


def _outputs(folder: RunFolder, copy: RunFolder, names: Sequence[str]) -> dict[str, str]:
    """Return the raw outputs that are whole: all that the copied journal names, and others of cells that are over."""
    reader, outputs = JournalReader(copy.journal), set[str]()
    reader.require_whole()
    state = start(reader.request())
    for batch in reader.batches():
        outputs.update(seen.output for seen in batch.observations if isinstance(seen, CommandFinished))
        state = fold(state, batch)
    # A command's event follows its whole output; of an imported run that may be missing.
    named = {name for name in outputs if os.path.lexists(os.path.join(folder.path, name))} if names else set()
    current = state.current_cell
    unfinished = "/" if current is None else f"raw/{current:03d}-"
    return {
        name: os.path.join(folder.path, name)
        for name in sorted(named.union(f"raw/{entry}" for entry in names))
        if _OUTPUT.fullmatch(name) and (name in named or not name.startswith(unfinished))
    }


def _manifest_of(run: str, sources: dict[str, str], path: str) -> Manifest:
    files = []
    for name, source in sources.items():
        digest, size_bytes = hashlib.sha256(), 0
        for chunk in _chunks_of(source):
            digest.update(chunk)
            size_bytes += len(chunk)
        files.append(ArchivedFile(name, size_bytes, digest.hexdigest()))
    manifest = Manifest(FORMAT, __version__, run, time.time_ns(), tuple(files))
    if why := manifest.objection():
        raise ExportFailed(path=path, why=why)
    return manifest


def _chunks_of(path: str) -> Iterator[bytes]:
    with opened(path, _READ) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, f"{path} is no plain file")
        while chunk := os.read(fd, CHUNK_BYTES):
            yield chunk


def _write(file: IO[bytes], manifest: Manifest, sources: dict[str, str], path: str) -> None:
    document = encode(manifest).encode("ascii")
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6) as packed:
        packed.write(_header_of(MANIFEST, len(document)) + document + padding(len(document)))
        for listed in manifest.files:
            packed.write(_header_of(listed.name, listed.size_bytes))
            left = listed.size_bytes
            for chunk in _chunks_of(sources[listed.name]):
                left -= len(chunk)
                packed.write(chunk)
            if left:
                raise ExportFailed(path=path, why=f"{listed.name} changed while it was read")
            packed.write(padding(listed.size_bytes))
        packed.write(bytes(2 * tarfile.BLOCKSIZE))


def _header_of(name: str, size_bytes: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size_bytes, 0o600
    return member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
