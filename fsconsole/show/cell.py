"""The tabs of the Cell screen: steps, measurements, warnings, machine, effective features, outputs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan

from fsconsole.catalog.filesystem import Catalog, Scope
from fsconsole.catalog.words import (
    Effect,
    Given,
    Seen,
    Where,
    effect_of,
    given_options,
    split_flags,
    split_mount,
)
from fsconsole.errors import FsconsoleError
from fsconsole.journal.past import CurvePoint
from fsconsole.model.events import CommandFinished, LatencySeen
from fsconsole.model.figures import Measurement
from fsconsole.model.load import LatencyBucket, bucket_bounds_ns
from fsconsole.model.plan import Cell, StepKind, Variant, cell_array_words
from fsconsole.model.run import Target
from fsconsole.model.state import CellState, RunState, StepState
from fsconsole.results.content import fact_words, facts, hanging, instant, numbers_in_words, scale_for
from fsconsole.results.figures import cell_word, warnings_seen
from fsconsole.show.charts import HistogramValue, PlotValue, Series, Threshold
from fsconsole.show.lines import TextLine
from fsconsole.show.results import broken
from fsconsole.show.tables import Column, TableRow, TableValue
from fsconsole.text import cells_of, pad_right, printable, printable_lines, shorten_middle
from fsconsole.units import fixed, format_bytes, format_guess, format_rate, format_seconds, significant

_COLUMN_CELLS, _FIGURE_CELLS = 14, 12


def title_lines(state: RunState, cell: Cell, row: str, place: tuple[int, int], width: int) -> tuple[str, str]:
    """Return a cell's name and where it stands; place is its number among the row's cells, and how many these are."""
    known = state.cells[cell.index]
    said = [f"Cell {cell.index + 1} of {len(state.cells)}", f"repeat {cell.repeat}"]
    said += [f"attempt {known.attempt}"] if known.attempt > 1 else []
    status = cell_word(known.status)
    said.append(f"{status}: {known.reason}" if known.reason else status)
    line = ", ".join(said)
    number, of_row = place
    if of_row > 1:
        line += f"; left and right: {number} of {of_row} in this row"
    return shorten_middle(printable(row), width), shorten_middle(printable(line), width)


def figure_words(measurement: Measurement) -> str:
    """Return a figure with its unit: "1541 MB/s"."""
    scale = scale_for(measurement.metric, (measurement.value,))
    return f"{scale.text(measurement.value)} {scale.unit}".strip()


def figure_lines(cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return all measurements of a cell, step by step, each with how it is taken."""
    if not cell.steps:
        return (TextLine("No step has started."),)
    return tuple(line for step in cell.steps for line in _step_lines(step, width))


