"""Curves as text: ASCII, a letter per curve, at most so many columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from string import ascii_letters

from fsconsole.results.content import ColumnScale, scale_for
from fsconsole.results.curves import Curve, CurveChart, is_cut, notes_of, positions, top_of
from fsconsole.text import cells_of, pad_right, printable, shorten_middle, wrap
from fsconsole.units import significant

LEAST_WIDTH = 40
_ROWS = 16
_PARTS = 4
_LABEL = 10
_SEVERAL = "*"
_TONES = 6
Spans = tuple[tuple[str, str], ...]
"""Parts of a line, each with its tone: "map0" to "map5" of one curve after another, as in layout maps; else nothing."""
_Cells = list[list[tuple[str, str]]]


def chart_lines(chart: CurveChart, width: int = 80) -> tuple[Spans, ...]:
    """Return a chart of at most width columns: title, curves over their axis, legend, notes."""
    width = max(width, LEAST_WIDTH)
    scale = scale_for(chart.metric, [point.y for point in chart.points])
    top, plot = top_of(chart, scale.factor), width - _LABEL - 2
    unit = f", {scale.unit}" if scale.unit else ""
    lines: list[Spans] = [_plain(line) for line in wrap(chart.title, width)]
    lines.append(_plain(shorten_middle(printable(f"{chart.metric.column}{unit}, over {chart.axis}"), width)))
    cells = _painted(chart, plot, top)
    for row in range(_ROWS, -1, -1):
        is_tick = row % (_ROWS // _PARTS) == 0
        label = _tick(scale, top * row / _ROWS) if is_tick else ""
        lines.append(((f"{label:>{_LABEL}} {'+' if is_tick else '|'}", ""), *_spans(cells[row])))
    lines += [_plain(" " * (_LABEL + 1) + "+" + "-" * plot), _plain(" " * (_LABEL + 2) + _axis_line(chart, plot))]
    lines += _legend(chart.curves, width)
    notes = " ".join((*notes_of(chart, top, mark="|", cut="^"), *_met(cells)))
    return (*lines, *(_plain(line) for line in wrap(notes, width)))


def chart_text(chart: CurveChart, width: int = 80) -> str:
    """Return a chart without colours."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in chart_lines(chart, width))


def _plain(text: str) -> Spans:
    return ((text, ""),)


def _tone(number: int) -> str:
    return f"map{number % _TONES}"


def _tick(scale: ColumnScale, value: float) -> str:
    text = significant(value / scale.factor)
    return text if len(text) <= _LABEL else f"{value / scale.factor:.1e}"


def _columns(chart: CurveChart, width: int) -> tuple[dict[float, int], int]:
    """Return the column of each value of the axis, and by how many columns neighbouring curves stand apart there."""
    count = len(chart.curves)
    margin = min(width // 6, max(3, count))
    columns = {x: margin + round(place * (width - 1 - 2 * margin)) for x, place in positions(chart).items()}
    least = min((after - before for before, after in pairwise(sorted(columns.values()))), default=width)
    return columns, min(2, max(0, (least - 1) // max(1, count)))


def _painted(chart: CurveChart, width: int, top: float) -> _Cells:
    """Return rows from 0 up: first the ways between points, over them intervals, over them the letters."""
    cells: _Cells = [[(" ", "")] * width for _ in range(_ROWS + 1)]
    columns, apart = _columns(chart, width)
    middle = (len(chart.curves) - 1) / 2
    places = []
    for number, curve in enumerate(chart.curves):
        shift = round((number - middle) * apart)
        places.append([(min(max(columns[one.x] + shift, 0), width - 1), _row(one.y, top)) for one in curve.points])
    for number, found in enumerate(places):
        for (x, y), (next_x, next_y) in pairwise(found):
            for column in range(x + 1, next_x):
                row = round(y + (next_y - y) * (column - x) / (next_x - x))
                if cells[row][column][0] == " ":
                    cells[row][column] = (".", _tone(number))
    for number, (curve, found) in enumerate(zip(chart.curves, places, strict=True)):
        for point, (column, _) in zip(curve.points, found, strict=True):
            if point.low is not None and point.high is not None:
                for row in range(_row(point.low, top), _row(point.high, top) + 1):
                    cells[row][column] = ("|", _tone(number))
                if is_cut(point, top):
                    cells[_ROWS][column] = ("^", _tone(number))
    for number, found in enumerate(places):
        for column, row in found:
            is_taken = cells[row][column][0] not in " .|^"
            cells[row][column] = (_SEVERAL, "") if is_taken else (ascii_letters[number], _tone(number))
    return cells


def _row(value: float, top: float) -> int:
    return min(max(round(value / top * _ROWS), 0), _ROWS)


def _spans(cells: Sequence[tuple[str, str]]) -> Spans:
    """Return neighbouring cells of one curve as one span, without blanks at the end."""
    spans: list[tuple[str, str]] = []
    for character, tone in cells:
        if spans and (spans[-1][1] == tone or character == " "):
            spans[-1] = (spans[-1][0] + character, spans[-1][1])
        else:
            spans.append((character, tone))
    while spans and not (text := spans[-1][0].rstrip()):
        spans.pop()
    return (*spans[:-1], (text, spans[-1][1])) if spans else ()


def _axis_line(chart: CurveChart, width: int) -> str:
    """Return the values of the axis below their points, as far as there is room."""
    columns, _ = _columns(chart, width)
    line = ""
    for x, value in chart.values:
        start = max(0, min(columns[x] - (len(value) - 1) // 2, width - len(value)))
        if not line or start > len(line):
            line = line.ljust(start) + value
    return printable(line)


def _legend(curves: Sequence[Curve], width: int) -> list[Spans]:
    """Return letter and name of each curve, several in a line where they have room."""
    entries = [(ascii_letters[number], curve.name) for number, curve in enumerate(curves)]
    widest = min(width - 4, max((cells_of(name) for _, name in entries), default=0))
    each = max(1, width // (widest + 5))
    lines: list[Spans] = []
    for start in range(0, len(entries), each):
        spans: list[tuple[str, str]] = []
        for number in range(start, min(start + each, len(entries))):
            letter, name = entries[number]
            spans += [("  " + letter, _tone(number)), (" " + pad_right(shorten_middle(name, widest), widest + 1), "")]
        lines.append(tuple(spans))
    return lines


def _met(cells: _Cells) -> tuple[str, ...]:
    is_met = any(character == _SEVERAL for row in cells for character, _ in row)
    return (f"{_SEVERAL} several curves.",) if is_met else ()
