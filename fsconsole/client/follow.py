"""Follows a run by polling its journal as long as its engine lives; nothing is held between polls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fsconsole.errors.runs import EngineDied, JournalUnusable
from fsconsole.journal import last_word
from fsconsole.journal.events import Batch
from fsconsole.journal.fold import fold, start
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive
from fsconsole.model.events import RunFinished
from fsconsole.model.state import RunState, RunStatus
from fsconsole.text import error_reason

POLL_S = 0.25
"""Four times a second: as often as a view is painted."""
_READ_AGAIN_S = 1.0
"""After that a journal is read though its files are as they were: a commit changes them before readers see it."""


@dataclass(frozen=True, slots=True)
class PollResult:
    """Result of one poll: the run's state, its new observations, and True if its engine is alive."""

    state: RunState
    batch: Batch
    alive: bool
    over: bool
    """True where its engine has said its last word, and no other one has started."""


class RunFollower:
    """Polls one run. Making one, and every poll, raises JournalNewer, JournalUnusable or NotRoot; polling goes on after it."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        reader = JournalReader(folder.journal)
        self._reader = reader
        self.state = start(reader.request())
        # The gauges of the past are of no use to whoever comes late.
        self._cursor = reader.recent(samples=1)
        self.samples_before = self._cursor.sample
        """The id of the last sample that no poll gives."""
        self._is_first = True
        self._read: tuple[float, object] = (-math.inf, ())
        """When the whole journal was read last, by the monotonic clock, and its stamp before."""

    def poll(self) -> PollResult:
        """Return what is there now."""
        # Asked before reading: what a dying engine wrote last is in the journal by then.
        alive = is_alive(self.folder)
        # To open a journal takes most of a poll, and an engine writes half as often as it is polled.
        now_s, stamp = time.monotonic(), (alive, *self.folder.stamp())
        is_same = stamp == self._read[1] and now_s - self._read[0] < _READ_AGAIN_S
        batch = Batch(self._cursor) if is_same else self._reader.read_since(self._cursor)
        if not is_same:
            self._read = now_s, () if batch.more else stamp
        self.state, self._cursor = fold(self.state, batch), batch.cursor
        # In the first batch it may be the last word of an earlier engine, of a run that is being resumed.
        said = not self._is_first and any(isinstance(seen, RunFinished) for seen in batch.observations)
        self._is_first = False
        over = said or (self.state.status is RunStatus.FINISHED and not alive)
        return PollResult(self.state, batch, alive, over)

    def last_word(self) -> Batch:
        """Return the word that an engine left where its journal took none; an empty batch where it left none. Raises JournalUnusable, NotRoot."""
        return last_word.as_batch(last_word.read(self.folder))


class View(Protocol):
    """Whatever shows a run while it goes on."""

    def show(self, state: RunState, batch: Batch) -> None:
        """Show the state after a batch; the batch may be empty, since time passes too."""
        ...


def follow(folder: RunFolder, view: View, *, until: Callable[[RunState], bool] | None = None) -> RunState:
    """Hand a run's states to the view until it is over, or until(state) is true; return the last one.

    A signal handler of the caller's may run at any time. Raises EngineDied where the engine's lock is free and
    its last word is missing, JournalUnusable, and whatever the reader raises.
    """
    follower = RunFollower(folder)
    while True:
        seen = follower.poll()
        view.show(seen.state, seen.batch)
        if (until is not None and until(seen.state)) or seen.over:
            return seen.state
        if not seen.alive:
            batch = follower.last_word()
            if not batch.entries:
                break
            state = fold(seen.state, batch)
            view.show(state, batch)
            return state
        if not seen.batch.more:
            time.sleep(POLL_S)
    # Without a last word: its disk takes none, or it was killed. Tried, since a filesystem that shut itself down (ext4
    # after an error) still says that it is writable.
    try:
        last_word.blank(folder)
    except PermissionError:
        pass
    except OSError as error:
        why = f"nothing can be written there: {error_reason(error)}"
        raise JournalUnusable(path=folder.journal, why=why) from error
    raise EngineDied(run=folder.name)
