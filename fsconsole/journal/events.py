"""Observations as rows of the table `event`, and what a reader hands on of a journal."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from msgspec.structs import replace

from fsconsole.journal.limits import MAX_COMMAS, MAX_EVENT_BYTES, MAX_EVENTS
from fsconsole.model.events import Observation
from fsconsole.model.sample import Sample
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.units import format_bytes


class Cursor(Wire, frozen=True):
    """A place in a journal: the last row ids that were read; 0 is before the first."""

    event: int = 0
    sample: int = 0


class JournalEntry(Wire, frozen=True):
    """One observation with its row id and the instant at which it was made."""

    id: int
    wall_ns: int
    monotonic_ns: int
    observation: Observation


class Batch(Wire, frozen=True):
    """All that was new at one poll, in the order of writing; cursor is where the next poll goes on."""

    cursor: Cursor
    entries: tuple[JournalEntry, ...] = ()
    samples: tuple[Sample, ...] = ()
    more: bool = False
    """True where the limit on samples cut the batch: read again at once."""

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The observations without their stamps."""
        return tuple(entry.observation for entry in self.entries)


TABLE = """CREATE TABLE event (
        id INTEGER PRIMARY KEY,
        wall_ns INTEGER NOT NULL,
        monotonic_ns INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL)"""
"""kind is a name of KINDS, body that class as JSON."""

KINDS: Mapping[str, type[Observation]] = {
    re.sub(r"\B[A-Z]", r"_\g<0>", kind.__name__).lower(): kind for kind in get_args(Observation)
}
NAMES: Mapping[type[Observation], str] = {kind: name for name, kind in KINDS.items()}

INTEGERS = range(-(2**63), 2**63)
"""Types that a column of SQLite can hold (sqlite.org/datatype3.html)."""


def escaped(text: str) -> str:
    r"""Return text as UTF-8 can keep it: a lone surrogate of a file name becomes its visible escape, \udcff."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class EventRow:
    """An observation made ready to be stored, so that nothing but SQLite can fail afterwards."""

    wall_ns: int
    monotonic_ns: int
    kind: str
    body: str

    def insert(self, connection: sqlite3.Connection) -> None:
        """Add the row; the caller holds the transaction. Raises sqlite3.Error."""
        connection.execute(
            "INSERT INTO event (wall_ns, monotonic_ns, kind, body) VALUES (?, ?, ?, ?)",
            (self.wall_ns, self.monotonic_ns, self.kind, self.body),
        )


def event_row(observation: Observation, wall_ns: int, monotonic_ns: int) -> EventRow:
    """Return an observation as a row. Raises ValueError for a figure that can't be stored."""
    texts = {
        name: escaped(text)
        for name in observation.__struct_fields__
        if isinstance(text := getattr(observation, name), str) and not text.isascii()
    }
    return EventRow(wall_ns, monotonic_ns, NAMES[type(observation)], encode(replace(observation, **texts)))


def read_entries(connection: sqlite3.Connection, after: int, without: tuple[str, ...] = ()) -> Iterator[JournalEntry]:
    """Give the observations with ids above after, but for some kinds. Raises Mismatch, sqlite3.Error.

    Mismatch too for more rows or text than MAX_EVENTS and MAX_EVENT_BYTES, and for ids that don't rise: pages of a damaged
    file may lead to each other for ever.
    """
    places = ",".join("?" * len(without))
    query = f"""SELECT id, wall_ns, monotonic_ns, kind, body FROM event
        WHERE id > ? AND kind NOT IN ({places}) ORDER BY id"""  # noqa: S608 (question marks alone)
    previous, size_bytes = after, 0
    for count, (number, wall_ns, monotonic_ns, kind, body) in enumerate(connection.execute(query, (after, *without))):
        if kind not in KINDS:
            raise Mismatch("is not a kind of event", repr(kind))
        if not (isinstance(wall_ns, int) and isinstance(monotonic_ns, int) and isinstance(body, str)):
            raise Mismatch("has a time that is not a whole number, or no text", f"{kind} {number}")
        size_bytes += len(body)
        if count >= MAX_EVENTS or size_bytes > MAX_EVENT_BYTES:
            raise Mismatch(f"there are more than {MAX_EVENTS} events, or {format_bytes(MAX_EVENT_BYTES)} of their text")
        if body.count(",") > MAX_COMMAS:
            raise Mismatch("has too many values", f"{kind} {number}")
        if number <= previous:
            raise Mismatch(f"comes after event {previous}", f"{kind} {number}")
        previous = number
        try:
            observation = decode(KINDS[kind], body)
        except Mismatch as mismatch:
            raise mismatch.within(f"{kind} {number}") from mismatch
        yield JournalEntry(number, wall_ns, monotonic_ns, observation)
