"""Run folders: create, list, find, rename, delete."""

from __future__ import annotations

import errno
import grp
import os
import re
import secrets
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import (
    JournalUnusable,
    NoRuns,
    NoRunsMadeHere,
    NoSpace,
    NotRoot,
    RunAmbiguous,
    RunLives,
    RunMissing,
    RunNotDeleted,
    RunsReadOnly,
)
from fsconsole.journal.arrival import arrival_numbers, arriving, leave_mark
from fsconsole.journal.folder import LATEST, RunFolder, is_full, require_own
from fsconsole.journal.last_word import reserve
from fsconsole.journal.past import read_journal
from fsconsole.journal.schema import create_tables
from fsconsole.journal.seal import request_seal
from fsconsole.journal.writer import record_all
from fsconsole.model.events import RequestRenewed
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import encode
from fsconsole.system.files import nearest_existing, opened
from fsconsole.system.locks import FileLock, is_locked
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


def delete_run(folder: RunFolder) -> None:
    """Remove a run with all that is in its folder, through descriptors: no link is followed, no other filesystem entered.

    Raises RunLives where an engine carries it out, RunMissing, RunNotDeleted where something is mounted in it,
    RunsReadOnly where it can't be removed.
    """
    runs_dir, name = os.path.split(os.path.abspath(folder.path))
    try:
        with opened(runs_dir, _DIRECTORY) as runs_fd, ExitStack() as stack:
            if name not in os.listdir(runs_fd) or not stat.S_ISDIR(os.lstat(name, dir_fd=runs_fd).st_mode):
                raise RunMissing(run=name, runs_dir=runs_dir)
            stack.enter_context(_locked(folder))
            if mounted := _mounted_in(name, runs_fd):
                raise RunNotDeleted(run=name, why=f"something is mounted at {os.path.join(folder.path, mounted)}")
            # Under a name that no list has: a run is there as a whole, or not at all.
            hidden = f".{name}.{os.getpid()}.gone"
            os.rename(name, hidden, src_dir_fd=runs_fd, dst_dir_fd=runs_fd)
            _remove_tree(hidden, runs_fd)
            os.fsync(runs_fd)
    except OSError as error:
        raise RunsReadOnly(path=runs_dir, why=error_reason(error)) from error


def _locked(folder: RunFolder) -> FileLock:
    try:
        return FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error


def _mounted_in(name: str, parent_fd: int) -> str:
    """Return the path below a directory of what is mounted in it, empty for nothing. Raises OSError."""
    mount = _mount_of(parent_fd)
    for path, directories, files, fd in os.fwalk(name, onerror=_raise, follow_symlinks=False, dir_fd=parent_fd):
        for entry in (".", *directories, *files):
            with opened(entry, os.O_PATH | os.O_NOFOLLOW, dir_fd=fd) as inner:
                if _mount_of(inner) != mount:
                    return os.path.relpath(os.path.join(path, entry), name)
    return ""


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


_LONGEST_TITLE = 200


def title_complaint(title: str) -> str:
    """Return what is wrong with a title; nothing where it is one."""
    if title.strip() and len(title) <= _LONGEST_TITLE:
        return ""
    return f"A title has 1 to {_LONGEST_TITLE} characters."


def rename_run(folder: RunFolder, title: str) -> None:
    """Record another title in a run's journal, so that every reader and every copy has it.

    Raises RunLives where an engine carries it out (it alone writes then), and what the journal's writer raises.
    """
    require_own(folder)
    with _locked(folder):
        state = read_journal(folder)
        request = replace(state.request, plan=replace(state.request.plan, title=title))
        record_all(folder, (RequestRenewed(len(state.started), request),))


GROUP = "fsconsole"
"""Members of this group, where it exists, may read all runs."""

_NO_PLACES = {
    "/dev": "/dev has the machine's devices",
    "/proc": "/proc has the kernel's own files",
    "/sys": "/sys has the kernel's own files",
    "/run/fsconsole": "every engine hides /run/fsconsole behind mounts of its own",
}


