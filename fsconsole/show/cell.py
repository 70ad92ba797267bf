"""The tabs of the Cell screen: steps, measurements, warnings, machine, effective features, outputs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from fsconsole.catalog.filesystem import Catalog, Scope
from fsconsole.catalog.words import Effect, Where, effect_of, given_options, split_flags, split_mount
from fsconsole.errors import FsconsoleError
from fsconsole.journal.past import Point
from fsconsole.model.events import CommandFinished, LatencySeen
from fsconsole.model.figures import Measurement
from fsconsole.model.load import LatencyBucket, bucket_bounds_ns
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind, Variant, cell_array_words
from fsconsole.model.rounds import replaced_cells
from fsconsole.model.state import CellState, RunState, StepState
from fsconsole.results.content import fact_words, facts, numbers_in_words, scale_for
from fsconsole.results.figures import cell_word, warnings_seen
from fsconsole.results.layout_map import PlacedMap, short_bytes
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.show.charts import HistogramValue, PlotValue, Series, Threshold
from fsconsole.show.lines import TextLine, command_lines, text_lines
from fsconsole.show.progress import begun_ns, command_words
from fsconsole.text import cells_of, pad_left, pad_right, printable, printable_lines, shorten_end, shorten_middle, wrap
from fsconsole.units import fixed, format_bytes, format_guess, format_rate, format_seconds, instant, significant

_COLUMN_CELLS, _FIGURE_CELLS = 16, 12


def title_lines(state: RunState, cell: Cell, row: str, place: tuple[int, int], width: int) -> tuple[str, ...]:
    """Return a cell's name, and its status whole; place is its number among the row's cells, and how many these are."""
    known = state.cells[cell.index]
    said = [f"Cell {cell.index + 1} of {len(state.cells)}", f"round {cell.repeat}"]
    said += [f"repeated{' twice' * (cell.redo > 1)}"] if cell.redo else []
    said += ["not counted: its round ran again"] if cell.index in replaced_cells(state) else []
    said += [f"attempt {known.attempt}"] if known.attempt > 1 else []
    status = cell_word(known.status)
    said.append(f"{status}: {known.reason}" if known.reason else status)
    line = ", ".join(said)
    number, of_row = place
    if of_row > 1:
        line += f"; left and right: {number} of {of_row} in this row"
    return shorten_middle(printable(row), width), *wrap(printable(line), width)


def figure_lines(cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return all measurements of a cell, step by step; how each is taken stands with the first of its kind."""
    lines: list[TextLine] = []
    explained: set[Metric] = set()
    for step in cell.steps:
        outcome = step.outcome.value if step.outcome is not None else "running, or interrupted"
        took = f" in {format_seconds(step.elapsed_s)}" if step.outcome is not None else ""
        verdict = f", {step.verdict}" if step.verdict else ""
        why = f": {step.reason}" if step.reason else ""
        said = f"{step.kind.words}: {step.title} ({outcome}{took}{verdict}{why})"
        lines += text_lines(said, width, "strong")
        for measurement in step.measurements:
            is_first = measurement.metric not in explained
            explained.add(measurement.metric)
            lines += _measured(measurement, width, explains=is_first)
            if step.kind is StepKind.EQUALISE and measurement.metric is Metric.DEVICE_WRITTEN and measurement.value:
                lines += text_lines(_ZEROED_TWICE, width, lead=" " * _HELP_BEGINS)
    return tuple(lines) or (TextLine("No step has started."),)


_ZEROED_TWICE = (
    "A request to zero that the device refused counts as well as the zeros that were written then: "
    "that may be twice the device."
)
_HELP_BEGINS = 2 + _COLUMN_CELLS + 1 + _FIGURE_CELLS + 2


def _measured(measurement: Measurement, width: int, *, explains: bool = True) -> list[TextLine]:
    metric = measurement.metric
    scale = scale_for(metric, (measurement.value,))
    figure = f"{scale.text(measurement.value)} {scale.unit}".strip()
    lead = f"  {metric.column:<{_COLUMN_CELLS}} {figure:>{_FIGURE_CELLS}}  "
    if not explains:
        return [TextLine(shorten_end(lead.rstrip(), width))]
    # A column sums up the load and its drain; here each step has its own.
    return text_lines(metric.help.replace("in the load and its drain", "in this step"), width, lead=lead)


