"""Ranking of a living run so far: a row a variant with its figure, rounds and difference to the baseline; no verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.verdicts import compared
from fsconsole.results.blocks import Block, BlockKind, BlockRow, blocks_of
from fsconsole.results.content import scale_for
from fsconsole.results.grid import build_grid, highest_first
from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle

MOST_ROWS = 5
_BEST = 3
_BAR_CELLS = 20
_FIGURES_CELLS = 33
"""Of figure, rounds and difference, with their gaps."""


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A variant; value is None before its first figure, change a share of the baseline's over rounds that both finished."""

    name: str
    value: float | None
    rounds: int
    change: float | None
    is_baseline: bool
    is_running: bool
    failed: int


def race_rows(state: RunState) -> tuple[Block | None, tuple[RaceRow, ...]]:
    """Return the current workload's block and its rows, best first; (None, ()) where nothing can be ranked."""
    blocks = [block for block in blocks_of(state, build_grid(state)) if block.kind is BlockKind.LOAD]
    part = current_workload(state)
    block = next((one for one in blocks if (one.rows[0].row.key.workload or 0) == part), None)
    if block is None or len(block.rows) < 2:
        return None, ()
    base = next((row for row in block.rows if row.is_baseline), None)
    rows = [_row(state, block, row, base) for row in block.rows]
    known = [row for row in rows if row.value is not None]
    known.sort(key=lambda row: row.value or 0.0, reverse=highest_first(block.metric))
    return block, (*known, *(row for row in rows if row.value is None))


def race_lines(state: RunState, width: int) -> list[str]:
    """Return the ranking in at most MOST_ROWS + 1 lines of at most width cells; none before the first figure."""
    block, rows = race_rows(state)
    known = [row.value for row in rows if row.value is not None]
    if block is None or not known:
        return []
    shown = _in_sight(rows)
    scale, names = scale_for(block.metric, known), max(cells_of(printable(row.name)) for row in shown)
    names = max(8, min(names, width - _FIGURES_CELLS - _BAR_CELLS))
    more = f", {len(rows) - len(shown)} more" if len(shown) < len(rows) else ""
    head = printable(f"{block.metric.column}, {scale.unit or 'number'} so far{more}")
    against = f"vs {shorten_middle(printable(block.baseline), 12)}" if block.baseline else ""
    lead = names + _BAR_CELLS + 2
    lines = [pad_right(shorten_middle(head, lead), lead) + f"{'':>11}  n  {against}"]
    for row in shown:
        # The scale ends above the best figure so far: no bar is full before all are over.
        length = round(0.9 * _BAR_CELLS * (row.value or 0.0) / (max(known) or 1.0))
        figure = "-" if row.value is None else scale.text(row.value)
        name = pad_right(shorten_middle(printable(row.name), names), names)
        text = (
            f"{'>' if row.is_running else ' '}{name} {'#' * length:<{_BAR_CELLS}}{pad_left(figure, 11)}{row.rounds:>3}"
        )
        lines.append(f"{text}  {_words(row)}".rstrip())
    return [shorten_middle(line.rstrip(), width) for line in lines]


def current_workload(state: RunState) -> int:
    """Return the index of the running cell's latest workload; 0 before its first one, and between cells."""
    step = state.current_step
    if step is None or state.current_cell is None:
        return 0
    steps = state.request.plan.cells[state.current_cell].steps[: step.number + 1]
    return next((one.workload for one in reversed(steps) if one.workload is not None), 0)


def _row(state: RunState, block: Block, row: BlockRow, base: BlockRow | None) -> RaceRow:
    own, change = row.row.readings(block.metric), None
    if base is not None and base is not row:
        other = base.row.readings(block.metric)
        pair = compared(own, other, block.metric, family=max(1, block.family), same=block.same, with_more=False)
        change = pair.own / pair.other - 1 if pair is not None and pair.other else None
    failed = sum(cell.status is CellStatus.FAILED for cell in row.row.cells)
    running = state.current_cell in row.row.indexes
    value = row.row.estimate(block.metric)
    return RaceRow(row.title, value, len(own), change, row.is_baseline, running, failed)


def _in_sight(rows: Sequence[RaceRow]) -> list[RaceRow]:
    """Return the best three, the baseline, the running one, and neighbours as far as there is room, in their order."""
    wanted = [*range(min(_BEST, len(rows)))]
    wanted += [place for place, row in enumerate(rows) if row.is_baseline or row.is_running]
    kept = list(dict.fromkeys((*wanted, *range(len(rows)))))[:MOST_ROWS]
    return [rows[place] for place in sorted(kept)]


def _words(row: RaceRow) -> str:
    change = "base" if row.is_baseline else "" if row.change is None else f"{100 * row.change:+.0f} %"
    return "  ".join(filter(None, (change, f"{row.failed} failed" if row.failed else "")))
