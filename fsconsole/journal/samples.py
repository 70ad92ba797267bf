"""Samples as rows: one in `sample`, one per CPU in `sample_cpu`, one per device in `sample_device`.

The scalar columns of `sample` are the fields of model.sample.Sample, and those of its groups with the
group's name before them: "cpu" and "user" make "cpu_user". A group that the machine doesn't offer is NULL in all
of them. Figures with a fraction are whole numbers of a smaller unit, which the column's name says and SQLite
keeps in two to four bytes instead of eight: a run of a day has 170,000 samples.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from operator import attrgetter
from types import NoneType
from typing import get_args, get_type_hints

from fsconsole.journal.events import SqlValue, storable
from fsconsole.model.sample import CpuShares, DeviceRates, Sample
from fsconsole.model.wire import from_plain
from fsconsole.text import SECTOR_BYTES

CHILDREN = ("per_cpu", "devices")
"""Fields that are tables of rows."""

DEVICE_IDENTITY = ("name", "role", "above")
"""Fields of a device that are the same in all its samples, and stand in `gauged_device`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column's value stands in a sample: a field, or a field of a group, and how many of its units are one."""

    group: str
    field: str
    unit: str = ""
    """What the column's name ends in instead of the field's own unit."""
    scale: float = 0.0
    """Zero where the value is stored as it is."""

    @property
    def column(self) -> str:
        """The column's name."""
        name = f"{self.group}_{self.field}" if self.group else self.field
        if not self.scale:
            return name
        field_unit = next((end for end in _SMALLER if end and name.endswith(end)), "")
        return name.removesuffix(field_unit) + self.unit

    def stored(self, value: object) -> SqlValue:
        """Return a value as the column holds it. Raises ValueError for a figure that can't be stored."""
        kept = storable(value)
        if self.scale and isinstance(kept, (int, float)):
            return storable(round(kept * self.scale))
        return kept

    def restored(self, value: object) -> object:
        """Return a column's value as the field holds it; what doesn't fit is left for the decoder to refuse."""
        return value / self.scale if self.scale and isinstance(value, int) else value


_SMALLER = {
    "bytes_s": ("sectors_s", 1 / SECTOR_BYTES),
    "_ms": ("_us", 1e3),
    "_s": ("_us", 1e6),
    "_iops": ("_deciops", 1e1),
    "": ("_centi", 1e2),
}
"""By the field's ending: the stored unit, and how many of them are one of the field's. Shares are in 1/100 of a per cent."""


def _place(group: str, field: str, hint: object) -> Place:
    if float not in (get_args(hint) or (hint,)):
        return Place(group, field)
    ending = next(end for end in _SMALLER if field.endswith(end))
    return Place(group, field, *_SMALLER[ending])


def _places() -> tuple[Place, ...]:
    places: list[Place] = []
    for name, hint in get_type_hints(Sample).items():
        group = _group(hint)
        if name in CHILDREN:
            continue
        places += [_place("", name, hint)] if group is None else _places_of(group, name)
    return tuple(places)


def _places_of(record: type, group: str = "") -> list[Place]:
    return [_place(group, field, hint) for field, hint in get_type_hints(record).items()]


def _group(hint: object) -> type | None:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType]
    return kinds[0] if isinstance(kinds[0], type) and is_dataclass(kinds[0]) else None


PLACES = _places()
CPU_PLACES = tuple(_places_of(CpuShares))
DEVICE_PLACES = tuple(place for place in _places_of(DeviceRates) if place.field not in DEVICE_IDENTITY)
_OPTIONAL_GROUPS = frozenset(
    name for name, hint in get_type_hints(Sample).items() if NoneType in get_args(hint)
)
_FIGURES_OF_CPU, _FIGURES_OF_DEVICE = (
    attrgetter(*(place.field for place in places)) for places in (CPU_PLACES, DEVICE_PLACES)
)
_SCALES_OF_CPU, _SCALES_OF_DEVICE = (
    tuple(place.scale or 1 for place in places) for places in (CPU_PLACES, DEVICE_PLACES)
)
_DEVICE_FIELDS = (*DEVICE_IDENTITY, *(place.field for place in DEVICE_PLACES))


def _names(places: Iterable[Place]) -> str:
    return ", ".join(place.column for place in places)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


INSERT_SAMPLE = f"INSERT INTO sample ({_names(PLACES)}) VALUES ({_marks(len(PLACES))})"  # noqa: S608 - names from the model
INSERT_CPU = f"""INSERT INTO sample_cpu (sample, cpu, {_names(CPU_PLACES)})
    VALUES ({_marks(2 + len(CPU_PLACES))})"""  # noqa: S608
