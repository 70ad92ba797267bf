"""Watching over the thread that carries a run out: whether it stands still on a device that answers no more.

A process that waits inside the kernel (state D) is ended by no signal. So it is neither waited for without end nor
taken for dead: it is given up when no I/O of the run's devices has ended for a while, and named. So is one that sleeps
all that time, as programs of nilfs2 do that wait for their disk.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from fsconsole.engine.control import Wishes, end_programs
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.targets import DeviceHangs, DeviceStandsStill
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.last_word import leave
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellFinished, Outcome, RunFinished, StepFinished, Verb
from fsconsole.model.plan import Cell, StepKind
from fsconsole.system.files import read_int_or
from fsconsole.system.locks import FileLock
from fsconsole.system.processes import Sleepers, Waiting, in_words, waiting_in
from fsconsole.telemetry.block import ended_io
from fsconsole.units import format_elapsed

_HUNG_TASK_S = "/proc/sys/kernel/hung_task_timeout_secs"
"""After so long the kernel logs a task in state D (Documentation/admin-guide/sysctl/kernel.rst); 0: never."""
_USUAL_S = 120
_TIMES = 2
"""A disk gets longer than that: its driver may try again several times, 30 s each, before it says that it fails."""
_SOON_S = 20.0
"""Once all programs were killed, by the operator or for standing still."""
_LOOK_S = 5.0
"""What counts of the time between two looks at most: the machine, or this process, may have been stopped in between."""
_AWAKE = 2
"""Looks in a row at which nobody waits, before it counts as a sign of life: a writer is awake for an instant now and then."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is known of a run from the moment on at which it may touch its devices."""

    run_id: str
    attempt: int
    journal: JournalWriter
    wishes: Wishes
    proc: str
    targets: tuple[str, ...]
    task: int
    """The executing thread, as its own PID namespace counts."""


@dataclass(frozen=True, slots=True)
class StepAtHand:
    """The step that the executing thread is in; begun_s is of time.monotonic()."""

    number: int
    kind: StepKind
    begun_s: float


Look = Callable[[], tuple[Waiting, ...]]


class Vigil:
    """How long nothing has moved; ended looks at the devices, waiting at the processes, asleep at them if none waits."""

    def __init__(self, ended: Callable[[], object], waiting: Look, asleep: Look) -> None:
        self._ended, self._waiting, self._asleep = ended, waiting, asleep
        self._seen: object = None
        self._still_s, self._looked_s, self._awake = 0.0, 0.0, 0
        self.who: tuple[Waiting, ...] = ()

    def still_s(self, place: object, now_s: float) -> float:
        """Return for how many seconds I/O has not ended, the place is the same, and somebody waits or all sleep."""
        seen = (place, self._ended())
        waiting = self._waiting() if seen == self._seen else ()
        asleep = self._asleep() if not waiting else ()
        self.who = waiting or asleep or self.who
        if waiting:
            self._awake = 0
        else:
            # Among sleepers each bit of work is a sign of life.
            self._awake = min(self._awake, _AWAKE - 1) if asleep else self._awake + 1
        self._still_s += min(now_s - self._looked_s, _LOOK_S)
        if seen != self._seen or self._awake >= _AWAKE:
            self.begin()
        self._seen, self._looked_s = seen, now_s
        return self._still_s

    def begin(self) -> None:
        """Count from now on."""
        self._still_s = 0.0


