"""Runs in progress: the question at the start of the console, the words in its head, and what goes on when it is left."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive, list_runs, living_runs
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.state import OPEN_STATUSES, RunStatus
from fsconsole.show.progress import place_words, stopping_words
from fsconsole.text import printable


@dataclass(frozen=True, slots=True)
class Going:
    """A run with a living engine; both texts are printable."""

    folder: RunFolder
    title: str
    place: str


def living(runs_dir: str) -> RunFolder | None:
    """Return the newest run with a living engine, or None. Raises NotRoot, RunsReadOnly."""
    return next((folder for folder in list_runs(runs_dir) if is_alive(folder)), None)


def going(runs_dir: str, now_ns: int) -> tuple[Going, ...]:
    """Return all runs that go on, the newest first; now_ns is CLOCK_MONOTONIC. Raises as living()."""
    found = []
    for folder in list_runs(runs_dir):
        if is_alive(folder):
            try:
                state = read_state(folder)
            except FsconsoleError as error:
                found.append(Going(folder, folder.name, printable(str(error))))
                continue
            plan, place = state.request.plan, place_words(state, now_ns)
            place = f"{place}, on {', '.join(plan.targets)}" if plan.targets else place
            found.append(Going(folder, printable(plan.title.strip() or folder.name), printable(place)))
    return tuple(found)


def still_running(runs_dir: str) -> tuple[str, ...]:
    """Return a sentence for each run that goes on when the console is left. Raises NotRoot, RunsReadOnly."""
    place = runs_option(runs_dir)
    return tuple(
        f"Run {run.name} {_stopping_words(run) or 'is still running'}; "
        f"`fsconsole` or `fsconsole attach {run.name}{place}` shows it again."
        for run in living_runs(runs_dir)
    )


def _stopping_words(folder: RunFolder) -> str:
    # That it goes on is to be told also where its journal can't be read.
    try:
        return stopping_words(read_state(folder))
    except FsconsoleError:
        return ""


def runs_option(runs_dir: str) -> str:
    """Return the option that names a directory of runs in a command, with a blank before it; empty for the usual one."""
    return "" if runs_dir == DEFAULT_RUNS_DIR else f" --runs {shlex.quote(runs_dir)}"


RUNNING = "RUNNING"


def head_words(folder: RunFolder, before: str) -> str:
    """Return that a run goes on, or how one that did so before has ended; empty for a run of the past."""
    try:
        if is_alive(folder):
            return RUNNING
        if before != RUNNING:
            return before
        state = read_state(folder)
    except FsconsoleError:
        return ""
    if state.status is not RunStatus.FINISHED:
        return "DIED"
    is_whole = all(cell.status not in OPEN_STATUSES for cell in state.cells)
    return "FINISHED" if is_whole else "STOPPED"


def question(runs: Sequence[Going]) -> str:
    """Return the heading above the runs in progress."""
    return "A run is in progress:" if len(runs) == 1 else f"{len(runs)} runs are in progress, newest first:"


def line_of(runs: Sequence[Going]) -> str:
    """Return in one sentence that runs go on, where there is no place for a question."""
    newest = f"{runs[0].title}, {runs[0].place}"
    if len(runs) == 1:
        return f"A run is in progress: {newest}; 3 shows it."
    return f"{len(runs)} runs are in progress; the newest is {newest}. 3 shows it, 5 lists all."
