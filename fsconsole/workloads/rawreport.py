"""What raw streams say of themselves, as one line of JSON. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from fsconsole.errors import GeneratorFailed


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What the streams of one program did together; instants are CLOCK_MONOTONIC nanoseconds."""

    streams: int
    moved_bytes: int
    first_started_ns: int
    first_ended_ns: int
    last_ended_ns: int
    flushed_ns: int
    """After the device's flush; the same as last_ended_ns where nothing was written."""

    @property
    def bytes_per_s(self) -> float:
        """Throughput from the first stream's start to the end of the flush; 0 where no time passed."""
        elapsed_ns = self.flushed_ns - self.first_started_ns
        return self.moved_bytes / (elapsed_ns / 1e9) if elapsed_ns > 0 else 0.0


def to_line(report: StreamReport) -> str:
    """Return the report as its line."""
    return json.dumps(asdict(report))


def from_line(text: str) -> StreamReport:
    """Return the report in a program's output. Raises GeneratorFailed for anything else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GeneratorFailed("the raw streams gave no figures") from error
    names = [field.name for field in fields(StreamReport)]
    is_whole = isinstance(document, dict) and sorted(document) == sorted(names)
    if not is_whole or not all(isinstance(document[name], int) for name in names):
        raise GeneratorFailed("the raw streams gave no figures")
    return StreamReport(**document)
