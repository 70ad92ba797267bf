"""A filesystem that somebody else fills under a load: what could be written is a result, nothing at all is none."""

from __future__ import annotations

import re

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.text import MIB
from tests.lab.soak import tried
from tests.loop.faulty_engine import Event
from tests.loop.faulty_run import carry_out, scratch_device
from tests.loop.runs import new_run

pytestmark = pytest.mark.root

FILESYSTEMS = tried(("ext4", "xfs", "btrfs"), ("ext4", "btrfs"))
DEVICE_BYTES = (400 if "xfs" in FILESYSTEMS else 160) * MIB
VARIANTS = ", ".join(f'{{ type = "{name}" }}' for name in FILESYSTEMS)
PLAN = f"""
schema = 1
order = "as-listed"
equalise = "none"
repeats = 2
variant = [{VARIANTS}]
workload = [{{ kind = "create", threads = 2, file_size = "24MiB", block_size = "64KiB" }}]
after = {{ check = true }}
"""
WANTED_BYTES = 48 * MIB
LEAVE_20_MIB = """
cd /run/fsconsole/mnt; free=$(df --output=avail --block-size=1 . | tail -1)
fallocate --length $((free - 20 * 1048576)) ballast; sync
"""
LEAVE_NOTHING = "head -c 1G /dev/zero >/run/fsconsole/mnt/ballast 2>/dev/null || sync"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory):
    """Return a run of two cells for each filesystem: one is left 20 MiB by the time it writes, the other nothing."""
    directory = tmp_path_factory.mktemp("full")
    with scratch_device(directory, DEVICE_BYTES) as device:
        folder = new_run(PLAN, device, str(directory / "runs"))
        events = [
            Event(cell.index, "workload", LEAVE_20_MIB if cell.repeat == 1 else LEAVE_NOTHING, "ready")
            for cell in read_state(folder).request.plan.cells
        ]
        carry_out(folder, events, device)
        return read_state(folder)


def cell_of(state: RunState, filesystem: str, repeat: int) -> CellState:
    (index,) = [
        cell.index
        for cell in state.request.plan.cells
        if (cell.variant.filesystem, cell.repeat) == (filesystem, repeat)
    ]
    return state.cells[index]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_what_was_written_until_the_filesystem_was_full_is_a_result_with_a_warning(state: RunState, filesystem: str):
    cell = cell_of(state, filesystem, 1)
    assert cell.status is CellStatus.DONE, cell.reason
    assert 0 < cell.value(Metric.WRITTEN) < WANTED_BYTES
    (warning,) = [warning for warning in cell.warnings if warning.kind is WarningKind.TARGET_FULL]
    assert re.fullmatch(r"[12] of 2 writers stopped: No space left on device", warning.reason)
    assert [step.verdict for step in cell.steps if step.kind is StepKind.CHECK] == ["clean"]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_load_that_could_write_nothing_at_all_is_a_failed_cell(state: RunState, filesystem: str):
    cell = cell_of(state, filesystem, 2)
    assert cell.status is CellStatus.FAILED, cell
    why = "workload: 2 of 2 writers stopped: No space left on device; the filesystem on /dev/loop"
    assert re.fullmatch(why + r"\d+ is full: [0-9.]+ (B|[KM]iB) of [0-9.]+ MiB are free", cell.reason), cell.reason


def test_the_run_goes_on_after_each_of_them(state: RunState):
    assert (state.exit_code, state.reason) == (
        ExitCode.CELLS_FAILED,
        f"{len(FILESYSTEMS)} of {2 * len(FILESYSTEMS)} cells failed",
    )
