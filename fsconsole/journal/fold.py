"""A run's state from its journal, one batch after the other: fold(fold(s, a), b) == fold(s, a + b).

Tolerant of what a killed engine leaves: an end without a beginning changes nothing but the cell's status, and an
observation of an earlier attempt than the present one, or of a cell that the plan doesn't have, changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.events import Batch, JournalEntry
from fsconsole.journal.limits import TOO_SLOW, CpuBudget
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    CommandFinished,
    ControlRequested,
    DeviceLeft,
    FeatureSeen,
    InCell,
    LookTaken,
    PilotFinished,
    RequestRenewed,
    RoundRepeated,
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
from fsconsole.model.state import (
    OPEN_STATUSES,
    CellState,
    CellStatus,
    HeldSetting,
    RunState,
    RunStatus,
    StepState,
)
from fsconsole.model.workload import Workload


def start(request: RunRequest) -> RunState:
    """Return the state of a run of which nothing has happened yet."""
    return RunState(request=request, cells=tuple(map(_unbegun, request.plan.cells)))


def _unbegun(cell: Cell) -> CellState:
    status = CellStatus.UNAVAILABLE if cell.unavailable else CellStatus.PENDING
    return CellState(cell.index, status, reason=cell.unavailable)


def fold(state: RunState, batch: Batch) -> RunState:
    """Return the state after a batch; the same object where the batch changes nothing.

    Raises JournalUnusable where that takes more CPU time than MAX_READ_S: thousands of warnings, or looks at thousands of cells.
    """
    draft, budget = _Draft(state), CpuBudget()
    for count, entry in enumerate(batch.entries):
        if count % _EVENTS_BETWEEN_LOOKS == 0 and budget.is_spent():
            raise JournalUnusable(path=f"of run {state.request.run_id}", why=TOO_SLOW)
        seen = entry.observation
        # Most of a journal; apply() asks for all the others first.
        if isinstance(seen, (StepStarted, StepFinished, CommandFinished, FeatureSeen)):
            draft.note(seen, entry.monotonic_ns)
        else:
            draft.apply(entry)
    folded = draft.state()
    return replace(folded, last_sample=batch.samples[-1]) if batch.samples else folded


_EVENTS_BETWEEN_LOOKS = 64


def _is_same_run(known: RunRequest, asked: RunRequest) -> bool:
    # A renewal moves devices, it changes no cell: another run's request would.
    return asked.run_id == known.run_id and len(asked.plan.cells) == len(known.plan.cells)


def settled(request: RunRequest, pilot: PilotFinished) -> RunRequest:
    """Return a request with what a pilot has chosen, in all cells that have the loads of the pilot's cell."""
    cells = request.plan.cells
    if not 0 <= pilot.cell < len(cells):
        return request
    loads = cells[pilot.cell].workloads
    chosen = tuple(_sized(load, number, pilot) for number, load in enumerate(loads))
    resolved = tuple(replace(cell, workloads=chosen) if cell.workloads == loads else cell for cell in cells)
    return replace(request, plan=replace(request.plan, cells=resolved))


def _sized(load: Workload, number: int, pilot: PilotFinished) -> Workload:
    for each in pilot.settled:
        if load.sizing is not None and (each.workload, each.name) == (number, load.sizing.chooses.value):
            sizing = replace(load.sizing, is_settled=True, why=each.why)
            # The most is in the request, which is sealed and was agreed to; this event is not sealed.
            most = getattr(load, each.name) or each.value
            changes: dict[str, Any] = {"sizing": sizing, each.name: max(1, min(each.value, most))}
            load = replace(load, **changes)
    return load


_AFTER = {
    (RunStatus.RUNNING, Verb.PAUSE): RunStatus.PAUSED,
    (RunStatus.PAUSED, Verb.CONTINUE): RunStatus.RUNNING,
}


