"""How long a run will still take."""

from __future__ import annotations

from fsconsole.model.state import CellState, CellStatus, RunState

_TO_COME = frozenset({CellStatus.PENDING, CellStatus.UNKNOWN, CellStatus.STOPPED})


def remaining_s(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> float:
    """Return the seconds that are left, by the mean of the finished cells, or the plan's estimate before.

    now_ns is CLOCK_MONOTONIC. Never negative: a cell that takes longer than the others is about to end. Whoever asks
    often gives mean_cell_s() as per_cell_s.
    """
    if per_cell_s is None:
        per_cell_s = mean_cell_s(state)
    to_come = sum(cell.status in _TO_COME for cell in state.cells)
    left_s = per_cell_s * to_come
    if state.current_cell is not None:
        left_s += max(0.0, per_cell_s - cell_elapsed_s(state.cells[state.current_cell], now_ns))
    return left_s


def cell_elapsed_s(cell: CellState, now_ns: int) -> float:
    """Return the seconds since the cell's first step began; 0 before it."""
    if not cell.steps:
        return 0.0
    return max(0.0, (now_ns - cell.steps[0].started_monotonic_ns) / 1e9)


def mean_cell_s(state: RunState) -> float:
    """Return the seconds that a cell takes, by the mean of the finished ones, or the plan's estimate before."""
    done = [
        sum(step.elapsed_s for step in cell.steps) for cell in state.cells if cell.status is CellStatus.DONE
    ]
    if done:
        return sum(done) / len(done)
    runnable = sum(not cell.unavailable for cell in state.request.plan.cells)
    return state.request.plan.estimate.elapsed_s / max(1, runnable)
