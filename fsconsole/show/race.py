"""Ranking of a living run so far: a row a variant with its figure, rounds and difference to the baseline; no verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.model.verdicts import figure_of
from fsconsole.results.blocks import Block, BlockKind, BlockRow, blocks_of
from fsconsole.results.content import ColumnScale, scale_for
from fsconsole.results.grid import build_grid, highest_first
from fsconsole.show.charts import round_above
from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle

MOST_ROWS = 6
"""Of a ranking in a terminal of 24 lines."""
_BEST = 3
_LEAST_NAME, _LEAST_BAR, _MOST_BAR = 8, 8, 60
_FIGURE_CELLS, _ROUNDS_CELLS, _CHANGE_CELLS, _WORDS_CELLS = 9, 4, 10, 11
_AFTER_CELLS = _FIGURE_CELLS + _ROUNDS_CELLS + _CHANGE_CELLS + _WORDS_CELLS
_AGAINST_CELLS = _CHANGE_CELLS + _WORDS_CELLS - 5
_BRACKETS = " (same n)"
"""Beside the baseline's name where differences in brackets are over fewer rounds than the figures beside them."""
_NOT_STARTED = frozenset({CellStatus.PENDING, CellStatus.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A variant; value is None before its first figure, change a share of the baseline's over the rounds that both finished."""

    name: str
    value: float | None
    rounds: int
    change: float | None
    is_baseline: bool
    is_running: bool
    failed: int
    cell: int
    """Index of its running cell, else of the last one that started, else of its first."""
    repeat: int
    """Round of that cell."""
    is_partial: bool = False
    """True if one of the two finished more rounds than the other: the values, and the bars, may differ otherwise than change."""
    is_unable: bool = False
    """True if none of its cells can run here."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The current workload's block and its rows, best first; rows without a figure are last, below them those that can't run."""

    block: Block
    rows: tuple[RaceRow, ...]
    is_over: bool

    @property
    def scale(self) -> ColumnScale:
        """Unit and decimals of the figures."""
        return scale_for(self.block.metric, [row.value for row in self.rows if row.value is not None])

    @property
    def end(self) -> float:
        """End of the bars' scale, above the highest figure so far: no bar is full; 0 before the first figure."""
        return round_above(max((row.value for row in self.rows if row.value is not None), default=0.0))


def ranking_of(state: RunState) -> Ranking | None:
    """Return the ranking of the current workload; None where a block has less than two rows."""
    blocks = [block for block in blocks_of(state, build_grid(state)) if block.kind is BlockKind.LOAD]
    part = current_workload(state)
    block = next((one for one in blocks if (one.rows[0].row.key.workload or 0) == part), None)
    if block is None or len(block.rows) < 2:
        return None
    base = next((row for row in block.rows if row.is_baseline), None)
    rows = [_row(state, block, row, base) for row in block.rows]
    known = [row for row in rows if row.value is not None]
    known.sort(key=lambda row: row.value or 0.0, reverse=highest_first(block.metric))
    unknown = sorted((row for row in rows if row.value is None), key=lambda row: row.is_unable)
    return Ranking(block, (*known, *unknown), state.status is RunStatus.FINISHED)


@dataclass(frozen=True, slots=True)
class RankingLine:
    """A row in three parts: text before the bar, the bar in columns, text after it."""

    row: RaceRow
    before: str
    bar: int
    after: str


@dataclass(frozen=True, slots=True)
class RankingTable:
    """The rows in sight; bar is the width of the bars' column."""

    head: str
    bar: int
    lines: tuple[RankingLine, ...]


def ranking_table(race: Ranking, width: int, most: int, *, alive: bool = True) -> RankingTable:
    """Return at most so many rows, and a head, of at most width cells each; alive: an engine runs."""
    shown = _in_sight(race.rows, most)
    names = max(cells_of(printable(row.name)) for row in race.rows)
    names = max(_LEAST_NAME, min(names, width - _AFTER_CELLS - _LEAST_BAR - 1))
    bar = max(0, min(_MOST_BAR, width - names - 1 - _AFTER_CELLS))
    lines = []
    for row in shown:
        figure = "-" if row.value is None else race.scale.text(row.value)
        name = pad_right(shorten_middle(printable(row.name), names), names + 1)
        length = round(bar * row.value / race.end) if row.value and race.end else 0
        room = width - cells_of(name) - bar
        after = shorten_middle(_after(row, figure, alive=alive), room)
        lines.append(RankingLine(row, name, max(0, min(length, bar)), after))
    return RankingTable(_head(race, len(race.rows) - len(shown), names + 1 + bar, width), bar, tuple(lines))


def race_lines(state: RunState, width: int) -> list[str]:
    """Return the ranking as text in at most MOST_ROWS + 1 lines of at most width cells; none before the first figure."""
    race = ranking_of(state)
    if race is None or not race.end:
        return []
    table = ranking_table(race, width - 1, MOST_ROWS)
    rows = (
        f"{'>' if line.row.is_running else ' '}{line.before}{'#' * line.bar:<{table.bar}}{line.after}"
        for line in table.lines
    )
    return [f" {table.head}".rstrip(), *(row.rstrip() for row in rows)]


def _head(race: Ranking, more: int, lead: int, width: int) -> str:
    """Return the heads: load where there are several, column, unit, rows left out, end of the bars' scale."""
    block, unit = race.block, race.scale.unit or "number"
    words = f"{block.metric.column}, {unit}{'' if race.is_over else ' so far'}{f', {more} more' if more else ''}"
    end = f" {race.scale.text(race.end)}|" if race.end else ""
    room = lead - cells_of(words) - cells_of(end) - len(": ")
    if len(block.rows[0].row.key.workloads) > 1 and room >= _LEAST_NAME:
        words = f"{shorten_middle(block.name, room)}: {words}"
    words = printable(words)
    if cells_of(words) + cells_of(end) > lead:
        end = ""
    words = pad_right(shorten_middle(words, lead), lead - cells_of(end)) + end
    baseline = printable(block.baseline)
    brackets = _BRACKETS if any(row.change is not None and row.is_partial for row in race.rows) else ""
    # Its row says that it is the baseline: a long name need not stand here in pieces.
    is_short = cells_of(baseline + brackets) <= _AGAINST_CELLS
    against = f"vs {baseline if is_short else 'base'}{brackets}" if baseline else ""
    return shorten_middle(f"{words}{'':>{_FIGURE_CELLS}}{'n':>{_ROUNDS_CELLS}}  {against}".rstrip(), width)


def current_workload(state: RunState) -> int:
    """Return the index of the running cell's latest workload; 0 before its first one, and between cells."""
    step = state.current_step
    if step is None or state.current_cell is None:
        return 0
    steps = state.request.plan.cells[state.current_cell].steps[: step.number + 1]
    return next((one.workload for one in reversed(steps) if one.workload is not None), 0)


def _row(state: RunState, block: Block, row: BlockRow, base: BlockRow | None) -> RaceRow:
    own, change, is_partial = row.row.readings(block.metric), None, False
    if base is not None and base is not row:
        other = base.row.readings(block.metric)
        both = own.keys() & other.keys()
        of_base = figure_of((other[number] for number in both), block.metric) if both else 0.0
        change = figure_of((own[number] for number in both), block.metric) / of_base - 1 if of_base else None
        is_partial = own.keys() != other.keys()
    cells = [state.cells[index] for index in row.row.indexes]
    cell = _cell_of(cells, state.current_cell)
    return RaceRow(
        name=row.title,
        value=row.row.estimate(block.metric),
        rounds=len(own),
        change=change,
        is_baseline=row.is_baseline,
        is_running=cell == state.current_cell,
        failed=sum(one.status is CellStatus.FAILED for one in cells),
        cell=cell,
        repeat=state.request.plan.cells[cell].repeat,
        is_partial=is_partial,
        is_unable=all(one.status is CellStatus.UNAVAILABLE for one in cells),
    )


def _cell_of(cells: Sequence[CellState], current: int | None) -> int:
    started = [cell.index for cell in cells if cell.status not in _NOT_STARTED]
    return (
        current
        if current in [cell.index for cell in cells] and current is not None
        else max(started, default=cells[0].index)
    )


def _in_sight(rows: Sequence[RaceRow], most: int) -> list[RaceRow]:
    """Return the best three, the baseline, the running one, and neighbours as far as there is room, in their order."""
    wanted = [*range(min(_BEST, len(rows)))]
    wanted += [place for place, row in enumerate(rows) if row.is_baseline or row.is_running]
    near = [place for place, row in enumerate(rows) if row.is_running]
    wanted += [place + by for place in near for by in (-1, 1) if 0 <= place + by < len(rows)]
    kept = list(dict.fromkeys((*wanted, *range(len(rows)))))[: max(1, most)]
    return [rows[place] for place in sorted(kept)]


def _after(row: RaceRow, figure: str, *, alive: bool) -> str:
    change = "base" if row.is_baseline else "" if row.change is None else f"{100 * row.change:+.0f} %"
    change = f"({change})" if change and row.is_partial else change
    running = (f"running #{row.repeat}" if alive else "interrupted") if row.is_running else ""
    words = "  ".join(filter(None, (running, f"{row.failed} failed" if row.failed else "")))
    counted = f"{pad_left(figure, _FIGURE_CELLS)}{row.rounds:>{_ROUNDS_CELLS}}"
    lead = pad_left("can't run", cells_of(counted)) if row.is_unable else counted
    return f"{lead}  {pad_right(change + ' ', _CHANGE_CELLS - 2)}{words}".rstrip()
