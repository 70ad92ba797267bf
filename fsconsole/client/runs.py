"""Reads runs for lists and views, their raw outputs, and writes what a command printed into a file."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ExportFailed, JournalNewer, JournalUnusable, NotRoot
from fsconsole.journal.folder import RunFolder, Stamp
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive, list_runs_made_here
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.answers import PowerAnswer
from fsconsole.model.events import Outcome
from fsconsole.model.plan import Loads, Plan
from fsconsole.model.state import RunState, RunStatus
from fsconsole.plan.power import power_of
from fsconsole.results.figures import RESUME, as_left, count_cells, status_words
from fsconsole.results.spread import spread_of
from fsconsole.system.files import new_file
from fsconsole.system.mounts import read_mounts
from fsconsole.text import decode, error_reason, printable

_NO_WRITES = frozenset({"ro", "emergency_ro", "shutdown"})
"""Mount options; ext4 that met an error shows the second, and is "rw" all the same (man 5 ext4, errors)."""


def is_read_only(folder: RunFolder) -> bool:
    """Return whether the filesystem that holds a run's folder says that it takes no writes. Raises OSError."""
    if os.statvfs(folder.path).f_flag & os.ST_RDONLY:
        return True
    number = os.stat(folder.path).st_dev
    of_disk = [entry for entry in read_mounts() if entry.device_number == number]
    return any(not _NO_WRITES.isdisjoint(entry.super_options) for entry in of_disk)


def require_writable(folder: RunFolder) -> None:
    """Raise JournalUnusable or OSError unless a run's folder can be written."""
    if is_read_only(folder):
        raise JournalUnusable(path=folder.journal, why="its disk is read-only")


@dataclass(frozen=True, slots=True)
class Look:
    """A run's state, whether an engine carries it out, and where it stands in words."""

    state: RunState
    is_alive: bool
    standing: str


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run of a list; a damaged one has an empty title and its damage as standing."""

    run_id: str
    title: str
    created_wall_ns: int | None
    cells_over: int
    """Cells that need no more work, those that can't run among them."""
    cell_count: int
    """All cells of the plan."""
    standing: str
    status: str
    """"new", "running", "paused", "interrupted", "finished" by the journal, "imported", "dead", "newer", "damaged"
    or "unreadable"."""
    outcome: Outcome | None = None
    """None until it has ended."""
    cells_ended: int = 0
    """Cells that can run and have ended, whatever end; what is shown as done."""
    runnable: int = 0
    """Cells that can run; the others of cell_count can't."""
    repeated: int = 0
    """Of these, the cells of disturbed rounds that ran again: more than was planned."""


def look(folder: RunFolder) -> Look:
    """Return a run as it is. Raises JournalUnusable, JournalNewer, NotRoot."""
    # Asked before reading, so that a run that ends just now is not called dead.
    alive = is_alive(folder)
    state = as_left(read_state(folder), alive=alive)
    try:
        read_only = is_read_only(folder)
    except OSError as error:
        why = error_reason(error)
        raise JournalUnusable(path=folder.journal, why=why) from error
    words = status_words(state, alive=alive, read_only=read_only, is_imported=folder.is_imported)
    gone = "" if alive else file_gone(state)
    if RESUME in words and gone:
        words = f"{words.partition(RESUME)[0]}{NOT_RESUMED}its scratch file {gone} is gone"
    return Look(state, alive, resumed_from(words, os.path.dirname(folder.path)))


def resumed_from(standing: str, runs_dir: str) -> str:
    """Return a standing whose command that resumes the run, if there is one, names the directory of runs."""
    if RESUME not in standing or runs_dir == DEFAULT_RUNS_DIR or standing.endswith("--runs DIR"):
        return standing
    return f"{standing} --runs {shlex.quote(runs_dir)}"


NOT_RESUMED = "; it can't be resumed, "
"""Between a run's standing and why, where it was cut short."""


def file_gone(state: RunState) -> str:
    """Return the file of a run's scratch device that was removed; empty where none was. A disk may be plugged in again."""
    for path in _scratch_files(state):
        try:
            os.stat(path)
        except FileNotFoundError:
            return path
        except OSError:
            # It can't be told, as without root.
            continue
    return ""


def gone_words(path: str) -> str:
    """Return why a run whose scratch file was removed can't be resumed."""
    return f"Its scratch file {printable(path)} is gone, so it can't go on."


def _scratch_files(state: RunState) -> tuple[str, ...]:
    targets = state.request.targets
    return tuple(one.backing_file for one in targets if one.identity.scratch_id and one.backing_file)


def look_at(folder: RunFolder) -> ListedRun:
    """Return one run's line; whatever is wrong with its folder is said in it."""
    return _look_at(folder)[0]


