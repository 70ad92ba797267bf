"""Hang detection: notices that the executing thread waits for a device that no longer answers, and ends the run.

No signal ends a process that waits inside the kernel (state D). A run is given up when no I/O of its devices has
completed for a while and a process waits; the error names both. Programs of nilfs2 wait for their disk asleep
(state S), so a run whose processes all sleep counts as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from fsconsole.engine.control import Requests, end_programs
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.targets import DeviceHangs, DeviceStandsStill
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.last_word import leave
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellFinished, ControlRequested, Outcome, RunFinished, StepFinished, Verb
from fsconsole.model.plan import Cell, StepKind
from fsconsole.system.files import read_int_or
from fsconsole.system.locks import FileLock
from fsconsole.system.processes import Sleepers, Waiting, in_words, waiting_in
from fsconsole.telemetry.block import ended_io
from fsconsole.units import format_elapsed

_HUNG_TASK_S = "/proc/sys/kernel/hung_task_timeout_secs"
"""The kernel logs a task in state D after this long (Documentation/admin-guide/sysctl/kernel.rst); 0: never."""
_DEFAULT_HUNG_TASK_S = 120
_TIMEOUT_FACTOR = 2
"""A disk gets twice that: its driver may retry several times, 30 s each, before it reports a failure."""
_TIMEOUT_AFTER_KILL_S = 20.0
_LONGEST_GAP_S = 5.0
"""Counted at most between two polls: the machine, or this process, may have been suspended in between."""
_IDLE_POLLS = 2
"""Polls in a row without a waiting process that count as progress: a blocked writer wakes for an instant now and then."""
_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run that may touch its devices from now on."""

    run_id: str
    attempt: int
    journal: JournalWriter
    requests: Requests
    proc: str
    targets: tuple[str, ...]
    task: int
    """The executing thread's id in its own PID namespace."""


@dataclass(frozen=True, slots=True)
class CurrentStep:
    """The step being executed; started_s is of time.monotonic()."""

    number: int
    kind: StepKind
    started_s: float


class StallTimer:
    """Seconds without progress; completed gives the devices' finished I/O, waiting and asleep the processes."""

    def __init__(
        self,
        completed: Callable[[], object],
        waiting: Callable[[], tuple[Waiting, ...]],
        asleep: Callable[[], tuple[Waiting, ...]],
    ) -> None:
        self._completed, self._waiting, self._asleep = completed, waiting, asleep
        self._seen: object = None
        self._still_s, self._polled_s, self._idle_polls = 0.0, 0.0, 0
        self.who: tuple[Waiting, ...] = ()

    def still_s(self, place: object, now_s: float) -> float:
        """Return for how many seconds no I/O completed, the place was the same, and a process waited or all slept."""
        seen = (place, self._completed())
        waiting = self._waiting() if seen == self._seen else ()
        asleep = self._asleep() if not waiting else ()
        self.who = waiting or asleep or self.who
        if waiting:
            self._idle_polls = 0
        else:
            # Any CPU time used among sleepers makes asleep empty: progress.
            self._idle_polls = min(self._idle_polls, _IDLE_POLLS - 1) if asleep else self._idle_polls + 1
        self._still_s += min(now_s - self._polled_s, _LONGEST_GAP_S)
        if seen != self._seen or self._idle_polls >= _IDLE_POLLS:
            self.reset()
        self._seen, self._polled_s = seen, now_s
        return self._still_s

    def reset(self) -> None:
        """Start counting from now."""
        self._still_s = 0.0


