"""Runs the engine process: acquires what a run needs, executes its cells, releases everything.

Each step's intent is journalled durably before the step, its result after it.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType

from fsconsole import __version__
from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, split_flags, split_mount, to_argv
from fsconsole.devices.settings import facts_in_force, lock_machine_settings
from fsconsole.engine import disturbances, warnings_load, warnings_machine
from fsconsole.engine.arrays import lock_arrays
from fsconsole.engine.control import ControlServer, Requests, end_programs
from fsconsole.engine.directories import DirectoryRun, lock_directory
from fsconsole.engine.hangs import CurrentStep, HangDetector, WatchedRun, run_detecting_hangs
from fsconsole.engine.proof import Prover
from fsconsole.engine.rounds import cells_in_rounds
from fsconsole.engine.steps import DIRECTORY_HANDLERS, HANDLERS, sources
from fsconsole.engine.work import CellWork, EnginesBeside, Interrupted, Pilot, RunWork, StepFailed, StepResult
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import ExtentsUnreadable, GeneratorFailed, JournalFull, JournalUnusable, ToolFailed
from fsconsole.errors.targets import (
    DeviceChanged,
    DeviceHangs,
    DeviceLocked,
    DeviceMissing,
    DeviceOpen,
    DeviceRefused,
    NotABlockDevice,
    OptionRefused,
)
from fsconsole.journal.fold import settled
from fsconsole.journal.folder import RawOutputs, RunFolder, require_own
from fsconsole.journal.last_word import leave
from fsconsole.journal.past import read_state
from fsconsole.journal.seal import check_seals
from fsconsole.journal.writer import JournalWriter
from fsconsole.model import events
from fsconsole.model.events import Outcome, RunFinished, Verb
from fsconsole.model.plan import CLOSED_BY, Cell, Step, StepKind
from fsconsole.model.rounds import FREE_PAGE_REPORTING
from fsconsole.model.run import RunRequest
from fsconsole.model.state import OPEN_STATUSES, CellStatus, RunState
from fsconsole.plan.arrays import ARRAY_PATH, BITMAPS, LEVELS, POLICIES, least_members
from fsconsole.plan.expand import as_the_level_has_it, cell_uuid, filesystem_of, rebuilt_steps
from fsconsole.plan.keys import MACHINE_WIDE
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.sizing import Room, is_open, pilot_of, pilot_steps, settle, with_titles
from fsconsole.plan.steps import MOUNT_POINT
from fsconsole.preflight.machine import tool_facts
from fsconsole.preflight.prepare import require_apart, target_specs
from fsconsole.system.files import boot_id, cpu_count, kernel_release, memory_bytes
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.locks import FileLock
from fsconsole.system.mounts import PrivatePlaces, enter_private
from fsconsole.system.processes import INIT_PID
from fsconsole.system.run import RealExecutor, error_words, reap_strangers, system_refusal
from fsconsole.telemetry.heat import read_throttles
from fsconsole.telemetry.page_reporting import is_reporting
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.sampler import Sampler
from fsconsole.text import counted


def require_own_commands(request: RunRequest, catalog: Catalog, journal_path: str) -> None:
    """Raise JournalUnusable unless every command in the request is one that its cell expands to.

    The engine is root and executes the journal's commands: a run folder from elsewhere, or an edited one, must not
    bring in a second device, a path or a program. Targets are proved before. Raises DeviceMissing too.
    """
    known = target_specs(request)
    for cell in request.plan.cells:
        why = "" if cell.unavailable else objection(cell, request.run_id, known, catalog)
        if why:
            raise JournalUnusable(journal_path, f"cell {cell.index + 1} {why}")


def objection(cell: Cell, run_id: str, known: dict[str, TargetSpec], catalog: Catalog) -> str:
    """Return what is wrong with a cell, as a clause; empty if nothing is."""
    return next(_objections(cell, run_id, known, catalog), "")


def _objections(cell: Cell, run_id: str, known: dict[str, TargetSpec], catalog: Catalog) -> Iterator[str]:
    for path in cell.devices:
        if path not in known:
            yield f"is for {path}, which has no consent to be wiped"
    if not _is_own_array(cell):
        yield "is for an array that fsconsole would not make"
    if cell.uuid != cell_uuid(run_id, cell.index):
        yield f"has the UUID {cell.uuid}, which this run never gave"
    filesystem = filesystem_of(cell, catalog)
    if cell.variant.is_directory != all(known[path].is_directory for path in cell.devices if path in known):
        yield "mixes up directories and devices"
    if filesystem is None and not (cell.variant.is_raw or cell.variant.is_directory):
        yield f"is for {cell.variant.filesystem}, which is not in the catalog"
    if filesystem is not None and not _has_allowed_words(cell, filesystem):
        yield "has option words that are not on the list"
    own = rebuilt_steps(cell, [known[path] for path in cell.devices], filesystem, run_id)
    allowed = {argv for step in own for argv in step.commands}
    for argv in (argv for step in cell.steps for argv in step.commands):
        if argv not in allowed:
            yield f"asks for a command that fsconsole would not make: {shlex.join(argv)}"
    # A missing gate, or a mkfs before it, consists of allowed commands, too.
    acts, own_acts = (
        [(step.kind, step.commands, step.workload, step.writes, step.device) for step in steps]
        for steps in (cell.steps, own)
    )
    if acts != own_acts:
        yield f"has other steps than fsconsole {__version__} would take"


def _is_own_array(cell: Cell) -> bool:
    """Return whether a cell has no array, or an allowed one of its own members."""
    spec, members = cell.array, cell.members
    if spec is None:
        return not members
    is_known = (
        spec.level in LEVELS
        and spec.bitmap in ("", *BITMAPS)
        and spec.consistency_policy in ("", *POLICIES)
        and spec == as_the_level_has_it(spec)
        and min(spec.chunk_bytes, spec.stripe_cache_size, spec.group_thread_count + 1) >= 0
    )
    is_whole = len(set(members)) == len(members) >= least_members(spec.level)
    return is_known and is_whole and cell.target == ARRAY_PATH and spec.members in (0, len(members))


def _has_allowed_words(cell: Cell, filesystem: Filesystem) -> bool:
    variant, where = cell.variant, Where("the journal", "options")
    try:
        mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, where)
        tune = split_flags(shlex.join(variant.tune_words), filesystem.tune_flags, where)
        mount = split_mount(",".join(variant.mount_words), filesystem, where)
    except OptionRefused:
        return False
    said = (to_argv(mkfs), to_argv(tune), tuple(word.text for word in mount))
    return said == (variant.mkfs_words, variant.tune_words, variant.mount_words)


SAMPLE_PERIOD_S = 0.5
PRIVATE_ROOT = os.path.dirname(MOUNT_POINT)


def main(arguments: list[str]) -> int:
    """Execute the run in the given folder; returns the process's exit code."""
    (path,) = arguments
    os.chdir("/")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder = RunFolder(path)
    try:
        require_own(folder)
        with FileLock.acquire(folder.lock) as lock:
            detector = HangDetector()
            _listen_to_signals(detector)
            return run_detecting_hangs(lambda: _execute_or_report(folder, detector), detector, folder, lock)
    except JournalUnusable as error:
        # Nothing is written into a folder that may be foreign; the starter shows stderr.
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except BlockingIOError:
        sys.stderr.write(f"{path}: another engine holds this run\n")
        return ExitCode.RUN_LIVES


