"""Pictures as columns of characters, without Textual: what a widget paints, and where two paintings differ."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby, pairwise, repeat
from operator import itemgetter, ne
from statistics import median

from rich.cells import cell_len

from fsconsole.show.charts import (
    RING_SLOTS,
    GaugeValue,
    HistogramValue,
    Part,
    PlotValue,
    Ring,
    Series,
    Strips,
    Threshold,
)
from fsconsole.show.gauges import LABEL_CELLS, TEXT_CELLS
from fsconsole.show.replay import Frame
from fsconsole.show.terminal import ASCII, Glyphs
from fsconsole.text import printable, shorten_middle
from fsconsole.tui.terminal import shown

_GAP_SPACINGS = 3.0
"""Samples come at a rate; where they are further apart than this many times their usual distance, some are missing."""


def columns_of(series: Series, x_min: float, x_max: float, width: int) -> list[float | None]:
    """Return the highest y of each column, None where nothing is known; y keeps its unit.

    A sample tells of the time since the one before, so the columns between two samples get the later one's value.
    """
    found: list[float | None] = [None] * width
    if width <= 0 or not x_max > x_min:
        return found
    points = sorted((x, y) for x, y in series.points if math.isfinite(x))
    steps = [after - before for (before, _), (after, _) in pairwise(points) if after > before]
    longest = median(steps) * _GAP_SPACINGS if steps else 0.0
    before: float | None = None
    for x, y in points:
        if math.isnan(y):
            before = None
            continue
        begin = x if before is None or x - before > longest else before
        before = x
        if x_min <= x <= x_max:
            first, last = (_column(each, x_min, x_max, width) for each in (max(begin, x_min), x))
            # The column of the sample before is its own.
            for column in range(first if first == last or found[first] is None else first + 1, last + 1):
                there = found[column]
                found[column] = y if there is None else max(there, y)
    return found


def _column(x: float, x_min: float, x_max: float, width: int) -> int:
    # Apart: the difference may be too small for a float.
    share = x / (x_max - x_min) - x_min / (x_max - x_min)
    return min(max(int(share * width), 0), width - 1) if math.isfinite(share) else 0


Cell = tuple[str, str]
"""One column: its character, and its kind (a word that the style sheet gives a colour)."""
Line = tuple[Cell, ...]

_FULL = 3
_SHADES = {"system": 2, "write": 2, "iowait": 1, "waiting": 1, "irq": 0, "softirq": 0, "steal": 0, "other": 0}
KINDS = (
    *("value", "user", "nice", "system", "iowait", "irq", "softirq", "steal", "guest", "other", "idle"),
    *("read", "write", "dirty", "writeback", "cpu", "waiting", "queue", "good", "bad"),
    *("label", "text", "mark", "name", "axis", "behind"),
)
"""Styles with a colour of their own in drawn.py; others are drawn as "value"."""


def flat(text: str, glyphs: Glyphs) -> str:
    """Return text with exactly one column for each character, all of the glyph set."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if cell_len(character) == 1 else "?" * cell_len(character)
        for character in shown(printable(text), glyphs)
    )


def cells(text: str, kind: str) -> Line:
    """Return flat text as columns."""
    return tuple(zip(text, repeat(kind)))


def fitted(line: Iterable[Cell], width: int) -> Line:
    """Return a line of exactly that many columns."""
    found = tuple(line)[: max(width, 0)]
    return found + ((" ", "text"),) * (width - len(found))


def runs(line: Line) -> list[tuple[str, str]]:
    """Return neighbouring columns of one kind as (text, kind)."""
    return [("".join(map(itemgetter(0), group)), kind) for kind, group in groupby(line, key=itemgetter(1))]


def difference(before: Line, after: Line) -> tuple[int, int]:
    """Return the first column that differs and how many from there on; lines of one width. (0, 0) for none."""
    # Most lines are as they were: that is found out without a look at each column.
    if before == after:
        return 0, 0
    first, after_last = (
        next(place for place, differs in enumerate(map(ne, *ways)) if differs)
        for ways in ((before, after), (reversed(before), reversed(after)))
    )
    return first, len(after) - after_last - first


_LEAST_BAR = 6
"""Columns within the brackets; with fewer there is no bar, and the figure has the room."""