def place_objection(path: str) -> str:
    """Return why no runs can be kept at an absolute path, as a clause; empty where nothing speaks against it."""
    if f"{path}/".startswith("/dev/shm/"):  # noqa: S108 (memory, and no device)
        return ""
    return next((why for place, why in _NO_PLACES.items() if f"{path}/".startswith(f"{place}/")), "")


_WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def group_id() -> int | None:
    """Return the id of the readers' group, or None where there is no such group."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return None


def open_or_make(path: str) -> int:
    """Return a descriptor (O_RDONLY) of the directory of all runs; what is missing is made, 0750.

    No symbolic link on the way is followed. Raises OSError, RunsReadOnly.
    """
    if why := place_objection(os.path.abspath(path)):
        raise RunsReadOnly(path=path, why=why)
    with ExitStack() as walked:
        fd = walked.enter_context(opened("/", _WALK))
        for name in [part for part in os.path.abspath(path).split("/") if part]:
            try:
                fd = walked.enter_context(opened(name, _WALK, dir_fd=fd))
            except FileNotFoundError:
                make_directory(name, fd)
                fd = walked.enter_context(opened(name, _WALK, dir_fd=fd))
            except NotADirectoryError:
                if stat.S_ISLNK(os.lstat(name, dir_fd=fd).st_mode):
                    why = f"{name} is a symbolic link; give the place it leads to"
                    raise RunsReadOnly(path=path, why=why) from None
                raise
        return os.open(".", _DIRECTORY | os.O_CLOEXEC, dir_fd=fd)


def make_directory(name: str, parent: int) -> None:
    """Make a directory for root and the readers' group. Raises OSError."""
    os.mkdir(name, 0o700, dir_fd=parent)
    with opened(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent) as fd:
        group = group_id()
        if group is None or os.geteuid() != 0:
            os.fchmod(fd, 0o750)
        else:
            os.fchown(fd, -1, group)
            # Set-group-id: what is made in here later belongs to the readers' group too (man 7 inode).
            os.fchmod(fd, 0o2750)


_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
"""RFC 4648, in small letters: nothing in it is mistaken for something else when typed."""
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ROOM_BEYOND_REQUEST_BYTES = 256 * 1024
"""Empty tables, SQLite's rollback journal, and a block for each directory."""


def is_run_name(name: str) -> bool:
    """Return whether a run may have that name; "latest" means another one."""
    return bool(_RUN_NAME.fullmatch(name)) and name != LATEST