def _look_at(folder: RunFolder) -> tuple[ListedRun, tuple[str, ...]]:
    """Return one run's line, and its scratch files."""
    try:
        seen = look(folder)
    except FsconsoleError as error:
        what = "damaged"
        if isinstance(error, (NotRoot, JournalNewer)):
            what = "unreadable" if isinstance(error, NotRoot) else "newer"
        return ListedRun(folder.name, "", None, 0, 0, f"{what}: {error}", what), ()
    state, cells = seen.state, count_cells(seen.state)
    ended = state.status in (RunStatus.FINISHED, RunStatus.INTERRUPTED, RunStatus.NEW)
    status = state.status.value if seen.is_alive or ended else "dead"
    listed = ListedRun(
        run_id=folder.name,
        title=state.request.plan.title,
        created_wall_ns=state.request.created_wall_ns,
        cells_over=cells.ended + cells.unable,
        cell_count=len(state.cells),
        standing=seen.standing,
        outcome=state.outcome if seen.state.status is RunStatus.FINISHED else None,
        status="imported" if folder.is_imported else status,
        cells_ended=cells.ended,
        runnable=cells.able,
        repeated=cells.repeated,
    )
    return listed, _scratch_files(state)


_NEWEST = 5
"""Runs in which a spread is looked for: each takes up to 0.2 s to read."""


def last_spreads(runs_dir: str, only: Loads | None = None) -> dict[Loads, float]:
    """Return the spreads (results.spread) of this machine's newest runs by their loads; only: of these loads alone."""
    found: dict[Loads, float] = {}
    with suppress(FsconsoleError):
        for folder in list_runs_made_here(runs_dir)[:_NEWEST]:
            with suppress(FsconsoleError):
                state = read_state(folder)
                loads = state.request.plan.loads
                if loads is None or loads in found or only not in (None, loads):
                    continue
                spread = spread_of(state)
                found |= {loads: spread} if spread is not None else {}
                if only in found:
                    break
    return found


def power_here(plan: Plan, runs_dir: str) -> PowerAnswer:
    """Return what a plan can find, at the spread of the last run of the same loads on this machine too."""
    return power_of(plan, last_spreads(runs_dir, plan.loads).get(plan.loads))


def last_run_of(runs_dir: str, title: str) -> RunState | None:
    """Return the newest finished run of this machine with that title, among the last few; None where there is none."""
    with suppress(FsconsoleError):
        for folder in list_runs_made_here(runs_dir)[:_NEWEST]:
            with suppress(FsconsoleError):
                state = read_state(folder)
                if state.request.plan.title == title and state.status is RunStatus.FINISHED:
                    return state
    return None


def size_bytes(folder: RunFolder) -> int:
    """Return what the files of a run's folder hold in all; what goes meanwhile, or may not be read, counts nothing."""
    total = 0
    for path in (folder.path, folder.raw):
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run's line and size, with what its files were like when they were read."""

    listed: ListedRun
    size_bytes: int
    stamp: Stamp
    scratch: Mapping[str, bool] = field(default_factory=dict)
    """Its scratch files, and whether each was there."""


def read_runs(folders: Sequence[RunFolder], known: dict[str, KnownRun]) -> dict[str, KnownRun]:
    """Return these runs by name; of those that are as they were, what was known."""
    found = {}
    for folder in folders:
        entry, stamp = known.get(folder.name), _stamp(folder)
        if entry is None or entry.stamp != stamp or entry.scratch != _are_there(entry.scratch):
            listed, scratch = _look_at(folder)
            entry = KnownRun(listed, size_bytes(folder), stamp, _are_there(scratch))
        found[folder.name] = entry
    return found


def _are_there(paths: Iterable[str]) -> dict[str, bool]:
    return {path: os.path.lexists(path) for path in paths}


def _stamp(folder: RunFolder) -> Stamp:
    """Return what differs once a run has gone on: whether it lives, and its files' sizes and times."""
    try:
        alive: bool | str = is_alive(folder)
    except FsconsoleError as error:
        alive = str(error)
    return alive, *folder.stamp()


def state_of(folder: RunFolder) -> RunState | None:
    """Return a run's state; None where its journal can't be read, which a command on it then tells."""
    try:
        return read_state(folder)
    except FsconsoleError:
        return None


MAX_BYTES = 2 * 1024 * 1024
"""Of one output; what is longer is read in an editor."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def list_outputs(folder: RunFolder) -> tuple[str, ...]:
    """Return the names of all raw outputs; none where there is no such folder, or it may not be read."""
    try:
        return tuple(sorted(os.listdir(folder.raw)))
    except OSError:
        return ()


def read_output(folder: RunFolder, name: str) -> tuple[str, int]:
    """Return an output's text, and how many bytes of it were left out. Raises JournalUnusable.

    Only a plain file in the folder itself is read: the name may come from a journal from elsewhere.
    """
    path = os.path.join(folder.raw, os.path.basename(name))
    try:
        with open(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise JournalUnusable(path=path, why="it is no plain file")
            raw = file.read(MAX_BYTES)
    except OSError as error:
        raise JournalUnusable(path=path, why=error_reason(error)) from error
    return decode(raw), max(0, status.st_size - len(raw))


def save(path: str, text: str, *, overwrite: bool) -> None:
    """Write text to a file, in UTF-8. Raises ExportFailed, also for one that is there, unless it may be overwritten."""
    try:
        with new_file(path, overwrite=overwrite) as file:
            file.write(text.encode())
    except OSError as error:
        raise ExportFailed(path=path, why=error_reason(error)) from error
