"""The grid as its screen shows it: rows and heads of the table, and what is said of the row at the cursor. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fsconsole.analysis.baseline import share_percent
from fsconsole.analysis.beside import columns_beside, published_alone, published_for
from fsconsole.analysis.columns import DEFAULT_SORT, highest_first
from fsconsole.analysis.grid import Grid, Row, columns_for, sort_grid
from fsconsole.client.looking import Look
from fsconsole.model.measurement import DEFINITIONS, Metric
from fsconsole.model.published import Publication
from fsconsole.plaintext import printable
from fsconsole.report.about import heading
from fsconsole.report.cells import cells_of, shorten_middle, wrap
from fsconsole.report.content import MISSING, content_of
from fsconsole.report.marks import Worded, worded_for
from fsconsole.report.table import Line
from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.widgets.lines import TextLine
from fsconsole.tui.widgets.table_layout import Column, TableRow, TableValue
from fsconsole.units import fixed

_WHOLE_FROM_PERCENT = 9.95
_LARGEST_PERCENT = 99_999.0
_ANY_LINES = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """How the operator wants to see a grid; columns empty: those that it shows unasked."""

    columns: tuple[Metric, ...] = ()
    sort_by: Metric = DEFAULT_SORT
    is_reversed: bool = False
    baseline: str = ""
    """The key of a row; empty for none."""
    publication: Publication | None = None


@dataclass(frozen=True, slots=True)
class GridView:
    """A grid arranged as it was chosen, with its table."""

    grid: Grid
    columns: tuple[Metric, ...]
    table: TableValue
    caption: str

    def row(self, key: str) -> Row | None:
        """Return the grid's row of that key; None for a published one, or one that is gone."""
        return next((row for row in self.grid.rows if row_key(row) == key), None)


def row_key(row: Row) -> str:
    """Return what tells a row from the others of its run, however far that has come."""
    first = min(cell.cell for cell in row.cells)
    return f"{first}/{'' if row.key.workload is None else row.key.workload}"


def arranged(grid: Grid, choice: Choice, glyphs: Glyphs) -> GridView:
    """Return a grid as it was chosen."""
    grid = replace(
        sort_grid(grid, choice.sort_by, is_reversed=choice.is_reversed), publication=choice.publication
    )
    unasked = columns_beside(grid) if choice.publication is not None else columns_for(grid)
    columns = choice.columns or unasked
    content = content_of(grid, columns)
    baseline = next((row for row in grid.rows if row_key(row) == choice.baseline), None)
    rows = tuple(_rows(grid, content.lines, columns, baseline))
    heads = tuple(Column(printable(head.name), head.unit) for head in content.heads)
    at = columns.index(grid.sorted_by) if grid.sorted_by in columns else None
    table = TableValue("variant", heads, rows, at, _mark(grid, glyphs))
    return GridView(grid, columns, table, _caption(grid, baseline))


def sorted_by(choice: Choice, metric: Metric) -> Choice:
    """Return a choice sorted by a column, or the other way round where it is sorted by that one already."""
    again = metric is choice.sort_by
    return replace(choice, sort_by=metric, is_reversed=again and not choice.is_reversed)


def with_baseline(choice: Choice, key: str) -> Choice:
    """Return a choice with a row as baseline, or without one where it was that row."""
    return replace(choice, baseline="" if choice.baseline == key else key)


def title_lines(look: Look, width: int) -> tuple[TextLine, ...]:
    """Return what a run is called and where it stands, two lines each at most."""
    # What the command line says of resuming is a key here.
    standing, is_open, _ = look.standing.partition(": fsconsole resume ")
    said = heading(look.state, f"{standing} (5 Runs takes it up again)" if is_open else standing)
    parts = [wrap(sentence, width, max_lines=2) for sentence in said]
    titled = len(said) > 1
    return tuple(
        TextLine(line, "strong" if titled and index == 0 else "")
        for index, part in enumerate(parts)
        for line in part
    )


def caption_rule(caption: str, glyphs: Glyphs, width: int) -> str:
    """Return the line between table and pane, with the caption in it."""
    said = f"{glyphs.horizontal} {shorten_middle(caption, width - 4)} "
    return said + glyphs.horizontal * (width - cells_of(said))


