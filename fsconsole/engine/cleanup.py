"""Gives back what a killed engine left. Its mounts, processes and locks went with its namespaces."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.errors import FsconsoleError, RunComplete, RunLives
from fsconsole.journal import last_word
from fsconsole.journal.history import read_journal, read_state
from fsconsole.journal.store import RunFolder, is_alive, list_runs
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.observation import RunFinished, RunInterrupted
from fsconsole.model.state import OPEN_STATUSES, RunState, RunStatus
from fsconsole.system.locks import FileLock


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What cleanup found about one run and did about it, in words."""

    run: str
    did: str
    resumable: bool


def clean_up(runs_dir: str) -> tuple[Cleaned, ...]:
    """Write down how every dead engine ended and remove its socket; living runs are left alone."""
    return tuple(cleaned for folder in list_runs(runs_dir) for cleaned in clean_folder(folder))


def where_it_stood(state: RunState) -> str:
    """Return where a run was when its engine fell silent: "in drain of cell 2 of 8"."""
    if state.current_cell is None:
        return "between cells"
    total = len(state.cells)
    step = state.current_step
    where = f"cell {state.current_cell + 1} of {total}"
    return f"in {step.kind.value} of {where}" if step else f"in {where}"


def require_resumable(folder: RunFolder) -> None:
    """Let a run pass that has cells left to do. Raises RunLives, RunComplete."""
    if is_alive(folder):
        raise RunLives(run=folder.name)
    if not _is_open(read_state(folder)):
        raise RunComplete(run=folder.name)


def clean_folder(folder: RunFolder) -> tuple[Cleaned, ...]:
    """Write down how one run's engine ended, if it died; what it was is in the one value returned, if any."""
    name = folder.name
    try:
        with FileLock.acquire(folder.lock):
            return _clean_locked(folder, name)
    except BlockingIOError:
        return ()
    except FsconsoleError as error:
        return (Cleaned(name, f"left as it is: {error}", resumable=False),)


def _clean_locked(folder: RunFolder, name: str) -> tuple[Cleaned, ...]:
    state = read_journal(folder)
    if state.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        _remove_socket(folder)
        return ()
    words = last_word.read(folder)
    died = RunInterrupted(f"the engine died {where_it_stood(state)}")
    ending = words[0].finished if words else died
    _write_down(folder, ending)
    last_word.forget(folder)
    _remove_socket(folder)
    return (Cleaned(name, ending.reason.rstrip("."), resumable=_is_open(state)),)


def _write_down(folder: RunFolder, ending: RunInterrupted | RunFinished) -> None:
    journal = JournalWriter(folder)
    try:
        journal.record(ending, durable=True)
    finally:
        journal.close(finished=True)


def _is_open(state: RunState) -> bool:
    return any(cell.status in OPEN_STATUSES for cell in state.cells)


def _remove_socket(folder: RunFolder) -> None:
    if os.path.lexists(folder.control):
        os.unlink(folder.control)
