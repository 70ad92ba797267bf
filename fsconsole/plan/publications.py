"""The published figures that fsconsole ships: TOML files in configs/reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import tomli

from fsconsole.catalog.tables import Table, nearest_words
from fsconsole.errors.targets import PlanMissing, PlanNotToml
from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric, Unit
from fsconsole.plan.read import configs_folder
from fsconsole.text import KIB, MIB

_SUFFIX = ".toml"
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


def list_publications() -> tuple[Path, ...]:
    """Return the shipped publications, by name."""
    return tuple(sorted((configs_folder() / "reference").glob("*" + _SUFFIX)))


def find_publication(name: str) -> Publication:
    """Return the shipped publication of that name. Raises PlanMissing with the nearest names, and as read()."""
    shipped = {path.stem: path for path in list_publications()}
    if name not in shipped:
        known = nearest_words(name, shipped)
        raise PlanMissing(name, f"no publication of that name is shipped ({known})")
    return read_publication(shipped[name])


def read_publication(path: Path) -> Publication:
    """Return the publication in a file. Raises PlanMissing, PlanNotToml, PlanUnknownKey, PlanBadValue."""
    try:
        values = tomli.loads(path.read_text(encoding="utf-8"))
    except tomli.TOMLDecodeError as error:
        raise PlanNotToml(str(path), str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise PlanMissing(str(path), str(error)) from error
    table = Table(str(path), "", values)
    table.only("schema", "title", "source", "date", "machine", "workload", "columns", "row")
    table.integer("schema", low=1, high=1)
    columns = table.table("columns")
    kinds = {name: _column(columns.table(name)) for name in columns.names()}
    return Publication(
        name=path.stem,
        title=table.text("title"),
        source=table.text("source"),
        date=table.text("date"),
        machine=table.text("machine"),
        workload=table.text("workload"),
        rows=tuple(_row(row, kinds) for row in table.tables("row")),
    )


def _column(table: Table) -> tuple[Metric, float]:
    """Return what a column holds, and how many base units one of its own is."""
    table.only("metric", "unit")
    table.raw("metric")
    metric = table.choice("metric", Metric, Metric.WRITE)
    unit = table.text("unit")
    base, factor = _UNITS.get(unit, (None, 0.0))
    if base is not metric.unit:
        wanted = [name for name, (known, _) in _UNITS.items() if known is metric.unit]
        raise table.bad("unit", f"{metric.value} is not counted in it", " or ".join(map(repr, wanted)))
    return metric, factor


def _row(table: Table, kinds: Mapping[str, tuple[Metric, float]]) -> PublishedRow:
    table.only("table", "as_printed", "note", *kinds)
    figures = tuple(
        Measurement(metric, table.number(name) * factor)
        for name, (metric, factor) in kinds.items()
        if table.has(name)
    )
    return PublishedRow(table.text("table", ""), table.text("as_printed"), figures, table.text("note", ""))
