"""A device that answers no more while a step goes on: given up and named, by the limit or when the run is stopped."""

from __future__ import annotations

import pytest

from fsconsole.client.children import ask
from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors import ExitCode
from fsconsole.model.events import Verb
from fsconsole.model.state import CellStatus
from fsconsole.system.processes import waiting_below
from tests.lab.guest import wait_until
from tests.lab.hanging import DEVICE, PATIENCE_S, Hanging, over
from tests.lab.runs import cells_on, state_of
from tests.lab.soak import tried

STEPS = (
    "mkfs",
    "check-empty",
    "mount",
    "quiesce",
    "workload",
    "drain",
    "remount",
    "extents",
    "check",
    "cold-mount",
    "delete",
    "release",
)
EVERY = [(step, ends) for step in STEPS for ends in ("limit", "stop")]


@pytest.mark.parametrize(("step", "ends"), tried(EVERY, [("workload", "limit")]))
def test_a_device_that_answers_no_more_is_given_up_and_named(hanging: Hanging, step: str, ends: str) -> None:
    folder = hanging.run_hung_in(step)
    if ends == "stop":
        wait_until(lambda: waiting_below("unshare", folder.path) != (), "somebody waits for it", PATIENCE_S)
        assert ask(folder, Verb.STOP_NOW).accepted
    else:
        hanging.give_up_soon()
    wait_until(lambda: over(folder), "the run ends", PATIENCE_S)
    state = state_of(folder)
    assert state.exit_code == (ExitCode.STOPPED if ends == "stop" else ExitCode.DEVICE_HANGS), state
    assert f"{DEVICE} does not answer" in state.reason
    assert "(process " in state.reason
    ended = CellStatus.STOPPED if ends == "stop" else CellStatus.FAILED
    # When all is given back the device is needed no more: the next cell is the one that finds it silent.
    is_late = step == "release"
    cells = cells_on(state, DEVICE)
    statuses = [CellStatus.DONE, ended] if is_late else [ended, CellStatus.PENDING]
    assert [cell.status for cell in cells] == statuses
    assert "does not answer" in cells[is_late].reason
    assert hanging.engine is not None
    assert not hanging.engine.is_over()
    (cleaned,) = clean_folder(folder)
    assert "still waits" in cleaned.did
    hanging.answer()
    assert clean_folder(folder) == ()
