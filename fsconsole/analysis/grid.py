"""The grid: one row per variant (and whatever else the plan varies), its figures over the repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.analysis.against_raw import with_raw_shares
from fsconsole.analysis.columns import (
    COLUMNS_WITH_RAW,
    DEFAULT_COLUMNS,
    DEFAULT_SORT,
    highest_first,
    with_read,
)
from fsconsole.analysis.equal import equal_warnings, join_equal
from fsconsole.analysis.figures import CellFigures, figures_of, parts_of, worst_verdict
from fsconsole.analysis.names import RowKey, row_names
from fsconsole.analysis.notes import row_notes
from fsconsole.analysis.statistics import Summary, summarise
from fsconsole.analysis.warnings import Noted, spread_warnings, warnings_seen
from fsconsole.model.measurement import Metric
from fsconsole.model.published import Publication
from fsconsole.model.state import RunState


@dataclass(frozen=True, slots=True)
class Row:
    """One row; a metric that no cell of it has is absent from figures."""

    name: str
    key: RowKey
    cells: tuple[CellFigures, ...]
    """In the order in which the plan runs them, those without figures too."""
    figures: tuple[tuple[Metric, Summary], ...]
    verdict: str
    """The worst verdict of its checks; empty where none was finished."""
    notes: tuple[str, ...]
    """Why figures are missing, in words; empty where none is."""
    printed: tuple[str, ...] = ()
    """What publications call it, and the variants that came out equal to it."""

    def figure(self, metric: Metric) -> Summary | None:
        """Return the summary of that metric, or None where no cell has it."""
        for known, summary in self.figures:
            if known is metric:
                return summary
        return None


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows in the order of sorted_by; warnings name cells, so that each is found in the journal."""

    rows: tuple[Row, ...]
    sorted_by: Metric
    warnings: tuple[Noted, ...]
    publication: Publication | None = None
    """What is laid beside it: shown, and never ranked."""
    is_reversed: bool = False
    """Whether the column is sorted the other way round: rates from the lowest, all else from the highest."""

    @property
    def repeats(self) -> tuple[int, ...]:
        """The different numbers of figures behind the medians of the sorted column, ascending."""
        summaries = [row.figure(self.sorted_by) for row in self.rows]
        return tuple(sorted({summary.n for summary in summaries if summary is not None}))


def build_grid(
    state: RunState, *, sort_by: Metric = DEFAULT_SORT, publication: Publication | None = None
) -> Grid:
    """Return the grid of a run as far as it has come."""
    grouped: dict[RowKey, list[CellFigures]] = {}
    for cell, cell_state in zip(state.request.plan.cells, state.cells, strict=True):
        for part in parts_of(cell):
            key = RowKey(
                cell.target, cell.array, cell.setting, cell.variant, cell.workloads, part, cell.members
            )
            grouped.setdefault(key, []).append(figures_of(cell, cell_state, part))
    grouped = with_raw_shares(grouped)
    names = dict(zip(grouped, row_names(tuple(grouped)), strict=True))
    joined = join_equal(grouped, state.cells)
    rows = [_row(names[key], (key, *joined.equal.get(key, ())), cells) for key, cells in joined.rows.items()]
    spread = spread_warnings(tuple((row.name, row.cells, row.figure(DEFAULT_SORT)) for row in rows))
    warnings = (*warnings_seen(state), *equal_warnings(joined, names), *spread)
    return Grid(_sorted(rows, sort_by), sort_by, warnings, publication)


def sort_grid(grid: Grid, metric: Metric, *, is_reversed: bool = False) -> Grid:
    """Return a grid in another order; rows without a figure are the last either way."""
    rows = _sorted(sorted(grid.rows, key=_place), metric, is_reversed=is_reversed)
    return replace(grid, rows=rows, sorted_by=metric, is_reversed=is_reversed)


def columns_for(grid: Grid) -> tuple[Metric, ...]:
    """Return the columns that a grid shows unasked: shares of a raw row, and reads, where there are any."""
    has_shares = any(row.figure(Metric.OF_RAW_1) for row in grid.rows)
    columns = COLUMNS_WITH_RAW if has_shares else DEFAULT_COLUMNS
    return with_read(columns) if any(row.figure(Metric.READ) for row in grid.rows) else columns


def _row(name: str, keys: tuple[RowKey, ...], cells: tuple[CellFigures, ...]) -> Row:
    """Return the row of the first key, with those that came out equal to it."""
    found: dict[Metric, list[float]] = {}
    for cell in cells:
        for measurement in cell.measurements:
            found.setdefault(measurement.metric, []).append(measurement.value)
    figures = tuple((metric, summarise(tuple(found[metric]))) for metric in Metric if metric in found)
    verdict = worst_verdict(tuple(cell.verdict for cell in cells))
    printed = dict.fromkeys(key.variant.as_printed for key in keys if key.variant.as_printed)
    return Row(name, keys[0], cells, figures, verdict, row_notes(cells), tuple(printed))


def _place(row: Row) -> tuple[int, int]:
    """Return where a row stands in the plan's order."""
    return (min(cell.cell for cell in row.cells), row.key.workload or 0)


def _sorted(rows: list[Row], metric: Metric, *, is_reversed: bool = False) -> tuple[Row, ...]:
    """Sort by medians; the sort is stable, so that equal rows stay in the plan's order."""
    having = [(summary.median, row) for row in rows if (summary := row.figure(metric)) is not None]
    having.sort(key=lambda pair: pair[0], reverse=highest_first(metric) != is_reversed)
    lacking = [row for row in rows if row.figure(metric) is None]
    return (*(row for _, row in having), *lacking)
