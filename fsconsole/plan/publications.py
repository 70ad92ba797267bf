"""The published figures that fsconsole ships: TOML files in configs/reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
import tomli

from fsconsole.catalog.tables import nearest_words
from fsconsole.errors.targets import PlanMissing
from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.wire import Wire
from fsconsole.plan.read import configs_folder
from fsconsole.text import KIB, MIB

_UNITS: Mapping[str, tuple[Unit, float]] = {
    "MB/s": (Unit.BYTES_PER_S, 1e6),
    "MiB/s": (Unit.BYTES_PER_S, MIB),
    "KiB/s": (Unit.BYTES_PER_S, KIB),
    "kB": (Unit.BYTES, KIB),
    "%": (Unit.PERCENT, 1),
    "s": (Unit.SECONDS, 1),
    "1/s": (Unit.PER_SECOND, 1),
    "": (Unit.COUNT, 1),
}
"""Units that publications use, with the base unit and its size; the kernel's and their kB is 1024 bytes."""


class _Column(Wire, frozen=True):
    metric: Metric
    unit: str

    def __post_init__(self) -> None:
        """Require a unit that the metric is counted in."""
        if self.unit not in _UNITS or _UNITS[self.unit][0] is not self.metric.unit:
            raise ValueError(f"{self.metric.value} is not counted in {self.unit!r}")


class _PublishedRow(Wire, frozen=True):
    as_printed: str
    figures: dict[str, float]
    """By their columns."""
    table: str = ""
    note: str = ""


class _File(Wire, frozen=True):
    schema: Literal[1]
    title: str
    source: str
    date: str
    machine: str
    workload: str
    columns: dict[str, _Column]
    rows: tuple[_PublishedRow, ...] = msgspec.field(name="row")

    def figures_of(self, row: _PublishedRow) -> tuple[Measurement, ...]:
        """Return the figures of a row in base units."""
        found = ((self.columns[name], value) for name, value in row.figures.items())
        return tuple(Measurement(column.metric, value * _UNITS[column.unit][1]) for column, value in found)


def list_publications() -> tuple[Path, ...]:
    """Return the shipped publications, by name."""
    return tuple(sorted((configs_folder() / "reference").glob("*.toml")))


def find_publication(name: str) -> Publication:
    """Return the shipped publication of that name. Raises PlanMissing with the nearest names, and as read_publication()."""
    shipped = {path.stem: path for path in list_publications()}
    if name not in shipped:
        known = nearest_words(name, shipped)
        raise PlanMissing(name, f"no publication of that name is shipped ({known})")
    return read_publication(shipped[name])


def read_publication(path: Path) -> Publication:
    """Return the publication in a shipped file. Raises msgspec.ValidationError or KeyError for a wrong one."""
    file = msgspec.convert(tomli.loads(path.read_text(encoding="utf-8")), _File)
    return Publication(
        name=path.stem,
        title=file.title,
        source=file.source,
        date=file.date,
        machine=file.machine,
        workload=file.workload,
        rows=tuple(PublishedRow(row.table, row.as_printed, file.figures_of(row), row.note) for row in file.rows),
    )
