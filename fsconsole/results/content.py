"""Content of a results page: run header, scaled figures, warnings; the formats lay it out."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters

from fsconsole.model.events import PilotFinished, WarningKind
from fsconsole.model.figures import Publication, PublishedRow
from fsconsole.model.metrics import RAW_DEPTHS, Metric, Unit
from fsconsole.model.plan import arrays_in_words
from fsconsole.model.rounds import FREE_PAGE_REPORTING
from fsconsole.model.run import Target
from fsconsole.model.state import RunState
from fsconsole.results.figures import CLEAN, Noted, cells_in_words, check_costs
from fsconsole.results.grid import Grid, GridRow
from fsconsole.results.published import ratio_text
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.text import GIB, KIB, MIB, TIB, hanging, printable, shorten_middle
from fsconsole.units import fixed, format_bytes, instant, shared_decimals, significant

# Run header: devices, kernel, date.

_MOST_ARRAYS = 6
UNITS_NOTE = "MB = 10^6 bytes, MiB = 2^20 bytes."


def heading(state: RunState, standing: str) -> tuple[str, ...]:
    """Return the run's title, where it has one, and its name and status."""
    request = state.request
    place = f"Run {request.run_id}: {standing.rstrip('.')}. {cells_in_words(state)}."
    return tuple(printable(line) for line in (request.plan.title, place) if line.strip())


def facts(state: RunState) -> tuple[str, ...]:
    """Return devices, machine, date and program, a line each; a line per engine where their machines differ."""
    request = state.request
    known = dict(state.started[0].facts) if state.started else {}
    arrays = sorted(words for words, _ in arrays_in_words(request.plan.cells))
    if len(arrays) > _MOST_ARRAYS:
        arrays[_MOST_ARRAYS:] = [f"and {len(arrays) - _MOST_ARRAYS} more"]
    lines = [_device_words(target, known | in_cells(state, target.path)) for target in request.targets]
    lines += [f"Together, an array made in each cell: {'; '.join(arrays)}."] if arrays else []
    lines += dict.fromkeys(
        f"Kernel {started.kernel} on {started.hostname}{_machine_words(dict(started.facts) | in_cells(state))}."
        for started in state.started
    )
    lines.append(f"Started {instant(request.created_wall_ns)} with fsconsole {request.version}.")
    lines += [f"Note: {note}" for note in request.plan.notes]
    return tuple(map(printable, lines))


_OF_DEVICES = {"read_ahead_bytes": ("read_ahead", "read_ahead_kb"), "scheduler": ("scheduler", "scheduler")}
_OF_MACHINE = {
    "dirty_limit": ("dirty_bytes", "dirty_ratio"),
    "dirty_background_limit": ("dirty_background_bytes", "dirty_background_ratio"),
}
"""Facts of a run with what sets them: names of a plan's settings and of the kernel's files."""


def in_cells(state: RunState, target: str = "") -> dict[str, str]:
    """Return the facts that the cells set themselves, as they were in them: of a device, or of the machine.

    Where they differ, the rows say it.
    """
    found: dict[str, str] = {}
    for fact, names in (_OF_DEVICES if target else _OF_MACHINE).items():
        values: set[str] = set()
        for cell, known in zip(state.request.plan.cells, state.cells, strict=True):
            # What is read ahead of an array is not read ahead of its members.
            if target and (target not in cell.devices or (cell.array is not None and fact == "read_ahead_bytes")):
                continue
            values |= {_in_force(path, value) for path, value in known.settings if os.path.basename(path) in names}
            values |= {
                _SEE_ROWS for load in cell.workloads if known.settings for name, _ in load.settings if name in names
            }
        if values:
            found[f"{fact} {target}".rstrip()] = values.pop() if len(values) == 1 else _SEE_ROWS
    return found


_SEE_ROWS = "differs (see rows)"


def _in_force(path: str, value: str) -> str:
    """Return a setting's value as the facts of a run have it."""
    name = os.path.basename(path)
    if name.endswith("_bytes"):
        return _bytes_words(value)
    if name.endswith("_kb"):
        return str(int(value) * KIB) if value.isascii() and value.isdigit() and len(value) < _FIGURE_DIGITS else value
    return f"{value} %" if name.endswith("_ratio") else value


def fact_words(name: str, value: str) -> tuple[str, str]:
    """Return a fact of the machine as people say it: ("memory", "23.5 GiB") for ("memory_bytes", "25276502016")."""
    kind, _, of = name.partition(" ")
    words = f"{kind.removesuffix('_bytes').replace('_', ' ')} {of}".strip()
    return words, (_bytes_words(value) if kind.endswith("_bytes") else "") or value


