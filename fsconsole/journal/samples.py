"""Samples as rows: one in `sample`, one per CPU in `sample_cpu`, one per device in `sample_device`.

The columns are the fields of model.sample.Sample, and those of its groups with the group's name before them: "cpu"
and "user" make "cpu_user". A group that the machine doesn't offer is NULL in all of them. Figures with a fraction are
whole numbers of a smaller unit, which the column's name ends in and SQLite keeps in two to four bytes instead of
eight: a run of a day has 170,000 samples.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_type_hints

from fsconsole.journal.events import INTEGERS, escaped
from fsconsole.journal.limits import MAX_NAME_CHARACTERS, MAX_SAMPLE_ROWS_READ
from fsconsole.model.sample import CpuShares, DeviceRates, Sample
from fsconsole.model.wire import Mismatch, Wire, from_plain
from fsconsole.text import SECTOR_BYTES

DEVICE_IDENTITY = ("name", "role", "above")
"""Fields of a device that are the same in all its samples, and stand in `gauged_device`."""

_SMALLER: Mapping[str, tuple[str, float]] = {
    "bytes_s": ("sectors_s", 1 / SECTOR_BYTES),
    "_ms": ("_us", 1e3),
    "_s": ("_us", 1e6),
    "_iops": ("_deciops", 1e1),
    "": ("_centi", 1e2),
}
"""By the field's ending: the stored unit, and how many of them are one of the field's. Shares are in 1/100 of a per cent."""


ADDED_GROUPS: Mapping[str, int] = {"temperature": 2}
"""Groups of a sample that the first schema lacked, and the version that has them: their columns may be NULL."""


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """Storage of one figure: the field of a sample or of a group in it, and the stored units per unit."""

    name: str
    group: str
    field: str
    scale: float
    declared: str

    @property
    def since(self) -> int:
        """Version of the schema in which it was added."""
        return ADDED_GROUPS.get(self.group, 1)


def _column(group: str, field: str, hint: object, *, is_optional: bool = False) -> FigureColumn:
    kinds = get_args(hint) or (hint,)
    name, scale = f"{group}_{field}" if group else field, 1.0
    if float in kinds:
        ending = next(end for end in _SMALLER if field.endswith(end))
        unit, scale = _SMALLER[ending]
        name = name.removesuffix(ending) + unit
    needed = "" if is_optional or NoneType in kinds else " NOT NULL"
    return FigureColumn(name, group, field, scale, f"{name} INTEGER{needed}")


def _columns() -> Iterable[FigureColumn]:
    for name, hint in get_type_hints(Sample).items():
        kinds = get_args(hint) or (hint,)
        if isinstance(kinds[0], type) and issubclass(kinds[0], Wire) and Ellipsis not in kinds:
            for field, of_field in get_type_hints(kinds[0]).items():
                yield _column(name, field, of_field, is_optional=NoneType in kinds)
        elif int in kinds or float in kinds:
            yield _column("", name, hint)


COLUMNS = tuple(_columns())
CPU_COLUMNS = tuple(_column("", field, hint) for field, hint in get_type_hints(CpuShares).items())
DEVICE_COLUMNS = tuple(
    _column("", field, hint) for field, hint in get_type_hints(DeviceRates).items() if field not in DEVICE_IDENTITY
)
_OPTIONAL_GROUPS = {name for name, hint in get_type_hints(Sample).items() if NoneType in get_args(hint)}
_FIGURES_OF_CPU, _FIGURES_OF_DEVICE = (
    attrgetter(*(column.field for column in columns)) for columns in (CPU_COLUMNS, DEVICE_COLUMNS)
)


def _declared(columns: Iterable[FigureColumn]) -> str:
    return ", ".join(column.declared for column in columns)


def _names(columns: Iterable[FigureColumn]) -> str:
    return ", ".join(column.name for column in columns)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def sample_tables(version: int) -> tuple[str, ...]:
    """Return the statements of the table sample in a journal of a version: made so, then as migrations left older ones.

    SQLite appends an added column to the statement's text (ALTER TABLE).
    """
    made = _declared(column for column in COLUMNS if column.since <= version)
    statements = [f"CREATE TABLE sample (id INTEGER PRIMARY KEY, step TEXT NOT NULL, {made})"]
    for older in range(1, version):
        added = _declared(column for column in COLUMNS if older < column.since <= version)
        statements += [f"{statement.removesuffix(')')}, {added})" for statement in sample_tables(older)]
    return tuple(dict.fromkeys(statements))


OTHER_TABLES = (
    f"""CREATE TABLE sample_cpu (sample INTEGER NOT NULL REFERENCES sample, cpu INTEGER NOT NULL,
        {_declared(CPU_COLUMNS)}, PRIMARY KEY (sample, cpu)) WITHOUT ROWID""",
    """CREATE TABLE gauged_device (id INTEGER PRIMARY KEY, position INTEGER NOT NULL, name TEXT NOT NULL,
        role TEXT NOT NULL, above TEXT NOT NULL, UNIQUE (position, name, role, above))""",
    f"""CREATE TABLE sample_device (sample INTEGER NOT NULL REFERENCES sample,
        device INTEGER NOT NULL REFERENCES gauged_device,
        {_declared(DEVICE_COLUMNS)}, PRIMARY KEY (sample, device)) WITHOUT ROWID""",
)
_INSERT = f"INSERT INTO sample (step, {_names(COLUMNS)}) VALUES ({_marks(1 + len(COLUMNS))})"  # noqa: S608 - names from the model
_INSERT_CPU = f"""INSERT INTO sample_cpu (sample, cpu, {_names(CPU_COLUMNS)})
    VALUES ({_marks(2 + len(CPU_COLUMNS))})"""  # noqa: S608
_INSERT_IDENTITY = "INSERT OR IGNORE INTO gauged_device (position, name, role, above) VALUES (?, ?, ?, ?)"
_INSERT_DEVICE = f"""INSERT INTO sample_device (sample, {_names(DEVICE_COLUMNS)}, device)
    SELECT {_marks(1 + len(DEVICE_COLUMNS))}, id FROM gauged_device
    WHERE position = ? AND name = ? AND role = ? AND above = ?"""  # noqa: S608


def _select(version: int) -> str:
    """Return the query for a journal of some version; columns that it lacks are NULL."""
    names = ", ".join(column.name if column.since <= version else "NULL" for column in COLUMNS)
    step = f"CASE WHEN length(step) <= {MAX_NAME_CHARACTERS} THEN step END"
    return f"SELECT id, {step}, {names} FROM sample WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608


_SELECT_CPUS = f"""SELECT sample, cpu, {_names(CPU_COLUMNS)} FROM sample_cpu
    WHERE sample > ? AND sample <= ? ORDER BY sample, cpu LIMIT {MAX_SAMPLE_ROWS_READ + 1}"""  # noqa: S608
_SELECT_DEVICES = f"""SELECT sample, {", ".join(DEVICE_IDENTITY)}, {_names(DEVICE_COLUMNS)}
    FROM sample_device JOIN gauged_device ON gauged_device.id = device
    WHERE sample > ? AND sample <= ? ORDER BY sample, position LIMIT {MAX_SAMPLE_ROWS_READ + 1}"""  # noqa: S608
# A name is read with each row of its device.
_LONG_NAMES = f"""SELECT EXISTS (SELECT 1 FROM gauged_device
    WHERE max(length(name), length(role), length(above)) > {MAX_NAME_CHARACTERS})"""  # noqa: S608


def add_columns(connection: sqlite3.Connection, version: int) -> None:
    """Give a journal of an older version the columns that it lacks; the caller holds the transaction. Raises sqlite3.Error."""
    for column in COLUMNS:
        if column.since > version:
            connection.execute(f"ALTER TABLE sample ADD COLUMN {column.declared}")


Figures = Sequence[int | str | None]


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample made ready to be stored, so that nothing but SQLite can fail afterwards."""

    sample: Figures
    cpus: Sequence[Figures]
    devices: Sequence[Figures]
    """Figures, each followed by its position and identity."""

    def insert(self, connection: sqlite3.Connection) -> None:
        """Add the row and its children; the caller holds the transaction. Raises sqlite3.Error."""
        sample = connection.execute(_INSERT, self.sample).lastrowid
        connection.executemany(_INSERT_CPU, [(sample, *row) for row in self.cpus])
        connection.executemany(_INSERT_IDENTITY, [row[len(DEVICE_COLUMNS) :] for row in self.devices])
        connection.executemany(_INSERT_DEVICE, [(sample, *row) for row in self.devices])


