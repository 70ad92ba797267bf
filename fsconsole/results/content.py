"""Content of a results page: run header, scaled figures, warnings; the formats lay it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from string import ascii_lowercase

from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Publication, PublishedRow
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.plan import arrays_in_words
from fsconsole.model.run import Target
from fsconsole.model.state import RunState
from fsconsole.results.figures import CLEAN, Noted, Summary, cells_in_words
from fsconsole.results.grid import (
    Grid,
    GridRow,
    highest_first,
    published_alone,
    published_for,
    published_rows,
)
from fsconsole.results.table import Head, PrintedRow
from fsconsole.text import GIB, KIB, MIB, TIB, printable, shorten_middle, wrap
from fsconsole.units import fixed, format_bytes, shared_decimals

# Run header: devices, kernel, date.

_MOST_ARRAYS = 6
UNITS_NOTE = "MB = 10^6 bytes, MiB = 2^20 bytes."


def heading(state: RunState, standing: str) -> tuple[str, ...]:
    """Return the run's title, where it has one, and its name and status."""
    request = state.request
    place = f"Run {request.run_id}: {standing}. {cells_in_words(state)}."
    return tuple(printable(line) for line in (request.plan.title, place) if line.strip())


def facts(state: RunState) -> tuple[str, ...]:
    """Return devices, machine, date and program, a line each."""
    return (
        *(_target(target, _known(state)) for target in state.request.targets),
        *_arrays(state),
        *_machines(state),
        f"Started {instant(state.request.created_wall_ns)} with fsconsole {printable(state.request.version)}.",
        *(f"Note: {printable(note)}" for note in state.request.plan.notes),
    )