def _execute_or_report(folder: RunFolder, detector: HangDetector) -> int:
    """Execute the run; an error that its journal can't take goes to a file beside it and to stderr."""
    try:
        with _system_in_words(), ExitStack() as stack:
            return _execute(folder, stack, detector)
    except FsconsoleError as error:
        with suppress(OSError):
            sys.stderr.write(f"{error}\n{error.hint}\n")
            sys.stderr.flush()
        with suppress(OSError):
            leave(folder, RunFinished(Outcome.FAILED, str(error), error.hint, error.exit_code))
        return error.exit_code


def _execute(folder: RunFolder, stack: ExitStack, detector: HangDetector) -> int:
    state = read_state(folder)
    journal = JournalWriter(folder)
    cells = _open_cells(state)
    try:
        try:
            with _system_in_words():
                finished = run_cells(_acquire(folder, state, journal, stack, detector), state, cells)
        except FsconsoleError as error:
            finished = RunFinished(Outcome.FAILED, str(error), error.hint, error.exit_code)
        stack.close()
        journal.record(finished, durable=True)
    finally:
        journal.close(finished=True)
    return finished.exit_code


@contextmanager
def _system_in_words() -> Iterator[None]:
    """Turn an unexpected OSError into an FsconsoleError."""
    try:
        yield
    except OSError as error:
        raise system_refusal(error) from error


