"""How a run ended, by what became of its cells and of its devices."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.model.observation import Outcome, RunFinished
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellStatus, RunState


@dataclass(frozen=True, slots=True)
class Carried:
    """One outcome for each cell that was carried out, and why cells on other targets were not."""

    outcomes: tuple[Outcome, ...]
    lost: dict[str, FsconsoleError]
    """What was met where a target was not to be had any more, by its path."""


def last_word(run: str, state: RunState, cells: tuple[Cell, ...], carried: Carried) -> RunFinished:
    """Return the run's last word; state is as it was before this attempt, cells were open in it."""
    outcomes = carried.outcomes
    again = f"`fsconsole resume {run}` goes on with what is left."
    left = len(cells) - len(outcomes)
    if carried.lost:
        error = next(iter(carried.lost.values()))
        words = f"{left} cell{'s' if left > 1 else ''} on it could not be carried out"
        reason = f"{str(error).rstrip('.')}; {words}"
        return RunFinished(
            Outcome.FAILED, reason, f"Where the same disk is there again, {again}", error.exit_code
        )
    if left or Outcome.STOPPED in outcomes:
        return RunFinished(Outcome.STOPPED, "stopped as asked", again, ExitCode.STOPPED)
    # Cells that failed in an earlier attempt have failed for good.
    failed = [cell.status for cell in state.cells].count(CellStatus.FAILED) + outcomes.count(Outcome.FAILED)
    if failed:
        possible = sum(not cell.unavailable for cell in state.request.plan.cells)
        reason = f"{failed} of {possible} cells failed"
        return RunFinished(Outcome.DONE, reason, "The grid says why, row by row.", ExitCode.CELLS_FAILED)
    return RunFinished(Outcome.DONE)
