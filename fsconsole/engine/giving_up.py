"""The end of a run whose device answers no more: what can be told is told, and nobody waits for the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import NoReturn

from fsconsole.engine.attention import Attention, Watched
from fsconsole.engine.control import end_programs
from fsconsole.errors import DeviceHangs, ExitCode, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.last_word import leave
from fsconsole.model.observation import CellFinished, Outcome, RunFinished, StepFinished, Verb
from fsconsole.system.locks import FileLock

_LOOK_S = 1.0


def watched_over(
    carry_out: Callable[[], int], attention: Attention, folder: RunFolder, lock: FileLock
) -> int:
    """Have a run carried out by a thread of its own and return its exit code.

    Where it stands still its programs are killed first; where it stands still after that the process ends without it.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="run") as pool:
        done = pool.submit(carry_out)
        while not wait((done,), timeout=_LOOK_S).done:
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