def sample_row(sample: Sample) -> SampleRow:
    """Return a sample as rows. Raises ValueError for a figure that can't be stored."""
    figures = (
        None if (holder := getattr(sample, column.group) if column.group else sample) is None
        else getattr(holder, column.field)
        for column in COLUMNS
    )  # fmt: skip
    return SampleRow(
        sample=(escaped(sample.step), *_stored(figures, COLUMNS)),
        cpus=[(cpu.number, *_stored(_FIGURES_OF_CPU(cpu.shares), CPU_COLUMNS)) for cpu in sample.per_cpu],
        devices=[
            (*_stored(_FIGURES_OF_DEVICE(device), DEVICE_COLUMNS), position,
             escaped(device.name), device.role.value, escaped(device.above))
            for position, device in enumerate(sample.devices)
        ],
    )  # fmt: skip


def _stored(figures: Iterable[float | None], columns: Iterable[FigureColumn]) -> list[int | None]:
    try:
        stored = [
            figure if figure is None or (isinstance(figure, int) and column.scale == 1.0)
            else round(figure * column.scale)
            for figure, column in zip(figures, columns, strict=True)
        ]  # fmt: skip
    except OverflowError as error:
        raise ValueError("an infinite figure") from error
    known = [figure for figure in stored if figure is not None]
    if min(known) not in INTEGERS or max(known) not in INTEGERS:
        raise ValueError(f"{max(known, key=abs)} has more than 64 bits")
    return stored


