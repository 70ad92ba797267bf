"""A disk of runs that runs full in one kind of step after the other: a clean end, and nothing lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.events import Outcome
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.text import MIB
from tests.conftest import Mount
from tests.lab.soak import tried
from tests.loop.faulty_engine import AFTER_CELL, Event
from tests.loop.faulty_run import carry_out, scratch_device
from tests.loop.runs import WHOLE_PLAN, agree_again, assert_nothing_left, new_run, wait_for_end

pytestmark = pytest.mark.root

MOMENTS = [
    ("gate", "before", "tmpfs"),
    ("mkfs", "middle", "ext4"),
    ("workload", "ready", "tmpfs"),
    ("workload", "ready", "ext4"),
    ("check", "before", "tmpfs"),
    ("delete", "before", "ext4"),
    (AFTER_CELL, "before", "tmpfs"),
]
"""Of the last cell; then on what runs are kept: one disk that can't be mapped into memory when it is full, one that can."""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory):
    """A scratch device of 64 MiB."""
    with scratch_device(tmp_path_factory.mktemp("journal"), 64 * MIB) as made:
        yield made


@pytest.mark.parametrize("moment", tried(MOMENTS, [MOMENTS[1], MOMENTS[-1]]), ids="-".join)
def test_a_journal_that_runs_full_at_any_moment_stops_the_run_cleanly_and_loses_no_cell(
    device: str, mounted: Mount, loop_device, moment: tuple[str, str, str]
):
    step, when, disk = moment
    place = small_disk(mounted, loop_device, disk)
    folder = new_run(WHOLE_PLAN, device, str(place / "runs"))
    fill = f"head -c 64M /dev/zero >{place}/ballast 2>/dev/null || sync"
    done = carry_out(folder, [Event(0, AFTER_CELL, ":"), Event(1, step, fill, when)], device)
    state = read_state(folder)
    assert done.returncode == state.exit_code == ExitCode.JOURNAL_FULL, (done.stderr, state.reason)
    assert (state.status, state.outcome) == (RunStatus.FINISHED, Outcome.FAILED)
    assert "disk is full" in state.reason
    first = state.cells[0]
    assert first.status is CellStatus.DONE

    (place / "ballast").unlink()
    # No end of the cell could be written down, so that what it left is asked about.
    agree_again(folder)
    start_engine(folder)
    wait_for_end(folder)
    after = read_state(folder)
    assert (after.status, after.reason) == (RunStatus.FINISHED, "")
    assert [cell.status for cell in after.cells] == [CellStatus.DONE, CellStatus.DONE]
    assert after.cells[0] == first
    assert_nothing_left(device, folder)


def small_disk(mounted: Mount, loop_device, disk: str) -> Path:
    """Return a mounted filesystem with little room."""
    if disk == "tmpfs":
        return mounted("tmpfs", filesystem="tmpfs", options="size=6m,nosuid,nodev")
    made = loop_device(16 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", made], check=True)
    return mounted(made)
