"""Polls a run's journal four times a second in a thread, and holds the latest snapshot.

It never waits for the screen: a newer snapshot replaces one that was not taken, and the screen is notified once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from fsconsole.client.follow import POLL_S, RunFollower
from fsconsole.client.runs import file_gone, is_read_only
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.events import Cursor
from fsconsole.journal.fold import fold
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import best_before, highest_before, points_before, read_curve
from fsconsole.journal.reader import JournalReader
from fsconsole.model.state import RunState, RunStatus
from fsconsole.show.history import (
    FIRST_SLOT_S,
    MAX_SLOTS,
    MOST_RECENT,
    CellEstimates,
    Keeper,
    Names,
    RunSnapshot,
    began_ns,
    ghost_of,
    known_of,
    names_of,
    trace_of,
)
from fsconsole.show.race import Ranking, current_workload, ranking_of
from fsconsole.text import error_reason

_IDLE_S = 1.0
"""Between polls of a run without an engine: it may be resumed."""
_OLD_POINTS = 1000
"""Read one by one: all of a short run."""
_NO_EVENTS = 2**62
_FIRST_SLOT_NS = int(FIRST_SLOT_S * 1e9)


Taken = RunSnapshot | Exception
"""Result of a poll: a snapshot; an FsconsoleError; or the exception that ended the bridge."""


class Watch:
    """One run, polled: its state, and as much of its past as is shown."""

    def __init__(self, folder: RunFolder) -> None:
        self._follower = RunFollower(folder)
        self._folder = folder
        self._keeper = Keeper()
        self._names: Names | None = None
        self._known: tuple[object, CellEstimates] | None = None
        self._ranking: tuple[object, Ranking | None] = ((), None)
        """Ranking, and what it was made of: a grid of many cells takes longer than a poll."""
        self._older = self._follower.samples_before
        self._sought: tuple[int | None, object] = (None, None)
        """Cell whose ghost was looked for, and all cells as they were then."""
        self._has_minute = False
        self._past: int | None = None
        """The last sample of the curves' further past, 0 where they have none; None before it is known."""
        self._latest: RunSnapshot | None = None
        """The result of the last look, until more of the past is known."""

    def look(self) -> RunSnapshot:
        """Return what is there now; of a living run the same object where nothing has come.

        Raises JournalNewer, JournalUnusable, NotRoot, OSError.
        """
        seen = self._follower.poll()
        if not os.path.lexists(self._folder.journal):
            # To its reader a journal that isn't there is one that is yet to come.
            raise JournalUnusable(path=self._folder.journal, why="it is gone")
        latest, state = self._latest, seen.state
        if latest is not None and latest.alive and seen.alive and state is latest.state:
            return latest
        self._keeper.add(seen.batch.samples, state)
        self._find_ghost(state)
        dead = not seen.alive and state.status is not RunStatus.FINISHED
        if dead:
            # The word that the journal didn't take; a following engine takes it back.
            state = fold(state, self._follower.last_word())
        if self._names is None or len(self._names.texts) < len(state.cells):
            self._names = names_of(state.request.plan)
        if self._known is None or self._known[0] is not state.cells:
            self._known = (state.cells, known_of(state))
        self._latest = RunSnapshot(
            folder=self._folder,
            state=state,
            names=self._names,
            known=self._known[1],
            sample=state.last_sample,
            history=self._keeper.history(),
            alive=seen.alive,
            ranking=self._ranked(state),
            read_only=not seen.alive and state.status is not RunStatus.FINISHED and is_read_only(self._folder),
            is_imported=self._folder.is_imported,
            file_gone="" if seen.alive or self._folder.is_imported else file_gone(state),
        )
        return self._latest

    def _find_ghost(self, state: RunState) -> None:
        cell = self._keeper.cell
        if cell == self._sought[0] and state.cells is self._sought[1]:
            return
        self._sought = (cell, state.cells)
        ghost = None if cell is None or not 0 <= cell < len(state.cells) else ghost_of(state, cell)
        known = None if self._keeper.ghost is None else self._keeper.ghost.cell
        if ghost != known:
            began = 0 if ghost is None else began_ns(state, ghost)
            points = () if ghost is None else read_curve(self._folder, ghost, began)
            self._keeper.ghost = None if ghost is None else trace_of(points, ghost, began)

    def _ranked(self, state: RunState) -> Ranking | None:
        of = (tuple(cell.status for cell in state.cells), state.current_cell, current_workload(state), state.status)
        if self._ranking[0] != of:
            self._ranking = (of, ranking_of(state))
        return self._ranking[1]

    def look_back(self) -> bool:
        """Read some more of the past; return whether there was any more of it. Raises as look()."""
        if not self._older:
            return False
        self._latest = None
        state, journal = self._follower.state, self._folder.journal
        if not self._has_minute:
            self._has_minute = True
            # Past all observations: of those none is missing.
            before = Cursor(_NO_EVENTS, max(0, self._older - MOST_RECENT))
            seen = JournalReader(journal).read_since(before, max_samples=self._older - before.sample)
            self._keeper.add_minute(seen.samples)
            return True
        if self._past is None:
            following, points = points_before(journal, self._older, _OLD_POINTS)
            self._past = following if self._keeper.add_older(points, state) else 0
            return True
        # The best rates are of the whole run, also of cells that no curve shows.
        self._keeper.add_best(*best_before(journal, self._older))
        if self._past:
            began = partial(began_ns, state)
            past = highest_before(journal, self._past, began, _FIRST_SLOT_NS, MAX_SLOTS)
            self._keeper.add_past(past, state)
        self._older = 0
        return True


class Bridge:
    """Looks at one run in a thread of its own, from start() to stop()."""

    def __init__(self, folder: RunFolder, tell: Callable[[], object]) -> None:
        self.folder = folder
        self._tell = tell
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._latest: Taken | None = None
        self._thread = threading.Thread(target=self._look_until_stopped, name="bridge", daemon=True)

    def start(self) -> None:
        """Begin; tell() is called from the thread whenever there is something to take, and must not wait."""
        self._thread.start()

    def stop(self) -> None:
        """Have the thread end after its current poll; tell() is not called any more."""
        self._stopped.set()

    def take(self) -> Taken | None:
        """Return the latest that hasn't been taken yet."""
        with self._lock:
            latest, self._latest = self._latest, None
        return latest

    def _look_until_stopped(self) -> None:
        watch: Watch | None = None
        told: Taken | None = None
        try:
            while not self._stopped.is_set():
                wait_s = _IDLE_S
                try:
                    watch = watch or Watch(self.folder)
                    found: RunSnapshot | FsconsoleError = watch.look()
                except FsconsoleError as error:
                    found = error
                except OSError as error:
                    found = JournalUnusable(path=self.folder.journal, why=error_reason(error))
                if found is not told:
                    self._put(found)
                    told = found
                if watch is not None and isinstance(found, RunSnapshot):
                    due_s = time.monotonic() + (POLL_S if found.alive else _IDLE_S)
                    # An error in reading the past is met again, and reported, by the next poll.
                    with suppress(FsconsoleError, OSError):
                        if watch.look_back():
                            # What was just read is shown at once.
                            due_s = time.monotonic() + POLL_S / 10
                    wait_s = due_s - time.monotonic()
                self._stopped.wait(max(0.0, wait_s))
        except Exception as error:
            # A fault of the program, which no file of a run may bring about: raised where it is taken, and here.
            self._put(error)
            raise

    def _put(self, found: Taken) -> None:
        with self._lock:
            is_untaken = self._latest is not None
            self._latest = found
        if not is_untaken and not self._stopped.is_set():
            self._tell()