class Attention:
    """What the executing thread tells of where it is, and what was found out about it."""

    def __init__(self) -> None:
        self.watched: Watched | None = None
        self.cell: Cell | None = None
        self.step: StepAtHand | None = None
        self.hang: DeviceHangs | None = None
        """Set once, by who watches: the run ends with it."""
        self._vigil = Vigil(tuple, tuple, tuple)

    def run_begins(self, watched: Watched) -> None:
        """From now on a hang is told."""
        devices = tuple(os.path.basename(os.path.realpath(path)) for path in watched.targets)
        sleepers = Sleepers(watched.proc)
        self._vigil = Vigil(
            lambda: ended_io(devices),
            lambda: waiting_in(watched.proc, watched.task),
            sleepers.asleep,
        )
        self.watched = watched

    @property
    def has_killed(self) -> bool:
        """Whether all programs of the cell at hand were killed: what still waits then is ended by nothing."""
        return self.hang is not None or (self.watched is not None and self.watched.wishes.interrupting)

    def look(self) -> bool:
        """Return whether the run stands still for too long now."""
        watched = self.watched
        if watched is None:
            return False
        place, now_s = (self.cell, self.step), time.monotonic()
        still_s = self._vigil.still_s(place, now_s)
        if still_s < (min(_SOON_S, patience_s()) if self.has_killed else patience_s()):
            return False
        self.hang = self.hang or self._told(watched, still_s)
        self._vigil.begin()
        return True

    def _told(self, watched: Watched, still_s: float) -> DeviceHangs:
        device = self.cell.target if self.cell is not None else ", ".join(watched.targets)
        where = f" in {self.step.kind.value}" if self.step is not None else ""
        who = self._vigil.who
        kind = DeviceHangs if any(not one.is_asleep for one in who) else DeviceStandsStill
        return kind(device, in_words(who), format_elapsed(still_s), where, watched.run_id)


def patience_s() -> float:
    """Return how long a device may give no answer."""
    return float(_TIMES * (read_int_or(_HUNG_TASK_S, 0) or _USUAL_S))


def this_task() -> int:
    """Return the number of the calling thread in its own PID namespace."""
    return threading.get_native_id()


# The end of a run whose device answers no more: what can be told is told, and nobody waits for the rest.

_GIVING_UP_LOOK_S = 1.0


def watched_over(
    carry_out: Callable[[], int], attention: Attention, folder: RunFolder, lock: FileLock
) -> int:
    """Have a run carried out by a thread of its own and return its exit code.

    Where it stands still its programs are killed first; where it stands still after that the process ends without it.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="run") as pool:
        done = pool.submit(carry_out)
        while not wait((done,), timeout=_GIVING_UP_LOOK_S).done:
            were_killed = attention.has_killed
            if not attention.look():
                continue
            if were_killed:
                _give_up(attention, folder, lock)
            end_programs()
        return done.result()


def _give_up(attention: Attention, folder: RunFolder, lock: FileLock) -> NoReturn:
    """Write down how the run ended and end this process, whose thread and children may never come back.

    What they hold, the device's locks and the mount, goes with them. Settings are left to `fsconsole cleanup`.
    """
    watched, hang = attention.watched, attention.hang
    if watched is None or hang is None:
        raise ValueError("nothing was found to stand still")
    is_stopped = watched.wishes.stopping_now
    # Should the thread come back now after all, it begins nothing more.
    watched.wishes.take(Verb.STOP_NOW)
    last_word = _last_word(hang, is_stopped=is_stopped)
    try:
        _write_down(attention, watched, last_word, is_stopped=is_stopped)
    except FsconsoleError:
        with suppress(OSError):
            leave(folder, last_word)
    with suppress(OSError):
        os.unlink(folder.control)
    lock.release()
    os._exit(last_word.exit_code)


def _last_word(hang: DeviceHangs, *, is_stopped: bool) -> RunFinished:
    if is_stopped:
        return RunFinished(Outcome.STOPPED, f"stopped as asked, but {hang}", hang.hint, ExitCode.STOPPED)
    return RunFinished(Outcome.FAILED, str(hang), hang.hint, hang.exit_code)


def _write_down(attention: Attention, watched: Watched, last_word: RunFinished, *, is_stopped: bool) -> None:
    cell, step, journal, attempt = attention.cell, attention.step, watched.journal, watched.attempt
    outcome = Outcome.STOPPED if is_stopped else Outcome.FAILED
    if cell is not None and step is not None:
        elapsed_s = time.monotonic() - step.begun_s
        journal.note(
            StepFinished(cell.index, attempt, step.number, outcome, elapsed_s, reason=last_word.reason)
        )
    if cell is not None:
        journal.note(CellFinished(cell.index, attempt, outcome, last_word.reason))
    journal.record(last_word, durable=True)
    journal.close(finished=True)
