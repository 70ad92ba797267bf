"""A gauge as columns: label, bar on a true scale with its thresholds, the figure in words."""

from __future__ import annotations

import math

from fsconsole.report.cells import shorten_middle
from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.widgets.drawing import NOT_HERE, Cell, Line, cells, fitted, flat, shade_of
from fsconsole.tui.widgets.values import GaugeValue, Mark, Part

_LEAST_BAR = 6
"""Columns within the brackets; with fewer there is no bar, and the figure has the room."""


def gauge_line(value: GaugeValue, width: int, glyphs: Glyphs, *, label_width: int, text_width: int) -> Line:
    """Return a gauge in exactly width columns; the bar has what label and text leave."""
    label = cells(shorten_middle(flat(value.label, glyphs), label_width).ljust(label_width) + " ", "label")
    text = flat(value.text, glyphs)
    if value.value is None or math.isnan(value.value):
        return fitted(label + cells(f"{NOT_HERE}: {text}" if text else NOT_HERE, "text"), width)
    text_room = max(text_width, len(text))
    bar_room = width - len(label) - text_room - 3
    if bar_room < _LEAST_BAR:
        return fitted(label + cells(shorten_middle(text, width - len(label)), "text"), width)
    bar = bar_cells(value, bar_room, glyphs)
    return fitted(
        (*label, ("[", "axis"), *bar, ("]", "axis"), *cells(" " + text.rjust(text_room), "text")), width
    )


def bar_cells(value: GaugeValue, width: int, glyphs: Glyphs) -> list[Cell]:
    """Return the bar alone: parts from the left, then marks, then the names of marks where nothing else is."""
    bar = _filled(value, width, glyphs)
    free = [kind == "text" for _, kind in bar]
    places = [
        (_place(mark.value, value.maximum, width), mark) for mark in value.marks if _within(mark, value)
    ]
    for place, _ in places:
        bar[place] = (glyphs.vertical, "mark")
        free[place] = False
    for place, mark in places:
        _name(bar, free, place, flat(mark.name, glyphs))
    return bar


def share(value: float, maximum: float) -> float:
    """Return which part of a scale a value is, 0 to 1, whatever the two are."""
    if math.isnan(value) or math.isnan(maximum) or value <= 0:
        return 0.0
    if value >= maximum or math.isinf(value):
        return 1.0
    return value / maximum


def _filled(value: GaugeValue, width: int, glyphs: Glyphs) -> list[Cell]:
    parts = value.parts or (Part(value.value or 0.0, "value"),)
    bar: list[Cell] = [(glyphs.empty, "text")] * width
    total, begin = 0.0, 0
    for part in parts:
        total += max(part.value, 0.0)
        end = round(share(total, value.maximum) * width)
        bar[begin:end] = [(shade_of(part.kind, glyphs) if len(parts) > 1 else glyphs.full, part.kind)] * (
            end - begin
        )
        begin = max(begin, end)
    if total > value.maximum:
        bar[-1] = (">", "mark")  # More than the scale has.
    return bar


def _within(mark: Mark, value: GaugeValue) -> bool:
    return 0 < mark.value <= value.maximum


def _place(value: float, maximum: float, width: int) -> int:
    return min(round(share(value, maximum) * width), width - 1)


def _name(bar: list[Cell], free: list[bool], place: int, name: str) -> None:
    for begin in (place + 1, place - len(name)):
        end = begin + len(name)
        if begin >= 0 and end <= len(bar) and all(free[begin:end]):
            bar[begin:end] = cells(name, "mark")
            # A column stays free of words after a name, so that two don't run together.
            free[max(begin - 1, 0) : end + 1] = [False] * len(free[max(begin - 1, 0) : end + 1])
            return
