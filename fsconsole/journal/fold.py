"""A run's state from its journal, one batch after the other: fold(fold(s, a), b) == fold(s, a + b).

Pure, and tolerant of what a killed engine leaves: an end without a beginning changes nothing but the cell's
status, and an observation of an earlier attempt than the one at hand, or of a cell that the plan doesn't
have, changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fsconsole.journal.batch import Batch, Entry
from fsconsole.journal.fold_cell import begin_cell, finish_cell, note_in_cell
from fsconsole.journal.fold_settings import note_setting
from fsconsole.model.observation import (
    CellFinished,
    CellStarted,
    CommandFinished,
    ControlRequested,
    FeatureSeen,
    LatencySeen,
    MemberLeft,
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
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus


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