def warning_lines(state: RunState, cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return a cell's warnings in words, each with its remedy, then those of the whole run."""
    lines: list[TextLine] = []
    for noted in warnings_seen(state):
        if noted.cells and cell.index not in noted.cells:
            continue
        also = [other for other in noted.cells if other != cell.index]
        where = f"also {numbers_in_words(also)}" if also else "this cell alone"
        place = where if noted.cells else "the whole run"
        said = printable(f"{noted.reason} ({place})")
        lines.append(TextLine(noted.kind.value.replace("-", " "), "strong"))
        lines += [TextLine(line) for line in hanging("  ", said, width)]
        lines += [TextLine(line) for line in hanging("  -> ", printable(noted.hint), width)]
    return tuple(lines) or (TextLine("Nothing was warned of."),)


def environment_lines(state: RunState, cell: Cell, width: int) -> tuple[TextLine, ...]:
    """Return machine, kernel, tools, and who the device is."""
    lines: list[TextLine] = []
    for sentence in facts(state):
        lines += [TextLine(line) for line in broken(sentence, width)]
    for started in state.started:
        lines += [TextLine(""), TextLine(f"As engine {started.attempt} began", "strong")]
        known = (("kernel", started.kernel), ("host", started.hostname), ("boot", started.boot_id))
        told = (fact_words(name, value) for name, value in started.facts)
        lines += list(_named((*known, ("fsconsole", started.version), *told), width))
    for target in state.request.targets:
        if target.path in (cell.target, *cell.members):
            lines += [TextLine(""), TextLine(printable(f"Device {target.path}"), "strong")]
            lines += list(_named(_identity(target), width))
    lines += [TextLine(""), TextLine("The run", "strong")]
    begun = instant(state.request.created_wall_ns)
    lines += list(_named((("name", state.request.run_id), ("started", begun)), width))
    return tuple(lines)


def _step_lines(step: StepState, width: int) -> Iterator[TextLine]:
    outcome = step.outcome.value if step.outcome is not None else "going on, or cut off"
    took = f" in {format_seconds(step.elapsed_s)}" if step.outcome is not None else ""
    verdict = f", {step.verdict}" if step.verdict else ""
    why = f": {step.reason}" if step.reason else ""
    said = printable(f"{step.kind.value}: {step.title} ({outcome}{took}{verdict}{why})")
    for number, line in enumerate(hanging("", said, width)):
        yield TextLine(line, "" if number else "strong")
    for measurement in step.measurements:
        metric = measurement.metric
        lead = f"  {metric.column:<{_COLUMN_CELLS}} {figure_words(measurement):>{_FIGURE_CELLS}}  "
        for line in hanging(lead, metric.help, width):
            yield TextLine(line)


def _named(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[TextLine]:
    widest = min(30, max((len(name) for name, _ in pairs), default=0))
    for name, value in pairs:
        if value:
            for line in hanging(f"  {printable(name):<{widest}}  ", printable(value), width):
                yield TextLine(line)


def _identity(target: Target) -> tuple[tuple[str, str], ...]:
    identity = target.identity
    return (
        ("size", f"{format_bytes(identity.size_bytes)} ({identity.size_bytes} bytes)"),
        ("WWN", identity.wwn),
        ("serial number", identity.serial),
        ("partition", identity.partition_uuid),
        ("device-mapper", identity.dm_uuid),
        ("scratch device", identity.scratch_id),
        ("backing file", target.backing_file),
        ("consent", target.consent or "none needed"),
    )


# The commands of one cell, and what they printed. Pure, but for the file names that are given.

_LONGEST_NAME = 400
_COLUMNS = (
    Column("exit"),
    Column("real", "s"),
    Column("user", "s"),
    Column("sys", "s"),
    Column("peak", "memory"),
)


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a cell left among its raw outputs: the words over it, and the file's name."""

    title: str
    about: tuple[str, ...]
    file: str


def command_table(cell: CellState, others: Sequence[str], width: int) -> TableValue:
    """Return a cell's commands in their order, then further raw outputs; keys are those of outputs()."""
    return TableValue("command", _COLUMNS, tuple(_rows(cell, others, width)))


def outputs(cell: CellState, others: Sequence[str]) -> dict[str, Output]:
    """Return what can be opened, by the keys of the table's rows."""
    found = {
        f"{step}/{number}": Output(
            shlex.join(command.argv), _about(command), os.path.basename(command.output)
        )
        for step, number, command in _commands(cell)
    }
    return found | {name: Output(name, (), name) for name in others}


def others_of(cell: CellState, files: Sequence[str]) -> tuple[str, ...]:
    """Return the raw outputs of a cell that no command of it names, of all the names in their folder."""
    named = {os.path.basename(command.output) for _, _, command in _commands(cell)}
    begin = f"{cell.index:03d}-"
    return tuple(sorted(name for name in files if name.startswith(begin) and name not in named))


def output_lines(output: Output, text: str, left_out_bytes: int, width: int) -> tuple[TextLine, ...]:
    """Return what was printed, safe to show, each line broken where the width ends."""
    lines = [TextLine(part, "strong") for part in broken(printable(output.title[:8000]), width)]
    lines += [TextLine(part) for said in output.about for part in broken(printable(said), width)]
    lines.append(TextLine(""))
    if not text:
        lines.append(TextLine("It printed nothing."))
    for line in printable_lines(text.removesuffix("\n")) if text else ():
        lines += [TextLine(part) for part in cut(line, width)]
    if left_out_bytes:
        lines.append(TextLine(f"... and {format_bytes(left_out_bytes)} more in {output.file}"))
    return tuple(lines)


def cut(line: str, width: int) -> Iterator[str]:
    """Yield a printable line in pieces of at most width cells, wherever that breaks it."""
    if cells_of(line) <= width:
        yield line
        return
    # Every character takes two cells at most: a narrower step is right for any text.
    step = width if line.isascii() else max(1, width // 2)
    for begin in range(0, len(line), step):
        yield line[begin : begin + step]


def _rows(cell: CellState, others: Sequence[str], width: int) -> Iterator[TableRow]:
    for step, number, command in _commands(cell):
        name = shorten_middle(printable(shlex.join(command.argv)[:_LONGEST_NAME]), max(20, width))
        times = [fixed(time_s, 3) for time_s in (command.elapsed_s, command.user_s, command.system_s)]
        cells = (str(command.exit_code), *times, format_bytes(command.max_rss_bytes))
        yield TableRow(f"{step}/{number}", name, cells, tone="strong" if command.exit_code else "")
    for name in others:
        yield TableRow(name, printable(name), ("",) * len(_COLUMNS))


def _commands(cell: CellState) -> Iterator[tuple[int, int, CommandFinished]]:
    for step in cell.steps:
        for number, command in enumerate(step.commands):
            yield step.number, number, command


def _about(command: CommandFinished) -> tuple[str, ...]:
    took = f"exit code {command.exit_code} after {format_seconds(command.elapsed_s)}"
    used = f"user {format_seconds(command.user_s)}, system {format_seconds(command.system_s)}"
    said = f"{took}; {used}; peak memory {format_bytes(command.max_rss_bytes)}"
    return (said, *(f"kernel: {line}" for line in command.kernel_log))


# The curves of one cell: what was moved, what was dirty, what the CPUs did. Pure.

_LEAST_SHARE = 0.04
"""Steps that take less of a cell are not named."""
_LONG_S = 10.0
"""Below that, tenths of a second tell steps apart."""


def begun_ns(cell: CellState) -> int:
    """Return when a cell began, by CLOCK_MONOTONIC; 0 where it did not."""
    return cell.steps[0].started_monotonic_ns if cell.steps else 0


def curves(cell: CellState, points: Sequence[CurvePoint]) -> tuple[PlotValue, PlotValue, PlotValue]:
    """Return throughput, dirty pages and CPU over a cell's life."""
    length_s = _length_s(cell, points)
    return (
        _throughput(cell, points, length_s),
        _dirty(cell, points, length_s),
        _cpu(cell, points, length_s),
    )


def steps_in_words(cell: CellState, width: int) -> str:
    """Return when the longer steps began and ended, as many as find room: "workload 8-54 s, drain 54-57 s"."""
    length_s = _length_s(cell, ())
    digits = 0 if length_s >= _LONG_S else 1
    long = [step for step in cell.steps if step.elapsed_s and step.elapsed_s >= _LEAST_SHARE * length_s]
    while long:
        said = ", ".join(_span(cell, step, digits) for step in long)
        if cells_of(said) <= width:
            return said
        long.remove(min(long, key=lambda step: step.elapsed_s))
    return ""


def _span(cell: CellState, step: StepState, digits: int) -> str:
    begin_s = (step.started_monotonic_ns - begun_ns(cell)) / 1e9
    return f"{step.kind.value} {begin_s:.{digits}f}-{begin_s + step.elapsed_s:.{digits}f} s"


def _length_s(cell: CellState, points: Sequence[CurvePoint]) -> float:
    ends = [step.started_monotonic_ns + step.elapsed_s * 1e9 for step in cell.steps]
    ends += [point.monotonic_ns for point in points[-1:]]
    return max(0.001, (max(ends, default=0) - begun_ns(cell)) / 1e9)


def _throughput(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    all_series = (
        _series(cell, points, "device write", "write", lambda point: point.write_bytes_s),
        _series(cell, points, "device read", "read", lambda point: point.read_bytes_s),
        _series(cell, points, "application", "value", lambda point: point.load_bytes_s),
    )
    series = tuple(one for one in all_series if not all(isnan(y) for _, y in one.points)) or all_series[:1]
    highest = max((y for one in series for _, y in one.points if not isnan(y)), default=1.0)
    return PlotValue(series, 0.0, length_s, highest, format_rate(highest), format_guess(length_s))


def _dirty(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    series = _series(cell, points, "dirty and under writeback", "dirty", lambda point: point.pending_bytes)
    highest = max((y for _, y in series.points if not isnan(y)), default=0.0)
    thresholds = [
        Threshold(value, name)
        for name, value in (
            ("background", _last(points, lambda point: point.background_bytes)),
            ("limit", _last(points, lambda point: point.threshold_bytes)),
        )
        if value
    ]
    # The scale ends at the first threshold that was not reached: how far away it was is what counts.
    above = [mark.value for mark in thresholds if mark.value >= highest]
    top = min(above, default=highest) or 1.0
    return PlotValue(
        (series,), 0.0, length_s, top, format_bytes(top), format_guess(length_s), tuple(thresholds)
    )


def _cpu(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    series = (
        _series(cell, points, "CPU busy", "cpu", lambda point: point.busy_percent),
        _series(cell, points, "waiting for I/O", "iowait", lambda point: point.iowait_percent),
    )
    return PlotValue(series, 0.0, length_s, 100.0, "100 %", format_guess(length_s))


def _series(
    cell: CellState,
    points: Sequence[CurvePoint],
    name: str,
    style: str,
    figure: Callable[[CurvePoint], float | None],
) -> Series:
    begun = begun_ns(cell)
    found = tuple(
        # Nothing moved is nothing drawn: the least that a plot draws is a row.
        ((point.monotonic_ns - begun) / 1e9, value or nan)
        for point in points
        if (value := figure(point)) is not None
    )
    return Series(name, found, style)


def _last(points: Sequence[CurvePoint], figure: Callable[[CurvePoint], float | None]) -> float | None:
    return figure(points[-1]) if points else None


# The options of one cell: what was asked for, whether it is in effect, and all that was read back. Pure.

_JOURNAL = Where("the journal", "options")
_NOT_READ = "not read back"
_WIDEST_OPTION = 48
_ROOMY = 100
"""From this width on there is room for what an option means."""


def option_lines(cell: Cell, known: CellState, catalog: Catalog, width: int) -> tuple[TextLine, ...]:
    """Return the variant's words, each option with its effect, the settings, and every feature that was read back."""
    variant = cell.variant
    if variant.is_raw:
        lines = [TextLine("Raw: the device itself, without a filesystem.")]
    else:
        lines = [*_words(variant, width), *_effects(variant, known, catalog, width)]
    if cell.array is not None:
        lines += [TextLine(""), TextLine("The array of this cell", "strong"), *_array(cell, width)]
    if cell.setting.values:
        lines += [TextLine(""), TextLine("Settings of this cell", "strong")]
        lines += [TextLine(printable(f"  {name} = {value}")) for name, value in cell.setting.values]
    for scope, title in ((Scope.MKFS, "Read back after mkfs"), (Scope.MOUNT, "Read back after mount")):
        seen = _seen(known, scope)
        if seen:
            lines += [TextLine(""), TextLine(title, "strong")]
            said = ", ".join(name if value == "on" else f"{name}={value}" for name, value in seen.items())
            lines += [TextLine(f"  {line}") for line in broken(printable(said), width - 2)]
    return tuple(lines)


def _array(cell: Cell, width: int) -> Iterator[TextLine]:
    parts = [cell_array_words(cell)]
    parts += [f"of {', '.join(cell.members)}"] if cell.members else []
    for part in parts:
        for line in hanging("  ", printable(part), width):
            yield TextLine(line)


def _words(variant: Variant, width: int) -> Iterator[TextLine]:
    yield TextLine("As asked for", "strong")
    parts = (
        ("filesystem", variant.filesystem),
        ("mkfs", shlex.join(variant.mkfs_words)),
        ("tune", shlex.join(variant.tune_words)),
        ("mount", ",".join(variant.mount_words)),
        ("published as", variant.as_printed),
    )
    for name, value in parts:
        if value:
            for line in hanging(f"  {name:<12}  ", printable(value), width):
                yield TextLine(line)


def _effects(variant: Variant, known: CellState, catalog: Catalog, width: int) -> Iterator[TextLine]:
    try:
        found = _given(variant, catalog)
    except FsconsoleError as error:
        yield TextLine("")
        for line in broken(f"Effective features are unknown: {error}", width):
            yield TextLine(line)
        return
    if not found:
        return
    yield TextLine("")
    yield TextLine("In effect or not, by what was read back", "strong")
    named = [(given.text, _effect(given, known), given.option.help) for given in found]
    widest = min(_WIDEST_OPTION, max(cells_of(text) for text, _, _ in named))
    for text, effect, about in named:
        tone = "strong" if effect == Effect.NOT_IN_EFFECT.value else ""
        lead = f"  {pad_right(printable(text), widest)}  {effect:<13}"
        if width < _ROOMY:
            yield TextLine(shorten_middle(lead.rstrip(), width), tone)
        else:
            for line in hanging(f"{lead}  ", about, width):
                yield TextLine(line, tone)


def _given(variant: Variant, catalog: Catalog) -> tuple[Given, ...]:
    filesystem = catalog.get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem, _JOURNAL)
    return given_options(filesystem, mkfs, mount)


def _effect(given: Given, known: CellState) -> str:
    seen = _seen(known, given.option.scope)
    return effect_of(given.option, given.value, seen).value if seen else _NOT_READ


def _seen(known: CellState, scope: Scope) -> Seen:
    return {feature.name: feature.value for feature in known.features if feature.scope == scope.value}


# How figures of one cell are spread: extents over files, and latencies over calls. Pure.

_STEPS_NS = tuple(digit * 10**power for power in range(2, 12) for digit in (1, 3))
"""Bounds of the rows: a half of a power of ten each."""


def extent_words(cell: CellState, width: int) -> tuple[str, ...]:
    """Return the figures of each survey of extents; the journal keeps these, not each file's own."""
    found: list[str] = []
    for step in cell.steps:
        if step.kind is StepKind.EXTENTS and step.measurements:
            found.append(step.title)
            for one in step.measurements:
                lead = f"  {one.metric.column:<14} {figure_words(one):>12}  "
                found += hanging(lead, one.metric.help, width)
    return tuple(found)


def latency_title(seen: LatencySeen, cell: CellState) -> str:
    """Return what was timed, how often, and the extremes."""
    count = sum(bucket.count for bucket in seen.buckets)
    title = next((step.title for step in cell.steps if step.number == seen.step), "")
    named = f" of '{title.partition(':')[0]}'" if title else ""
    slow = f", {seen.over_2_s} over 2 s" if seen.over_2_s else ""
    return f"{seen.operation.value}{named}: {count} calls, the longest took {_time(seen.max_ns)}{slow}"


def latency_histogram(buckets: Sequence[LatencyBucket]) -> HistogramValue:
    """Return how many calls took how long, in rows of half a power of ten; rows at the ends that hold none are left out."""
    counts = [0] * (len(_STEPS_NS) + 1)
    for bucket in buckets:
        low, high = bucket_bounds_ns(bucket.bucket)
        middle = (low + high) / 2
        counts[sum(middle >= bound for bound in _STEPS_NS)] += bucket.count
    held = [index for index, count in enumerate(counts) if count]
    if not held:
        return HistogramValue(())
    rows = range(held[0], held[-1] + 1)
    return HistogramValue(tuple((_label(index), float(counts[index]), str(counts[index])) for index in rows))


def _label(index: int) -> str:
    if index == len(_STEPS_NS):
        return f"from {_time(_STEPS_NS[-1])}"
    return f"below {_time(_STEPS_NS[index])}"


def _time(elapsed_ns: float) -> str:
    """Return a time in the unit that fits it."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if elapsed_ns >= factor:
            return f"{_short(elapsed_ns / factor)} {unit}"
    return f"{elapsed_ns:.0f} ns"


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else significant(value)
