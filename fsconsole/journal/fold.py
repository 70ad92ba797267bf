"""A run's state from its journal, one batch after the other: fold(fold(s, a), b) == fold(s, a + b).

Pure, and tolerant of what a killed engine leaves: an end without a beginning changes nothing but the cell's
status, and an observation of an earlier attempt than the one at hand, or of a cell that the plan doesn't
have, changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fsconsole.journal.events import Batch, Entry
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    CommandFinished,
    ControlRequested,
    FeatureSeen,
    LatencySeen,
    MemberLeft,
    Outcome,
    RequestRenewed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    SettingReturned,
    SettingSeen,
    SettingTaken,
    StepFinished,
    StepStarted,
    TargetAccepted,
    Verb,
    WarningRaised,
)
from fsconsole.model.plan import Cell
from fsconsole.model.run import RunRequest
from fsconsole.model.state import CellState, CellStatus, HeldSetting, RunState, RunStatus, StepState

# One cell's state from its observations.

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


# Which settings a run holds, from what it took and gave back.

Held = tuple[HeldSetting, ...]


def note_setting(held: Held, observation: SettingTaken | SettingSeen | SettingReturned) -> Held:
    """Return what is held after one more observation; what was taken last is given back first."""
    if isinstance(observation, SettingTaken):
        return (*held, HeldSetting(observation))
    place = _last(held, observation)
    if place < 0:
        return held
    if isinstance(observation, SettingReturned):
        return held[:place] + held[place + 1 :]
    if observation.step != held[place].taken.step or held[place].seen:
        return held
    return (*held[:place], replace(held[place], seen=observation.value), *held[place + 1 :])


def _last(held: Held, observation: SettingSeen | SettingReturned) -> int:
    """Return the index of the last setting taken that an observation is about; -1 where there is none."""
    key = (observation.cell, observation.attempt, observation.path)
    found = [
        index for index, one in enumerate(held) if (one.taken.cell, one.taken.attempt, one.taken.path) == key
    ]
    return found[-1] if found else -1


def start(request: RunRequest) -> RunState:
    """Return the state of a run of which nothing has happened yet."""
    return RunState(request=request, cells=tuple(_untouched(cell) for cell in request.plan.cells))


def fold(state: RunState, batch: Batch) -> RunState:
    """Return the state after a batch; the same object where the batch changes nothing."""
    draft = _Draft(state)
    for entry in batch.entries:
        draft.apply(entry)
    folded = draft.state()
    if not batch.samples:
        return folded
    return replace(folded, last_sample=batch.samples[-1])


def _untouched(cell: Cell) -> CellState:
    if cell.unavailable:
        return CellState(index=cell.index, status=CellStatus.UNAVAILABLE, reason=cell.unavailable)
    return CellState(index=cell.index)


class _Draft:
    """A state while a batch is applied: changed cells are kept aside, and the tuple is rebuilt once."""

    def __init__(self, state: RunState) -> None:
        self._run = state
        self._cells: dict[int, CellState] = {}

    def state(self) -> RunState:
        if not self._cells:
            return self._run
        cells = list(self._run.cells)
        for index, cell in self._cells.items():
            cells[index] = cell
        return replace(self._run, cells=tuple(cells))

    def apply(self, entry: Entry) -> None:
        observation = entry.observation
        if isinstance(observation, (StepStarted, CommandFinished, StepFinished, FeatureSeen, MemberLeft)):
            self._in_cell(observation.cell, lambda cell: note_in_cell(cell, entry))
        elif isinstance(observation, (CellStarted, CellFinished)):
            self._cell_boundary(observation)
        elif isinstance(observation, WarningRaised):
            self._warn(observation, entry)
        elif isinstance(observation, (SettingTaken, SettingSeen, SettingReturned)):
            self._run = replace(self._run, settings=note_setting(self._run.settings, observation))
        elif isinstance(observation, (RunStarted, RunInterrupted, RunFinished)):
            self._run_boundary(observation)
        elif isinstance(observation, TargetAccepted):
            self._accept(observation)
        elif isinstance(observation, RequestRenewed):
            self._renew(observation)
        elif isinstance(observation, LatencySeen):
            # Thousands of buckets that no grid shows: whoever wants them reads the journal.
            return
        else:
            self._control(observation)

    def _cell(self, index: int) -> CellState | None:
        if not 0 <= index < len(self._run.cells):
            return None
        return self._cells.get(index, self._run.cells[index])

    def _in_cell(self, index: int, change: Callable[[CellState], CellState]) -> None:
        cell = self._cell(index)
        if cell is None:
            return
        changed = change(cell)
        if changed is not cell:
            self._cells[index] = changed

    def _cell_boundary(self, boundary: CellStarted | CellFinished) -> None:
        known = self._cell(boundary.cell)
        if known is None or boundary.attempt < known.attempt:
            return
        if isinstance(boundary, CellStarted):
            self._in_cell(boundary.cell, lambda cell: begin_cell(cell, boundary))
            self._run = replace(self._run, current_cell=boundary.cell)
            return
        self._in_cell(boundary.cell, lambda cell: finish_cell(cell, boundary))
        if self._run.current_cell == boundary.cell:
            self._run = replace(self._run, current_cell=None)

    def _run_boundary(self, boundary: RunStarted | RunInterrupted | RunFinished) -> None:
        for index in range(len(self._run.cells)):
            self._in_cell(index, _left_behind)
        run = replace(self._run, current_cell=None)
        if isinstance(boundary, RunStarted):
            self._run = _running(replace(run, started=(*run.started, boundary)))
        elif isinstance(boundary, RunInterrupted):
            self._run = replace(run, status=RunStatus.INTERRUPTED, reason=boundary.reason)
        else:
            self._run = replace(
                run,
                status=RunStatus.FINISHED,
                outcome=boundary.outcome,
                reason=boundary.reason,
                hint=boundary.hint,
                exit_code=boundary.exit_code,
            )

    def _warn(self, warning: WarningRaised, entry: Entry) -> None:
        if warning.cell is not None:
            self._in_cell(warning.cell, lambda cell: note_in_cell(cell, entry))
        elif (warning.kind, warning.reason) not in {(w.kind, w.reason) for w in self._run.warnings}:
            # Every attempt of a run raises what holds for the whole run again.
            self._run = replace(self._run, warnings=(*self._run.warnings, warning))

    def _accept(self, target: TargetAccepted) -> None:
        targets = {known.path: known for known in self._run.targets} | {target.path: target}
        self._run = replace(self._run, targets=tuple(targets.values()))

    def _renew(self, renewed: RequestRenewed) -> None:
        known, asked = self._run.request, renewed.request
        # A renewal moves devices, it changes no cell: another run's request would.
        if asked.run_id == known.run_id and len(asked.plan.cells) == len(known.plan.cells):
            self._run = replace(self._run, request=asked)

    def _control(self, request: ControlRequested) -> None:
        if request.verb is Verb.PAUSE and self._run.status is RunStatus.RUNNING:
            self._run = replace(self._run, status=RunStatus.PAUSED)
        elif request.verb is Verb.CONTINUE and self._run.status is RunStatus.PAUSED:
            self._run = replace(self._run, status=RunStatus.RUNNING)


def _running(run: RunState) -> RunState:
    return replace(run, status=RunStatus.RUNNING, outcome=None, reason="", hint="", exit_code=None)


def _left_behind(cell: CellState) -> CellState:
    return replace(cell, status=CellStatus.UNKNOWN) if cell.status is CellStatus.RUNNING else cell
