"""From a run's journal to a screen: a thread that looks four times a second, and holds the latest snapshot.

It never waits for the screen: what isn't taken is replaced by what is newer, and the screen is told once until it takes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fsconsole.client.follow import POLL_S, PollResult, RunFollower
from fsconsole.client.runs import is_read_only
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.fold import fold
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import best_before, highest_before, point_of, points_before
from fsconsole.model.state import RunState, RunStatus
from fsconsole.show.history import (
    FIRST_SLOT_S,
    MAX_SLOTS,
    CellEstimates,
    Keeper,
    Names,
    RunSnapshot,
    began_ns,
    known_of,
    names_of,
)

_IDLE_S = 1.0
"""Between looks at a run that has no engine: another one may be given to it."""
_OLD_POINTS = 1000
"""Read one by one: more than the last minute, and all of a short run."""
_FIRST_SLOT_NS = int(FIRST_SLOT_S * 1e9)


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """A fault of the program that ended the bridge; whoever takes it raises it."""

    error: Exception


Taken = RunSnapshot | FsconsoleError | Fault
"""What was found; why nothing was; or what the bridge died of."""


class Watch:
    """One run, looked at again and again: its state, and as much of its past as is shown."""

    def __init__(self, folder: RunFolder) -> None:
        self._follower = RunFollower(folder)
        self._folder = folder
        self._keeper = Keeper()
        self._names: Names | None = None
        self._known: tuple[object, CellEstimates] | None = None
        self._older = self._follower.samples_before
        self._past: int | None = None
        """The last sample of the curves' further past, 0 where they have none; None before it is known."""

    def look(self) -> RunSnapshot:
        """Return what is there now. Raises JournalNewer, JournalUnusable, NotRoot, OSError."""
        seen = self._follower.poll()
        if not os.path.lexists(self._folder.journal):
            # To its reader a journal that isn't there is one that is yet to come.
            raise JournalUnusable(path=self._folder.journal, why="it is gone")
        self._keeper.add((point_of(sample) for sample in seen.batch.samples), seen.state)
        state = self._with_last_word(seen)
        if self._names is None:
            self._names = names_of(state.request.plan)
        dead = not seen.alive and state.status is not RunStatus.FINISHED
        return RunSnapshot(
            folder=self._folder,
            state=state,
            names=self._names,
            known=self._known_of(state),
            sample=state.last_sample,
            history=self._keeper.history(),
            alive=seen.alive,
            read_only=dead and is_read_only(self._folder),
        )

    def look_back(self) -> bool:
        """Read some more of the past; return whether there was any more of it. Raises as look()."""
        if not self._older:
            return False
        state, journal = self._follower.state, self._folder.journal
        if self._past is None:
            following, points = points_before(journal, self._older, _OLD_POINTS)
            self._past = following if self._keeper.add_older(points, state) else 0
            return True
        # The best rates are of the whole run: of cells too that no curve shows, and of what no cell is told for.
        self._keeper.add_best(*best_before(journal, self._older))
        if self._past:
            began = partial(began_ns, state)
            past = highest_before(journal, self._past, began, _FIRST_SLOT_NS, MAX_SLOTS)
            self._keeper.add_past(past, state)
        self._older = 0
        return True

    def _known_of(self, state: RunState) -> CellEstimates:
        """Return what the cells tell, found out anew only where one of them has changed."""
        if self._known is None or self._known[0] is not state.cells:
            self._known = (state.cells, known_of(state))
        return self._known[1]

    def _with_last_word(self, seen: PollResult) -> RunState:
        """Return the state with the word that the journal didn't take; a following engine takes it back."""
        if seen.alive or seen.state.status is RunStatus.FINISHED:
            return seen.state
        return fold(seen.state, self._follower.last_word())


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
        """Have the thread end after what it is at; nothing is told any more."""
        self._stopped.set()

    @property
    def ended(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def take(self) -> Taken | None:
        """Return the latest that hasn't been taken yet."""
        with self._lock:
            latest, self._latest = self._latest, None
        return latest

    def _look_until_stopped(self) -> None:
        try:
            self._look_again_and_again()
        except Exception as error:
            # A fault of the program, which no file of a run may bring about: raised where it is taken, and here.
            self._put(Fault(error))
            raise

    def _look_again_and_again(self) -> None:
        watch: Watch | None = None
        while not self._stopped.is_set():
            try:
                watch = watch or Watch(self.folder)
                found: RunSnapshot | FsconsoleError = watch.look()
            except FsconsoleError as error:
                found = error
            except OSError as error:
                found = _in_words(self.folder, error)
            self._put(found)
            self._rest(watch, found)

    def _put(self, found: Taken) -> None:
        with self._lock:
            is_untaken = self._latest is not None
            self._latest = found
        if not is_untaken and not self._stopped.is_set():
            self._tell()

    def _rest(self, watch: Watch | None, found: RunSnapshot | FsconsoleError) -> None:
        idle = isinstance(found, FsconsoleError) or not found.alive
        due_s = time.monotonic() + (_IDLE_S if idle else POLL_S)
        if watch is not None and isinstance(found, RunSnapshot) and self._look_back(watch):
            # What was just read is shown at once.
            due_s = time.monotonic() + POLL_S / 10
        self._stopped.wait(max(0.0, due_s - time.monotonic()))

    def _look_back(self, watch: Watch) -> bool:
        """Read of the past; a journal that doesn't let it is met again, and told, by the next look."""
        try:
            return watch.look_back()
        except (FsconsoleError, OSError):
            return False


def _in_words(folder: RunFolder, error: OSError) -> JournalUnusable:
    return JournalUnusable(path=folder.journal, why=error.strerror or str(error))