def instant(wall_ns: int) -> str:
    """Return a wall clock time as UTC to the minute: "2026-11-21 08:10 UTC"."""
    moment = datetime.fromtimestamp(wall_ns // 10**9, timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def fact_words(name: str, value: str) -> tuple[str, str]:
    """Return a fact of the machine as people say it: ("memory", "23.5 GiB") for ("memory_bytes", "25276502016")."""
    kind, _, of = name.partition(" ")
    if not kind.endswith("_bytes"):
        return f"{kind.replace('_', ' ')} {of}".strip(), value
    words = kind.removesuffix("_bytes").replace("_", " ")
    return f"{words} {of}".strip(), _bytes_in_words(value) or value


def _known(state: RunState) -> dict[str, str]:
    """Return what held as the first engine began, by name."""
    return dict(state.started[0].facts) if state.started else {}


def _target(target: Target, known: dict[str, str]) -> str:
    identity = target.identity
    kinds = (
        ("scratch device", identity.scratch_id),
        ("WWN", identity.wwn),
        ("serial", identity.serial),
    )
    named = [word if word == "scratch device" else f"{word} {value}" for word, value in kinds if value]
    read_ahead = _bytes_in_words(known.get(f"read_ahead_bytes {target.path}", ""))
    scheduler = known.get(f"scheduler {target.path}", "")
    settings = (("read-ahead", read_ahead), ("scheduler", scheduler))
    named += [f"{word} {value}" for word, value in settings if value]
    return printable(f"Device {target.path}: {', '.join([format_bytes(identity.size_bytes), *named])}.")


def _arrays(state: RunState) -> tuple[str, ...]:
    """Return what the devices were made into, where they were; of many arrays only the first."""
    told = sorted(words for words, _ in arrays_in_words(state.request.plan.cells))
    if not told:
        return ()
    shown, others = told[:_MOST_ARRAYS], len(told) - _MOST_ARRAYS
    more = [f"and {others} more"] if others > 0 else []
    return (printable(f"Together, an array made in each cell: {'; '.join((*shown, *more))}."),)


def _bytes_in_words(figure: str) -> str:
    """Return a fact that counts bytes in words; a fact from elsewhere may hold anything."""
    is_figure = figure.isascii() and figure.isdigit() and len(figure) < 20
    return format_bytes(int(figure)) if is_figure else ""


def _machines(state: RunState) -> tuple[str, ...]:
    """Return the machine of each engine that worked on the run; more than one line where they differ."""
    lines = []
    for started in state.started:
        known = dict(started.facts)
        parts = [f"Kernel {started.kernel} on {started.hostname}"]
        if "cpus" in known:
            parts.append(f"{known['cpus']} CPUs")
        memory = _bytes_in_words(known.get("memory_bytes", ""))
        if memory:
            parts.append(f"{memory} RAM")
        limits = (("dirty limit", "dirty_limit"), ("background", "dirty_background_limit"))
        parts += [f"{word} {known[fact]}" for word, fact in limits if fact in known]
        lines.append(printable(", ".join(parts) + "."))
    return tuple(dict.fromkeys(lines))


# Figures in the unit of their column's head, their points in line; rounding is left to units.

_SIZES = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_LONGEST_FIGURE = 9


@dataclass(frozen=True, slots=True)
class ColumnScale:
    """The unit of one column, how many base units it is, and how many digits stand behind the point."""

    unit: str
    factor: float
    decimals: int = 0

    def text(self, value: float) -> str:
        """Return a value of base units as a figure of this column."""
        scaled = value / self.factor
        for text in (fixed(scaled, self.decimals), fixed(scaled, 0)):
            if len(text) <= _LONGEST_FIGURE:
                return text
        # Nothing that a disk does needs more digits; a run from elsewhere may hold anything.
        return f"{scaled:.1e}"


def scale_for(metric: Metric, values: Iterable[float]) -> ColumnScale:
    """Return the scale for a column with these values, in the metric's base unit."""
    listed = tuple(map(float, values))
    base = metric.unit
    unit, factor = _unit(base, max(listed, default=0.0))
    whole = base in (Unit.COUNT, Unit.BYTES) and factor == 1 and all(value.is_integer() for value in listed)
    if whole:
        return ColumnScale(unit, factor)
    return ColumnScale(unit, factor, shared_decimals(value / factor for value in listed))


def _unit(unit: Unit, largest: float) -> tuple[str, float]:
    """Return the unit of a column's head and its size in base units."""
    if unit is Unit.BYTES_PER_S:
        return "MB/s", 1e6
    if unit is Unit.BYTES:
        return next(((name, float(size)) for name, size in _SIZES if largest >= size), ("B", 1.0))
    return ("" if unit is Unit.COUNT else unit.value), 1.0


# Warnings as letters in the table, and in words below it.

_REASONS_SHOWN = 3
_ANY_LINES = 100
_NAMES_SHOWN = 3
_VARYING = re.compile(r"(?P<name>'[^']*')|(?<![\w.])(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])")
"""A name in quotes, or a number that stands alone: that of "ext4" is part of a word."""


@dataclass(frozen=True, slots=True)
class Worded:
    """All warnings of one kind that ask for the same; mark is empty where they concern no row. All printable."""

    mark: str
    kind: str
    place: str
    reasons: tuple[str, ...]
    hint: str


def marks_of(grid: Grid) -> Mapping[WarningKind, str]:
    """Return a letter for each kind of warning that concerns cells, in the order of WarningKind."""
    kinds = {warning.kind for warning in grid.warnings if warning.cells}
    return dict(zip((kind for kind in WarningKind if kind in kinds), ascii_lowercase, strict=False))


def marks_of_rows(grid: Grid) -> tuple[str, ...]:
    """Return the letters of each row, in the grid's order."""
    marks = marks_of(grid)
    of_cells: dict[int, set[WarningKind]] = {}
    for warning in grid.warnings:
        for cell in warning.cells:
            of_cells.setdefault(cell, set()).add(warning.kind)
    return tuple(_letters(row, marks, of_cells) for row in grid.rows)


def _letters(row: GridRow, marks: Mapping[WarningKind, str], of_cells: Mapping[int, set[WarningKind]]) -> str:
    kinds = {kind for figures in row.cells for kind in of_cells.get(figures.cell, ())}
    return "".join(mark for kind, mark in marks.items() if kind in kinds)


def worded(grid: Grid) -> tuple[Worded, ...]:
    """Return the warnings for below the table, those with the same hint as one."""
    total = len({figures.cell for row in grid.rows for figures in row.cells})
    return _worded(grid.warnings, marks_of(grid), total)


def worded_for(row: GridRow, grid: Grid) -> tuple[Worded, ...]:
    """Return the warnings that concern a row, then those on the whole run; places name the row's own cells."""
    cells = {figures.cell for figures in row.cells}
    own = [
        replace(warning, cells=tuple(cell for cell in warning.cells if cell in cells))
        for warning in grid.warnings
        if not cells.isdisjoint(warning.cells)
    ]
    whole = [warning for warning in grid.warnings if not warning.cells]
    return _worded((*own, *whole), marks_of(grid), len(cells))


def _worded(warnings: Iterable[Noted], marks: Mapping[WarningKind, str], total: int) -> tuple[Worded, ...]:
    alike: dict[tuple[WarningKind, str, bool], list[Noted]] = {}
    for warning in warnings:
        alike.setdefault((warning.kind, warning.hint, bool(warning.cells)), []).append(warning)
    return tuple(
        Worded(
            mark=marks[kind] if of_cells else "",
            kind=kind.value.replace("-", " "),
            place=_place({cell for warning in group for cell in warning.cells}, total),
            reasons=_some(merged(printable(warning.reason) for warning in group)),
            hint=printable(hint),
        )
        for (kind, hint, of_cells), group in alike.items()
    )


def warning_lines(warning: Worded, width: int, *, indent: str = "", hint: bool = True) -> list[str]:
    """Return a warning with its reasons, and with its hint where that is wanted."""
    said = f"{warning.kind} ({warning.place}): {'; '.join(warning.reasons)}"
    lines = hanging(f"{indent}{warning.mark or '-'}  ", said, width)
    return lines + (hanging(f"{indent}   -> ", warning.hint, width) if hint else [])


def hanging(lead: str, text: str, width: int) -> list[str]:
    """Return text behind a lead, its further lines under its first."""
    first, *others = wrap(text, max(2, width - len(lead)), max_lines=_ANY_LINES)
    return [lead + first, *(" " * len(lead) + other for other in others)]


def numbers_in_words(cells: Iterable[int]) -> str:
    """Return cells as an operator counts them, from 1: "cell 4", "cells 1-3, 7"; none is the whole run."""
    spans: list[list[int]] = []
    for number in sorted(cell + 1 for cell in cells):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    if not spans:
        return "the whole run"
    words = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    return f"{'cell' if len(spans) == 1 and spans[0][0] == spans[0][1] else 'cells'} {words}"


def merged(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons, each once; those that differ in names and numbers alone as one with all of them.

    "'a' took 1.0 s" and "'b' took 0.4 s" are "'a', 'b' took 0.4 to 1.0 s".
    """
    alike: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        alike.setdefault(_VARYING.sub(_blank, reason), []).append(reason)
    return tuple(_one_for(group) for group in alike.values())


def _blank(varying: re.Match[str]) -> str:
    return "''" if varying["name"] else "0"


def _one_for(reasons: Sequence[str]) -> str:
    """Return one reason for those that are alike but for what varies."""
    places = zip(*(_VARYING.findall(reason) for reason in reasons), strict=True)
    spans = iter([_span(values) for values in places])
    return _VARYING.sub(lambda _: next(spans), reasons[0])


def _span(values: Sequence[tuple[str, str]]) -> str:
    """Return the values (name or number, the other empty) of one place, in words."""
    names = tuple(dict.fromkeys(name for name, _ in values if name))
    if names:
        others = len(names) - _NAMES_SHOWN
        return ", ".join(names[:_NAMES_SHOWN]) + (f" and {others} more" if others > 0 else "")
    numbers = sorted((number for _, number in values), key=float)
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def _place(cells: set[int], total: int) -> str:
    return "all cells" if len(cells) == total > 1 else numbers_in_words(cells)


def _some(reasons: Sequence[str]) -> tuple[str, ...]:
    if len(reasons) <= _REASONS_SHOWN:
        return tuple(reasons)
    return (*reasons[:_REASONS_SHOWN], f"and {len(reasons) - _REASONS_SHOWN} more like these")


MISSING = "-"
_WIDEST_VERDICT = len("repaired")
_NO_FIGURES = "no figures"


@dataclass(frozen=True, slots=True)
class TableContent:
    """Heads and rows; caption says in sentences what the figures of the table are."""

    heads: tuple[Head, ...]
    lines: tuple[PrintedRow, ...]
    caption: tuple[str, ...]


def content_of(grid: Grid, columns: Sequence[Metric]) -> TableContent:
    """Return the table of a grid with these columns, and n and spread where there are repeats.

    Published rows stand under those that they belong to, and at the end where they belong to none.
    """
    repeated = any(n > 1 for n in grid.repeats)
    uneven = len(grid.repeats) > 1
    marked = any(warning.cells for warning in grid.warnings)
    scales = {
        metric: scale_for(metric, (*_medians(grid, metric), *_published(grid, metric))) for metric in columns
    }
    heads = [_head(metric.column, scales[metric].unit) for metric in columns]
    heads += [Head("spread", "%")] * repeated + [Head("n", "")] * uneven + [Head("warn", "")] * marked
    marks = marks_of_rows(grid)
    lines: list[PrintedRow] = []
    for row, letters in zip(grid.rows, marks, strict=True):
        notes = tuple(map(printable, row.notes)) or (() if row.figures else (_NO_FIGURES,))
        wanted = (repeated, uneven, letters if marked else None)
        lines.append(PrintedRow(printable(row.name), _cells(row, grid.sorted_by, scales, wanted), notes))
        for found in published_for(grid, row):
            which = "published" if len(row.printed) == 1 else f"published: {found.as_printed}"
            lines.append(_published_line(which, found, scales, len(heads)))
    for other in published_alone(grid):
        lines.append(_published_line(f"published: {other.as_printed}", other, scales, len(heads)))
    return TableContent(
        tuple(heads),
        tuple(lines),
        (*_caption(grid), *_array_caption(grid), *_published_caption(grid.publication)),
    )


def _published_line(
    name: str, row: PublishedRow, scales: dict[Metric, ColumnScale], cells: int
) -> PrintedRow:
    """Return a published row; where the run's own have n, spread and warnings it has nothing."""
    table = f" ({row.table})" if row.table else ""
    figures = [
        scale.text(value) if (value := row.value(metric)) is not None else MISSING
        for metric, scale in scales.items()
    ]
    blanks = [""] * (cells - len(figures))
    return PrintedRow(
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
    row: GridRow, sorted_by: Metric, scales: dict[Metric, ColumnScale], wanted: tuple[bool, bool, str | None]
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


def _figure(row: GridRow, metric: Metric, scale: ColumnScale) -> str:
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
    column = grid.sorted_by.column
    order = "highest" if highest_first(grid.sorted_by) != grid.is_reversed else "lowest"
    sorted_by = f"Sorted by {column}, {order} first."
    if not grid.repeats:
        return (f"No row has a figure for {column} yet.",)
    spread = f"spread: (max - min) / median of {column}"
    if grid.repeats == (1,):
        return ("One cell per row (n = 1): how far repeats would spread is not known.", sorted_by)
    n = f"n = {grid.repeats[0]}" if len(grid.repeats) == 1 else "n"
    return (f"Figures are medians of {n} cells; {spread}.", sorted_by)
