"""Executes the cells of a plan in order: journals each step's intent durably, executes it, journals the result."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from fsconsole.engine import warnings
from fsconsole.engine.hangs import CurrentStep
from fsconsole.engine.steps import HANDLERS
from fsconsole.engine.warnings import with_killed
from fsconsole.engine.work import CellWork, Interrupted, RunWork, StepFailed, StepResult
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import ExtentsUnreadable, GeneratorFailed, JournalFull, JournalUnusable
from fsconsole.errors.targets import DeviceChanged, DeviceHangs
from fsconsole.model.events import CellFinished, CellStarted, Outcome, RunFinished, StepFinished, StepStarted
from fsconsole.model.plan import CLOSED_BY, Cell, Step, StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.run import reap_strangers
from fsconsole.telemetry.rates import Unreadable


@dataclass(frozen=True, slots=True)
class CellOutcomes:
    """One outcome per executed cell, and the error of each lost target."""

    outcomes: tuple[Outcome, ...]
    lost: dict[str, FsconsoleError]
    """By the path of the target that is gone."""


def run_finished(run: str, state: RunState, cells: tuple[Cell, ...], done: CellOutcomes) -> RunFinished:
    """Return how the run ended; state is as it was before this attempt, cells were open in it."""
    outcomes = done.outcomes
    again = f"`fsconsole resume {run}` goes on with what is left."
    left = len(cells) - len(outcomes)
    if done.lost:
        error = next(iter(done.lost.values()))
        words = f"{left} cell{'s' if left > 1 else ''} on it could not be run"
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


_ENDS_ALL = (JournalFull, JournalUnusable, DeviceHangs)
_CLOCK_RUNS = frozenset(CLOSED_BY.values())
"""Steps that stop the clock of the step before them: nothing of ours may write to the disk until then."""


def run_cells(run: RunWork, cells: tuple[Cell, ...]) -> CellOutcomes:
    """Execute cells until all are done or a stop is requested; a lost target skips its own cells only."""
    outcomes: list[Outcome] = []
    lost: dict[str, FsconsoleError] = {}
    for cell in cells:
        run.requests.wait_while_paused()
        if run.requests.stopping:
            break
        if not lost.keys().isdisjoint(cell.devices):
            continue
        try:
            outcomes.append(run_cell(run, cell))
        except FsconsoleError as error:
            if not _is_lost(run, cell, error):
                raise
            lost |= dict.fromkeys(_absent(run, cell), error)
    return CellOutcomes(tuple(outcomes), lost)


def run_cell(run: RunWork, cell: Cell) -> Outcome:
    """Execute one cell and return its outcome; raises errors that are not a result of the cell."""
    run.journal.record(CellStarted(cell.index, run.attempt), durable=True)
    if cell.unavailable:
        return _finish(run, cell, Outcome.UNAVAILABLE, cell.unavailable)
    run.detector.cell = cell
    try:
        outcome, reason = _run_and_release(run, cell)
    except (JournalFull, JournalUnusable):
        raise
    except FsconsoleError as error:
        told = run.detector.hang or _as_loss(run, cell, error)
        _finish(run, cell, Outcome.STOPPED, str(told))
        raise told from error
    finally:
        run.detector.cell = run.detector.step = None
    finished = _finish(run, cell, outcome, reason)
    if run.detector.hang is not None:
        raise run.detector.hang
    return finished


def _absent(run: RunWork, cell: Cell) -> dict[str, str]:
    """Return the cell's devices that are gone (target or array members), each with the reason."""
    return {path: why for path in cell.devices if (why := run.prover.absence(path))}


def _is_lost(run: RunWork, cell: Cell, error: FsconsoleError) -> bool:
    """Return whether the error comes from a lost device of the cell; cells on other devices can go on."""
    return not isinstance(error, _ENDS_ALL) and bool(_absent(run, cell))


def _as_loss(run: RunWork, cell: Cell, error: FsconsoleError) -> FsconsoleError:
    """Return DeviceChanged in place of an error that a lost device caused."""
    absent = _absent(run, cell)
    if isinstance(error, _ENDS_ALL) or not absent:
        return error
    path, why = next(iter(absent.items()))
    return DeviceChanged(path, f"it {why}")