def _acquire(
    folder: RunFolder, state: RunState, journal: JournalWriter, stack: ExitStack, detector: HangDetector
) -> RunWork:
    """Acquire what all cells share, each with its release on the stack."""
    attempt = len(state.started) + 1
    directories = DirectoryRun.of(state.request)
    paths = directories.devices if directories else tuple(target.path for target in state.request.targets)
    memory = (("memory_bytes", str(memory_bytes())), *_page_reporting())
    facts: tuple[tuple[str, str], ...] = (("cpus", str(cpu_count())), *memory, *facts_in_force(paths))
    facts += tool_facts(RealExecutor(), state.request.plan)
    started = events.RunStarted(attempt, __version__, boot_id(), kernel_release(), os.uname().nodename, facts)
    journal.record(started, durable=True)
    requests = Requests(end_programs)
    executor = RealExecutor(kernel_log=KernelLog())
    places = PrivatePlaces("", "/proc", "") if os.geteuid() else enter_private(executor, PRIVATE_ROOT)
    watched = WatchedRun(folder.name, attempt, journal, requests, places.proc, paths, threading.get_native_id())
    detector.run_begins(watched, can_tell=directories is None or directories.tells_progress)
    beside = EnginesBeside(journal.sample)
    sampler = Sampler(period_s=SAMPLE_PERIOD_S, sink=beside.take)
    control = ControlServer(
        folder.control,
        requests,
        on_request=journal.note,
        place=sampler.place_in_words,
    )
    stack.callback(control.close)
    _lock_what_is_shared(state.request.plan.cells, stack)
    prover = Prover(executor, state, folder.path)
    prover.is_interrupted = lambda: requests.interrupting
    _accept_targets(state.request, journal, stack, prover, sampler)
    require_own_commands(state.request, load_catalog(), folder.journal)
    sampler.start()
    stack.callback(sampler.stop)
    return RunWork(
        request=state.request,
        folder_path=folder.path,
        journal=journal,
        raw=RawOutputs(folder),
        executor=executor,
        sampler=sampler,
        places=places,
        requests=requests,
        attempt=attempt,
        prover=prover,
        beside=beside,
        known_of_all=warnings_machine.about_run(state.request, folder.path, journal, attempt),
        detector=detector,
        seals=check_seals(folder)[0],
        manifests_before=sources.journalled(state),
    )


def _accept_targets(
    request: RunRequest, journal: JournalWriter, stack: ExitStack, prover: Prover, sampler: Sampler
) -> None:
    """Lock and prove each target, journal that, and sample its device. Raises what the proofs raise."""
    reports = []
    for target in request.targets:
        if target.place is not None:
            stack.enter_context(lock_directory(target))
            accepted = events.TargetAccepted(target.path, target.identity, target.shown, target.consent)
            journal.record(accepted, durable=True)
            if target.place.device:
                sampler.gauges.devices.watch(os.path.basename(os.path.realpath(target.place.device)))
            continue
        try:
            stack.enter_context(prover.lock(target))
        except (DeviceMissing, NotABlockDevice) as error:
            raise DeviceChanged(target.path, "it is gone") from error
        reports.append(prover.prove_target(target))
        accepted = events.TargetAccepted(target.path, target.identity, target.shown, target.consent)
        journal.record(accepted, durable=True)
        sampler.gauges.devices.watch(os.path.basename(os.path.realpath(target.path)))
    require_apart(request.plan, reports)