def pane_lines(row: Row, grid: Grid, width: int) -> tuple[TextLine, ...]:
    """Return what is to be said of a row: its whole name, why figures are missing, its warnings with remedies."""
    lines = [TextLine(part, "strong") for part in broken(printable(row.name), width)]
    for other in row.printed:
        lines += _plain(broken(f"published as: {printable(other)}", width))
    for note in row.notes:
        lines += _plain(broken(printable(note), width))
    for warning in worded_for(row, grid):
        lines += warning_lines(warning, width)
    return tuple(lines)


def warning_lines(warning: Worded, width: int) -> list[TextLine]:
    """Return a warning in words with its remedy."""
    said = f"{warning.kind} ({warning.place}): {'; '.join(warning.reasons)}"
    lines = _plain(hanging(f"{warning.mark or '-'}  ", said, width))
    return lines + _plain(hanging("   -> ", warning.hint, width))


def published_lines(publication: Publication, width: int) -> tuple[TextLine, ...]:
    """Return what is said while the cursor stands on a published row."""
    sentences = (
        f"Published: {publication.source}, {publication.date}; not of this run and not ranked with it.",
        f"There: {publication.workload}; {publication.machine}.",
    )
    return tuple(_plain(line for text in sentences for line in broken(printable(text), width)))


def hanging(lead: str, text: str, width: int) -> list[str]:
    """Return text behind a lead, its further lines under its first."""
    first, *others = broken(text, width - len(lead))
    return [lead + first, *(" " * len(lead) + other for other in others)]


def _rows(
    grid: Grid, lines: Sequence[Line], columns: tuple[Metric, ...], baseline: Row | None
) -> Iterator[TableRow]:
    """Yield the rows of the table: each of the grid, and those that were published for it below it."""
    given = iter(lines)
    for row in grid.rows:
        line, key = next(given), row_key(row)
        cells = line.cells
        if baseline is not None and row is not baseline and cells:
            cells = _against(row, baseline, cells, columns)
        yield TableRow(key, line.name, cells, " / ".join(line.notes), "strong" if row is baseline else "")
        for number, _ in enumerate(published_for(grid, row)):
            yield _published(f"{key} published {number}", next(given))
    for number, _ in enumerate(published_alone(grid)):
        yield _published(f"published {number}", next(given))


def _published(key: str, line: Line) -> TableRow:
    return TableRow(key, line.name, line.cells, " / ".join(line.notes), "weak")


def _against(row: Row, baseline: Row, cells: tuple[str, ...], columns: tuple[Metric, ...]) -> tuple[str, ...]:
    """Return a row's cells with its figures in per cent of the baseline's; verdicts and marks stay."""
    shares = []
    for metric, text in zip(columns, cells, strict=False):
        verdict, _, _ = text.rpartition(" ")
        shares.append(f"{verdict} {_share(share_percent(row, baseline, metric))}".strip())
    return (*shares, *cells[len(columns) :])


def _share(percent: float | None) -> str:
    if percent is None:
        return MISSING
    if abs(percent) > _LARGEST_PERCENT:
        return f"{percent:.0e}%"
    return f"{fixed(percent, 0 if abs(percent) >= _WHOLE_FROM_PERCENT else 1)}%"


def _mark(grid: Grid, glyphs: Glyphs) -> str:
    return glyphs.down if highest_first(grid.sorted_by) != grid.is_reversed else glyphs.up


def _caption(grid: Grid, baseline: Row | None) -> str:
    """Return what the figures are and how rows are sorted: a line of 80 columns, but for a baseline's name."""
    column = DEFINITIONS[grid.sorted_by].column
    order = "highest" if highest_first(grid.sorted_by) != grid.is_reversed else "lowest"
    if not grid.rows:
        return "The plan has no cells."
    if not grid.repeats:
        return f"No row has a figure for {column} yet."
    numbers = " to ".join(str(n) for n in dict.fromkeys((grid.repeats[0], grid.repeats[-1])))
    what = "One cell a row" if grid.repeats == (1,) else f"Medians of {numbers} cells"
    if baseline is not None:
        what = f"Per cent of '{printable(baseline.name)}'"
    return f"{what}; sorted by {column}, {order} first"


def column_help(metric: Metric) -> str:
    """Return what a column means, in a sentence."""
    definition = DEFINITIONS[metric]
    return f"{definition.column}: {definition.help}"


def broken(text: str, width: int) -> list[str]:
    """Return text in as many lines as it needs."""
    return wrap(text, max(2, width), max_lines=_ANY_LINES)


def _plain(lines: Sequence[str] | Iterator[str]) -> list[TextLine]:
    return [TextLine(line) for line in lines]
