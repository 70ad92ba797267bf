"""From a run folder to a finished run: takes what the run needs, carries it out, gives everything back."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

from fsconsole import __version__
from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.claims import DeviceLocks, lock_whole_disk
from fsconsole.devices.discovery import find_device
from fsconsole.devices.queues import facts_in_force
from fsconsole.devices.settings import lock_machine_settings
from fsconsole.engine import cautions
from fsconsole.engine.arrays import lock_arrays
from fsconsole.engine.attention import Attention, Watched, this_task
from fsconsole.engine.control import ControlServer, Wishes, end_programs
from fsconsole.engine.execute import run_cells
from fsconsole.engine.giving_up import watched_over
from fsconsole.engine.outcome import last_word
from fsconsole.engine.own_commands import require_own_commands
from fsconsole.engine.proof import Prover
from fsconsole.engine.work import RunWork
from fsconsole.errors import (
    DeviceChanged,
    DeviceMissing,
    ExitCode,
    FsconsoleError,
    JournalUnusable,
    NotABlockDevice,
)
from fsconsole.journal.history import read_state
from fsconsole.journal.last_word import leave
from fsconsole.journal.raw import RawOutputs
from fsconsole.journal.store import RunFolder
from fsconsole.journal.trust import require_own
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.observation import (
    ControlRequested,
    Outcome,
    RunFinished,
    RunStarted,
    TargetAccepted,
    Verb,
)
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import OPEN_STATUSES, RunState
from fsconsole.plan.settings import MACHINE_WIDE
from fsconsole.plan.steps import MOUNT_POINT
from fsconsole.system.command import RealExecutor
from fsconsole.system.host import boot_id, cpu_count, hostname, kernel_release, memory_bytes
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.locks import FileLock
from fsconsole.system.namespace import enter_private
from fsconsole.system.refusal import system_refusal
from fsconsole.telemetry.sampler import Sampler
from fsconsole.workloads.builtin import BuiltInGenerator

SAMPLE_PERIOD_S = 0.5
PRIVATE_ROOT = os.path.dirname(MOUNT_POINT)


def main(arguments: list[str]) -> int:
    """Carry out the run in the folder given; returns the process's exit code."""
    (path,) = arguments
    os.chdir("/")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder = RunFolder(path)
    try:
        require_own(folder)
        with FileLock.acquire(folder.lock) as lock:
            attention = Attention()
            _listen_to_signals(attention)
            return watched_over(lambda: _carry_out_or_tell(folder, attention), attention, folder, lock)
    except JournalUnusable as error:
        # Nothing is written into a folder that may be anybody's; the starter shows what is said here.
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except BlockingIOError:
        sys.stderr.write(f"{path}: another engine holds this run\n")
        return ExitCode.RUN_LIVES


def _carry_out_or_tell(folder: RunFolder, attention: Attention) -> int:
    """Carry out the run; what even its journal can't take is left beside it, and on stderr."""
    try:
        with _system_in_words(), ExitStack() as stack:
            return _carry_out(folder, stack, attention)
    except FsconsoleError as error:
        with suppress(OSError):
            sys.stderr.write(f"{error}\n{error.hint}\n")
            sys.stderr.flush()
        with suppress(OSError):
            leave(folder, RunFinished(Outcome.FAILED, str(error), error.hint, error.exit_code))
        return error.exit_code


def _carry_out(folder: RunFolder, stack: ExitStack, attention: Attention) -> int:
    state = read_state(folder)
    journal = JournalWriter(folder)
    try:
        said = _run(folder, state, journal, stack, attention)
        stack.close()
        journal.record(said, durable=True)
    finally:
        journal.close(finished=True)
    return said.exit_code


