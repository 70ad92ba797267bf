"""What a reader hands on: journal rows since a place, as values."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.observation import Observation
from fsconsole.model.sample import Sample


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a journal: the last row ids that were read; 0 is before the first."""

    event: int = 0
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One observation with its row id and the instant at which it was made."""

    id: int
    wall_ns: int
    monotonic_ns: int
    observation: Observation


@dataclass(frozen=True, slots=True)
class Batch:
    """All that was new at one poll, in the order of writing; cursor is where the next poll goes on."""

    cursor: Cursor
    entries: tuple[Entry, ...] = ()
    samples: tuple[Sample, ...] = ()
    more: bool = False
    """True where the limit on samples cut the batch: read again at once."""

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The observations without their stamps."""
        return tuple(entry.observation for entry in self.entries)
