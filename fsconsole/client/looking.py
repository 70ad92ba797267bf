"""A run as it is right now, and in a line for a list: read from its folder, nothing is changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.analysis.status import as_left, cells_over, status_words
from fsconsole.client.disk import is_read_only
from fsconsole.errors import FsconsoleError, JournalNewer, JournalUnusable, NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.history import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.state import RunState, RunStatus


@dataclass(frozen=True, slots=True)
class Look:
    """A run's state, whether an engine carries it out, and where it stands in words."""

    state: RunState
    is_alive: bool
    standing: str


@dataclass(frozen=True, slots=True)
class Listed:
    """One run of a list; a damaged one has an empty title and its damage as standing."""

    run_id: str
    title: str
    created_wall_ns: int | None
    cells_over: int
    cells: int
    standing: str
    status: str
    """"new", "running", "paused", "interrupted", "finished" by the journal, "dead", "newer", "damaged" or
    "unreadable"."""


def look(folder: RunFolder) -> Look:
    """Return a run as it is. Raises JournalUnusable, JournalNewer, NotRoot."""
    # Asked before reading, so that a run that ends just now is not called dead.
    alive = is_alive(folder)
    state = as_left(read_state(folder), alive=alive)
    try:
        read_only = is_read_only(folder)
    except OSError as error:
        why = error.strerror or str(error)
        raise JournalUnusable(path=folder.journal, why=why) from error
    return Look(state, alive, status_words(state, alive=alive, read_only=read_only))


def look_at(folder: RunFolder) -> Listed:
    """Return one run's line; whatever is wrong with its folder is said in it."""
    try:
        seen = look(folder)
    except FsconsoleError as error:
        what = _what_is_wrong(error)
        return Listed(folder.name, "", None, 0, 0, f"{what}: {error}", what)
    state = seen.state
    ended = state.status in (RunStatus.FINISHED, RunStatus.INTERRUPTED, RunStatus.NEW)
    return Listed(
        run_id=folder.name,
        title=state.request.plan.title,
        created_wall_ns=state.request.created_wall_ns,
        cells_over=cells_over(state),
        cells=len(state.cells),
        standing=seen.standing,
        status=state.status.value if seen.is_alive or ended else "dead",
    )


def size_bytes(folder: RunFolder) -> int:
    """Return what the files of a run's folder hold in all; what goes meanwhile, or may not be read, counts nothing."""
    return sum(_size_bytes(path) for path in (folder.path, folder.raw))


def _size_bytes(path: str) -> int:
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        return total
    return total


def _what_is_wrong(error: FsconsoleError) -> str:
    if isinstance(error, NotRoot):
        return "unreadable"
    return "newer" if isinstance(error, JournalNewer) else "damaged"