def _run(
    folder: RunFolder, state: RunState, journal: JournalWriter, stack: ExitStack, attention: Attention
) -> RunFinished:
    """Return the run's last word; every error that a user can meet is told in it."""
    cells = _open_cells(state)
    try:
        with _system_in_words():
            carried = run_cells(_take(folder, state, journal, stack, attention), cells)
    except FsconsoleError as error:
        return RunFinished(Outcome.FAILED, str(error), error.hint, error.exit_code)
    return last_word(folder.name, state, cells, carried)


@contextmanager
def _system_in_words() -> Iterator[None]:
    """Turn a system call that failed where nothing else was expected into an error with a sentence."""
    try:
        yield
    except OSError as error:
        raise system_refusal(error) from error


def _take(
    folder: RunFolder, state: RunState, journal: JournalWriter, stack: ExitStack, attention: Attention
) -> RunWork:
    """Take everything that all cells share, each with its release on the stack."""
    attempt = len(state.started) + 1
    journal.record(_run_started(attempt, state), durable=True)
    wishes = Wishes(end_programs)
    executor = RealExecutor(kernel_log=KernelLog())
    places = enter_private(executor, PRIVATE_ROOT)
    paths = tuple(target.path for target in state.request.targets)
    attention.run_begins(Watched(folder.name, attempt, journal, wishes, places.proc, paths, this_task()))
    sampler = Sampler(period_s=SAMPLE_PERIOD_S, sink=journal.sample)
    control = ControlServer(
        folder.control,
        wishes,
        on_request=lambda verb: journal.note(ControlRequested(verb)),
        place=sampler.place_in_words,
    )
    stack.callback(control.close)
    if any(write.name in MACHINE_WIDE for cell in _open_cells(state) for write in cell.writes):
        stack.enter_context(lock_machine_settings())
    if any(cell.array and not cell.unavailable for cell in _open_cells(state)):
        stack.enter_context(lock_arrays())
    prover = Prover(executor, state, folder.path)
    for target in state.request.targets:
        stack.enter_context(_lock(target))
        prover.prove_target(target)
        journal.record(_accepted(target), durable=True)
        sampler.watch_device(os.path.basename(os.path.realpath(target.path)))
    require_own_commands(state.request, load_catalog(), folder.journal)
    known_of_all = cautions.about_run(state.request, folder.path, journal, attempt)
    sampler.start()
    stack.callback(sampler.stop)
    return RunWork(
        request=state.request,
        folder_path=folder.path,
        journal=journal,
        raw=RawOutputs(folder),
        executor=executor,
        sampler=sampler,
        generator=BuiltInGenerator(),
        places=places,
        wishes=wishes,
        attempt=attempt,
        prover=prover,
        known_of_all=known_of_all,
        attention=attention,
    )


def _lock(target: Target) -> DeviceLocks:
    try:
        return lock_whole_disk(find_device(target.path))
    except (DeviceMissing, NotABlockDevice) as error:
        raise DeviceChanged(target.path, "it is gone") from error


def _open_cells(state: RunState) -> tuple[Cell, ...]:
    open_indexes = {cell.index for cell in state.cells if cell.status in OPEN_STATUSES}
    return tuple(cell for cell in state.request.plan.cells if cell.index in open_indexes)


def _run_started(attempt: int, state: RunState) -> RunStarted:
    in_force = facts_in_force(target.path for target in state.request.targets)
    facts = (("cpus", str(cpu_count())), ("memory_bytes", str(memory_bytes())), *in_force)
    return RunStarted(attempt, __version__, boot_id(), kernel_release(), hostname(), facts)


def _accepted(target: Target) -> TargetAccepted:
    return TargetAccepted(target.path, target.identity, target.shown, target.consent)


def _listen_to_signals(attention: Attention) -> None:
    def take() -> None:
        watched = attention.watched
        if watched is not None:
            watched.journal.note(ControlRequested(Verb.STOP_NOW))
            watched.wishes.take(Verb.STOP_NOW)

    def stop(_number: int, _frame: FrameType | None) -> None:
        # A handler runs in the middle of whatever the main thread does, locks held: it may only hand on.
        threading.Thread(target=take, name="signal").start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