class _Draft:
    """A state while a batch is applied: changed cells and their steps are kept aside, and the tuples are rebuilt once."""

    def __init__(self, state: RunState) -> None:
        self._run = state
        self._cells: dict[int, CellState] = {}
        self._steps: dict[int, dict[int, StepState]] = {}
        """Of cells by index, then by number, in the order in which they began."""
        self._features: dict[int, list[FeatureSeen]] = {}
        """Of cells by index: a third of a journal."""
        self._current = state.current_cell

    def state(self) -> RunState:
        run = self._run if self._run.current_cell == self._current else replace(self._run, current_cell=self._current)
        if not self._cells and not self._steps and not self._features:
            return run
        cells = list(self._run.cells)
        for index, steps in self._steps.items():
            cell = self._cells.get(index, cells[index])
            self._cells[index] = replace(cell, steps=tuple(steps.values()))
        for index, features in self._features.items():
            cell = self._cells.get(index, cells[index])
            self._cells[index] = replace(cell, features=tuple(features))
        for index, cell in self._cells.items():
            cells[index] = cell
        return replace(run, cells=tuple(cells))

    def apply(self, entry: JournalEntry) -> None:
        match entry.observation:
            case WarningRaised(cell=None) as warning:
                # Every attempt of a run raises what holds for the whole run again.
                if (warning.kind, warning.reason) not in {(w.kind, w.reason) for w in self._run.warnings}:
                    self._run = replace(self._run, warnings=(*self._run.warnings, warning))
            case CellStarted() | CellFinished() as boundary:
                self._cell_boundary(boundary)
            case SettingTaken() | SettingSeen() | SettingReturned() as setting:
                self._run = replace(self._run, settings=note_setting(self._run.settings, setting))
                if isinstance(setting, SettingSeen):
                    self.note(setting, entry.monotonic_ns)
            case RunStarted() | RunInterrupted() | RunFinished() as boundary:
                self._run_boundary(boundary)
            case TargetAccepted() as target:
                targets = {known.path: known for known in self._run.targets} | {target.path: target}
                self._run = replace(self._run, targets=tuple(targets.values()))
            case RequestRenewed(request=asked) if _is_same_run(self._run.request, asked):
                self._run = replace(self._run, request=reduce(settled, self._run.pilots, asked))
            case PilotFinished() as pilot:
                pilots = (*self._run.pilots, pilot)
                self._run = replace(self._run, pilots=pilots, request=settled(self._run.request, pilot))
            case RoundRepeated() | LookTaken() as seen:
                self._change_rounds(seen)
            case ControlRequested(verb=verb):
                status = _AFTER.get((self._run.status, verb), self._run.status)
                # To continue takes it back; whatever else is asked leaves it.
                stops = verb is Verb.STOP_AFTER or (self._run.stops_after and verb is not Verb.CONTINUE)
                stops_now = verb is Verb.STOP_NOW or self._run.stops_now
                self._run = replace(self._run, status=status, stops_after=stops, stops_now=stops_now)
            case InCell() | WarningRaised() as seen:
                self.note(seen, entry.monotonic_ns)

    def _change_rounds(self, seen: RoundRepeated | LookTaken) -> None:
        """Add the cells of a repeated round behind those that the run has, or skip what a look has decided on."""
        if isinstance(seen, RoundRepeated):
            self._append(seen)
            return
        self._run = replace(self._run, looks=(*self._run.looks, seen))
        for index in range(len(self._run.cells)) if seen.decided else ():
            # All at once: no kill can leave a part of it.
            cell = self._cells.get(index, self._run.cells[index])
            if cell.status in OPEN_STATUSES:
                self._cells[index] = replace(cell, status=CellStatus.SKIPPED, reason=seen.words)

    def _append(self, repeated: RoundRepeated) -> None:
        """Add the cells of a repeated round; nothing where they don't follow those that the run has."""
        request, count = self._run.request, len(self._run.cells)
        if [cell.index for cell in repeated.cells] != list(range(count, count + len(repeated.cells))):
            return
        plan = replace(request.plan, cells=(*request.plan.cells, *repeated.cells))
        cells = (*self._run.cells, *map(_unbegun, repeated.cells))
        told = (*self._run.repeated, repeated)
        self._run = replace(self._run, request=replace(request, plan=plan), cells=cells, repeated=told)

    def _cell(self, index: int) -> CellState | None:
        if not 0 <= index < len(self._run.cells):
            return None
        return self._cells.get(index, self._run.cells[index])

    def note(self, seen: InCell | WarningRaised, monotonic_ns: int) -> None:
        """Add to its cell what was seen in the cell's present attempt.

        But for latencies and layouts: thousands of numbers that no grid shows. Whoever wants them reads the journal.
        """
        cell = self._cell(-1 if seen.cell is None else seen.cell)
        if cell is None or seen.attempt != cell.attempt:
            return
        match seen:
            case StepStarted() | CommandFinished() | StepFinished():
                self._note_in_step(cell, seen, monotonic_ns)
                return
            case FeatureSeen():
                self._features.setdefault(cell.index, list(cell.features)).append(seen)
                return
            case SettingSeen(path=path, value=value) if (path, value) not in cell.settings:
                cell = replace(cell, settings=(*cell.settings, (path, value)))
            case DeviceLeft():
                cell = replace(cell, left=(*cell.left, seen))
            case WarningRaised():
                cell = replace(cell, warnings=(*cell.warnings, seen))
            case _:
                return
        self._cells[cell.index] = cell

    def _note_in_step(
        self, cell: CellState, seen: StepStarted | CommandFinished | StepFinished, monotonic_ns: int
    ) -> None:
        steps = self._steps.get(cell.index)
        if steps is None:
            steps = self._steps[cell.index] = {step.number: step for step in cell.steps}
        if isinstance(seen, StepStarted):
            steps.pop(seen.step, None)
            steps[seen.step] = StepState(seen.step, seen.kind, seen.title, monotonic_ns)
            return
        step = steps.get(seen.step)
        if step is None:
            return
        if isinstance(seen, CommandFinished):
            steps[seen.step] = replace(step, commands=(*step.commands, seen))
            return
        # All fields: replace() would take five times as long, and a large run has 25,000 of them.
        steps[seen.step] = StepState(
            number=step.number,
            kind=step.kind,
            title=step.title,
            started_monotonic_ns=step.started_monotonic_ns,
            outcome=seen.outcome,
            elapsed_s=seen.elapsed_s,
            reason=seen.reason,
            verdict=seen.verdict,
            commands=step.commands,
            measurements=seen.measurements,
        )

    def _cell_boundary(self, boundary: CellStarted | CellFinished) -> None:
        cell = self._cell(boundary.cell)
        if cell is None or boundary.attempt < cell.attempt:
            return
        if isinstance(boundary, CellStarted):
            # Nothing of an earlier attempt stays.
            self._forget(cell.index)
            self._cells[cell.index] = CellState(cell.index, CellStatus.RUNNING, boundary.attempt)
            self._current = cell.index
            return
        if boundary.attempt != cell.attempt:
            # One that never began (skipped, unavailable) has an end all the same.
            self._forget(cell.index)
            cell = CellState(cell.index, attempt=boundary.attempt)
        status = CellStatus(boundary.outcome.value)
        self._cells[cell.index] = replace(cell, status=status, reason=boundary.reason)
        if self._current == cell.index:
            self._current = None

    def _forget(self, index: int) -> None:
        self._steps.pop(index, None)
        self._features.pop(index, None)

    def _run_boundary(self, boundary: RunStarted | RunInterrupted | RunFinished) -> None:
        for index in range(len(self._run.cells)):
            cell = self._cells.get(index, self._run.cells[index])
            if cell.status is CellStatus.RUNNING:
                self._cells[index] = replace(cell, status=CellStatus.UNKNOWN)
        run, self._current = self._run, None
        if isinstance(boundary, RunStarted):
            self._run = replace(
                run,
                started=(*run.started, boundary),
                status=RunStatus.RUNNING,
                outcome=None,
                reason="",
                hint="",
                exit_code=None,
                stops_after=False,
                stops_now=False,
            )
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


def note_setting(
    held: tuple[HeldSetting, ...], observation: SettingTaken | SettingSeen | SettingReturned
) -> tuple[HeldSetting, ...]:
    """Return which settings a run holds after one more observation; what was changed last is restored first."""
    if isinstance(observation, SettingTaken):
        return (*held, HeldSetting(observation))
    for place in reversed(range(len(held))):
        taken = held[place].taken
        if (taken.cell, taken.attempt, taken.path) == (
            observation.cell,
            observation.attempt,
            observation.path,
        ):
            break
    else:
        return held
    if isinstance(observation, SettingReturned):
        return held[:place] + held[place + 1 :]
    if observation.step != taken.step or held[place].seen:
        return held
    return (*held[:place], replace(held[place], seen=observation.value), *held[place + 1 :])
