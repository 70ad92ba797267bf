"""Bars of figures: beside a table's primary column, and of some metrics below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import Verdict
from fsconsole.results.advice import is_more_better
from fsconsole.results.blocks import Block, BlockRow, compared_figure
from fsconsole.results.content import scale_for
from fsconsole.results.table import Column, TableRow, TableValue
from fsconsole.show.terminal import Glyphs
from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle

LEAST_BAR, MOST_BAR = 6, 24
_VERDICT_COLUMNS = 5
"""Columns from the primary figure to the verdict: bars leave these in sight."""


class Standing(Enum):
    """Standing of a row against its baseline; values are tones."""

    BASELINE = "strong"
    BETTER = "good"
    WORSE = "bad"
    SAME = ""
    OPEN = "faint"


def standing_of(row: BlockRow, metric: Metric) -> Standing:
    """Return a row's standing; OPEN without a verdict."""
    if row.is_baseline:
        return Standing.BASELINE
    verdict = row.compared.verdict if row.compared is not None else None
    if verdict in (None, Verdict.UNDECIDED):
        return Standing.OPEN
    if verdict is Verdict.SAME:
        return Standing.SAME
    is_better = verdict is Verdict.FASTER or (verdict in (Verdict.MORE, Verdict.LESS) and (verdict is Verdict.MORE) == is_more_better(metric))  # fmt: skip
    return Standing.BETTER if is_better else Standing.WORSE


def toned(table: TableValue, block: Block) -> TableValue:
    """Return a table whose rows have the tones of their standings, if the block has verdicts."""
    if not block.is_compared:
        return table
    tones = {row.row.id: standing_of(row, block.metric).value for row in block.rows}
    return replace(table, rows=tuple(replace(row, tone=tones.get(row.key, row.tone)) for row in table.rows))


def with_bars(table: TableValue, block: Block, at: int, width: int, glyphs: Glyphs) -> TableValue:
    """Return a table with bars of the primary figures as its column of that index; as it is where there is no room."""
    values = {row.row.id: compared_figure(row, block.metric) for row in block.rows}
    top = max((value for value in values.values() if value is not None), default=0.0)
    beside = table.widths[: at + _VERDICT_COLUMNS - 1] if block.is_compared else table.widths
    names = max(map(cells_of, (table.name, *(row.name for row in table.rows))))
    room = min(MOST_BAR, width - sum(beside) - len(beside) - 1 - names)
    if room < LEAST_BAR or top <= 0:
        return table
    by_id = {row.row.id: row for row in block.rows}

    def bar(row: TableRow) -> str:
        value = values.get(row.key)
        return bar_text(value / top, room, _glyph(by_id[row.key], block, glyphs)) if value is not None else ""

    head = f"0{pad_left(scale_for(block.metric, [top]).text(top), room - 1)}"
    columns = (*table.columns[:at], Column(head, is_right=False, is_whole=True, is_drawn=True), *table.columns[at:])
    rows = (
        replace(row, cells=(*row.cells[:at], bar(row), *row.cells[at:])) if row.cells else row for row in table.rows
    )
    return replace(table, columns=columns, rows=tuple(rows))


def bar_text(share: float, room: int, glyph: str) -> str:
    """Return a bar of so many cells at most; what is there at all has one."""
    return glyph * max(1, min(room, round(share * room))) if share > 0 else ""


def _glyph(row: BlockRow, block: Block, glyphs: Glyphs) -> str:
    """Return what a row's bar is made of: full where it is better, and lighter where it is worse, or open."""
    standing = standing_of(row, block.metric) if block.is_compared else Standing.BASELINE
    return {Standing.WORSE: glyphs.shades[1], Standing.OPEN: glyphs.shades[0]}.get(standing, glyphs.full)


Spans = tuple[tuple[str, str], ...]


def bar_lines(block: Block, metrics: Sequence[Metric], width: int, glyphs: Glyphs) -> tuple[Spans, ...]:
    """Return bars of all rows for each metric that the block has figures of, under its name with the unit."""
    names = min(24, max((cells_of(printable(row.title)) for row in block.rows), default=0))
    found: list[Spans] = []
    for metric in metrics:
        known = [(row, row.row.estimate(metric)) for row in block.rows]
        values = [value for _, value in known if value is not None]
        if not values:
            continue
        scale, top = scale_for(metric, values), max(values)
        texts = max(cells_of(scale.text(value)) for value in values)
        room = max(LEAST_BAR, width - names - texts - 3)
        found += [(("", ""),)] if found else []
        found.append(((f"{metric.column}{f', {scale.unit}' if scale.unit else ''}", "head"),))
        for row, value in known:
            name = pad_right(shorten_middle(printable(row.title), names), names)
            if value is None:
                found.append(((f"{name} -", "faint"),))
                continue
            bar = pad_right(bar_text(value / top if top > 0 else 0, room, glyphs.full), room)
            figure = pad_left(scale.text(value), texts)
            found.append(((f"{name} ", "strong" if row.is_baseline else ""), (bar, "value"), (f" {figure}", "")))
    return tuple(found)