def _device_words(target: Target, known: Mapping[str, str]) -> str:
    identity = target.identity
    if (place := target.place) is not None:
        free = f"{format_bytes(place.free_bytes)} of {format_bytes(place.size_bytes)} free"
        return f"Directory {target.path}: {place.words}, {free}; not formatted."
    ahead = known.get(f"read_ahead_bytes {target.path}", "")
    read_ahead = ahead if ahead == _SEE_ROWS else _bytes_words(ahead)
    scheduler = known.get(f"scheduler {target.path}", "")
    parts = (
        format_bytes(identity.size_bytes),
        "scratch device" if identity.scratch_id else "",
        f"WWN {identity.wwn}" if identity.wwn else "",
        f"serial {identity.serial}" if identity.serial else "",
        f"read-ahead {read_ahead}" if read_ahead else "",
        f"scheduler {scheduler}" if scheduler else "",
    )
    return f"Device {target.path}: {', '.join(filter(None, parts))}."


def _machine_words(known: Mapping[str, str]) -> str:
    memory = _bytes_words(known.get("memory_bytes", ""))
    limits = (("dirty limit", "dirty_limit"), ("background", "dirty_background_limit"))
    parts = (
        f"{known['cpus']} CPUs" if "cpus" in known else "",
        f"{memory} RAM" if memory else "",
        *(f"{word} {known[fact]}" for word, fact in limits if fact in known),
        "free page reporting" if FREE_PAGE_REPORTING in known else "",
    )
    return "".join(f", {part}" for part in parts if part)


_FIGURE_DIGITS = 20
"""Of a count of bytes; a run from elsewhere may hold anything."""


def _bytes_words(figure: str) -> str:
    """Return a fact that counts bytes in words; empty for whatever else a fact from elsewhere holds."""
    is_figure = figure.isascii() and figure.isdigit() and len(figure) < _FIGURE_DIGITS
    return format_bytes(int(figure)) if is_figure else ""


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
    listed, base = tuple(map(float, values)), metric.unit
    unit, factor = "" if base is Unit.COUNT else base.value, 1.0
    if base is Unit.BYTES_PER_S:
        unit, factor = "MB/s", 1e6
    elif base is Unit.BYTES:
        largest = max(listed, default=0.0)
        unit, factor = next(((name, float(size)) for name, size in _SIZES if largest >= size), ("B", 1.0))
    if base in (Unit.COUNT, Unit.BYTES) and factor == 1 and all(value.is_integer() for value in listed):
        return ColumnScale(unit, factor)
    return ColumnScale(unit, factor, shared_decimals(value / factor for value in listed))


_CPU_PARTS = {
    "generator": Metric.CPU_BY_GENERATOR,
    "kernel": Metric.CPU_BY_KERNEL,
    "observer": Metric.OBSERVER,
    "others": Metric.CPU_BY_OTHERS,
}


def cpu_words(row: GridRow) -> str:
    """Return who used a row's CPU, the mean over its cells; empty where that was not measured.

    "CPU: 43.1 % of all, of that generator 30.0, kernel 9.0, observer 0.5, others 2.5, not attributed 1.1". Where the
    parts, which are timed, come to more than what /proc/stat counted by ticks, that is said instead of what is left.
    """
    metrics = (Metric.CPU, *_CPU_PARTS.values())
    cells = [[cell.value(metric) for metric in metrics] for cell in row.cells]
    whole = [[value for value in values if value is not None] for values in cells if None not in values]
    if not whole:
        return ""
    busy, *parts = (round(sum(column) / len(whole), 1) for column in zip(*whole, strict=True))
    said = [f"{name} {fixed(share, 1)}" for name, share in zip(_CPU_PARTS, parts, strict=True)]
    left = busy - sum(parts)
    # Each part is rounded by itself, so their sum may exceed the whole by this much.
    rest = f"not attributed {fixed(max(0.0, left), 1)}"
    if left < -_ROUNDED_AWAY:
        rest = f"in sum {fixed(-left, 1)} more than by ticks"
    return f"CPU: {fixed(busy, 1)} % of all, of that {', '.join(said)}, {rest}"


_ROUNDED_AWAY = 0.25
"""Half a tenth for the whole and each of four parts."""


