"""Looks of `repeats = "auto"`: whether all verdicts are decided, so that the run ends before its last round."""

from __future__ import annotations

from fsconsole.model.events import LookTaken
from fsconsole.model.rounds import due_look
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.verdicts import Verdict
from fsconsole.results.blocks import BlockKind, BlockRow, GridChoice, blocks_of
from fsconsole.results.grid import build_grid


def look_at(state: RunState, attempt: int) -> LookTaken:
    """Return the look that is due: decided if every planned pair of every block is; raw rows have none."""
    last = due_look(state)
    blocks = blocks_of(state, build_grid(state), GridChoice(look=last))
    rows = [row for block in blocks if block.kind is not BlockKind.RAW for row in block.rows]
    return LookTaken(attempt, last, decided=all(map(_is_decided, rows)), cells=len(state.cells))


def _is_decided(row: BlockRow) -> bool:
    """Return whether further rounds would tell no more of a row.

    One that can't run at all has no pair. Figures below what can be resolved get no verdict later either.
    """
    if row.is_baseline or all(cell.status is CellStatus.UNAVAILABLE for cell in row.row.cells):
        return True
    pair = row.compared
    return pair is not None and (pair.below is not None or pair.verdict not in (None, Verdict.UNDECIDED))
