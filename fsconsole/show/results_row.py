"""The pane on the selected row of the Results screen: its verdict, its rounds as dots, its other figures, its warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import LEAST_ROUNDS, MOST_MORE, Compared, Scale, Verdict
from fsconsole.results.blocks import Block, BlockKind, BlockRow
from fsconsole.results.changes import change_text
from fsconsole.results.content import (
    ColumnScale,
    check_words,
    cpu_words,
    crash_words,
    scale_for,
    warning_lines,
    worded_for,
)
from fsconsole.results.grid import Grid
from fsconsole.results.requirements import row_sentences
from fsconsole.results.why import reached_words, why_words
from fsconsole.show.lines import TextLine, text_lines
from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle

_LEAST_DOTS = 20
_MOST_NAME = 24


def row_lines(row: BlockRow, block: Block, grid: Grid, width: int, further: str = "") -> tuple[TextLine, ...]:
    """Return what is to be said of a row: name, verdict, why, what to do further, rounds, other columns, warnings."""
    array = row.row.key.array
    # No figure stands without it, also where all rows share it.
    clean = ", assume-clean" if array is not None and array.assume_clean else ""
    is_load = block.kind is BlockKind.LOAD
    reached = reached_words(row) if is_load and not clean else ""
    lines = text_lines(reached or row.title + clean, width, "strong")
    for said in (*(f"published as: {other}" for other in row.row.printed), *row.row.notes):
        lines += text_lines(said, width)
    why = (why_words(row, baseline_of(row, block)),) if is_load else ()
    for said in filter(None, (*row_verdict(row, block), *why, further, *row_sentences(row.required))):
        lines += text_lines(said, width)
    lines += map(TextLine, dot_lines(row, block, width))
    is_life = block.kind is BlockKind.LIFE
    others = (crash_words(row.row), check_words(row.row)) if is_life else (cpu_words(row.row),)
    for said in filter(None, (figure_words(row, block), *others)):
        lines += text_lines(said, width)
    for warning in worded_for(row.row, grid):
        lines += map(TextLine, warning_lines(warning, width))
    return tuple(lines)


# The verdict in words.


def row_verdict(row: BlockRow, block: Block) -> tuple[str, ...]:
    """Return a row's verdict in sentences; none where nothing is compared."""
    if row.is_baseline:
        return (f"The baseline: {block.baseline}.",)
    if row.compared is None:
        return ()
    other = baseline_of(row, block)
    control = ("Control: the baseline once more; its difference is noise of this machine.",) if row.is_control else ()
    return (*control, *compared_words(row.compared, block, other.name if other is not None else block.baseline))


def compared_words(found: Compared, block: Block, other: str) -> tuple[str, ...]:
    """Return a comparison in sentences: the verdict with its figures, and what would change it."""
    scale = scale_for(block.metric, (found.own, found.other))
    unit = f" {scale.unit}" if scale.unit else ""
    if found.verdict is None:
        return (f"No verdict: {_lacking(found, unit, scale)}.",)
    figures = f"{block.metric.column} {scale.text(found.own)} against {scale.text(found.other)}{unit} of {other}"
    change = change_text(found, block.metric)
    if found.scale is Scale.RATIO and " x" not in change:
        change += " %"
    said = f"{found.verdict.value.capitalize()}: {figures}; change {change} over {found.n} rounds."
    return tuple(filter(None, (said, _addition(found, block.same))))


def _lacking(found: Compared, unit: str, scale: ColumnScale) -> str:
    if found.n < LEAST_ROUNDS:
        return f"{found.n} of at least {LEAST_ROUNDS} rounds finished in both rows"
    if found.below is not None:
        return f"both figures lie below {found.below / scale.factor:g}{unit}, too short to be compared"
    return "both figures are too small to be compared"


def _addition(found: Compared, same: float) -> str:
    share = f"{100 * same:g} %"
    if found.verdict is Verdict.SAME:
        return f"The difference is less than {share} either way."
    if found.is_small:
        return f"By less than {share}."
    if found.verdict is not Verdict.UNDECIDED:
        return ""
    if found.more is None:
        return f"More than {MOST_MORE} further rounds would be needed to decide it: not worth it."
    return f"{found.more} further rounds would decide it with a chance of 80 %."


def baseline_of(row: BlockRow, block: Block) -> BlockRow | None:
    """Return the row that another one is compared with: the baseline at equal values of all other axes."""
    bases = [other for other in block.rows if other.is_baseline]
    alike = (
        other
        for other in bases
        if sum(a != b for a, b in zip(other.axes, row.axes, strict=True)) <= (other.name == row.name)
    )
    return next(alike, bases[0] if len(bases) == 1 else None)


# Raw values: a dot a round.


def dot_lines(row: BlockRow, block: Block, width: int) -> list[str]:
    """Return the raw values of a row and of its baseline on one scale; nothing for fewer than two values.

    A digit stands for as many values at one place.
    """
    other = baseline_of(row, block) if not row.is_baseline else None
    listed = [(each, summary.values) for each in (row, other) if each and (summary := each.row.figure(block.metric))]
    values = tuple(chain.from_iterable(values for _, values in listed))
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return []
    scale, least, most = scale_for(block.metric, values), min(values), max(values)
    names = (block.metric.column, *(printable(each.name) for each, _ in listed))
    name = min(_MOST_NAME, max(map(cells_of, names)))
    room = max(_LEAST_DOTS, width - name - 4)
    unit = f" {scale.unit}" if scale.unit else ""
    ends = scale.text(least), f"{scale.text(most)}{unit}"
    head = pad_right(shorten_middle(block.metric.column, name), name + 3)
    lines = [head + (ends[0] + pad_left(ends[1], room - cells_of(ends[0])) if least < most else ends[1])]
    for each, raw in listed:
        label = pad_right(shorten_middle(printable(each.name), name), name)
        lines.append(f"{label} |{_dots(raw, least, most, room + 1)}|")
    return lines


def _dots(values: Sequence[float], least: float, most: float, room: int) -> str:
    counts = [0] * room
    for value in values:
        # Halved first: the distance of two figures of a run from elsewhere may be no finite number.
        share = (value / 2 - least / 2) / (most / 2 - least / 2) if most > least else 0.5
        counts[round(share * (room - 1))] += 1
    return "".join(" " if not count else "o" if count == 1 else str(min(count, 9)) for count in counts)


def figure_words(row: BlockRow, block: Block) -> str:
    """Return a row's other columns: "write 9166 MB/s, CPU 35.5 %"; empty where it has none."""
    parts = []
    told = {block.metric, Metric.CPU} if cpu_words(row.row) else {block.metric}
    for metric in block.columns:
        if metric not in told and (value := row.row.estimate(metric)) is not None:
            scale = scale_for(metric, (value,))
            parts.append(f"{metric.column} {scale.text(value)} {scale.unit}".rstrip())
    return ", ".join(parts)