def check_words(row: GridRow) -> str:
    """Return a row's cost of a check: "check, est.: 0.02 to 0.03 s and 1.1 to 9.0 MiB per GiB used"; empty if unknown."""
    costs = {(cost.metric, cost.per): cost for cost in check_costs(row.cells)}
    parts = []
    for per, amount, unit in ((Metric.USED, GIB, "GiB used"), (Metric.INODES, 1_000_000, "million inodes")):
        ranges = []
        if (time := costs.get((Metric.CHECK, per))) is not None:
            ranges.append(f"{significant(time.least * amount)} to {significant(time.most * amount)} s")
        if (memory := costs.get((Metric.CHECK_RSS, per))) is not None:
            ranges.append(f"{format_bytes(memory.least * amount)} to {format_bytes(memory.most * amount)}")
        parts += [f"{' and '.join(ranges)} per {unit}"] if ranges else []
    return f"check, est.: {', or '.join(parts)}" if parts else ""


def crash_words(row: GridRow) -> str:
    """Return the file counts of a row's crash tests, over all its cells; empty if there were none."""
    counts = (Metric.SYNCED, Metric.LOST_SYNCED, Metric.UNSYNCED, Metric.UNSYNCED_WHOLE, Metric.UNSYNCED_PART)
    synced, lost, unsynced, whole, part = (
        sum(int(value) for cell in row.cells if (value := cell.value(metric)) is not None) for metric in counts
    )
    if not synced + unsynced:
        return ""
    lost_words = f"{lost} LOST" if lost else "none lost"
    part_words = f", {part} in part (empty, cut or torn)" if part else ""
    return f"crash: of {synced} synced files {lost_words}; of {unsynced} unsynced files {whole} survived{part_words}"


def pilot_words(pilot: PilotFinished) -> str:
    """Return the rates of a raw row's pilot: "writes 900, 1800, 1750, 1760, reads 800, 1700, 1650, 1640 MB/s"."""
    found = {figure.metric: f"{figure.value / 1e6:.0f}" for figure in pilot.measurements}
    rates = {
        act: ", ".join(found.get(Metric(f"raw_pilot_{act}_{depth}"), MISSING) for depth in RAW_DEPTHS)
        for act in ("write", "read")
    }
    return f"writes {rates['write']}, reads {rates['read']} MB/s"


# Warnings as letters in the table, and in words below it.

_REASONS_SHOWN = 3
_NAMES_SHOWN = 3
_VARYING = re.compile(r"(?P<name>'[^']*'|\bprocess [0-9]+\b)|(?<![\w.])(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])")
"""A name in quotes or of a process, or a number that stands alone: that of "ext4" is part of a word."""


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
    return dict(zip((kind for kind in WarningKind if kind in kinds), ascii_letters, strict=False))


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
    found = []
    for (kind, hint, of_cells), group in alike.items():
        cells = {cell for warning in group for cell in warning.cells}
        place = "all cells" if len(cells) == total > 1 else numbers_in_words(cells)
        reasons = merged(printable(warning.reason) for warning in group)
        if len(reasons) > _REASONS_SHOWN:
            more = f"and {len(reasons) - _REASONS_SHOWN} more like these"
            reasons = (*reasons[:_REASONS_SHOWN], more)
        mark = marks[kind] if of_cells else ""
        found.append(Worded(mark, kind.words, place, reasons, printable(hint)))
    return tuple(found)


