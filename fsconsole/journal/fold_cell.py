"""One cell's state from its observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fsconsole.journal.batch import Entry
from fsconsole.model.observation import (
    CellFinished,
    CellStarted,
    CommandFinished,
    FeatureSeen,
    MemberLeft,
    Outcome,
    StepFinished,
    StepStarted,
    WarningRaised,
)
from fsconsole.model.state import CellState, CellStatus, StepState

_STATUS = {
    Outcome.DONE: CellStatus.DONE,
    Outcome.FAILED: CellStatus.FAILED,
    Outcome.SKIPPED: CellStatus.SKIPPED,
    Outcome.STOPPED: CellStatus.STOPPED,
    Outcome.UNAVAILABLE: CellStatus.UNAVAILABLE,
}


def begin_cell(cell: CellState, started: CellStarted) -> CellState:
    """Return the cell afresh: nothing of an earlier attempt stays."""
    return CellState(index=cell.index, status=CellStatus.RUNNING, attempt=started.attempt)


def finish_cell(cell: CellState, finished: CellFinished) -> CellState:
    """Return the cell with its end; one that never began (skipped, unavailable) has one all the same."""
    if finished.attempt != cell.attempt:
        cell = CellState(index=cell.index, attempt=finished.attempt)
    return replace(cell, status=_STATUS[finished.outcome], reason=finished.reason)


def note_in_cell(cell: CellState, entry: Entry) -> CellState:
    """Return the cell with one more thing seen in its present attempt."""
    observation = entry.observation
    if isinstance(observation, StepStarted) and observation.attempt == cell.attempt:
        return _begin_step(cell, observation, entry.monotonic_ns)
    if isinstance(observation, CommandFinished) and observation.attempt == cell.attempt:
        return _in_step(cell, observation.step, lambda step: _with_command(step, observation))
    if isinstance(observation, StepFinished) and observation.attempt == cell.attempt:
        return _in_step(cell, observation.step, lambda step: _finished(step, observation))
    if (
        isinstance(observation, (FeatureSeen, MemberLeft, WarningRaised))
        and observation.attempt == cell.attempt
    ):
        return _with_note(cell, observation)
    return cell


def _with_note(cell: CellState, seen: FeatureSeen | MemberLeft | WarningRaised) -> CellState:
    if isinstance(seen, FeatureSeen):
        return replace(cell, features=(*cell.features, seen))
    if isinstance(seen, MemberLeft):
        return replace(cell, left=(*cell.left, seen))
    return replace(cell, warnings=(*cell.warnings, seen))


def _begin_step(cell: CellState, started: StepStarted, monotonic_ns: int) -> CellState:
    step = StepState(started.step, started.kind, started.title, monotonic_ns)
    others = tuple(known for known in cell.steps if known.number != started.step)
    return replace(cell, steps=(*others, step))


def _in_step(cell: CellState, number: int, change: Callable[[StepState], StepState]) -> CellState:
    if all(step.number != number for step in cell.steps):
        return cell
    steps = tuple(change(step) if step.number == number else step for step in cell.steps)
    return replace(cell, steps=steps)


def _with_command(step: StepState, command: CommandFinished) -> StepState:
    return replace(step, commands=(*step.commands, command))


def _finished(step: StepState, finished: StepFinished) -> StepState:
    return replace(
        step,
        outcome=finished.outcome,
        elapsed_s=finished.elapsed_s,
        reason=finished.reason,
        verdict=finished.verdict,
        measurements=finished.measurements,
    )
