"""The scratch device that was made for one run alone, and goes with it."""

from __future__ import annotations

from fsconsole.devices import scratch
from fsconsole.errors import ScratchMissing
from fsconsole.journal.history import read_state
from fsconsole.journal.store import RunFolder, is_alive
from fsconsole.journal.trust import require_own
from fsconsole.model.state import OPEN_STATUSES, RunState


def purpose_of(run_id: str) -> str:
    """Return what is written on a scratch device that is made for a run alone."""
    return f"run {run_id}"


def remove_owned_scratch(state: RunState) -> bool:
    """Remove the scratch device of a run with nothing left to do; one that can be resumed keeps it.

    Returns whether there was one to remove. Raises ScratchInUse.
    """
    if any(cell.status in OPEN_STATUSES for cell in state.cells):
        return False
    return remove_scratch_of(state)


def remove_scratch_of(state: RunState) -> bool:
    """Remove the scratch device of a run that is to be forgotten, whatever is left to do. Returns and raises the same."""
    if not state.request.owned_scratch:
        return False
    try:
        made = scratch.find(state.request.owned_scratch)
    except ScratchMissing:
        return False
    # A journal from elsewhere may name any scratch device; the mark on the file says for which run it was made.
    if made.purpose != purpose_of(state.request.run_id):
        return False
    scratch.remove(made)
    return True


def remove_abandoned_scratch(folder: RunFolder) -> bool:
    """Do the same for a run that had no viewer at its end; a living one is left alone.

    Raises the same, and JournalUnusable for a folder that others can have written.
    """
    require_own(folder)
    return not is_alive(folder) and remove_owned_scratch(read_state(folder))