def warning_lines(warning: Worded, width: int, *, indent: str = "", hint: bool = True) -> list[str]:
    """Return a warning with its reasons, and with its hint where that is wanted."""
    said = f"{warning.kind} ({warning.place}): {'; '.join(warning.reasons)}"
    lines = hanging(f"{indent}{warning.mark or '-'}  ", said, width)
    return lines + (hanging(f"{indent}   -> ", warning.hint, width) if hint else [])


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

    "'a' took 1.0 s" and "'b' took 0.4 s" are "'a', 'b' took 0.4 to 1.0 s"; "process 3" and "process 9" are "processes 3, 9".
    """
    alike: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        alike.setdefault(_VARYING.sub(lambda one: (one["name"] or "0")[:1], reason), []).append(reason)
    return tuple(map(_one_for, alike.values()))


def _one_for(reasons: Sequence[str]) -> str:
    """Return one reason for those that are alike but for what varies."""
    places = zip(*(_VARYING.findall(reason) for reason in reasons), strict=True)
    spans = iter([_span(values) for values in places])
    return _VARYING.sub(lambda _: next(spans), reasons[0])


def _span(values: Sequence[tuple[str, str]]) -> str:
    """Return the values (name or number, the other empty) of one place, in words."""
    names = tuple(dict.fromkeys(name for name, _ in values if name))
    if len(names) > 1 and not names[0].startswith("'"):
        # An id is a name, too: a span of ids would read as all processes between them.
        names = (names[0].replace(" ", "es "), *(name.rpartition(" ")[2] for name in names[1:]))
    if names:
        others = len(names) - _NAMES_SHOWN
        return ", ".join(names[:_NAMES_SHOWN]) + (f" and {others} more" if others > 0 else "")
    numbers = sorted((number for _, number in values), key=float)
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


MISSING = "-"
_WIDEST_VERDICT = len("repaired")


def publication_words(of: Publication, rows: Sequence[GridRow]) -> tuple[str, ...]:
    """Return where published figures come from, what was measured there, and what of it stands beside these rows of a run."""
    set_here = {name for row in rows for name, _ in row.key.setting.values}
    told = (
        f"Published: {of.source}, {of.date}; not of this run and not ranked with it.",
        f"There: {of.workload}; {of.machine}.",
        of.scaled,
        settings_note(of, set_here) if set_here else "",
    )
    return tuple(printable(words) for words in told if words)


def settings_note(of: Publication, set_here: Collection[str]) -> str:
    """Return beside which rows of a run that sets these the published ones stand, and what only they were measured with."""
    told = dict.fromkeys(one for row in of.rows for one in row.settings)
    shared, others = (
        ", ".join(f"{name} {value}" for name, value in told if (name in set_here) is is_shared)
        for is_shared in (True, False)
    )
    if not shared:
        return "It names no such settings: its rows stand beside no row that sets one."
    more = f" It was measured with {others} too, which is not set here." if others else ""
    return f"Its rows stand beside rows with its settings alone: {shared}.{more}"


def column_head(column: str, unit: str) -> Column:
    """Return a head in two lines; a ratio of counts has no unit, so that its second half stands in the unit's place."""
    name, _, which = column.rpartition(" ")
    if name and unit == Unit.MILLISECONDS.value:
        return Column(name, f"{which} {unit}")
    name, slash, per = column.partition("/")
    return Column(name, f"{slash}{per}") if slash and not unit else Column(column, unit)


def with_verdict(row: GridRow, metric: Metric, text: str) -> str:
    """Return a figure's text, behind the verdict of a check that found damage."""
    if metric is Metric.CHECK and row.verdict not in ("", CLEAN):
        # Before the figure, so that points stay in line; it gives way, never the figure.
        return f"{shorten_middle(printable(row.verdict), _WIDEST_VERDICT)} {text}"
    return text


def spread_text(percent: float | None) -> str:
    """Return a spread as a cell has it."""
    return MISSING if percent is None else fixed(min(percent, 9999.0), 1)


# Published tables as printed, also in columns that no metric means.


def publication_table(rows: Sequence[PublishedRow]) -> TableValue:
    """Return published rows in their own words and columns, those of metrics first."""
    metrics = [metric for metric in Metric if any(row.value(metric) is not None for row in rows)]
    several = len({row.table for row in rows}) > 1
    heads: list[Column] = []
    columns: list[list[str]] = []
    for metric in metrics:
        values = [row.value(metric) for row in rows]
        scale = scale_for(metric, (value for value in values if value is not None))
        heads.append(column_head(metric.column, scale.unit))
        columns.append([scale.text(value) if value is not None else MISSING for value in values])
    for column, unit in dict.fromkeys((one.column, one.unit) for row in rows for one in row.others):
        values = [row.other(column) for row in rows]
        scale = own_scale(unit, (value for value in values if value is not None))
        heads.append(Column(printable(column), scale.unit))
        columns.append([scale.text(value) if value is not None else MISSING for value in values])
    for column in dict.fromkeys(one.column for row in rows for one in row.ratios):
        found = ({one.column: ratio_text(one.ratio) for one in row.ratios} for row in rows)
        heads.append(Column(printable(column), "ratio"))
        columns.append([of.get(column, MISSING) for of in found])
    shown = (
        TableRow(
            f"published {number}",
            printable(f"{row.name} ({row.table})" if several else row.name),
            tuple(column[number] for column in columns),
            (printable(row.note),) if row.note else (),
        )
        for number, row in enumerate(rows)
    )
    return TableValue("row", tuple(heads), tuple(shown))


def own_scale(unit: str, values: Iterable[float]) -> ColumnScale:
    """Return the scale of a published column of its own: digits as printed, points in line."""
    return ColumnScale(printable(unit), 1.0, max((_printed_decimals(value) for value in values), default=0))


def _printed_decimals(value: float) -> int:
    return len(f"{value:.6f}".rstrip("0").partition(".")[2])
