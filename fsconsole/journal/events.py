"""Observations as rows, and what a reader hands on of them."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import get_type_hints

from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    CommandFinished,
    ControlRequested,
    FeatureSeen,
    LatencySeen,
    MemberLeft,
    Observation,
    RequestRenewed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SettingReturned,
    SettingSeen,
    SettingTaken,
    StepFinished,
    StepStarted,
    TargetAccepted,
    WarningRaised,
)
from fsconsole.model.sample import Sample
from fsconsole.model.wire import Wire, decode, encode, from_plain, to_plain

# What a reader hands on: journal rows since a place, as values.


class Cursor(Wire, frozen=True):
    """A place in a journal: the last row ids that were read; 0 is before the first."""

    event: int = 0
    sample: int = 0


class Entry(Wire, frozen=True):
    """One observation with its row id and the instant at which it was made."""

    id: int
    wall_ns: int
    monotonic_ns: int
    observation: Observation


class Batch(Wire, frozen=True):
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


# Scalars as SQLite keeps them.

SqlValue = int | float | str | None


def storable(value: object) -> SqlValue:
    r"""Return a scalar as it is stored; a lone surrogate in a file name becomes its visible escape, \udcff.

    SQLite's integers have 64 bits with a sign, its text is UTF-8, and it turns NaN into NULL
    (sqlite.org/datatype3.html). Raises ValueError for what it can't keep, TypeError for no scalar.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no figure")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} has more than 64 bits")
    if value is None or isinstance(value, (int, float)):
        return value
    raise TypeError(f"{type(value).__name__} is not a scalar")


# Observations as rows: the common part in `event`, the rest in a table of the kind's own.

COMMON = ("attempt", "cell", "step")
"""Fields that stand in `event` itself, for every kind that has them."""


@dataclass(frozen=True, slots=True)
class Child:
    """A field of an observation that is a table of rows of its own, in order; columns are its items' fields."""

    field: str
    table: str
    columns: tuple[str, ...]

    @property
    def insert(self) -> str:
        """The statement that adds one row."""
        names, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.table} (event, position, {names}) VALUES (?, ?, {marks})"  # noqa: S608 - names from this module

    @property
    def select(self) -> str:
        """The query for the rows of events after one id, up to another."""
        names = ", ".join(self.columns)
        return (
            f"SELECT event, {names} FROM {self.table} WHERE event > ? AND event <= ? ORDER BY event, position"  # noqa: S608 - as above
        )


