"""Values of the model as JSON and back, strictly: a run from elsewhere is data, and only what fits is let in.

Frozen dataclasses become objects, tuples lists, enumerations their values. Nothing in a document names a
class: what is built is decided by the type that the caller asks for.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import TypeVar, Union, get_args, get_origin, get_type_hints

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

# What a reader hands on: journal rows since a place, as values.


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


Value = TypeVar("Value")
Decoder = Callable[[object], object]

INTEGER_RANGE = range(-(2**63), 2**64)
"""Wide enough for the kernel's unsigned 64 bit counters; nothing in the model is larger."""


class Mismatch(ValueError):
    """A document that doesn't fit the type; its text says where and how."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(f"{where.lstrip('.')} {problem}".strip())
        self.problem = problem
        self.where = where

    def within(self, place: str) -> Mismatch:
        """Return the same, seen from one level further out."""
        return Mismatch(self.problem, place + self.where)


def encode(value: object) -> object:
    """Return value as what json.dumps takes. Raises TypeError for a value that is not of the model."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} is not a value of the model")


def to_json(value: object) -> str:
    """Return value as JSON text in ASCII. Raises ValueError for a figure that is no number."""
    return json.dumps(encode(value), allow_nan=False, separators=(",", ":"))


def from_json(kind: type[Value], text: str) -> Value:
    """Return the value of that type that a JSON text holds. Raises Mismatch."""
    return decode(kind, parse_json(text))


def parse_json(text: str) -> object:
    """Return the document in a JSON text. Raises Mismatch for bad syntax, NaN, or endless nesting."""
    try:
        document: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Mismatch(f"is not JSON: {error}") from error
    return document


def decode(kind: type[Value], document: object) -> Value:
    """Return the value of that type that a parsed document holds. Raises Mismatch."""
    value = decoder(kind)(document)
    if not isinstance(value, kind):
        raise Mismatch(f"is not {kind.__name__}")
    return value


def decoder(hint: object) -> Decoder:
    """Return the function that turns a parsed document into a value of a type hint, or raises Mismatch.

    Raises TypeError for a hint that the model doesn't use.
    """
    if hint not in _DECODERS:
        _DECODERS[hint] = _decoder(hint)
    return _DECODERS[hint]


_DECODERS: dict[object, Decoder] = {}
"""Built once per type: a plan of a thousand cells has a hundred thousand values."""


def _decoder(hint: object) -> Decoder:
    if get_origin(hint) in {Union, UnionType}:
        return _optional(get_args(hint))
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint))
    if isinstance(hint, type):
        return _plain(hint)
    raise TypeError(f"no decoder for {hint}")


def _plain(kind: type) -> Decoder:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if issubclass(kind, Enum):
        return _enumeration(kind)
    if is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"no decoder for {kind.__name__}")


def _no_constant(name: str) -> object:
    raise Mismatch(f"holds {name}, which is no number")


def _text(document: object) -> object:
    if not isinstance(document, str):
        raise Mismatch("is not text")
    return document


def _integer(document: object) -> object:
    if not isinstance(document, int) or isinstance(document, bool) or document not in INTEGER_RANGE:
        raise Mismatch("is not a whole number of 64 bits")
    return document


def _number(document: object) -> object:
    if not isinstance(document, (int, float)) or isinstance(document, bool):
        raise Mismatch("is not a number")
    try:
        number = float(document)
    except OverflowError as error:
        raise Mismatch("is too large a number") from error
    if not math.isfinite(number):
        raise Mismatch("is not a finite number")
    return number


def _truth(document: object) -> object:
    if not isinstance(document, bool):
        raise Mismatch("is neither true nor false")
    return document


_SCALARS: dict[type, Decoder] = {str: _text, int: _integer, float: _number, bool: _truth}


def _enumeration(kind: type[Enum]) -> Decoder:
    members = {member.value: member for member in kind}

    def read(document: object) -> object:
        if not isinstance(document, str) or document not in members:
            raise Mismatch(f"is not a {kind.__name__}")
        return members[document]

    return read


def _optional(arguments: tuple[object, ...]) -> Decoder:
    kinds = [argument for argument in arguments if argument is not NoneType]
    if len(kinds) != 1:
        raise TypeError("of unions, only X | None is decoded")
    inner = decoder(kinds[0])

    def read(document: object) -> object:
        return None if document is None else inner(document)

    return read


def _tuple(arguments: tuple[object, ...]) -> Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = decoder(arguments[0])
        return lambda document: tuple(_each(_list(document), lambda _: item))
    items = [decoder(argument) for argument in arguments]

    def read(document: object) -> object:
        listed = _list(document)
        if len(listed) != len(items):
            raise Mismatch(f"has {len(listed)} items instead of {len(items)}")
        return tuple(_each(listed, lambda index: items[index]))

    return read


def _list(document: object) -> list[object]:
    if not isinstance(document, list):
        raise Mismatch("is not a list")
    return document


def _each(listed: list[object], item: Callable[[int], Decoder]) -> list[object]:
    values: list[object] = []
    for index, document in enumerate(listed):
        try:
            values.append(item(index)(document))
        except Mismatch as mismatch:
            raise mismatch.within(f"[{index}]") from mismatch
    return values


def _record(kind: type) -> Decoder:
    hints = get_type_hints(kind)
    members = fields(kind)
    known = frozenset(member.name for member in members)
    readers = [(member.name, decoder(hints[member.name]), _has_default(member)) for member in members]

    def read(document: object) -> object:
        if not isinstance(document, dict):
            raise Mismatch("is not an object")
        if not known.issuperset(document):
            raise Mismatch("holds keys that are not known")
        values = {}
        for name, inner, has_default in readers:
            # A field that was added later, with a default, is missing in an older journal.
            if name not in document and has_default:
                continue
            values[name] = _member(document, name, inner)
        built: object = kind(**values)
        return built

    return read


def _member(document: dict[object, object], name: str, inner: Decoder) -> object:
    if name not in document:
        raise Mismatch("is missing", f".{name}")
    try:
        return inner(document[name])
    except Mismatch as mismatch:
        raise mismatch.within(f".{name}") from mismatch


def _has_default(member: Field[object]) -> bool:
    return member.default is not MISSING or member.default_factory is not MISSING


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
    return tuple(tuple(storable(encode(getattr(item, name))) for name in names) for item in items)


def _cell(column: Column, value: object) -> SqlValue:
    return to_json(value) if column.is_json else storable(encode(value))


def observation_from(
    kind: Kind, common: Iterable[object], own: tuple[object, ...], children: list[tuple[object, ...]]
) -> Observation:
    """Return the observation that rows hold. Raises codec.Mismatch."""
    document = {name: value for name, value in zip(COMMON, common, strict=True) if name in kind.common}
    for column, value in zip(kind.columns, own, strict=True):
        document[column.name] = parse_json(str(value)) if column.is_json else value
    if kind.child is not None:
        names = kind.child.columns
        document[kind.child.field] = [dict(zip(names, row, strict=True)) for row in children]
    return decode(kind.record, document)
