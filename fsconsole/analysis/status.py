"""Where a run stands, in words."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.observation import Outcome
from fsconsole.model.state import OPEN_STATUSES, CellState, CellStatus, RunState, RunStatus

_WORDS = {status: status.value for status in CellStatus} | {CellStatus.UNKNOWN: "interrupted"}


def cell_word(status: CellStatus) -> str:
    """Return where a cell stands in a word for people."""
    return _WORDS[status]


def as_left(state: RunState, *, alive: bool) -> RunState:
    """Return a run as it is: a cell that runs by the journal is interrupted where no engine lives."""
    if alive or all(cell.status is not CellStatus.RUNNING for cell in state.cells):
        return state
    return replace(state, cells=tuple(_as_left(cell) for cell in state.cells))


def cells_over(state: RunState) -> int:
    """Return how many cells have come to their end, whatever end."""
    return sum(cell.status not in OPEN_STATUSES for cell in state.cells)


def cells_in_words(state: RunState) -> str:
    """Return how many cells stand where: "4 cells: 2 done, 1 failed, 1 pending"."""
    counted = {status: sum(cell.status is status for cell in state.cells) for status in CellStatus}
    words = ", ".join(f"{number} {cell_word(status)}" for status, number in counted.items() if number)
    total = f"{len(state.cells)} cell{'s' if len(state.cells) != 1 else ''}"
    return f"{total}: {words}" if words else total


def status_words(state: RunState, *, alive: bool, read_only: bool = False) -> str:
    """Return a run's standing; alive says whether an engine holds its lock, read_only whether its disk takes no writes."""
    resume = f"fsconsole resume {state.request.run_id}"
    # An engine that has said its last word holds its lock for a moment more.
    if state.status is RunStatus.FINISHED:
        return _ended(state, resume)
    if alive:
        return _living(state)
    if state.status is RunStatus.NEW:
        return f"never begun: {resume}"
    if read_only:
        return (
            f"ended {_place_of_death(state)}, and could not say why: its disk is read-only now; "
            f"copy its folder to another disk, then {resume} --runs DIR"
        )
    return f"engine died {_place_of_death(state)}: {resume}"


def place(state: RunState) -> str:
    """Return what is being done right now: "drain of cell 2 of 8", "between cells"."""
    if state.current_cell is None:
        return "between cells"
    step = state.current_step
    cell = f"cell {state.current_cell + 1} of {len(state.cells)}"
    return f"{step.kind.value} of {cell}" if step is not None else cell


def _as_left(cell: CellState) -> CellState:
    return replace(cell, status=CellStatus.UNKNOWN) if cell.status is CellStatus.RUNNING else cell


def _living(state: RunState) -> str:
    if state.status is RunStatus.RUNNING:
        return f"running: {place(state)}"
    if state.status is RunStatus.PAUSED:
        return f"paused: {place(state)}"
    return "starting"


def _ended(state: RunState, resume: str) -> str:
    if state.outcome is Outcome.DONE:
        return f"finished: {state.reason}" if state.reason else "finished"
    if state.outcome is not Outcome.STOPPED:
        return f"failed: {state.reason}" if state.reason else "failed"
    stopped = [cell for cell in state.cells if cell.status is CellStatus.STOPPED]
    if stopped:
        return f"stopped {_where(stopped[-1])}: {resume}"
    return f"stopped after {cells_over(state)} of {len(state.cells)} cells: {resume}"


def _place_of_death(state: RunState) -> str:
    left = [cell for cell in state.cells if cell.status in (CellStatus.RUNNING, CellStatus.UNKNOWN)]
    return _where(left[-1]) if left else "between cells"


def _where(cell: CellState) -> str:
    """Return "in drain of cell 2", by the last step that the cell began."""
    number = f"cell {cell.index + 1}"
    open_steps = [step for step in cell.steps if step.outcome is not Outcome.DONE]
    return f"in {open_steps[-1].kind.value} of {number}" if open_steps else f"in {number}"
