"""The grid's table as printable text, before any format lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.analysis.beside import published_alone, published_for, published_rows
from fsconsole.analysis.columns import highest_first
from fsconsole.analysis.figures import CLEAN
from fsconsole.analysis.grid import Grid, Row
from fsconsole.analysis.statistics import Summary
from fsconsole.model.measurement import DEFINITIONS, Metric
from fsconsole.model.published import Publication, PublishedRow
from fsconsole.plaintext import printable
from fsconsole.report.cells import shorten_middle
from fsconsole.report.figures import Scale, scale_for
from fsconsole.report.marks import marks_of_rows
from fsconsole.report.table import Head, Line
from fsconsole.units import fixed

MISSING = "-"
_WIDEST_VERDICT = len("repaired")
_NO_FIGURES = "no figures"


@dataclass(frozen=True, slots=True)
class Content:
    """Heads and rows; caption says in sentences what the figures of the table are."""

    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    caption: tuple[str, ...]


def content_of(grid: Grid, columns: Sequence[Metric]) -> Content:
    """Return the table of a grid with these columns, and n and spread where there are repeats.

    Published rows stand under those that they belong to, and at the end where they belong to none.
    """
    repeated = any(n > 1 for n in grid.repeats)
    uneven = len(grid.repeats) > 1
    marked = any(warning.cells for warning in grid.warnings)
    scales = {
        metric: scale_for(metric, (*_medians(grid, metric), *_published(grid, metric))) for metric in columns
    }
    heads = [_head(DEFINITIONS[metric].column, scales[metric].unit) for metric in columns]
    heads += [Head("spread", "%")] * repeated + [Head("n", "")] * uneven + [Head("warn", "")] * marked
    marks = marks_of_rows(grid)
    lines: list[Line] = []
    for row, letters in zip(grid.rows, marks, strict=True):
        notes = tuple(map(printable, row.notes)) or (() if row.figures else (_NO_FIGURES,))
        wanted = (repeated, uneven, letters if marked else None)
        lines.append(Line(printable(row.name), _cells(row, grid.sorted_by, scales, wanted), notes))
        for found in published_for(grid, row):
            which = "published" if len(row.printed) == 1 else f"published: {found.as_printed}"
            lines.append(_published_line(which, found, scales, len(heads)))
    for other in published_alone(grid):
        lines.append(_published_line(f"published: {other.as_printed}", other, scales, len(heads)))
    return Content(
        tuple(heads),
        tuple(lines),
        (*_caption(grid), *_array_caption(grid), *_published_caption(grid.publication)),
    )


def _published_line(name: str, row: PublishedRow, scales: dict[Metric, Scale], cells: int) -> Line:
    """Return a published row; where the run's own have n, spread and warnings it has nothing."""
    table = f" ({row.table})" if row.table else ""
    figures = [
        scale.text(value) if (value := row.value(metric)) is not None else MISSING
        for metric, scale in scales.items()
    ]
    blanks = [""] * (cells - len(figures))
    return Line(
        printable(f"  {name}{table}"), (*figures, *blanks), (printable(row.note),) if row.note else ()
    )


def _array_caption(grid: Grid) -> tuple[str, ...]:
    arrays = [row.key.array for row in grid.rows if row.key.array is not None]
    if not any(array.assume_clean for array in arrays):
        return ()
    return ("assume-clean: md was told that the members agree; no resync was done.",)


def _published(grid: Grid, metric: Metric) -> tuple[float, ...]:
    return tuple(value for row in published_rows(grid) if (value := row.value(metric)) is not None)


def _published_caption(of: Publication | None) -> tuple[str, ...]:
    if of is None:
        return ()
    return (
        printable(f"Published: {of.source}, {of.date}; not of this run and not ranked with it."),
        printable(f"There: {of.workload}; {of.machine}."),
    )


def _head(column: str, unit: str) -> Head:
    """Return a head; a ratio of counts has no unit, so that its second half stands in the unit's place."""
    name, slash, per = column.partition("/")
    return Head(name, f"{slash}{per}") if slash and not unit else Head(column, unit)


def _medians(grid: Grid, metric: Metric) -> tuple[float, ...]:
    return tuple(summary.median for row in grid.rows if (summary := row.figure(metric)) is not None)


def _cells(
    row: Row, sorted_by: Metric, scales: dict[Metric, Scale], wanted: tuple[bool, bool, str | None]
) -> tuple[str, ...]:
    """Return a row's cells; none at all for a row without a single figure. wanted: spread, n, and the marks."""
    if not row.figures:
        return ()
    repeated, uneven, marks = wanted
    summary = row.figure(sorted_by)
    cells = [_figure(row, metric, scale) for metric, scale in scales.items()]
    cells += [_spread(summary)] * repeated
    cells += [str(summary.n) if summary is not None else MISSING] * uneven
    cells += [marks] if marks is not None else []
    return tuple(cells)


def _figure(row: Row, metric: Metric, scale: Scale) -> str:
    summary = row.figure(metric)
    text = scale.text(summary.median) if summary is not None else MISSING
    if metric is Metric.CHECK and row.verdict not in ("", CLEAN):
        # Before the figure, so that points stay in line; it gives way, never the figure.
        return f"{shorten_middle(printable(row.verdict), _WIDEST_VERDICT)} {text}"
    return text


def _spread(summary: Summary | None) -> str:
    if summary is None or summary.spread_percent is None:
        return MISSING
    return fixed(min(summary.spread_percent, 9999.0), 1)


def _caption(grid: Grid) -> tuple[str, ...]:
    column = DEFINITIONS[grid.sorted_by].column
    order = "highest" if highest_first(grid.sorted_by) != grid.is_reversed else "lowest"
    sorted_by = f"Sorted by {column}, {order} first."
    if not grid.repeats:
        return (f"No row has a figure for {column} yet.",)
    spread = f"spread: (max - min) / median of {column}"
    if grid.repeats == (1,):
        return ("One cell per row (n = 1): how far repeats would spread is not known.", sorted_by)
    n = f"n = {grid.repeats[0]}" if len(grid.repeats) == 1 else "n"
    return (f"Figures are medians of {n} cells; {spread}.", sorted_by)
