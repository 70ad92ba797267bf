"""A histogram as columns: a label, a bar, a count on each line."""

from __future__ import annotations

import math

from fsconsole.report.cells import shorten_middle
from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.widgets.draw_gauge import share
from fsconsole.tui.widgets.drawing import Line, cells, fitted, flat
from fsconsole.tui.widgets.values import HistogramValue


def histogram_lines(value: HistogramValue, width: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return a line for each row, exactly width columns each; the longest bar is the highest count."""
    rows = [(flat(label, glyphs), count, flat(text, glyphs)) for label, count, text in value.rows]
    label_width = min(max((len(label) for label, _, _ in rows), default=0), max(width // 3, 0))
    text_width = max((len(text) for _, _, text in rows), default=0)
    room = width - label_width - text_width - 2
    highest = max((count for _, count, _ in rows if math.isfinite(count)), default=0.0)
    return tuple(
        fitted(
            (
                *cells(shorten_middle(label, label_width).rjust(label_width) + " ", "label"),
                *cells(_bar(count, highest, room, glyphs), "value"),
                *cells(" " + text.rjust(text_width), "text"),
            ),
            width,
        )
        for label, count, text in rows
    )


def _bar(count: float, highest: float, room: int, glyphs: Glyphs) -> str:
    """Return a bar; what is there at all has a column."""
    if room < 1:
        return ""
    length = max(round(share(count, highest) * room), 1) if count > 0 else 0
    return (glyphs.full * length).ljust(room)
