"""The scratch device that was made for one run alone, and goes with it."""

from __future__ import annotations

from fsconsole.devices import scratch
from fsconsole.errors import ScratchMissing
from fsconsole.model.observation import Outcome
from fsconsole.model.state import RunState


def remove_owned_scratch(state: RunState) -> None:
    """Remove the scratch device of a run that is done; one that can be resumed keeps it.

    Raises ScratchInUse.
    """
    if not state.request.owned_scratch or state.outcome is not Outcome.DONE:
        return
    try:
        made = scratch.find(state.request.owned_scratch)
    except ScratchMissing:
        return
    scratch.remove(made)