def _run_and_release(run: RunWork, cell: Cell) -> tuple[Outcome, str]:
    """Execute all steps and release what the cell took: "done" includes the release."""
    with KernelLog() as kernel_log:
        run.requests.cell_begins()
        with ExitStack() as stack:
            work = CellWork(run, cell, stack, kernel_log)
            try:
                outcome, reason = _run_steps(work)
            finally:
                run.requests.cell_releases()
        warnings.about_end(work, run.known_of_all)
        work.keep_kernel_log()
    return outcome, reason


def _run_steps(work: CellWork) -> tuple[Outcome, str]:
    warnings.about_target(work)
    for number, step in enumerate(work.cell.steps):
        work.step_number = number
        result = run_step(work, step)
        if result.outcome is not Outcome.DONE:
            return result.outcome, f"{step.kind.value}: {result.reason}"
    return Outcome.DONE, ""


def run_step(work: CellWork, step: Step) -> StepResult:
    """Execute one step, with its intent and its result in the journal."""
    run, cell = work.run, work.cell
    started = StepStarted(cell.index, run.attempt, work.step_number, step.kind, step.title)
    run.journal.record(started, durable=step.kind not in _CLOCK_RUNS)
    run.sampler.set_place(cell.index, step.kind.value)
    said_before = len(work.kernel_log.lines())
    begin_s = time.monotonic()
    run.detector.step = CurrentStep(work.step_number, step.kind, begin_s)
    result = with_killed(work, step, _handled(work, step), said_before)
    result = _with_absence(work, result)
    clock_runs_on = _clock_runs_on(work, result)
    if not clock_runs_on:
        work.write_kept()
        reap_strangers(run.places.proc)
    finished = StepFinished(
        cell=cell.index,
        attempt=run.attempt,
        step=work.step_number,
        outcome=result.outcome,
        elapsed_s=time.monotonic() - begin_s,
        reason=result.reason,
        verdict=result.verdict,
        measurements=result.measurements,
    )
    run.journal.record(finished, durable=not clock_runs_on)
    return result


def _handled(work: CellWork, step: Step) -> StepResult:
    """Execute the step; its errors become its result, except those that end the whole run."""
    try:
        result = HANDLERS[step.kind](work, step)
        if work.run.detector.hang is None:
            return result
        # Its programs were killed: a check that ended so has not checked the filesystem.
        reason = ""
    except StepFailed as failure:
        reason = failure.reason
    except Interrupted:
        reason = ""
    except (GeneratorFailed, ExtentsUnreadable, Unreadable) as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or str(error)
    except (JournalFull, JournalUnusable):
        raise
    except FsconsoleError as error:
        # A proof whose program was killed proves nothing; the next cell's proof does. A device that was lost in the
        # middle of a cell is the cell's result.
        is_lost = step.kind is not StepKind.GATE and _is_lost(work.run, work.cell, error)
        if not (work.run.requests.interrupting or is_lost):
            raise
        reason = str(error)
    requests = work.run.requests
    if requests.interrupting:
        # The killed program's own message is the operator's doing.
        outcome = Outcome.STOPPED if requests.stopping_now else Outcome.SKIPPED
        return StepResult(outcome=outcome, reason="interrupted by the operator")
    hang = work.run.detector.hang
    return StepResult(outcome=Outcome.FAILED, reason=reason if hang is None else str(hang))


def _clock_runs_on(work: CellWork, result: StepResult) -> bool:
    """Return whether the next step stops the clock of this one."""
    return result.outcome is Outcome.DONE and work.cell.is_closed_by_next(work.step_number)


def _with_absence(work: CellWork, result: StepResult) -> StepResult:
    """Return a failed result without figures if the target is lost.

    A filesystem reads and removes much from memory even when its disk is gone. While the clock runs on, the next
    step is checked instead, and the figures count only if it succeeds.
    """
    if result.outcome not in (Outcome.DONE, Outcome.FAILED) or _clock_runs_on(work, result):
        return result
    why = work.run.prover.absence(work.cell.target)
    if not why:
        return result
    said = result.reason if result.outcome is Outcome.FAILED else ""
    reason = "; ".join(filter(None, (said, f"{work.cell.target} {why}")))
    return replace(result, outcome=Outcome.FAILED, reason=reason, measurements=())


def _finish(run: RunWork, cell: Cell, outcome: Outcome, reason: str) -> Outcome:
    run.journal.record(CellFinished(cell.index, run.attempt, outcome, reason), durable=True)
    return outcome