INSERT_IDENTITY = "INSERT OR IGNORE INTO gauged_device (position, name, role, above) VALUES (?, ?, ?, ?)"
INSERT_DEVICE = f"""INSERT INTO sample_device (sample, {_names(DEVICE_PLACES)}, device)
    SELECT {_marks(1 + len(DEVICE_PLACES))}, id FROM gauged_device
    WHERE position = ? AND name = ? AND role = ? AND above = ?"""  # noqa: S608
SELECT_SAMPLES = f"SELECT id, {_names(PLACES)} FROM sample WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
SELECT_CPUS = f"""SELECT sample, cpu, {_names(CPU_PLACES)} FROM sample_cpu
    WHERE sample > ? AND sample <= ? ORDER BY sample, cpu"""  # noqa: S608
SELECT_DEVICES = f"""SELECT sample, {", ".join(DEVICE_IDENTITY)}, {_names(DEVICE_PLACES)}
    FROM sample_device JOIN gauged_device ON gauged_device.id = device
    WHERE sample > ? AND sample <= ? ORDER BY sample, position"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A sample made ready to be stored, so that nothing but SQLite can fail afterwards."""

    sample: tuple[SqlValue, ...]
    cpus: tuple[tuple[SqlValue, ...], ...]
    devices: tuple[tuple[SqlValue, ...], ...]
    """Figures, each followed by its position and identity."""

    def insert(self, connection: sqlite3.Connection) -> None:
        """Add the row and its children; the caller holds the transaction. Raises sqlite3.Error."""
        sample = connection.execute(INSERT_SAMPLE, self.sample).lastrowid
        connection.executemany(INSERT_CPU, [(sample, *row) for row in self.cpus])
        connection.executemany(INSERT_IDENTITY, [row[len(DEVICE_PLACES) :] for row in self.devices])
        connection.executemany(INSERT_DEVICE, [(sample, *row) for row in self.devices])


def sample_row(sample: Sample) -> SampleRow:
    """Return a sample as rows. Raises ValueError for a figure that can't be stored."""
    return SampleRow(
        sample=tuple(place.stored(_value(sample, place)) for place in PLACES),
        cpus=tuple(
            (cpu.number, *_scaled(_FIGURES_OF_CPU(cpu.shares), _SCALES_OF_CPU)) for cpu in sample.per_cpu
        ),
        devices=tuple(
            (*_scaled(_FIGURES_OF_DEVICE(device), _SCALES_OF_DEVICE), position, *_identity(device))
            for position, device in enumerate(sample.devices)
        ),
    )


def _scaled(figures: Iterable[float | None], scales: Iterable[float]) -> list[int | None]:
    """Return what Place.stored() would of each, at a quarter of the time: a large box has 600 in each sample."""
    try:
        stored = [
            None if figure is None else round(figure * scale)
            for figure, scale in zip(figures, scales, strict=True)
        ]
    except OverflowError as error:
        raise ValueError("an endless figure") from error
    known = [figure for figure in stored if figure is not None]
    storable(max(known))
    storable(min(known))
    return stored


def _identity(device: DeviceRates) -> tuple[SqlValue, ...]:
    return storable(device.name), device.role.value, storable(device.above)


def _value(sample: Sample, place: Place) -> object:
    holder = getattr(sample, place.group) if place.group else sample
    return None if holder is None else getattr(holder, place.field)


Row = Sequence[object]


def sample_from(row: Row, cpus: Iterable[Row], devices: Iterable[Row]) -> Sample:
    """Return the sample that rows hold, each in the order of its SELECT. Raises Mismatch."""
    document: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for place, stored in zip(PLACES, row, strict=True):
        value = place.restored(stored)
        if place.group:
            groups.setdefault(place.group, {})[place.field] = value
        else:
            document[place.field] = value
    for name, group in groups.items():
        document[name] = None if name in _OPTIONAL_GROUPS and not _any(group) else group
    document["per_cpu"] = [_cpu(*cpu) for cpu in cpus]
    document["devices"] = [_device(device) for device in devices]
    return from_plain(Sample, document)


def _cpu(number: object, *shares: object) -> dict[str, object]:
    pairs = zip(CPU_PLACES, shares, strict=True)
    return {"number": number, "shares": {place.field: place.restored(value) for place, value in pairs}}


def _device(row: Row) -> dict[str, object]:
    identity, figures = row[: len(DEVICE_IDENTITY)], row[len(DEVICE_IDENTITY) :]
    restored = [place.restored(value) for place, value in zip(DEVICE_PLACES, figures, strict=True)]
    return dict(zip(_DEVICE_FIELDS, (*identity, *restored), strict=True))


def _any(group: dict[str, object]) -> bool:
    return any(value is not None for value in group.values())