class HangDetector:
    """The executing thread's current cell and step, and the hang that was found, if any."""

    def __init__(self) -> None:
        self.watched: WatchedRun | None = None
        self.cell: Cell | None = None
        self.step: CurrentStep | None = None
        self.hang: DeviceHangs | None = None
        """Set once, by the polling thread: the run ends with it."""
        self._timer: StallTimer | None = None

    def run_begins(self, watched: WatchedRun, *, can_tell: bool = True) -> None:
        """Start detecting, unless nothing tells whether a run gets on: a server's I/O is counted nowhere here."""
        if not can_tell:
            self.watched = watched
            return
        devices = tuple(os.path.basename(os.path.realpath(path)) for path in watched.targets)
        sleepers = Sleepers(watched.proc)
        self._timer = StallTimer(
            lambda: ended_io(devices), lambda: waiting_in(watched.proc, watched.task), lambda: self._asleep(sleepers)
        )
        self.watched = watched

    def _asleep(self, sleepers: Sleepers) -> tuple[Waiting, ...]:
        """Return the sleeping processes; none while a program makes the load, since it may sleep for any time."""
        cell, step = self.cell, self.step
        if cell is not None and step is not None and step.kind is StepKind.WORKLOAD and step.number < len(cell.steps):
            number = cell.steps[step.number].workload
            if number is not None and not cell.workloads[number].is_built_in:
                return ()
        return sleepers.asleep()

    @property
    def has_killed(self) -> bool:
        """True if all programs of the cell were killed: nothing ends a process that still waits then."""
        return self.hang is not None or (self.watched is not None and self.watched.requests.interrupting)

    def look(self) -> bool:
        """Poll; return whether the run has made no progress for too long."""
        watched, timer = self.watched, self._timer
        if watched is None or timer is None:
            return False
        if self.step is not None and self.step.kind is StepKind.WARM:
            # It waits for the disk of its sources, not for a device of the run.
            timer.reset()
            return False
        still_s = timer.still_s((self.cell, self.step), time.monotonic())
        if still_s < (min(_TIMEOUT_AFTER_KILL_S, hang_timeout_s()) if self.has_killed else hang_timeout_s()):
            return False
        if self.hang is None:
            device = self.cell.target if self.cell is not None else ", ".join(watched.targets)
            where = f" in {self.step.kind.words}" if self.step is not None else ""
            who = timer.who
            kind = DeviceHangs if any(not one.is_asleep for one in who) else DeviceStandsStill
            self.hang = kind(device, in_words(who), format_elapsed(still_s), where, watched.run_id)
        timer.reset()
        return True


def hang_timeout_s() -> float:
    """Return how long a device may complete no I/O."""
    return float(_TIMEOUT_FACTOR * (read_int_or(_HUNG_TASK_S, 0) or _DEFAULT_HUNG_TASK_S))


def run_detecting_hangs(execute: Callable[[], int], detector: HangDetector, folder: RunFolder, lock: FileLock) -> int:
    """Execute a run in a thread of its own and return its exit code.

    On a hang its programs are killed first; if that does not help, the process exits without the thread.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="run") as pool:
        done = pool.submit(execute)
        while not wait((done,), timeout=_POLL_S).done:
            were_killed = detector.has_killed
            if not detector.look():
                continue
            if were_killed:
                _give_up(detector, folder, lock)
            end_programs()
        return done.result()


def _give_up(detector: HangDetector, folder: RunFolder, lock: FileLock) -> NoReturn:
    """Journal how the run ended and exit: its thread and children may never return.

    Device locks and the mount go with them. Settings are left to `fsconsole cleanup`.
    """
    watched, hang = detector.watched, detector.hang
    if watched is None or hang is None:
        raise ValueError("no hang was found")
    is_stopped = watched.requests.stopping_now
    # If the thread returns after all, it must start nothing more.
    watched.requests.take(ControlRequested(Verb.STOP_NOW))
    if is_stopped:
        finished = RunFinished(Outcome.STOPPED, f"stopped as asked, but {hang}", hang.hint, ExitCode.STOPPED)
    else:
        finished = RunFinished(Outcome.FAILED, str(hang), hang.hint, hang.exit_code)
    cell, step, journal = detector.cell, detector.step, watched.journal
    try:
        if cell is not None:
            place, outcome, why = (cell.index, watched.attempt), finished.outcome, finished.reason
            if step is not None:
                elapsed_s = time.monotonic() - step.started_s
                journal.note(StepFinished(*place, step.number, outcome, elapsed_s, reason=why))
            journal.note(CellFinished(*place, outcome, why))
        journal.record(finished, durable=True)
        journal.close(finished=True)
    except FsconsoleError:
        with suppress(OSError):
            leave(folder, finished)
    with suppress(OSError):
        os.unlink(folder.control)
    lock.release()
    os._exit(finished.exit_code)
