"""Following a run by its journal, as long as its engine lives; and its observations as lines of JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Protocol, TextIO

from fsconsole.errors import EngineDied, FsconsoleError, JournalUnusable
from fsconsole.journal import last_word
from fsconsole.journal.batch import Batch, Entry
from fsconsole.journal.codec import encode
from fsconsole.journal.fold import fold, start
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.rows import KINDS
from fsconsole.journal.store import RunFolder, is_alive
from fsconsole.model.observation import RunFinished
from fsconsole.model.sample import Sample
from fsconsole.model.state import RunState, RunStatus
from fsconsole.report.json import ascii_json

POLL_S = 0.25
"""Four times a second: as often as a view is painted."""

_KIND_NAMES = {kind.record: name for name, kind in KINDS.items()}


class View(Protocol):
    """Whatever shows a run while it goes on."""

    def show(self, state: RunState, batch: Batch) -> None:
        """Show the state after a batch; the batch may be empty, since time passes too."""
        ...


def never(_state: RunState) -> bool:
    """Return False: a run is followed to its end."""
    return False


def follow(folder: RunFolder, view: View, *, until: Callable[[RunState], bool] = never) -> RunState:
    """Hand a run's states to the view until it is over, or until(state) is true; return the last one.

    Nothing is held between polls. A signal handler of the caller's may run at any time. Raises EngineDied
    where the engine's lock is free and its last word is missing, JournalUnusable, and whatever the reader raises.
    """
    reader = JournalReader(folder.journal)
    state = start(reader.request())
    # The gauges of the past are of no use to whoever comes late.
    cursor = reader.recent(samples=1)
    first = True
    while True:
        # Asked before reading: what a dying engine wrote last is in the journal by then.
        alive = is_alive(folder)
        batch = reader.read_since(cursor)
        state, cursor = fold(state, batch), batch.cursor
        view.show(state, batch)
        if until(state) or (state.status is RunStatus.FINISHED and not alive):
            return state
        # In the first batch it may be the last word of an earlier engine, of a run that is being resumed.
        if not first and any(isinstance(seen, RunFinished) for seen in batch.observations):
            return state
        if not alive:
            return _last_state(folder, view, state)
        first = False
        if not batch.more:
            time.sleep(POLL_S)


def _last_state(folder: RunFolder, view: View, state: RunState) -> RunState:
    """Return the state of a run whose engine ended, by the word that it left where its journal took none."""
    words = last_word.read(folder)
    if not words:
        raise _silence(folder)
    batch = last_word.as_batch(words)
    state = fold(state, batch)
    view.show(state, batch)
    return state


def _silence(folder: RunFolder) -> FsconsoleError:
    """Return why an engine left no word: its disk takes none, or it was killed."""
    try:
        # Tried, since a filesystem that shut itself down (ext4 after an error) still says that it is writable.
        last_word.blank(folder)
    except PermissionError:
        return EngineDied(run=folder.name)
    except OSError as error:
        return JournalUnusable(path=folder.journal, why=f"nothing can be written there: {error.strerror}")
    return EngineDied(run=folder.name)


def json_lines(batch: Batch) -> Iterator[str]:
    """Yield one JSON object per observation, then one per sample, without line ends.

    Keys: event (the kind, "step_finished"), time (wall clock, ISO 8601, UTC), then all fields by their names;
    enumerations as their values.
    """
    for entry in batch.entries:
        yield _observation_line(entry)
    for sample in batch.samples:
        yield _sample_line(sample)


class JsonView:
    """Writes json_lines to a stream, each flushed, so that a pipe's reader is never behind.

    Raises BrokenPipeError where the reader is gone.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def show(self, _state: RunState, batch: Batch) -> None:
        """Write what is new."""
        for line in json_lines(batch):
            self._stream.write(line + "\n")
            self._stream.flush()


def _observation_line(entry: Entry) -> str:
    name = _KIND_NAMES[type(entry.observation)]
    document = {"event": name, "time": _iso(entry.wall_ns)}
    return ascii_json(document | _fields(entry.observation))


def _sample_line(sample: Sample) -> str:
    return ascii_json({"event": "sample", "time": _iso(sample.wall_ns)} | _fields(sample))


def _fields(value: object) -> dict[str, object]:
    document = encode(value)
    if not isinstance(document, dict):
        raise TypeError(f"{type(value).__name__} is not a record of the model")
    return document


def _iso(wall_ns: int) -> str:
    """Return a wall clock time to the millisecond: "2026-11-21T08:10:00.250Z"."""
    seconds, rest_ns = divmod(wall_ns, 10**9)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest_ns // 10**6:03d}Z"