def pair_lines(own: CellState, other: CellState, names: tuple[str, str], width: int) -> tuple[TextLine, ...]:
    """Return the measurements of two cells side by side, step by step, with their difference in per cent."""
    values = {
        (kind, place, measurement.metric): measurement.value
        for kind, place, step in _placed_steps(other)
        for measurement in step.measurements
    }
    names_cells = max(cells_of(printable(name)) for name in names)
    cells = max(_PAIR_CELLS, min(names_cells, (width - _COLUMN_CELLS - _CHANGE_CELLS) // 2))
    heads = (pad_left(shorten_middle(printable(name), cells), cells) for name in names)
    lines = [TextLine(shorten_middle(" " * (_COLUMN_CELLS + 4) + "  ".join(heads), width), "strong")]
    for kind, place, step in _placed_steps(own):
        if step.measurements:
            lines += text_lines(f"{kind.words}: {step.title}", width, "strong")
        for one in step.measurements:
            lines.append(_pair(one, values.get((kind, place, one.metric)), width, cells))
    return tuple(lines)


def _placed_steps(cell: CellState) -> Iterator[tuple[StepKind, int, StepState]]:
    """Yield the steps of a cell, each with its number among those of its kind."""
    counts: dict[StepKind, int] = {}
    for step in cell.steps:
        counts[step.kind] = counts.get(step.kind, -1) + 1
        yield step.kind, counts[step.kind], step


def _pair(own: Measurement, other: float | None, width: int, cells: int) -> TextLine:
    values = [own.value] if other is None else [own.value, other]
    scale = scale_for(own.metric, values)
    figures = [pad_left(f"{scale.text(value)} {scale.unit}".strip(), cells) for value in values]
    figures += [pad_left("-", cells)] * (2 - len(values))
    change = f"{100 * (other / own.value - 1):+.0f} %" if other is not None and own.value else ""
    text = f"  {own.metric.column:<{_COLUMN_CELLS}}  {'  '.join(figures)}  {change}".rstrip()
    return TextLine(shorten_middle(text, width))


_PAIR_CELLS, _CHANGE_CELLS = 18, 18
"""Columns of each cell's figures at least; of the change, with all gaps."""


def warning_lines(state: RunState, cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return a cell's warnings in words, each with its remedy, then those of the whole run."""
    lines: list[TextLine] = []
    for noted in warnings_seen(state):
        if noted.cells and cell.index not in noted.cells:
            continue
        also = [other for other in noted.cells if other != cell.index]
        where = f"also {numbers_in_words(also)}" if also else "this cell alone"
        place = where if noted.cells else "the whole run"
        lines.append(TextLine(noted.kind.words, "strong"))
        lines += text_lines(f"{noted.reason} ({place})", width, lead="  ")
        lines += text_lines(noted.hint, width, lead="  -> ")
    return tuple(lines) or (TextLine("No warnings."),)


def environment_lines(state: RunState, cell: Cell, width: int) -> tuple[TextLine, ...]:
    """Return machine, kernel, tools, and who the device is."""
    lines = [line for sentence in facts(state) for line in text_lines(sentence, width)]
    for started in state.started:
        known = (("kernel", started.kernel), ("host", started.hostname), ("boot", started.boot_id))
        told = (fact_words(name, value) for name, value in started.facts)
        pairs = (*known, ("fsconsole", started.version), *told)
        lines += _named(f"As engine {started.attempt} started", pairs, width)
    for target in state.request.targets:
        identity = target.identity
        pairs = (
            ("size", f"{format_bytes(identity.size_bytes)} ({identity.size_bytes} bytes)"),
            ("WWN", identity.wwn),
            ("serial number", identity.serial),
            ("partition", identity.partition_uuid),
            ("device-mapper", identity.dm_uuid),
            ("scratch device", identity.scratch_id),
            ("backing file", target.backing_file),
            ("consent", target.consent or "none needed"),
        )
        if target.path in (cell.target, *cell.members):
            lines += _named(f"Device {target.path}", pairs, width)
    run = (("name", state.request.run_id), ("started", instant(state.request.created_wall_ns)))
    return (*lines, *_named("The run", run, width))


def _named(title: str, pairs: Sequence[tuple[str, str]], width: int) -> list[TextLine]:
    widest = min(30, max(len(name) for name, _ in pairs))
    lines = [TextLine(""), TextLine(printable(title), "strong")]
    for name, value in pairs:
        if value:
            lines += text_lines(value, width, lead=f"  {printable(name):<{widest}}  ")
    return lines


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
    """Something that a cell left among its raw outputs: the command and what is to be said of it, and the file's name."""

    command: tuple[str, ...]
    """Its words; empty for an output of no command."""
    about: tuple[str, ...]
    file: str


def command_table(cell: CellState, others: Sequence[str], width: int) -> TableValue:
    """Return a cell's commands in their order, then further raw outputs; keys are those of outputs()."""
    rows = []
    for key, command in _commands(cell):
        name = shorten_middle(printable(shlex.join(command.argv)[:_LONGEST_NAME]), max(20, width))
        times = [fixed(time_s, 3) for time_s in (command.elapsed_s, command.user_s, command.system_s)]
        cells = (str(command.exit_code), *times, format_bytes(command.max_rss_bytes))
        rows.append(TableRow(key, name, cells, tone="strong" if command.exit_code else ""))
    rows += [TableRow(name, printable(name), ("",) * len(_COLUMNS)) for name in others]
    return TableValue("command", _COLUMNS, tuple(rows))


def outputs(cell: CellState, others: Sequence[str]) -> dict[str, Output]:
    """Return what can be opened, by the keys of the table's rows."""
    found = {
        key: Output(
            command.argv,
            (command_words(command), *(f"kernel: {line}" for line in command.kernel_log)),
            os.path.basename(command.output),
        )
        for key, command in _commands(cell)
    }
    return found | {name: Output((), (), name) for name in others}


def others_of(cell: CellState, files: Sequence[str]) -> tuple[str, ...]:
    """Return the raw outputs of a cell that no command of it names, of all the names in their folder."""
    named = {os.path.basename(command.output) for _, command in _commands(cell)}
    begin = f"{cell.index:03d}-"
    return tuple(sorted(name for name in files if name.startswith(begin) and name not in named))


def output_lines(output: Output, text: str, left_out_bytes: int, width: int) -> tuple[TextLine, ...]:
    """Return what was printed, safe to show, each line broken where the width ends."""
    lines = command_lines(output.command, width, "strong") or text_lines(output.file, width, "strong")
    for said in output.about:
        lines += text_lines(said, width)
    lines += [TextLine(""), *([] if text else [TextLine("It printed nothing.")])]
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


def _commands(cell: CellState) -> Iterator[tuple[str, CommandFinished]]:
    for step in cell.steps:
        for number, command in enumerate(step.commands):
            yield f"{step.number}/{number}", command


# The curves of one cell: what was moved, what was dirty, what the CPUs did. Pure.

_LEAST_SHARE = 0.04
"""Steps that take less of a cell are not named."""
_LONG_S = 10.0
"""Below that, tenths of a second tell steps apart."""


def curves(cell: CellState, points: Sequence[Point]) -> tuple[PlotValue, ...]:
    """Return throughput, dirty pages and CPU over a cell's life."""
    length_s = _length_s(cell, points)
    lasts = f"0 ... {f'{length_s:.1f} s' if length_s < _LONG_S else format_guess(length_s)}"
    moved = (
        _series(cell, points, "device write", "write", "write_bytes_s"),
        _series(cell, points, "device read", "read", "read_bytes_s"),
        _series(cell, points, "application", "value", "load_bytes_s"),
    )
    rates = tuple(one for one in moved if not all(isnan(y) for _, y in one.points)) or moved[:1]
    fastest = max((y for one in rates for _, y in one.points if not isnan(y)), default=1.0)
    dirty = _series(cell, points, "dirty and under writeback", "dirty", "pending_bytes")
    most = max((y for _, y in dirty.points if not isnan(y)), default=0.0)
    last = points[-1] if points else None
    limits = ((last.background_bytes, "background"), (last.threshold_bytes, "limit")) if last else ()
    marks = tuple(Threshold(value, name) for value, name in limits if value)
    # The scale ends at the first threshold that was not reached: how far away it was is what counts.
    top = min((mark.value for mark in marks if mark.value >= most), default=most) or 1.0
    cpu = (
        _series(cell, points, "CPU busy", "cpu", "cpu_percent"),
        _series(cell, points, "waiting for I/O", "iowait", "iowait_percent"),
    )
    return _aligned(
        PlotValue(rates, 0.0, length_s, fastest, format_rate(fastest), lasts),
        PlotValue((dirty,), 0.0, length_s, top, format_bytes(top), lasts, marks),
        PlotValue(cpu, 0.0, length_s, 100.0, "100 %", lasts),
    )


def _aligned(*plots: PlotValue) -> tuple[PlotValue, ...]:
    """Return plots whose curves begin in the same column: their longest labels are of one width."""
    labels = (label for plot in plots for label in (plot.y_text, *(mark.name for mark in plot.marks)))
    widest = max(map(cells_of, labels))
    return tuple(replace(plot, gutter=widest) for plot in plots)


def on_one_scale(
    own: Sequence[PlotValue], other: Sequence[PlotValue]
) -> tuple[Sequence[PlotValue], Sequence[PlotValue]]:
    """Return the curves of two cells, each pair on the larger of its two scales, so that they can be compared by eye."""
    pairs = []
    for mine, theirs in zip(own, other, strict=True):
        high, long = max(mine, theirs, key=lambda one: one.y_max), max(mine, theirs, key=lambda one: one.x_max)
        pairs.append(
            [
                replace(one, y_max=high.y_max, y_text=high.y_text, x_max=long.x_max, x_text=long.x_text)
                for one in (mine, theirs)
            ]
        )
    return _aligned(*(pair[0] for pair in pairs)), _aligned(*(pair[1] for pair in pairs))


def steps_in_words(cell: CellState, width: int) -> str:
    """Return when the longer steps began and ended, as many as find room: "workload 8-54 s, drain 54-57 s"."""
    length_s = _length_s(cell, ())
    digits = 0 if length_s >= _LONG_S else 1
    long = [step for step in cell.steps if step.elapsed_s and step.elapsed_s >= _LEAST_SHARE * length_s]
    while long:
        begins = [(step.started_monotonic_ns - begun_ns(cell)) / 1e9 for step in long]
        said = ", ".join(
            f"{step.kind.words} {begin_s:.{digits}f}-{begin_s + step.elapsed_s:.{digits}f} s"
            for begin_s, step in zip(begins, long, strict=True)
        )
        if cells_of(said) <= width:
            return said
        long.remove(min(long, key=lambda step: step.elapsed_s))
    return ""


def _length_s(cell: CellState, points: Sequence[Point]) -> float:
    ends = [step.started_monotonic_ns + step.elapsed_s * 1e9 for step in cell.steps]
    ends += [point.monotonic_ns for point in points[-1:]]
    return max(0.001, (max(ends, default=0) - begun_ns(cell)) / 1e9)


def _series(cell: CellState, points: Sequence[Point], name: str, style: str, figure: str) -> Series:
    begun = begun_ns(cell)
    found = tuple(
        # Nothing moved is nothing drawn: the least that a plot draws is a row.
        ((point.monotonic_ns - begun) / 1e9, value or nan)
        for point in points
        if (value := getattr(point, figure)) is not None
    )
    return Series(name, found, style)


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
    elif variant.is_directory:
        lines = [TextLine("A directory: its filesystem was there before the run.")]
    else:
        lines = [TextLine("As asked for", "strong")]
        parts = (
            ("filesystem", variant.filesystem),
            ("mkfs", shlex.join(variant.mkfs_words)),
            ("tune", shlex.join(variant.tune_words)),
            ("mount", ",".join(variant.mount_words)),
            ("published as", variant.as_printed),
        )
        for name, value in parts:
            lines += text_lines(value, width, lead=f"  {name:<12}  ") if value else []
        lines += _effects(variant, known, catalog, width)
    if cell.array is not None:
        lines += [TextLine(""), TextLine("The array of this cell", "strong")]
        for part in (cell_array_words(cell), f"of {', '.join(cell.members)}" if cell.members else ""):
            lines += text_lines(part, width, lead="  ") if part else []
    if cell.setting.values:
        lines += [TextLine(""), TextLine("Settings of this cell", "strong")]
        lines += [TextLine(printable(f"  {name} = {value}")) for name, value in cell.setting.values]
    for scope, title in ((Scope.MKFS, "Read back after mkfs"), (Scope.MOUNT, "Read back after mount")):
        seen = _seen(known, scope)
        if seen:
            lines += [TextLine(""), TextLine(title, "strong")]
            said = ", ".join(name if value == "on" else f"{name}={value}" for name, value in seen.items())
            lines += text_lines(said, width, lead="  ")
    return tuple(lines)


def _effects(variant: Variant, known: CellState, catalog: Catalog, width: int) -> list[TextLine]:
    try:
        filesystem = catalog.get(variant.filesystem)
        mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
        mount = split_mount(",".join(variant.mount_words), filesystem, _JOURNAL)
        found = given_options(filesystem, mkfs, mount)
    except FsconsoleError as error:
        return [TextLine(""), *text_lines(f"Effective features are unknown: {error}", width)]
    if not found:
        return []
    lines = [TextLine(""), TextLine("In effect or not, by what was read back", "strong")]
    widest = min(_WIDEST_OPTION, max(cells_of(given.text) for given in found))
    for given in found:
        seen = _seen(known, given.option.scope)
        effect = effect_of(given.option, given.value, seen).value if seen else _NOT_READ
        tone = "strong" if effect == Effect.NOT_IN_EFFECT.value else ""
        lead = f"  {pad_right(printable(given.text), widest)}  {effect:<13}"
        if width < _ROOMY:
            lines.append(TextLine(shorten_middle(lead.rstrip(), width), tone))
        else:
            lines += text_lines(given.option.help, width, tone, lead=f"{lead}  ")
    return lines


def _seen(known: CellState, scope: Scope) -> dict[str, str]:
    return {feature.name: feature.value for feature in known.features if feature.scope == scope.value}


# How figures of one cell are spread: extents over files, and latencies over calls. Pure.

_STEPS_NS = tuple(digit * 10**power for power in range(2, 12) for digit in (1, 3))
"""Bounds of the rows: a half of a power of ten each."""


_OF_DEVICE = frozenset(
    {
        *(Metric.DEVICE_READ, Metric.DEVICE_WRITTEN, Metric.DEVICE_DISCARDED),
        *(Metric.DEVICE_READS, Metric.DEVICE_WRITES, Metric.DEVICE_FLUSHES),
    }
)
"""What the counting itself had the device do says nothing of the extents; the section of figures has it."""


def extent_lines(cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return the figures of each survey of extents; the journal keeps these, not each file's own."""
    found: list[TextLine] = []
    for step in cell.steps:
        if step.kind is StepKind.EXTENTS and step.measurements:
            found.append(TextLine(printable(step.title)))
            for one in step.measurements:
                if one.metric not in _OF_DEVICE:
                    found += _measured(one, width)
    return tuple(found) or (TextLine("No extents were counted in this cell."),)


def extents_over_offset(maps: Sequence[PlacedMap]) -> tuple[tuple[str, HistogramValue], ...]:
    """Return for each map its title and the median size of its extents by their offset in the file, on one scale."""
    top = max((float(one.median_bytes) for placed in maps for one in placed.seen.sizes), default=0.0)
    return tuple(
        (
            f"{placed.row}, {placed.load}: median extent size over the offset in the file",
            HistogramValue(
                tuple(
                    (short_bytes(one.offset_bytes), float(one.median_bytes), short_bytes(one.median_bytes))
                    for one in placed.seen.sizes
                ),
                top,
            ),
        )
        for placed in maps
    )


def latency_title(seen: LatencySeen, cell: CellState) -> str:
    """Return what was timed, how often, and the extremes."""
    title = next((step.title for step in cell.steps if step.number == seen.step), "")
    named = f" of '{title.partition(':')[0]}'" if title else ""
    slow = f", {seen.over_2_s} over 2 s" if seen.over_2_s else ""
    # Exact counts, by which limits of the plan are judged.
    beyond = "".join(f", {one.count} over the limit of {one.edge_ns / 1e6:g} ms" for one in seen.beyond)
    return f"{seen.operation.value}{named}: {seen.count} calls, the longest took {_time(seen.max_ns)}{slow}{beyond}"


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
    labels = [*(f"below {_time(bound)}" for bound in _STEPS_NS), f"from {_time(_STEPS_NS[-1])}"]
    rows = range(held[0], held[-1] + 1)
    return HistogramValue(tuple((labels[index], float(counts[index]), str(counts[index])) for index in rows))


def _time(elapsed_ns: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if elapsed_ns >= factor:
            value = elapsed_ns / factor
            return f"{value:.0f} {unit}" if value == round(value) else f"{significant(value)} {unit}"
    return f"{elapsed_ns:.0f} ns"
