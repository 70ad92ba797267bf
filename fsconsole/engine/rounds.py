"""Rounds of a run as it goes: disturbed ones are repeated, and looks of `repeats = "auto"` may end it early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.work import RunWork
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.events import LookTaken, RoundRepeated
from fsconsole.model.plan import Cell
from fsconsole.model.rounds import due_look, is_look_possible, round_to_repeat
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.verdicts import Verdict
from fsconsole.plan.expand import repeated_cells
from fsconsole.preflight.prepare import target_specs

if TYPE_CHECKING:
    from fsconsole.results.blocks import BlockRow


def cells_in_rounds(run: RunWork, cells: list[Cell]) -> Iterator[Cell]:
    """Yield the cells, then those of each round that is repeated, which are added to the list.

    With `repeats = "auto"` so for the rounds of each look; what a look skips is taken from the list.
    """
    left = tuple(cells)
    while True:
        last = due_look(read_state(RunFolder(run.folder_path)))
        yield from (cell for cell in left if not last or cell.repeat <= last)
        left = tuple(cell for cell in left if last and cell.repeat > last)
        while not run.requests.stopping and (again := _repeat_round(run)):
            cells.extend(again)
            yield from again
        if not last or (left and run.requests.stopping):
            return
        look = _take_look(run)
        if look is None:
            # Cells of a lost device are open: a resumed run looks once they are over.
            yield from left
            return
        if look.decided:
            cells[:] = [cell for cell in cells if cell.repeat <= last]
            return


def _repeat_round(run: RunWork) -> tuple[Cell, ...]:
    """Journal that a disturbed round is repeated, durably, and return its new cells; none where no round is."""
    state = read_state(RunFolder(run.folder_path))
    disturbed = round_to_repeat(state)
    if disturbed is None:
        return ()
    request, which = state.request, disturbed.round
    cells = repeated_cells(request.plan, which.cells, target_specs(request), load_catalog(), request.run_id)
    told = RoundRepeated(run.attempt, which.repeat, disturbed.reason, cells)
    run.journal.record(run.seals.put_on(told), durable=True)
    return cells


def _take_look(run: RunWork) -> LookTaken | None:
    """Journal the look that is due, durably, and return it; None while cells of its rounds are open."""
    state = read_state(RunFolder(run.folder_path))
    if not is_look_possible(state):
        return None
    look = look_at(state, run.attempt)
    run.journal.record(run.seals.put_on(look), durable=True)
    return look


def look_at(state: RunState, attempt: int) -> LookTaken:
    """Return the look that is due: decided if every planned pair of every block is; raw rows have none."""
    # An engine starts a twelfth sooner without, and few runs have looks.
    from fsconsole.results.blocks import BlockKind, GridChoice, blocks_of  # noqa: PLC0415
    from fsconsole.results.grid import build_grid  # noqa: PLC0415

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