def _lock_what_is_shared(cells: tuple[Cell, ...], stack: ExitStack) -> None:
    """Lock what only one run may use at a time, of all cells: a round whose cells are over may be repeated."""
    if any(write.name in MACHINE_WIDE for cell in cells for write in cell.writes):
        stack.enter_context(lock_machine_settings())
    if any(cell.array and not cell.unavailable for cell in cells):
        stack.enter_context(lock_arrays())


def _page_reporting() -> tuple[tuple[str, str], ...]:
    return ((FREE_PAGE_REPORTING, "on"),) if is_reporting() else ()


def _open_cells(state: RunState) -> tuple[Cell, ...]:
    open_indexes = {cell.index for cell in state.cells if cell.status in OPEN_STATUSES}
    return tuple(cell for cell in state.request.plan.cells if cell.index in open_indexes)


def _listen_to_signals(detector: HangDetector) -> None:
    def take() -> None:
        watched = detector.watched
        if watched is not None:
            watched.requests.take(events.ControlRequested(Verb.STOP_NOW), watched.journal.note)

    def stop(_number: int, _frame: FrameType | None) -> None:
        # A handler interrupts the main thread, which may hold locks: it only starts a thread.
        threading.Thread(target=take, name="signal").start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    # The client blocks them while it starts the engine.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_ENDS_ALL = (JournalFull, JournalUnusable, DeviceHangs)
_PAUSES_AFTER = 2
"""Cells in a row that failed because somebody had their device open."""
_CLOCK_RUNS = frozenset(CLOSED_BY.values())
"""Steps that stop the clock of the step before them: nothing of ours may write to the disk until then."""


def run_cells(run: RunWork, state: RunState, cells: tuple[Cell, ...]) -> RunFinished:
    """Execute the open cells until all are done or a stop is requested; a lost target skips its own cells only.

    Returns how the run ended; state is as it was before this attempt.
    """
    run = replace(run, cells=cells)
    run.pilots.extend(state.pilots)
    outcomes: list[Outcome] = []
    blocked = 0
    lost: dict[str, FsconsoleError] = {}
    known = list(cells)
    for cell in cells_in_rounds(run, known):
        run.requests.wait_while_paused()
        if run.requests.stopping:
            break
        if not lost.keys().isdisjoint(cell.devices):
            continue
        try:
            outcomes.append(run_cell(run, cell))
            blocked = blocked + 1 if run.prover.blocked_by else 0
            if blocked == _PAUSES_AFTER:
                blocked = 0
                _pause(run)
        except FsconsoleError as error:
            gone = _losses(run, cell, error)
            if not gone:
                raise
            lost |= dict.fromkeys(gone, error)
    again = f"`fsconsole resume {run.request.run_id}` goes on with what is left."
    left = len(known) - len(outcomes)
    if lost:
        cause = next(iter(lost.values()))
        words = f"{counted(left, 'cell')} on it could not be run"
        hint = f"Where the same disk is there again, {again}"
        return RunFinished(Outcome.FAILED, f"{str(cause).rstrip('.')}; {words}", hint, cause.exit_code)
    if left or Outcome.STOPPED in outcomes:
        return RunFinished(Outcome.STOPPED, "stopped as asked", again, ExitCode.STOPPED)
    # Cells that failed in an earlier attempt have failed for good.
    failed = [cell.status for cell in state.cells].count(CellStatus.FAILED) + outcomes.count(Outcome.FAILED)
    if failed:
        planned = state.request.plan.cells
        repeated = [cell for cell in known if cell.index >= len(state.cells)]
        # What a look has skipped was not tried.
        last = max((cell.repeat for cell in known), default=state.request.plan.repeats)
        possible = sum(not cell.unavailable for cell in (*planned, *repeated) if cell.repeat <= last)
        reason = f"{failed} of {possible} cells failed"
        return RunFinished(Outcome.DONE, reason, "The grid says why, row by row.", ExitCode.CELLS_FAILED)
    return RunFinished(Outcome.DONE)


