"""Traced loads and their memory cgroup, on a real device: figures, and nothing left of either."""

from __future__ import annotations

import os
import pathlib
import signal

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices.memory_group import limit_file
from fsconsole.engine.writeback import remove_left_trace
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import BDI_FIELDS, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.system.mounts import mounted_tracefs
from fsconsole.system.run import RealExecutor
from fsconsole.telemetry.trace_instance import instance_path
from fsconsole.text import MIB
from tests.conftest import run, wait_until
from tests.loop.runs import (
    carry_out,
    clean_up,
    engine_of,
    freeze_load,
    new_run,
    processes_with,
    wait_for_end,
)

PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = { memory = ["16MiB", "1GiB"] }
variant = [{ type = "ext4" }]
after = { check = false, delete = "none" }

[[workload]]
name = "many extents"
kind = "create"
threads = 4
file_size = "8MiB"
block_size = "256KiB"
fsync = 1
trace = true

[[workload]]
name = "warm"
kind = "read"
threads = 4

[[workload]]
name = "cold"
kind = "read"
threads = 4
cold = true
trace = true
"""
SLOW = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = { memory = "64MiB" }
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 2, file_size = "128KiB", block_size = "1", trace = true }]
after = { check = false }
"""


def figures(cell: CellState, load: int) -> dict[Metric, float]:
    """Return the figures of a cell's load, with its drain."""
    steps = [step for step in cell.steps if step.kind in (StepKind.WORKLOAD, StepKind.DRAIN)]
    # The first load has a drain.
    chosen = steps[:2] if load == 0 else steps[load + 1 : load + 2]
    return {one.metric: one.value for step in chosen for one in step.measurements}


@pytest.fixture
def tracefs(tmp_path: pathlib.Path):
    """A tracefs to look into, mounted for this test where the machine has none."""
    place = mounted_tracefs(RealExecutor(), str(tmp_path / "tracefs"))
    yield place
    if place.startswith(str(tmp_path)):
        run("umount", place)


def group_of(device: str) -> str:
    return os.path.dirname(limit_file(os.path.basename(device)))


def test_a_traced_load_has_every_figure_and_its_memory_limit_holds(own_scratch, tmp_path, tracefs):
    done, folder = carry_out(PLAN, own_scratch.device, tmp_path)
    assert done.returncode == 0, done.stderr
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 2
    assert not os.path.exists(group_of(own_scratch.device))
    assert not os.path.exists(instance_path(tracefs, state.request.run_id))
    small, large = state.cells
    for cell in state.cells:
        wrote, cold = figures(cell, 0), figures(cell, 2)
        assert {metric for typical, peak, _ in BDI_FIELDS for metric in (typical, peak)} <= set(wrote)
        assert wrote[Metric.BDI_DIRTIED_MAX] >= wrote[Metric.BDI_DIRTIED] > 0
        assert wrote[Metric.QUEUE_DEPTH_MAX] >= wrote[Metric.QUEUE_DEPTH] >= 0
        # Four files that are synced after every write: the head goes to and fro between them and the journal.
        assert wrote[Metric.WRITE_SEEK] > 0
        assert wrote[Metric.WRITES_IN_ORDER] < 100
        assert wrote[Metric.TRACE_LOST] == cold[Metric.TRACE_LOST] == 0
        assert wrote[Metric.WRITEBACK_STARTS] > 0
        assert wrote[Metric.NR_PAGES_NEGATIVE] == 0
        assert cold[Metric.READ_BYTES] == 32 * MIB
        assert cold[Metric.READ_BEYOND] == cold[Metric.DEVICE_READ] - 32 * MIB
        assert cold[Metric.META_READ] >= 1024 * cold[Metric.META_READS] >= 0
        assert Metric.WRITEBACK_STARTS not in cold
        assert Metric.BDI_WRITEBACK not in cold
        assert Metric.QUEUE_DEPTH not in figures(cell, 1)
    # Files that fit the group's page cache are read from it.
    assert figures(small, 1)[Metric.DEVICE_READ] > 12 * MIB
    assert figures(large, 1)[Metric.DEVICE_READ] == 0
    # A file of more than four extents has their list in a block of its own: of 1 KiB here.
    extents = [one.value for step in large.steps for one in step.measurements if one.metric is Metric.EXTENTS_MEDIAN]
    assert extents[0] > 4
    assert 2 * 1024 <= figures(large, 2)[Metric.READ_BEYOND] <= 64 * 1024
    kept = [name for name in os.listdir(folder.raw) if name.endswith("-writeback")]
    assert len(kept) == 4


def test_cleanup_after_a_killed_engine_removes_its_trace_and_its_memory_cgroup(own_scratch, tmp_path, tracefs):
    runs = str(tmp_path / "runs")
    folder = new_run(SLOW, own_scratch.device, runs)
    start_engine(folder)
    freeze_load(folder)
    trace = instance_path(tracefs, read_state(folder).request.run_id)
    assert os.path.isdir(trace)
    assert pathlib.Path(f"{trace}/events/block/block_rq_issue/enable").read_text().strip() == "1"
    group = group_of(own_scratch.device)
    assert os.path.isdir(group)
    os.kill(engine_of(folder), signal.SIGKILL)
    wait_for_end(folder)
    wait_until(lambda: processes_with(folder.path) == [], "its processes end")
    (cleaned,) = clean_up(runs)
    assert f"the trace {os.path.basename(trace)} is removed" in cleaned.did
    assert "is none again" in cleaned.did
    assert not os.path.exists(trace)
    assert not os.path.exists(group)
    assert not list(remove_left_trace(read_state(folder).request.run_id, RealExecutor()))