def read_samples(connection: sqlite3.Connection, after: int, limit: int) -> tuple[int, tuple[Sample, ...]]:
    """Return up to limit samples with ids above after, and the last id. Raises Mismatch, sqlite3.Error."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute(_select(version), (after, limit)).fetchall()
    if not rows:
        return after, ()
    last: int = rows[-1][0]
    cpus, devices = defaultdict(list), defaultdict(list)
    for sample, number, *shares in _counted(connection.execute(_SELECT_CPUS, (after, last))):
        cpus[sample].append({"number": number, "shares": _restored(CPU_COLUMNS, shares)})
    if connection.execute(_LONG_NAMES).fetchone() != (0,):
        raise Mismatch(f"has a name with more than {MAX_NAME_CHARACTERS} characters", "gauged_device")
    for sample, name, role, above, *figures in _counted(connection.execute(_SELECT_DEVICES, (after, last))):
        identity = {"name": name, "role": role, "above": above}
        devices[sample].append(identity | _restored(DEVICE_COLUMNS, figures))
    return last, tuple(
        from_plain(Sample, _document(step, figures) | {"per_cpu": cpus[number], "devices": devices[number]})
        for number, step, *figures in rows
    )


def _counted(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Give rows of samples. Raises Mismatch for more than MAX_SAMPLE_ROWS_READ."""
    for count, row in enumerate(rows):
        if count >= MAX_SAMPLE_ROWS_READ:
            raise Mismatch(f"more than {MAX_SAMPLE_ROWS_READ} rows of CPUs or devices", "sample")
        yield row


def _document(step: object, stored: Iterable[object]) -> dict[str, object]:
    groups: dict[str, dict[str, object]] = defaultdict(dict)
    for column, value in zip(COLUMNS, stored, strict=True):
        groups[column.group][column.field] = _figure(column, value)
    own = groups.pop("")
    optional = groups.keys() & _OPTIONAL_GROUPS
    missing = [name for name in optional if all(value is None for value in groups[name].values())]
    return {**own, "step": step, **groups, **dict.fromkeys(missing)}


def _restored(columns: Iterable[FigureColumn], stored: Iterable[object]) -> dict[str, object]:
    return {column.field: _figure(column, value) for column, value in zip(columns, stored, strict=True)}


def _figure(column: FigureColumn, stored: object) -> object:
    """Return a stored figure in its field's unit; what is no whole number as text, which no figure may be."""
    if column.scale == 1.0 or stored is None:
        return stored
    return stored / column.scale if isinstance(stored, int) else str(stored)
