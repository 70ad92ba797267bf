"""The published figures that fsconsole ships: TOML files in configs/reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import tomli

from fsconsole.catalog.tables import close_words
from fsconsole.errors.targets import PublicationMissing
from fsconsole.model.figures import Measurement, Publication, PublishedFigure, PublishedRow
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.plan import Keep
from fsconsole.model.wire import Wire
from fsconsole.plan.shipped import configs_folder
from fsconsole.text import KIB, MIB
from fsconsole.units import parse_bytes

_UNITS: Mapping[str, tuple[Unit, float]] = {
    "MB/s": (Unit.BYTES_PER_S, 1e6),
    "MiB/s": (Unit.BYTES_PER_S, MIB),
    "KiB/s": (Unit.BYTES_PER_S, KIB),
    "kB": (Unit.BYTES, KIB),
    "kBps": (Unit.BYTES_PER_S, KIB),
    "%": (Unit.PERCENT, 1),
    "s": (Unit.SECONDS, 1),
    "1/s": (Unit.PER_SECOND, 1),
    "": (Unit.COUNT, 1),
}
"""Units that publications use, with the base unit and its size; the kernel's and their kB is 1024 bytes."""


class _Column(Wire, frozen=True):
    """A column that means a metric, or one with a name and a unit of its own."""

    unit: str
    metric: Metric | None = None
    name: str = ""
    stands: tuple[Keep, ...] = ()
    """Of a name: what a scaled run must have kept for the figure to stand beside it as printed."""

    def __post_init__(self) -> None:
        """Require one of both, and a unit that the metric is counted in."""
        if (self.metric is None) == (not self.name):
            raise ValueError("a column has either a metric or a name")
        if self.metric and (self.unit not in _UNITS or _UNITS[self.unit][0] is not self.metric.unit):
            raise ValueError(f"{self.metric.value} is not counted in {self.unit!r}")


class _PublishedRow(Wire, frozen=True):
    as_printed: str
    figures: dict[str, float]
    """By their columns."""
    table: str = ""
    load: str = ""
    """Name of the load, in the study's plan, that the figures are of; empty: of any."""
    threads: int = 0
    note: str = ""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    """In place of the file's."""


class _File(Wire, frozen=True):
    schema: Literal[1]
    title: str
    source: str
    date: str
    machine: str
    workload: str
    columns: dict[str, _Column]
    rows: tuple[_PublishedRow, ...] = msgspec.field(name="row")
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    """Settings of the study, by their plan names. Rows of a run with other settings get no published row."""
    device: str = ""
    """Size of the device that the figures hang on; beside a run on one of another size only ratios stand."""
    copies_own_files: bool = False
    """True if directories of its own machine were copied: beside any run only ratios stand."""
    baseline_table: str = ""
    """The table with which others are compared row by row; empty: rows are compared within their table."""

    def all_rows(self) -> tuple[PublishedRow, ...]:
        """Return the rows, with those that they are compared with."""
        rows = tuple(map(self.row_of, self.rows))
        bases = {row.name: row for row in rows if self.baseline_table and row.table == self.baseline_table}
        return tuple(
            replace(row, base=base.figures, base_name=base.full_name) if base is not None else row
            for row, base in ((row, bases.get(row.name)) for row in rows)
        )

    def row_of(self, row: _PublishedRow) -> PublishedRow:
        """Return a row with figures of metrics in base units, others as printed."""
        figures, others = [], []
        for name, value in row.figures.items():
            column = self.columns[name]
            if column.metric is not None:
                figures.append(Measurement(column.metric, value * _UNITS[column.unit][1]))
            else:
                others.append(PublishedFigure(column.name, column.unit, value, column.stands))
        return PublishedRow(
            table=row.table,
            as_printed=row.as_printed,
            figures=tuple(figures),
            note=row.note,
            others=tuple(others),
            load=row.load,
            threads=row.threads,
            settings=tuple((row.settings or self.settings).items()),
        )


def list_publications() -> tuple[Path, ...]:
    """Return the shipped publications, by name."""
    return tuple(sorted((configs_folder() / "reference").glob("*.toml")))


def find_publication(name: str) -> Publication:
    """Return the shipped publication of that name, or one table of it: "bull-2008", "bull-2008-patched".

    Raises PublicationMissing with the nearest names, and as read_publication().
    """
    known = {publication.name: publication for publication in all_publications()}
    if name not in known:
        raise PublicationMissing(name, close_words(name, tuple(known)))
    return known[name]


@cache
def all_publications() -> tuple[Publication, ...]:
    """Return the shipped publications, and each table of those that have several as one of its own. Raises as read_publication()."""
    found: list[Publication] = []
    for path in list_publications():
        whole = read_publication(path)
        found.append(whole)
        for table in dict.fromkeys(row.table for row in whole.rows if row.table):
            rows = tuple(row for row in whole.rows if row.table == table)
            found.append(replace(whole, name=f"{whole.name}-{table}", rows=rows))
    return tuple(found)


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
        rows=file.all_rows(),
        device_bytes=parse_bytes(file.device) if file.device else 0,
        copies_own_files=file.copies_own_files,
    )
