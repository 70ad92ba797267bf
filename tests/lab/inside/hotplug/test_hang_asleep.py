"""A device that answers no more below nilfs2, whose programs sleep while they wait for it, so that signals end them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors import ExitCode
from fsconsole.model.state import CellStatus
from tests.lab.guest import wait_until
from tests.lab.hanging import DEVICE, PATIENCE_S, PLAN, Hanging, over
from tests.lab.runs import cells_on, state_of

STEPS = ("mkfs", "mount", "quiesce", "workload", "drain", "remount", "unmount", "delete")


@pytest.mark.parametrize("step", STEPS)
def test_a_device_whose_filesystem_sleeps_while_it_waits_is_given_up_and_named(
    hanging: Hanging, step: str, tmp_path: Path
) -> None:
    plan = tmp_path / "nilfs2.toml"
    plan.write_text(PLAN.read_text().replace('"ext4"', '"nilfs2"'))
    folder = hanging.run_hung_in(step, plan)
    hanging.give_up_soon()
    wait_until(lambda: over(folder), "the run ends", PATIENCE_S)
    state = state_of(folder)
    assert state.exit_code == ExitCode.DEVICE_HANGS, state
    assert f"{DEVICE} does not answer" in state.reason
    assert [cell.status for cell in cells_on(state, DEVICE)] == [CellStatus.FAILED, CellStatus.PENDING], state
    hanging.answer()
    clean_folder(folder)
    assert clean_folder(folder) == ()
