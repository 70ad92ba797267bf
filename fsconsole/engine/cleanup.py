"""Gives back what a killed engine left: its settings and arrays. Its mounts, processes and locks went with its namespaces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.devices.answering import silent_among
from fsconsole.engine.array_leftovers import members_left, take_apart_leftovers
from fsconsole.engine.leftovers import disks_of, give_back_leftovers, in_words
from fsconsole.errors import FsconsoleError, RunComplete, RunLives
from fsconsole.journal import last_word
from fsconsole.journal.history import read_journal, read_state
from fsconsole.journal.store import RunFolder, is_alive, list_runs
from fsconsole.journal.trust import require_own
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.observation import Observation, RunInterrupted
from fsconsole.model.state import OPEN_STATUSES, RunState, RunStatus
from fsconsole.system.command import RealExecutor
from fsconsole.system.locks import FileLock
from fsconsole.system.namespace import engine_argv
from fsconsole.system.waiting import waiting_below

_STARTER = engine_argv(())[0]
"""What an engine runs below, and what waits for it to be gone."""


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
    """Let a run pass that has cells left to do. Raises RunLives, RunComplete, and JournalUnusable for a stranger's."""
    require_own(folder)
    if is_alive(folder):
        raise RunLives(run=folder.name)
    if not _is_open(read_state(folder)):
        raise RunComplete(run=folder.name)


def clean_folder(folder: RunFolder) -> tuple[Cleaned, ...]:
    """Write down how one run's engine ended, if it died; what it was is in the one value returned, if any."""
    name = folder.name
    try:
        require_own(folder)
        with FileLock.acquire(folder.lock):
            return _clean_locked(folder, name)
    except BlockingIOError:
        return ()
    except FsconsoleError as error:
        return (Cleaned(name, f"left as it is: {error}", resumable=False),)
    except OSError as error:
        # One folder on a disk that turned read-only must not keep the others from being cleaned.
        why = error.strerror or str(error)
        return (Cleaned(name, f"left as it is: its folder can't be written: {why}", resumable=False),)


def _clean_locked(folder: RunFolder, name: str) -> tuple[Cleaned, ...]:
    state = read_journal(folder)
    _remove_socket(folder)
    executor, members = RealExecutor(), members_left(state)
    silent = silent_among({**dict.fromkeys(disks_of(state), 0), **members}, executor)
    leftovers = give_back_leftovers(state, silent=silent)
    arrays = take_apart_leftovers(state, executor, silent.keys() & members.keys())
    settled = tuple(leftover.returned for leftover in leftovers if not leftover.busy)
    if state.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        _write_down(folder, settled)
        said = "; ".join((*in_words(leftovers), *arrays, *_remains(folder)))
        return (Cleaned(name, said, resumable=_is_open(state)),) if said else ()
    words = last_word.read(folder)
    died = RunInterrupted(f"the engine died {where_it_stood(state)}")
    ending = words[0].finished if words else died
    _write_down(folder, (*settled, ending))
    last_word.forget(folder)
    did = "; ".join((ending.reason.rstrip("."), *in_words(leftovers), *arrays, *_remains(folder)))
    return (Cleaned(name, did, resumable=_is_open(state)),)


def _remains(folder: RunFolder) -> tuple[str, ...]:
    """Return a clause for each process of a dead engine that the kernel does not let go of, and its mounts with it."""
    waiting = waiting_below(_STARTER, folder.path)
    return tuple(
        f"{who} still waits in the kernel for its device, whatever is mounted with it" for who in waiting
    )


def _write_down(folder: RunFolder, observations: Sequence[Observation]) -> None:
    if not observations:
        return
    journal = JournalWriter(folder)
    try:
        for observation in observations:
            journal.record(observation, durable=True)
    finally:
        journal.close(finished=True)


def _is_open(state: RunState) -> bool:
    return any(cell.status in OPEN_STATUSES for cell in state.cells)


def _remove_socket(folder: RunFolder) -> None:
    if os.path.lexists(folder.control):
        os.unlink(folder.control)
