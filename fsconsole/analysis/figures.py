"""What one cell measured, taken from its finished steps only."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.observation import Outcome
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState, CellStatus, StepState
from fsconsole.model.step import StepKind

_WORST_FIRST = ("failed", "errors", "repaired")
CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class CellFigures:
    """One cell's share of a row; workload is an index into the cell's workloads, None for all of them."""

    cell: int
    repeat: int
    attempt: int
    status: CellStatus
    reason: str
    verdict: str
    """Of the check: "clean", "repaired", "errors", "failed"; empty where none was finished."""
    measurements: tuple[Measurement, ...]

    def value(self, metric: Metric) -> float | None:
        """Return the figure of that metric, or None where the cell has none."""
        for measurement in self.measurements:
            if measurement.metric is metric:
                return measurement.value
        return None


def parts_of(cell: Cell) -> tuple[int | None, ...]:
    """Return what a cell's figures are kept apart by: its workloads where it has several, else nothing.

    A raw row has a part for each number of threads, and settings of a workload's own, under the first that has them.
    """
    if len(cell.workloads) < 2:
        return (None,)
    numbers = range(len(cell.workloads))
    if cell.variant.is_raw:
        first: dict[object, int] = {}
        for number in numbers:
            first.setdefault((cell.workloads[number].threads, cell.workloads[number].settings), number)
        return tuple(first.values())
    return tuple(numbers)


def figures_of(cell: Cell, state: CellState, workload: int | None) -> CellFigures:
    """Return a cell's figures for one of its workloads.

    What belongs to the filesystem's whole life (mkfs, extents, check, delete) stands with each workload. A
    step that failed or was stopped measured something else than what its metric says: it gives no figure. Nor does a
    load, or a delete, of which nothing tells that it ever reached the device: its rate is that of memory.
    """
    latest: dict[Metric, Measurement] = {}
    verdict = ""
    for step in state.steps:
        if step.outcome is not Outcome.DONE or not _belongs(cell, step, workload):
            continue
        if _is_lost(cell, state, step):
            continue
        latest.update({measurement.metric: measurement for measurement in step.measurements})
        verdict = step.verdict if step.kind is StepKind.CHECK else verdict
    return CellFigures(
        cell=cell.index,
        repeat=cell.repeat,
        attempt=state.attempt,
        status=state.status,
        reason=state.reason,
        verdict=verdict,
        measurements=tuple(latest.values()),
    )


def worst_verdict(verdicts: tuple[str, ...]) -> str:
    """Return the worst verdict of several checks; a word that isn't known counts as bad as any."""
    given = [verdict for verdict in verdicts if verdict]
    strange = [verdict for verdict in given if verdict not in (*_WORST_FIRST, CLEAN)]
    ordered = [*strange, *(word for word in (*_WORST_FIRST, CLEAN) if word in given)]
    return ordered[0] if ordered else ""


def _belongs(cell: Cell, step: StepState, workload: int | None) -> bool:
    if workload is None or step.number >= len(cell.steps):
        return True
    return cell.steps[step.number].workload in (None, workload)


def _is_lost(cell: Cell, state: CellState, step: StepState) -> bool:
    """Return whether what a step has done was to be brought to the device by the next one, and that failed.

    While the next one goes on, and where the operator or the engine's death ended it, nothing speaks against the figures.
    """
    if not cell.is_closed_by_next(step.number):
        return False
    ends = [known.outcome for known in state.steps if known.number == step.number + 1]
    end = ends[0] if ends else None
    return end is Outcome.FAILED or (end is None and state.status is CellStatus.FAILED)