_MINUTE = "60 s "
_RINGS = (RING_SLOTS, RING_SLOTS // 2, RING_SLOTS // 3)


def gauge_line(value: GaugeValue, width: int, glyphs: Glyphs, *, label_width: int, text_width: int) -> Line:
    """Return a gauge in exactly width columns: label, bar, text, and its last minute where it has one.

    A ring comes before a bar where there is no room for both.
    """
    label = cells(shorten_middle(flat(value.label, glyphs), label_width).ljust(label_width) + " ", "label")
    text = flat(value.text, glyphs)
    if value.value is None or math.isnan(value.value):
        return fitted(label + cells(f"n/a ({text})" if text else "n/a", "text"), width)
    text_room = max(text_width, len(text))
    room = width - len(label) - text_room - 1
    ring = _ring_width(room) if value.history is not None else 0
    history: Line = ()
    if value.history is not None and ring:
        drawn = ring_cells(value.history, value.maximum, ring, glyphs, _kind_of(value))
        history = (*cells(f" {_MINUTE}", "axis"), *drawn)
    bar_room = room - len(history) - 2
    if bar_room < _LEAST_BAR:
        free = width - len(label) - len(history)
        shown = shorten_middle(text, free).ljust(min(text_room, free))
        end = _end_words(value, len(shown) - len(text) - 1, glyphs) if history else ""
        shown = shown[: len(shown) - len(end)]
        return fitted((*label, *cells(shown, "text"), *cells(end, "axis"), *history), width)
    bar = bar_cells(value, bar_room, glyphs)
    # Where the bar has covered the end of its scale, it stands behind it.
    is_stated = not value.end or bar[-1][1] == "axis"
    end = "" if is_stated else _end_words(value, text_room - len(text) - 1, glyphs)
    words = (*cells(f" {end}", "axis"), *cells(text.rjust(text_room - len(end)), "text"))
    return fitted((*label, ("[", "axis"), *bar, ("]", "axis"), *words, *history), width)


def _end_words(value: GaugeValue, room: int, glyphs: Glyphs) -> str:
    """Return the end of a gauge's scale in words as long as there is room for."""
    end = flat(value.end, glyphs)
    return next((words for words in (f"to {end}", end) if end and len(words) <= room), "")


def _ring_width(room: int) -> int:
    """Return the columns of a ring: as many as leave a bar, else those that fit, else none."""
    least = len(_MINUTE) + 1
    with_bar = (each for each in _RINGS if room - least - each >= 2 + 2 * _LEAST_BAR)
    return next(with_bar, next((each for each in _RINGS if room >= least + each - 1), 0))


def _kind_of(value: GaugeValue) -> str:
    return value.parts[0].kind if len(value.parts) == 1 else "value"


def ring_cells(ring: Ring, maximum: float, width: int, glyphs: Glyphs, kind: str) -> Line:
    """Return a ring in width columns, a part of its slots; the column after the one written last is empty."""
    ramp = glyphs.steps if len(glyphs.steps) > len(ASCII.steps) else f"_{glyphs.shades}{glyphs.full}"
    per = max(1, len(ring.slots) // width)
    found: list[Cell] = []
    for column in range(width):
        known = [value for value in ring.slots[column * per : (column + 1) * per] if value is not None]
        level = min(int(share(max(known), maximum) * len(ramp)), len(ramp) - 1) if known else 0
        found.append((ramp[level], kind) if known else (" ", "text"))
    found[(ring.at // per + 1) % width] = (" ", "text")
    return tuple(found)


def bar_cells(value: GaugeValue, width: int, glyphs: Glyphs) -> list[Cell]:
    """Return the bar alone: parts from the left, then marks, then the names of marks where nothing else is."""
    parts = value.parts or (Part(value.value or 0.0, "value"),)
    bar: list[Cell] = [(glyphs.empty, "text")] * width
    total, begin = 0.0, 0
    for part in parts:
        total += max(part.value, 0.0)
        end = round(share(total, value.maximum) * width)
        # Shades, so that parts differ without colours too.
        shade = _SHADES.get(part.kind, _FULL) if len(parts) > 1 else _FULL
        bar[begin:end] = [(f"{glyphs.shades}{glyphs.full}"[shade], part.kind)] * (end - begin)
        begin = max(begin, end)
    if total > value.maximum:
        bar[-1] = (">", "mark")  # More than the scale has.
    free = [kind == "text" for _, kind in bar]
    marks = [mark for mark in value.marks if 0 < mark.value <= value.maximum]
    places = [min(round(share(mark.value, value.maximum) * width), width - 1) for mark in marks]
    for place in places:
        bar[place] = (glyphs.vertical, "mark")
        free[place] = False
    for place, mark in zip(places, marks, strict=True):
        whole = flat(mark.name, glyphs)
        tried = ((name, begin) for name in (whole, whole.partition(" ")[0]) for begin in (place + 1, place - len(name)))
        for name, begin in tried:
            end = begin + len(name)
            if begin >= 0 and end <= width and all(free[begin:end]):
                bar[begin:end] = cells(name, "mark")
                # A column stays free of words after a name, so that two don't run together.
                free[max(begin - 1, 0) : end + 1] = [False] * len(free[max(begin - 1, 0) : end + 1])
                break
    scale = flat(value.end, glyphs)
    if scale and len(scale) < width and all(free[-len(scale) :]):
        bar[-len(scale) :] = cells(scale, "axis")
    return bar


def share(value: float, maximum: float) -> float:
    """Return which part of a scale a value is, 0 to 1, whatever the two are."""
    if math.isnan(value) or math.isnan(maximum) or value <= 0:
        return 0.0
    if value >= maximum or math.isinf(value):
        return 1.0
    return value / maximum


def histogram_lines(value: HistogramValue, width: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return a line for each row, exactly width columns each; the longest bar is the highest count."""
    rows = [(flat(label, glyphs), count, flat(text, glyphs)) for label, count, text in value.rows]
    label_width = min(max((len(label) for label, _, _ in rows), default=0), max(width // 3, 0))
    text_width = max((len(text) for _, _, text in rows), default=0)
    room = width - label_width - text_width - 2
    highest = max(value.least_top, *(count for _, count, _ in rows if math.isfinite(count)), 0.0)
    found = []
    for label, count, text in rows:
        # What is there at all has a column.
        length = max(round(share(count, highest) * room), 1) if count > 0 and room > 0 else 0
        line = (
            *cells(shorten_middle(label, label_width).rjust(label_width) + " ", "label"),
            *cells((glyphs.full * length).ljust(room), "value"),
            *cells(" " + text.rjust(text_width), "text"),
        )
        found.append(fitted(line, width))
    return tuple(found)


NO_FIGURES = "no figures yet"
REDUCED = "each column: its highest"

Grid = list[list[Cell]]


def plot_lines(value: PlotValue, width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return a plot in exactly width columns and height lines; what has no room is left out, words first."""
    words = [flat(text, glyphs) for text in (value.y_text, *(mark.name for mark in value.marks))]
    gutter = max(min(max(value.gutter, *map(len, words)), width // 4), 1)
    columns, rows = width - gutter - 1, height - 2
    if rows < 1 or columns < 1:
        return (fitted(cells(words[0], "axis"), width),) * height
    grid, labels = _plotted(value, columns, rows, glyphs)
    axes = [shorten_middle(label, gutter).rjust(gutter) + glyphs.vertical for label in labels]
    corner = "└" if glyphs.has_boxes else "+"
    return (
        *(fitted((*cells(axis, "axis"), *row), width) for axis, row in zip(axes, grid, strict=True)),
        fitted(cells("0".rjust(gutter) + corner + glyphs.horizontal * columns, "axis"), width),
        fitted((*cells(" " * (gutter + 1), "axis"), *_caption(value, columns, glyphs)), width),
    )


def _plotted(value: PlotValue, columns: int, rows: int, glyphs: Glyphs) -> tuple[Grid, list[str]]:
    """Return the curves of a plot on a grid, and a label for each row."""
    grid: Grid = [[(glyphs.empty, "text")] * columns for _ in range(rows)]
    labels = [flat(value.y_text, glyphs)] + [""] * (rows - 1)
    for series in value.series:
        if series.behind:
            _draw_area(grid, series, value, glyphs.shades[0], "behind")
    unnamed = _draw_marks(grid, labels, value, glyphs)
    for index, series in enumerate(series for series in value.series if not series.behind):
        if index == 0:
            _draw_area(grid, series, value, glyphs.steps, series.style)
            continue
        for column, level in enumerate(_levels(series, value, grid, 1)):
            # A curve at zero has the bottom line where nothing else is there.
            if level or (level == 0 and grid[-1][column][1] == "text"):
                grid[-max(level, 1)][column] = (line_glyph(index, glyphs), series.style)
    for row, name in unnamed:
        taken = sum(kind == "name" for _, kind in grid[row])
        _write(grid[row], 1 + taken, name + " ", "name")
    if not any(series.points for series in value.series):
        _write(grid[rows // 2], max((columns - len(NO_FIGURES)) // 2, 0), NO_FIGURES, "text")
    return grid, labels


def line_glyph(index: int, glyphs: Glyphs) -> str:
    """Return what the curve of that number is drawn with; 0 is the area."""
    return (glyphs.full, glyphs.square, glyphs.up, glyphs.down)[index] if index < 4 else "x"


def _draw_area(grid: Grid, series: Series, value: PlotValue, steps: str, kind: str) -> None:
    """Fill columns from the bottom up with parts of a block; zero, which is no gap, has the smallest part."""
    whole = (steps[-1], kind)
    for column, level in enumerate(_levels(series, value, grid, len(steps))):
        full, rest = divmod(0 if level is None else max(level, 1), len(steps))
        for row in range(1, full + 1):
            grid[-row][column] = whole
        if rest:
            grid[-1 - full][column] = (steps[rest - 1], kind)


def _levels(series: Series, value: PlotValue, grid: Grid, steps: int) -> list[int | None]:
    """Return how many steps of a row high each column is; None is a gap."""
    height = len(grid) * steps
    known = columns_of(series, value.x_min, value.x_max, len(grid[0]))
    return [None if y is None else round(share(y, value.y_max) * height) for y in known]


def _draw_marks(grid: Grid, labels: list[str], value: PlotValue, glyphs: Glyphs) -> list[tuple[int, str]]:
    """Draw thresholds as lines across, named before the line; return (row, name) where another name has that place."""
    left: list[tuple[int, str]] = []
    for mark in value.marks:
        if not 0 < mark.value <= value.y_max:
            continue
        row = len(grid) - max(round(share(mark.value, value.y_max) * len(grid)), 1)
        grid[row] = [
            (glyphs.horizontal, "mark") if kind == "text" else (character, kind) for character, kind in grid[row]
        ]
        if row and not labels[row]:
            labels[row] = flat(mark.name, glyphs)
        else:
            left.append((row, flat(mark.name, glyphs)))
    return left


def _write(row: list[Cell], begin: int, text: str, kind: str) -> None:
    room = max(len(row) - begin, 0)
    row[begin : begin + len(text)] = cells(text[:room], kind)


def _caption(value: PlotValue, columns: int, glyphs: Glyphs) -> Line:
    words: list[Line] = [cells(flat(value.x_text, glyphs), "axis"), *_names(value, glyphs)]
    in_sight = (sum(value.x_min <= x <= value.x_max for x, _ in one.points) for one in value.series)
    if any(points > columns for points in in_sight):
        words.append(cells(REDUCED, "axis"))
    return _joined(words, columns)


def _names(value: PlotValue, glyphs: Glyphs) -> list[Line]:
    """Return what each curve is drawn with, and its name."""
    words: list[Line] = []
    front = 0
    for series in value.series:
        glyph = glyphs.shades[0] if series.behind else line_glyph(front, glyphs)
        front += not series.behind
        if front > 1 and all(math.isnan(y) for _, y in series.points):
            continue
        kind = "behind" if series.behind else series.style
        words.append(((glyph, kind), *cells(f" {flat(series.name, glyphs)}", "text")))
    return words


def _joined(words: Iterable[Line], columns: int) -> Line:
    """Return as many words as have room, with gaps."""
    found: Line = ()
    for word in words:
        gap = cells("   ", "text") if found else ()
        if len(found) + len(gap) + len(word) <= columns:
            found = (*found, *gap, *word)
    return found


# Charts below each other over one time axis: one left edge, one width, one axis below the first.

_EDGE = LABEL_CELLS + 1
"""Columns before a strip's left edge, as before a gauge's."""


def strips_lines(value: Strips, width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return the charts in exactly width columns and height lines; where there is no room the last ones are left out."""
    columns, rows = width - _EDGE - 1, height - 2
    if rows < 1 or columns < 1:
        return (fitted(cells(flat(value.plots[0].y_text, glyphs), "axis"), width),) * height
    shown = value.plots if rows >= _ROWS_FOR_TWO else value.plots[:1]
    lower = rows // 3 if len(shown) > 1 else 0
    first = shown[0]
    found = [
        *_strip_grid(first, columns, rows - lower, glyphs),
        (*cells("0".rjust(_EDGE), "axis"), *_axis(first, columns, glyphs)),
    ]
    if lower:
        # A threshold is a line across: of few lines it would leave none to the curve.
        below = shown[1] if lower >= _ROWS_FOR_MARKS else replace(shown[1], marks=())
        found += _strip_grid(below, columns, lower, glyphs, base="0")
    words = [word for plot in shown for word in _names(plot, glyphs)]
    found.append((*cells(" " * (_EDGE + 1), "axis"), *_joined(words, columns)))
    return tuple(fitted(line, width) for line in found)


_ROWS_FOR_TWO, _ROWS_FOR_MARKS = 5, 4


def _strip_grid(value: PlotValue, columns: int, rows: int, glyphs: Glyphs, *, base: str = "") -> list[Line]:
    """Return the lines of a strip; base: the label of its last line, where nothing stands below it."""
    grid, labels = _plotted(value, columns, rows, glyphs)
    labels[-1] = labels[-1] or base
    last = 0
    for place in sorted(_step_places(value, columns)):
        # Steps that follow each other at once would hide the curves: those are on the axis alone.
        if place - last >= _LEAST_STEP:
            last = place
            for row in grid:
                if row[place][1] in ("text", "behind"):
                    row[place] = (glyphs.vertical, "axis")
    return [
        (*cells(shorten_middle(label, _EDGE).rjust(_EDGE) + glyphs.vertical, "axis"), *row)
        for label, row in zip(labels, grid, strict=True)
    ]


_LEAST_STEP = 4


def _step_places(value: PlotValue, columns: int) -> dict[int, Threshold]:
    """Return the columns in which steps begin; of several in one column the last, since the others are over within it."""
    within = (mark for mark in value.steps if value.x_min <= mark.value <= value.x_max)
    return {_column(mark.value, value.x_min, value.x_max, columns): mark for mark in within}


def _axis(value: PlotValue, columns: int, glyphs: Glyphs) -> Line:
    """Return the line below a chart: a corner, names of steps where they begin, and the length in words."""
    line = cells(("└" if glyphs.has_boxes else "+") + glyphs.horizontal * columns, "axis")
    words = list(line)
    end = f" {flat(value.x_text, glyphs)}"
    places = _step_places(value, columns)
    starts = [*sorted(places), columns - len(end)]
    for place, following in pairwise(starts):
        corner = ("┴" if glyphs.has_boxes else "+") if place else ""
        room = following - place - len(corner)
        name = flat(places[place].name, glyphs)
        _write(words, 1 + place, corner + (name if len(name) < room else ""), "axis")
    _write(words, max(1, 1 + columns - len(end)), end, "axis")
    return tuple(words)


ChartValue = PlotValue | Strips | Frame | tuple[GaugeValue, ...]
"""Curves, curves over one axis, a frame of a replay, or gauges below each other."""


def chart_lines(value: ChartValue, width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return height lines of width columns."""
    if isinstance(value, PlotValue):
        return plot_lines(value, width, height, glyphs)
    if isinstance(value, Strips):
        return strips_lines(value, width, height, glyphs)
    if isinstance(value, Frame):
        parts = value.lines(width, height, glyphs)
        return tuple(
            fitted((one for text, kind in line for one in cells(flat(text, glyphs), kind)), width) for line in parts
        )
    # The bars of gauges without a ring end where those of the others do, if those have any.
    room = width - LABEL_CELLS - 1 - TEXT_CELLS - 1
    ring = len(_MINUTE) + 1 + _ring_width(room) if any(gauge.history is not None for gauge in value) else 0
    bare = width - ring if room - ring >= _LEAST_BAR + 2 else width
    return tuple(
        fitted(
            gauge_line(
                gauge,
                width if gauge.history is not None else bare,
                glyphs,
                label_width=LABEL_CELLS,
                text_width=TEXT_CELLS,
            ),
            width,
        )
        for gauge in value[:height]
    )
