"""A plot as columns of block glyphs: an area, lines over it, a faint curve behind, thresholds, and words around."""

from __future__ import annotations

from fsconsole.report.cells import shorten_middle
from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.widgets.columns import columns_of, is_reduced
from fsconsole.tui.widgets.draw_gauge import share
from fsconsole.tui.widgets.drawing import Cell, Line, cells, fitted, flat
from fsconsole.tui.widgets.values import PlotValue, Series

NO_FIGURES = "no figures yet"
REDUCED = "each column: its highest"

Grid = list[list[Cell]]


def plot_lines(value: PlotValue, width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return a plot in exactly width columns and height lines; what has no room is left out, words first."""
    gutter = _gutter_width(value, width, glyphs)
    columns = width - gutter - 1
    rows = height - 2
    if rows < 1 or columns < 1:
        return tuple(fitted(cells(flat(value.y_text, glyphs), "axis"), width) for _ in range(height))
    grid: Grid = [[(glyphs.empty, "text")] * columns for _ in range(rows)]
    labels = [""] * rows
    _draw_behind(grid, value, glyphs)
    unnamed = _draw_marks(grid, labels, value, glyphs)
    _draw_front(grid, value, glyphs)
    for row, name in unnamed:
        _write_name(grid[row], name)
    if not any(series.points for series in value.series):
        _write(grid[rows // 2], max((columns - len(NO_FIGURES)) // 2, 0), NO_FIGURES, "text")
    labels[0] = flat(value.y_text, glyphs)
    return (
        *(
            fitted(
                (*cells(shorten_middle(label, gutter).rjust(gutter) + glyphs.vertical, "axis"), *row), width
            )
            for label, row in zip(labels, grid, strict=True)
        ),
        fitted(cells("0".rjust(gutter) + _corner(glyphs) + glyphs.horizontal * columns, "axis"), width),
        fitted((*cells(" " * (gutter + 1), "axis"), *_caption(value, columns, glyphs)), width),
    )


def line_glyph(index: int, glyphs: Glyphs) -> str:
    """Return what the curve of that number is drawn with; 0 is the area."""
    return (glyphs.full, glyphs.square, glyphs.up, glyphs.down)[index] if index < 4 else "x"


def _gutter_width(value: PlotValue, width: int, glyphs: Glyphs) -> int:
    words = [flat(text, glyphs) for text in (value.y_text, *(mark.name for mark in value.marks))]
    return max(min(max(len(word) for word in words), width // 4), 1)


def _corner(glyphs: Glyphs) -> str:
    return "└" if glyphs.has_boxes else "+"


def _draw_behind(grid: Grid, value: PlotValue, glyphs: Glyphs) -> None:
    for series in value.series:
        if series.behind:
            for column, level in enumerate(_levels(series, value, grid, 1)):
                for row in range(_seen(level)):
                    grid[-1 - row][column] = (glyphs.shades[0], "behind")


def _draw_front(grid: Grid, value: PlotValue, glyphs: Glyphs) -> None:
    for index, series in enumerate(series for series in value.series if not series.behind):
        draw = _draw_line if index else _draw_area
        draw(grid, series, value, glyphs, index)


def _draw_area(grid: Grid, series: Series, value: PlotValue, glyphs: Glyphs, index: int) -> None:  # noqa: ARG001 (as _draw_line)
    steps, whole = len(glyphs.steps), (glyphs.full, series.style)
    for column, level in enumerate(_levels(series, value, grid, steps)):
        full, rest = divmod(_seen(level), steps)
        for row in range(1, full + 1):
            grid[-row][column] = whole
        if rest:
            grid[-1 - full][column] = (glyphs.steps[rest - 1], series.style)


def _draw_line(grid: Grid, series: Series, value: PlotValue, glyphs: Glyphs, index: int) -> None:
    for column, level in enumerate(_levels(series, value, grid, 1)):
        # A curve at zero has the bottom line where nothing else is there.
        if level or (level == 0 and grid[-1][column][1] == "text"):
            grid[-_seen(level)][column] = (line_glyph(index, glyphs), series.style)


def _seen(level: int | None) -> int:
    """Return how many steps are drawn: none in a gap, and one for zero, which is no gap."""
    return 0 if level is None else max(level, 1)


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
            (glyphs.horizontal, "mark") if kind == "text" else (character, kind)
            for character, kind in grid[row]
        ]
        if row and not labels[row]:
            labels[row] = flat(mark.name, glyphs)
        else:
            left.append((row, flat(mark.name, glyphs)))
    return left


def _write_name(row: list[Cell], name: str) -> None:
    taken = sum(1 for _, kind in row if kind == "name")
    _write(row, 1 + taken, name + " ", "name")


def _write(row: list[Cell], begin: int, text: str, kind: str) -> None:
    room = max(len(row) - begin, 0)
    row[begin : begin + len(text)] = cells(text[:room], kind)


def _caption(value: PlotValue, columns: int, glyphs: Glyphs) -> Line:
    words: list[Line] = [cells(flat(value.x_text, glyphs), "axis")]
    front = 0
    for series in value.series:
        glyph = glyphs.shades[0] if series.behind else line_glyph(front, glyphs)
        front += not series.behind
        kind = "behind" if series.behind else series.style
        words.append(((glyph, kind), *cells(f" {flat(series.name, glyphs)}", "text")))
    if is_reduced(value.series, value.x_min, value.x_max, columns):
        words.append(cells(REDUCED, "axis"))
    found: Line = ()
    for word in words:
        gap = cells("   ", "text") if found else ()
        if len(found) + len(gap) + len(word) <= columns:
            found = (*found, *gap, *word)
    return found