def _pause(run: RunWork) -> None:
    """Pause before the next cell, since somebody keeps its device open: the cells after it would fail too."""
    hint = f"End that process, then `fsconsole stop --continue {run.request.run_id}`; failed cells stay failed."
    reason = f"paused: {run.prover.blocked_by}"
    run.journal.record(events.WarningRaised(None, run.attempt, events.WarningKind.OTHER_IO, reason, hint))
    run.requests.take(events.ControlRequested(Verb.PAUSE), run.journal.note)


def run_cell(run: RunWork, cell: Cell) -> Outcome:
    """Execute one cell, before it the pilot of its loads; the same as run_steps_of()."""
    sized, is_piloted = _with_pilots(run, cell), False
    while not sized.variant.is_raw and not sized.unavailable and is_open(sized.workloads):
        if cell.index in run.ended or run.requests.stopping:
            break
        left = [one for one in run.cells if one.index not in run.ended]
        pilot = pilot_of(cell, left, run.request.plan.baseline)
        outcome, is_piloted = run_steps_of(run, pilot, Pilot()), True
        if outcome is not Outcome.PENDING:
            run.ended[pilot.index] = outcome
        sized = _with_pilots(run, cell)
    if cell.index in run.ended:
        return run.ended[cell.index]
    # Asked while the pilot ran.
    return Outcome.STOPPED if is_piloted and run.requests.stopping else run_steps_of(run, sized)


def _with_pilots(run: RunWork, cell: Cell) -> Cell:
    """Return a cell with what this attempt's pilots have chosen; one of a repeated round was made with it."""
    if cell.redo:
        return with_titles(cell)
    request = run.request
    for pilot in run.pilots:
        request = settled(request, pilot)
    return with_titles(request.plan.cells[cell.index])


def run_steps_of(run: RunWork, cell: Cell, pilot: Pilot | None = None) -> Outcome:
    """Execute a cell, or its pilot, and return its outcome; raises errors that are not a result of the cell."""
    # Before the journal has it: whoever reads there that it runs may skip it.
    run.requests.cell_begins(events.InCell(cell.index, run.attempt))
    run.journal.record(events.CellStarted(cell.index, run.attempt), durable=True)
    if cell.unavailable:
        return _finish(run, cell, Outcome.UNAVAILABLE, cell.unavailable)
    run.detector.cell = cell
    try:
        outcome, reason = _run_steps(run, cell, pilot)
    except (JournalFull, JournalUnusable):
        raise
    except FsconsoleError as error:
        gone = _losses(run, cell, error)
        told = run.detector.hang or error
        if gone and told is error:
            path, why = next(iter(gone.items()))
            told = DeviceChanged(path, f"it {why}")
        _finish(run, cell, Outcome.STOPPED, str(told))
        raise told from error
    finally:
        run.detector.cell = run.detector.step = None
    finished = _finish(run, cell, outcome, reason)
    run.prover.is_patient = True
    if run.detector.hang is not None:
        raise run.detector.hang
    return finished


def _losses(run: RunWork, cell: Cell, error: FsconsoleError) -> dict[str, str]:
    """Return the cell's devices (target or array members) whose loss explains the error, each with the reason."""
    if isinstance(error, _ENDS_ALL):
        return {}
    return {path: why for path in cell.devices if (why := run.prover.absence(path))}


