"""Carries out the cells of a plan in order: intent first, durably, then the act, then what came of it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from fsconsole.engine import cautions
from fsconsole.engine.cautions import with_killed
from fsconsole.engine.hangs import StepAtHand
from fsconsole.engine.steps import HANDLERS
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

# How a run ended, by what became of its cells and of its devices.


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


_ENDS_ALL = (JournalFull, JournalUnusable, DeviceHangs)
_CLOCK_RUNS = frozenset(CLOSED_BY.values())
"""Steps in which the clock of the step before them stops: what would write to the disk waits until then."""


def run_cells(run: RunWork, cells: tuple[Cell, ...]) -> Carried:
    """Carry out cells until they are done or somebody asks for a stop.

    A target that is gone takes its own cells with it, and no others.
    """
    outcomes: list[Outcome] = []
    lost: dict[str, FsconsoleError] = {}
    for cell in cells:
        run.wishes.wait_while_paused()
        if run.wishes.stopping:
            break
        if not lost.keys().isdisjoint(cell.devices):
            continue
        try:
            outcomes.append(run_cell(run, cell))
        except FsconsoleError as error:
            if not _is_lost(run, cell, error):
                raise
            lost |= dict.fromkeys(_absent(run, cell), error)
    return Carried(tuple(outcomes), lost)


def run_cell(run: RunWork, cell: Cell) -> Outcome:
    """Carry out one cell and return how it ended; errors that are no result of the cell are raised."""
    run.journal.record(CellStarted(cell.index, run.attempt), durable=True)
    if cell.unavailable:
        return _finish(run, cell, Outcome.UNAVAILABLE, cell.unavailable)
    run.attention.cell = cell
    try:
        outcome, reason = _live(run, cell)
    except (JournalFull, JournalUnusable):
        raise
    except FsconsoleError as error:
        told = run.attention.hang or _told(run, cell, error)
        _finish(run, cell, Outcome.STOPPED, str(told))
        raise told from error
    finally:
        run.attention.cell = run.attention.step = None
    finished = _finish(run, cell, outcome, reason)
    if run.attention.hang is not None:
        raise run.attention.hang
    return finished


def _absent(run: RunWork, cell: Cell) -> dict[str, str]:
    """Return which of a cell's devices, its target or its array's members, are not to be had any more, each with why."""
    return {path: why for path in cell.devices if (why := run.prover.absence(path))}


def _is_lost(run: RunWork, cell: Cell, error: FsconsoleError) -> bool:
    """Return whether a cell's error is that a device of it is not to be had any more, which ends no cell elsewhere."""
    return not isinstance(error, _ENDS_ALL) and bool(_absent(run, cell))


def _told(run: RunWork, cell: Cell, error: FsconsoleError) -> FsconsoleError:
    """Return an error in the words of the loss of a cell's device, where that is behind it."""
    absent = _absent(run, cell)
    if isinstance(error, _ENDS_ALL) or not absent:
        return error
    path, why = next(iter(absent.items()))
    return DeviceChanged(path, f"it {why}")


def _live(run: RunWork, cell: Cell) -> tuple[Outcome, str]:
    """Go through a cell's life and give back what it took, so that "done" means just that."""
    with KernelLog() as kernel_log:
        run.wishes.cell_begins()
        with ExitStack() as stack:
            work = CellWork(run, cell, stack, kernel_log)
            try:
                outcome, reason = _run_steps(work)
            finally:
                run.wishes.cell_releases()
        cautions.about_end(work, run.known_of_all)
        work.keep_kernel_log()
    return outcome, reason


def _run_steps(work: CellWork) -> tuple[Outcome, str]:
    cautions.about_target(work)
    for number, step in enumerate(work.cell.steps):
        work.step_number = number
        result = run_step(work, step)
        if result.outcome is not Outcome.DONE:
            return result.outcome, f"{step.kind.value}: {result.reason}"
    return Outcome.DONE, ""


def run_step(work: CellWork, step: Step) -> StepResult:
    """Carry out one step, with its intent and its result in the journal."""
    run, cell = work.run, work.cell
    started = StepStarted(cell.index, run.attempt, work.step_number, step.kind, step.title, step.commands)
    run.journal.record(started, durable=step.kind not in _CLOCK_RUNS)
    run.sampler.set_place(cell.index, step.kind.value)
    said_before = len(work.kernel_log.lines())
    begin_s = time.monotonic()
    run.attention.step = StepAtHand(work.step_number, step.kind, begin_s)
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
    """Carry the step out; what goes wrong in it is its result, but for errors that end the whole run."""
    try:
        result = HANDLERS[step.kind](work, step)
        if work.run.attention.hang is None:
            return result
        # Its programs were killed: a check that ended so has told nothing of the filesystem.
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
        # A proof whose program was killed says nothing of the device; the next cell's proof does. Where the device
        # went in the middle of a cell, that is what came of the cell.
        is_lost = step.kind is not StepKind.GATE and _is_lost(work.run, work.cell, error)
        if not (work.run.wishes.interrupting or is_lost):
            raise
        reason = str(error)
    wishes = work.run.wishes
    if wishes.interrupting:
        # Whatever a program said when it was killed was the operator's doing.
        outcome = Outcome.STOPPED if wishes.stopping_now else Outcome.SKIPPED
        return StepResult(outcome=outcome, reason="interrupted by the operator")
    hang = work.run.attention.hang
    return StepResult(outcome=Outcome.FAILED, reason=reason if hang is None else str(hang))


def _clock_runs_on(work: CellWork, result: StepResult) -> bool:
    """Return whether the clock of a step that went well stops in the step after it only."""
    return result.outcome is Outcome.DONE and work.cell.is_closed_by_next(work.step_number)


def _with_absence(work: CellWork, result: StepResult) -> StepResult:
    """Return a step's result with the loss of its device, where that is what it met.

    Of what is in memory a filesystem reads and removes much even when its disk is gone. Where the clock runs on, the
    step after it is looked at in its stead, and what is measured counts only if that goes well.
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
