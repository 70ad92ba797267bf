"""A run's observations as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TextIO

from fsconsole.journal.batch import Batch, Entry
from fsconsole.journal.codec import encode
from fsconsole.journal.rows import KINDS
from fsconsole.model.sample import Sample
from fsconsole.model.state import RunState
from fsconsole.report.json import ascii_json

_KIND_NAMES = {kind.record: name for name, kind in KINDS.items()}


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
