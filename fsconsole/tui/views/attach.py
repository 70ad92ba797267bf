"""Runs that go on, and what is said of them as the console starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.analysis.eta import remaining_s
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.history import read_state
from fsconsole.journal.store import is_alive, list_runs
from fsconsole.model.state import RunState, RunStatus
from fsconsole.plaintext import printable
from fsconsole.units import format_guess


@dataclass(frozen=True, slots=True)
class Going:
    """A run that an engine carries out right now; both texts are printable."""

    folder: RunFolder
    title: str
    place: str


def living(runs_dir: str) -> RunFolder | None:
    """Return the newest run that an engine carries out right now, or None where none is. Raises NotRoot, RunsReadOnly."""
    return next((folder for folder in list_runs(runs_dir) if is_alive(folder)), None)


def going(runs_dir: str, now_ns: int) -> tuple[Going, ...]:
    """Return all runs that go on, the newest first; now_ns is CLOCK_MONOTONIC. Raises as living()."""
    return tuple(_going(folder, now_ns) for folder in list_runs(runs_dir) if is_alive(folder))


def place_words(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> str:
    """Return where a living run stands, and what is left: "cell 3 of 12, about 4 min left"."""
    if state.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        return "starting"
    cell = (
        "between cells"
        if state.current_cell is None
        else f"cell {state.current_cell + 1} of {len(state.cells)}"
    )
    paused = "paused, " if state.status is RunStatus.PAUSED else ""
    return f"{paused}{cell}, about {format_guess(remaining_s(state, now_ns, per_cell_s=per_cell_s))} left"


def question(runs: Sequence[Going]) -> str:
    """Return what stands above the runs that go on."""
    return "A run goes on:" if len(runs) == 1 else f"{len(runs)} runs go on, the newest first:"


def line_of(runs: Sequence[Going]) -> str:
    """Return in one sentence that runs go on, where there is no place for a question."""
    newest = f"{runs[0].title}, {runs[0].place}"
    if len(runs) == 1:
        return f"A run goes on: {newest}; 3 shows it."
    return f"{len(runs)} runs go on; the newest is {newest}. 3 shows it, 5 lists all."


def _going(folder: RunFolder, now_ns: int) -> Going:
    try:
        state = read_state(folder)
    except FsconsoleError as error:
        return Going(folder, folder.name, printable(str(error)))
    title = state.request.plan.title.strip() or folder.name
    targets = ", ".join(state.request.plan.targets)
    place = f"{place_words(state, now_ns)}, on {targets}" if targets else place_words(state, now_ns)
    return Going(folder, printable(title), printable(place))
