"""The run folders: made, listed, found, exported."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from fsconsole.errors import JournalUnusable, NoSpace, NotRoot, RunAmbiguous, RunMissing, RunsReadOnly
from fsconsole.journal.codec import to_json
from fsconsole.journal.export import export_journal
from fsconsole.journal.faults import is_full
from fsconsole.journal.folder import LATEST, RunFolder
from fsconsole.journal.last_word import reserve
from fsconsole.journal.runs_dir import make_directory, open_or_make
from fsconsole.journal.schema import create_tables
from fsconsole.model.run import RunRequest
from fsconsole.system.locks import is_locked
from fsconsole.system.paths import nearest_existing
from fsconsole.units import format_bytes

__all__ = [
    "LATEST",
    "RunFolder",
    "create_run",
    "export_journal",
    "is_alive",
    "list_runs",
    "make_run_id",
    "open_exact",
    "open_run",
]

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
"""RFC 4648, in small letters: nothing in it is mistaken for something else when typed."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_ROOM_BEYOND_REQUEST_BYTES = 256 * 1024
"""Empty tables, SQLite's rollback journal, and a block for each directory."""


def make_run_id() -> str:
    """Return a new id that sorts by time: UTC and four random characters, "20261121-104500-k7qf"."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-{''.join(secrets.choice(_BASE32) for _ in range(4))}"


def create_run(runs_dir: str, request: RunRequest) -> RunFolder:
    """Make the folder of a run, named by its id, with a journal that holds the request, durably.

    The folder appears whole or not at all. Raises RunsReadOnly, NoSpace.
    """
    document = to_json(request)
    with _in_words(runs_dir, len(document)), ExitStack() as stack:
        if not _NAME.fullmatch(request.run_id):
            raise RunsReadOnly(path=runs_dir, why=f"'{request.run_id}' is not a name for a run")
        runs_fd = open_or_make(runs_dir)
        stack.callback(os.close, runs_fd)
        if request.run_id in os.listdir(runs_fd):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        hidden = RunFolder(os.path.join(os.path.abspath(runs_dir), f".{request.run_id}.new"))
        make_directory(hidden.name, runs_fd)
        undo = stack.enter_context(ExitStack())
        undo.callback(shutil.rmtree, hidden.path, ignore_errors=True)
        _fill(hidden, request, document)
        os.rename(hidden.name, request.run_id, src_dir_fd=runs_fd, dst_dir_fd=runs_fd)
        undo.pop_all()
        os.fsync(runs_fd)
    return RunFolder(os.path.join(os.path.abspath(runs_dir), request.run_id))


def list_runs(runs_dir: str) -> tuple[RunFolder, ...]:
    """Return the folders of all runs, newest first, whatever is in them; none where there is no such directory.

    Raises NotRoot where the directory may not be read.
    """
    try:
        with os.scandir(runs_dir) as entries:
            names = [e.name for e in entries if _NAME.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return ()
    except PermissionError as error:
        raise NotRoot(what=f"Reading {runs_dir}") from error
    except OSError as error:
        raise RunsReadOnly(path=runs_dir, why=_said(error)) from error
    return tuple(
        RunFolder(os.path.join(os.path.abspath(runs_dir), name)) for name in sorted(names, reverse=True)
    )


def open_run(runs_dir: str, wanted: str = LATEST) -> RunFolder:
    """Return the run of that name, or the only one that begins so, or the newest for "latest".

    Raises RunMissing, RunAmbiguous, NotRoot.
    """
    runs = list_runs(runs_dir)
    if wanted == LATEST:
        found = runs[:1]
    else:
        exact = tuple(run for run in runs if run.name == wanted)
        found = exact or tuple(run for run in runs if wanted and run.name.startswith(wanted))
    if not found:
        raise RunMissing(run=wanted, runs_dir=runs_dir)
    if len(found) > 1:
        raise RunAmbiguous(run=wanted, candidates=", ".join(run.name for run in found[:5]))
    return found[0]


def open_exact(runs_dir: str, name: str) -> RunFolder:
    """Return the run of exactly that name: a beginning is not enough to change one. Raises RunMissing, NotRoot."""
    for folder in list_runs(runs_dir):
        if folder.name == name:
            return folder
    raise RunMissing(run=name, runs_dir=runs_dir)


def is_alive(folder: RunFolder) -> bool:
    """Return whether an engine carries out this run right now: the lock says it, never a heartbeat.

    Raises NotRoot where the lock may not be read, JournalUnusable where it is no file of the run's own.
    """
    if os.path.islink(folder.lock):
        # It could lead to the lock of another run.
        raise JournalUnusable(path=folder.lock, why="it is a symbolic link")
    try:
        return is_locked(folder.lock)
    except PermissionError as error:
        raise NotRoot(what=f"Reading {folder.lock}") from error
    except OSError as error:
        raise JournalUnusable(path=folder.lock, why=_said(error)) from error


def _fill(folder: RunFolder, request: RunRequest, document: str) -> None:
    fd = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        make_directory(os.path.basename(folder.raw), fd)
        _write_journal(folder.journal, request, document)
        reserve(folder)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_journal(path: str, request: RunRequest, document: str) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
    # SQLite gives -wal and -shm the mode of the database, so the umask must not narrow it.
    os.fchmod(fd, 0o640)
    os.close(fd)
    row = (request.run_id, request.created_wall_ns, request.version, document)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        connection.execute(
            "INSERT INTO run (id, run_id, created_wall_ns, version, request) VALUES (1, ?, ?, ?, ?)", row
        )


@contextmanager
def _in_words(runs_dir: str, request_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise _no_space(runs_dir, request_bytes) from error
        raise RunsReadOnly(path=runs_dir, why=_said(error)) from error
    except sqlite3.Error as error:
        if is_full(error, runs_dir):
            raise _no_space(runs_dir, request_bytes) from error
        raise RunsReadOnly(path=runs_dir, why=str(error)) from error


def _no_space(runs_dir: str, request_bytes: int) -> NoSpace:
    needed = format_bytes(request_bytes + _ROOM_BEYOND_REQUEST_BYTES)
    room = os.statvfs(nearest_existing(runs_dir))
    return NoSpace(path=runs_dir, needed=needed, free=format_bytes(room.f_bavail * room.f_frsize))


def _said(error: OSError) -> str:
    return error.strerror or str(error)