def _run_steps(run: RunWork, cell: Cell, pilot: Pilot | None) -> tuple[Outcome, str]:
    """Execute all steps and release what the cell took: "done" includes the release."""
    outcome, reason = Outcome.DONE, ""
    lost_before = run.journal.dropped_samples
    throttles = read_throttles()
    with KernelLog() as kernel_log:
        run.beside.cell_begins()
        run.sampler.forget_gaps()
        with ExitStack() as stack:
            work = CellWork(run, cell, stack, kernel_log, pilot=pilot)
            steps = enumerate(cell.steps) if pilot is None else pilot_steps(cell)
            try:
                warnings_machine.about_target(work)
                for work.step_number, step in steps:
                    result = run_step(work, step)
                    if result.outcome is not Outcome.DONE:
                        outcome, reason = result.outcome, f"{step.kind.words}: {result.reason}"
                        break
            finally:
                run.requests.cell_releases()
        _note_left(work)
        warnings_machine.about_end(work, run.known_of_all)
        disturbances.about_end(work, throttles)
        warnings_load.about_samples(work, run.journal.dropped_samples - lost_before)
        work.keep_kernel_log()
    if pilot is not None and outcome is Outcome.DONE:
        chosen = settle(cell.workloads, pilot.tried, pilot.room or Room(0))
        run.pilots.append(events.PilotFinished(cell.index, run.attempt, chosen, tuple(pilot.measurements)))
        run.journal.record(run.pilots[-1], durable=True)
        outcome = Outcome.PENDING
    return outcome, reason


def _note_left(work: CellWork) -> None:
    """Journal what the cell left on its devices, by which the next cell, resume and cleanup know them again."""
    if work.run.detector.hang is not None:
        return
    for number, path in enumerate(work.cell.devices):
        # A device that is gone, or can't be read, is asked about before the next wipe.
        with suppress(OSError, DeviceChanged, DeviceMissing, DeviceRefused, NotABlockDevice, ToolFailed):
            found = work.run.prover.note_left(path)
            if found is not None:
                left = events.DeviceLeft(work.cell.index, work.run.attempt, number, found)
                work.run.journal.record(work.run.seals.put_on(left))


def run_step(work: CellWork, step: Step) -> StepResult:
    """Execute one step, with its intent and its result in the journal."""
    run, cell = work.run, work.cell
    started = events.StepStarted(cell.index, run.attempt, work.step_number, step.kind, step.title, step.commands)
    run.journal.record(started, durable=step.kind not in _CLOCK_RUNS)
    run.sampler.set_place(cell.index, step.kind.value)
    said_before = len(work.kernel_log.lines())
    disturbances.step_begins(work, step)
    begin_s = time.monotonic()
    run.detector.step = CurrentStep(work.step_number, step.kind, begin_s)
    result = warnings_load.with_killed(work, step, _handled(work, step), said_before)
    result = disturbances.with_traffic(work, step, _with_absence(work, result))
    clock_runs_on = _clock_runs_on(work, result)
    if not clock_runs_on:
        warnings_load.about_link(work, step, result.measurements)
        work.write_kept()
        if os.getpid() == INIT_PID:
            reap_strangers(run.places.proc)
    finished = events.StepFinished(
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
        handlers = DIRECTORY_HANDLERS if work.cell.variant.is_directory else HANDLERS
        result = handlers[step.kind](work, step)
        if work.run.detector.hang is None:
            return result
        # Its programs were killed: a check that ended so has not checked the filesystem.
        reason = ""
    except Interrupted:
        reason = ""
    except (StepFailed, GeneratorFailed, ExtentsUnreadable, Unreadable) as error:
        reason = str(error)
    except OSError as error:
        reason = error_words(error)
    except (JournalFull, JournalUnusable):
        raise
    except (DeviceLocked, DeviceOpen) as error:
        # Before the first cell it is told at once, to whoever has just started the run.
        if not work.run.prover.is_patient:
            raise
        reason = str(error)
    except FsconsoleError as error:
        # A proof whose program was killed proves nothing; the next cell's proof does. A device that was lost in the
        # middle of a cell is the cell's result.
        is_lost = step.kind is not StepKind.GATE and bool(_losses(work.run, work.cell, error))
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
    if not why or why in result.reason:
        return result
    said = result.reason if result.outcome is Outcome.FAILED else ""
    reason = "; ".join(filter(None, (said, f"{work.cell.target} {why}")))
    return replace(result, outcome=Outcome.FAILED, reason=reason, measurements=())


def _finish(run: RunWork, cell: Cell, outcome: Outcome, reason: str) -> Outcome:
    run.requests.cell_ends(is_final=outcome is not Outcome.PENDING)
    run.journal.record(events.CellFinished(cell.index, run.attempt, outcome, reason), durable=True)
    return outcome