def make_run_id() -> str:
    """Return a new id that sorts by time: UTC and four random characters, "20261121-104500-k7qf"."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-{''.join(secrets.choice(_BASE32) for _ in range(4))}"


def create_run(runs_dir: str, request: RunRequest) -> RunFolder:
    """Make the folder of a run, named by its id, with a journal that holds the request, durably.

    The folder appears whole or not at all. Raises RunsReadOnly, NoSpace.
    """
    document = encode(request)
    with _in_words(runs_dir, len(document)), ExitStack() as stack:
        if not is_run_name(request.run_id):
            raise RunsReadOnly(path=runs_dir, why=f"'{request.run_id}' is not a name for a run")
        runs_fd = open_or_make(runs_dir)
        stack.callback(os.close, runs_fd)
        if request.run_id in os.listdir(runs_fd):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        hidden = RunFolder(os.path.join(os.path.abspath(runs_dir), f".{request.run_id}.new"))
        make_directory(hidden.name, runs_fd)
        undo = stack.enter_context(ExitStack())
        undo.callback(shutil.rmtree, hidden.path, ignore_errors=True)
        with opened(hidden.path, _DIRECTORY | os.O_NOFOLLOW) as fd:
            make_directory(os.path.basename(hidden.raw), fd)
            with opened(hidden.journal, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as journal:
                # SQLite gives -wal and -shm the mode of the database, so the umask must not narrow it.
                os.fchmod(journal, 0o640)
            with closing(sqlite3.connect(hidden.journal, isolation_level=None)) as connection, connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                create_tables(connection)
                row = (document, request_seal(request))
                connection.execute("INSERT INTO run (id, request, seal) VALUES (1, ?, ?)", row)
            reserve(hidden)
            with arriving(runs_dir) as number:
                leave_mark(hidden, request.run_id, number)
                os.fsync(fd)
                os.rename(hidden.name, request.run_id, src_dir_fd=runs_fd, dst_dir_fd=runs_fd)
                undo.pop_all()
                os.fsync(runs_fd)
    return RunFolder(os.path.join(os.path.abspath(runs_dir), request.run_id))


def list_runs(runs_dir: str) -> tuple[RunFolder, ...]:
    """Return the folders of all runs, whatever is in them; none where there is no such directory.

    Runs that were made here come first, the last to arrive before the others; then all others by their names.

    Raises NotRoot where the directory may not be read.
    """
    try:
        with os.scandir(runs_dir) as entries:
            names = [e.name for e in entries if is_run_name(e.name) and e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return ()
    except PermissionError as error:
        raise NotRoot(what=f"Reading {runs_dir}") from error
    except OSError as error:
        raise RunsReadOnly(path=runs_dir, why=error_reason(error)) from error
    folders = [RunFolder(os.path.join(os.path.abspath(runs_dir), name)) for name in names]
    numbers = arrival_numbers(folders)
    return tuple(sorted(folders, key=lambda folder: (numbers[folder.path], folder.name), reverse=True))


def list_runs_made_here(runs_dir: str) -> tuple[RunFolder, ...]:
    """Return the folders of the runs that were made on this machine, the last to arrive first. Raises as list_runs()."""
    folders = list_runs(runs_dir)
    numbers = arrival_numbers(folders)
    return tuple(folder for folder in folders if numbers[folder.path])


def open_run(runs_dir: str, wanted: str = LATEST) -> RunFolder:
    """Return the run of that name, or the only one that begins so; for "latest" the last one that was made here.

    Raises RunMissing, RunAmbiguous, NotRoot.
    """
    runs = list_runs(runs_dir)
    if runs and wanted == LATEST:
        return _latest(runs, runs_dir)
    exact = tuple(run for run in runs if run.name == wanted)
    found = exact or tuple(run for run in runs if wanted and run.name.startswith(wanted))
    if not found:
        raise (RunMissing if runs else NoRuns)(run=wanted, runs_dir=runs_dir)
    if len(found) > 1:
        raise RunAmbiguous(run=wanted, candidates=", ".join(run.name for run in found[:_MOST_NAMED]))
    return found[0]


def _latest(runs: Sequence[RunFolder], runs_dir: str) -> RunFolder:
    if not arrival_numbers(runs[:1])[runs[0].path]:
        others = ", ".join(run.name for run in runs[:_MOST_NAMED])
        more = f" and {len(runs) - _MOST_NAMED} more" if len(runs) > _MOST_NAMED else ""
        raise NoRunsMadeHere(run=LATEST, runs_dir=runs_dir, others=f"{others}{more}")
    return runs[0]


_MOST_NAMED = 5


def open_exact(runs_dir: str, name: str) -> RunFolder:
    """Return the run of exactly that name: a beginning is not enough to change one. Raises RunMissing, NotRoot."""
    for folder in list_runs(runs_dir):
        if folder.name == name:
            return folder
    raise RunMissing(run=name, runs_dir=runs_dir)


def is_alive(folder: RunFolder) -> bool:
    """Return whether an engine runs this run right now: the lock says it, never a heartbeat.

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
        raise JournalUnusable(path=folder.lock, why=error_reason(error)) from error


def living_runs(runs_dir: str) -> tuple[RunFolder, ...]:
    """Return the runs that an engine carries out now, newest first; one whose lock can't be read is none."""
    living = []
    for folder in list_runs(runs_dir):
        with suppress(FsconsoleError):
            living += [folder] if is_alive(folder) else []
    return tuple(living)


@contextmanager
def _in_words(runs_dir: str, request_bytes: int) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if is_full(error, runs_dir):
            needed = format_bytes(request_bytes + _ROOM_BEYOND_REQUEST_BYTES)
            room = os.statvfs(nearest_existing(runs_dir))
            free = format_bytes(room.f_bavail * room.f_frsize)
            raise NoSpace(path=runs_dir, needed=needed, free=free) from error
        raise RunsReadOnly(path=runs_dir, why=error_reason(error)) from error
