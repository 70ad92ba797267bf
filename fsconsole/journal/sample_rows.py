"""Samples as rows: one row each, with a child row per CPU and per device.

A group of gauges (cpu, writeback, bdi, ...) becomes columns with the group's name in front; a group that the
machine doesn't offer is NULL in all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType
from typing import get_args, get_type_hints

from fsconsole.journal.codec import decode
from fsconsole.journal.storable import SqlValue, storable
from fsconsole.model.sample import DeviceRates, Sample

CHILDREN = ("per_cpu_busy", "devices")
"""Fields that are tables of rows."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column's value stands in a sample: a field, or a field of a group."""

    group: str
    field: str

    @property
    def column(self) -> str:
        """The column's name."""
        return f"{self.group}_{self.field}" if self.group else self.field


def _places() -> tuple[Place, ...]:
    places: list[Place] = []
    for name, hint in get_type_hints(Sample).items():
        group = _group(hint)
        if name in CHILDREN:
            continue
        places += (
            [Place("", name)] if group is None else [Place(name, field) for field in get_type_hints(group)]
        )
    return tuple(places)


def _group(hint: object) -> type | None:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType]
    return kinds[0] if isinstance(kinds[0], type) and is_dataclass(kinds[0]) else None


PLACES = _places()
_OPTIONAL_GROUPS = frozenset(
    name for name, hint in get_type_hints(Sample).items() if NoneType in get_args(hint)
)
_DEVICE_COLUMNS = tuple(field.name for field in fields(DeviceRates))


def _insert(table: str, columns: Iterable[str]) -> str:
    names = tuple(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608


INSERT_SAMPLE = _insert("sample", (place.column for place in PLACES))
INSERT_CPU = _insert("sample_cpu", ("sample", "position", "busy"))
INSERT_DEVICE = _insert("sample_device", ("sample", "position", *_DEVICE_COLUMNS))
SELECT_SAMPLES = f"""SELECT id, {", ".join(place.column for place in PLACES)}
    FROM sample WHERE id > ? ORDER BY id LIMIT ?"""  # noqa: S608 - names from the model
SELECT_CPUS = """SELECT sample, busy FROM sample_cpu
    WHERE sample > ? AND sample <= ? ORDER BY sample, position"""
SELECT_DEVICES = f"""SELECT sample, {", ".join(_DEVICE_COLUMNS)} FROM sample_device
    WHERE sample > ? AND sample <= ? ORDER BY sample, position"""  # noqa: S608 - names from the model


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample made ready to be stored, so that nothing but SQLite can fail afterwards."""

    sample: tuple[SqlValue, ...]
    cpus: tuple[SqlValue, ...]
    devices: tuple[tuple[SqlValue, ...], ...]

    def insert(self, connection: sqlite3.Connection) -> None:
        """Add the row and its children; the caller holds the transaction. Raises sqlite3.Error."""
        sample = connection.execute(INSERT_SAMPLE, self.sample).lastrowid
        cpus = [(sample, position, busy) for position, busy in enumerate(self.cpus)]
        connection.executemany(INSERT_CPU, cpus)
        devices = [(sample, position, *row) for position, row in enumerate(self.devices)]
        connection.executemany(INSERT_DEVICE, devices)


def sample_row(sample: Sample) -> SampleRow:
    """Return a sample as rows. Raises ValueError for a figure that can't be stored."""
    return SampleRow(
        sample=tuple(storable(_value(sample, place)) for place in PLACES),
        cpus=tuple(storable(busy) for busy in sample.per_cpu_busy),
        devices=tuple(
            tuple(storable(getattr(device, column)) for column in _DEVICE_COLUMNS)
            for device in sample.devices
        ),
    )


def _value(sample: Sample, place: Place) -> object:
    holder = getattr(sample, place.group) if place.group else sample
    return None if holder is None else getattr(holder, place.field)


def sample_from(row: Iterable[object], cpus: list[object], devices: Iterable[Iterable[object]]) -> Sample:
    """Return the sample that rows hold; row is in the order of PLACES. Raises codec.Mismatch."""
    document: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for place, value in zip(PLACES, row, strict=True):
        if place.group:
            groups.setdefault(place.group, {})[place.field] = value
        else:
            document[place.field] = value
    for name, group in groups.items():
        document[name] = None if name in _OPTIONAL_GROUPS and not _any(group) else group
    document["per_cpu_busy"] = cpus
    document["devices"] = [dict(zip(_DEVICE_COLUMNS, device, strict=True)) for device in devices]
    return decode(Sample, document)


def _any(group: dict[str, object]) -> bool:
    return any(value is not None for value in group.values())