CHILDREN = (
    Child("measurements", "measurement", ("metric", "value")),
    Child("buckets", "latency_bucket", ("bucket", "count")),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One field of an observation in its kind's table."""

    name: str
    is_json: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """How one class of observations is stored; name is the value of event.kind, and the table's name."""

    name: str
    record: type[Observation]
    common: tuple[str, ...]
    columns: tuple[Column, ...]
    child: Child | None

    @property
    def insert(self) -> str:
        """The statement that adds one row to the kind's table."""
        names = ", ".join(("event", *(column.name for column in self.columns)))
        marks = ", ".join("?" * (1 + len(self.columns)))
        return f"INSERT INTO {self.name} ({names}) VALUES ({marks})"  # noqa: S608 - names from this module

    @property
    def select(self) -> str:
        """The query for the rows of events after one id, up to another."""
        names = ", ".join(("event", *(column.name for column in self.columns)))
        return f"SELECT {names} FROM {self.name} WHERE event > ? AND event <= ?"  # noqa: S608 - as above


def _kind(name: str, record: type[Observation]) -> Kind:
    hints = get_type_hints(record)
    names = [field.name for field in fields(record)]
    (*_, child) = (None, *(known for known in CHILDREN if known.field in names))
    own = [name for name in names if name not in COMMON and (child is None or name != child.field)]
    return Kind(
        name=name,
        record=record,
        common=tuple(name for name in COMMON if name in names),
        columns=tuple(Column(name, is_json=not _is_scalar(hints[name])) for name in own),
        child=child,
    )


def _is_scalar(hint: object) -> bool:
    return hint in {str, int, float} or (isinstance(hint, type) and issubclass(hint, Enum))


_NAMED: tuple[tuple[str, type[Observation]], ...] = (
    ("run_started", RunStarted),
    ("target_accepted", TargetAccepted),
    ("request_renewed", RequestRenewed),
    ("cell_started", CellStarted),
    ("step_started", StepStarted),
    ("command_finished", CommandFinished),
    ("step_finished", StepFinished),
    ("feature_seen", FeatureSeen),
    ("latency_seen", LatencySeen),
    ("setting_taken", SettingTaken),
    ("setting_seen", SettingSeen),
    ("setting_returned", SettingReturned),
    ("member_left", MemberLeft),
    ("warning_raised", WarningRaised),
    ("cell_finished", CellFinished),
    ("control_requested", ControlRequested),
    ("run_interrupted", RunInterrupted),
    ("run_finished", RunFinished),
)
KINDS: Mapping[str, Kind] = {name: _kind(name, record) for name, record in _NAMED}
_BY_RECORD: Mapping[type, Kind] = {kind.record: kind for kind in KINDS.values()}

INSERT_EVENT = (
    "INSERT INTO event (kind, wall_ns, monotonic_ns, attempt, cell, step) VALUES (?, ?, ?, ?, ?, ?)"
)
SELECT_EVENTS = (
    "SELECT id, kind, wall_ns, monotonic_ns, attempt, cell, step FROM event WHERE id > ? ORDER BY id"
)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An observation made ready to be stored, so that nothing but SQLite can fail afterwards."""

    kind: Kind
    event: tuple[SqlValue, ...]
    own: tuple[SqlValue, ...]
    children: tuple[tuple[SqlValue, ...], ...]

    def insert(self, connection: sqlite3.Connection) -> None:
        """Add the row and its children; the caller holds the transaction. Raises sqlite3.Error."""
        event = connection.execute(INSERT_EVENT, self.event).lastrowid
        if self.kind.columns:
            connection.execute(self.kind.insert, (event, *self.own))
        if self.kind.child is not None:
            rows = [(event, position, *row) for position, row in enumerate(self.children)]
            connection.executemany(self.kind.child.insert, rows)


def event_row(observation: Observation, wall_ns: int, monotonic_ns: int) -> EventRow:
    """Return an observation as rows. Raises ValueError for a figure that can't be stored."""
    kind = _BY_RECORD[type(observation)]
    values: dict[str, object] = {name: getattr(observation, name) for name in kind.common}
    common = tuple(storable(values.get(name)) for name in COMMON)
    own = tuple(_cell(column, getattr(observation, column.name)) for column in kind.columns)
    return EventRow(kind, (kind.name, wall_ns, monotonic_ns, *common), own, _child_rows(kind, observation))


def _child_rows(kind: Kind, observation: Observation) -> tuple[tuple[SqlValue, ...], ...]:
    if kind.child is None:
        return ()
    items: tuple[object, ...] = getattr(observation, kind.child.field)
    names = kind.child.columns
    return tuple(tuple(storable(to_plain(getattr(item, name))) for name in names) for item in items)


def _cell(column: Column, value: object) -> SqlValue:
    return encode(value) if column.is_json else storable(to_plain(value))


def observation_from(
    kind: Kind, common: Iterable[object], own: tuple[object, ...], children: list[tuple[object, ...]]
) -> Observation:
    """Return the observation that rows hold. Raises Mismatch."""
    document = {name: value for name, value in zip(COMMON, common, strict=True) if name in kind.common}
    for column, value in zip(kind.columns, own, strict=True):
        document[column.name] = decode(object, str(value)) if column.is_json else value
    if kind.child is not None:
        names = kind.child.columns
        document[kind.child.field] = [dict(zip(names, row, strict=True)) for row in children]
    return from_plain(kind.record, document)
