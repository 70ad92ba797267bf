"""Traced loads and their memory cgroup, on a real device: figures, and nothing left of either."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices.memory_group import limit_file
from fsconsole.devices.settings import Kernel
from fsconsole.engine.writeback import remove_left_trace
from fsconsole.journal.past import read_state
from fsconsole.model.metrics import BDI_FIELDS, REASONS, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.system.cgroups import join
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

pytestmark = pytest.mark.skipif(not limit_file("any"), reason="THIS MACHINE HAS NO MEMORY CGROUPS")

PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = { memory = "1GiB" }
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


def figures(cell: CellState) -> tuple[dict[Metric, float], ...]:
    """Return the figures of a cell's writes, with their drain, and of its reads."""
    steps = [step for step in cell.steps if step.kind in (StepKind.WORKLOAD, StepKind.DRAIN)]
    return tuple(
        {one.metric: one.value for step in part for one in step.measurements} for part in (steps[:2], steps[2:])
    )


@pytest.fixture
def tracefs(tmp_path: pathlib.Path):
    """A tracefs to look into, mounted for this test where the machine has none."""
    place = mounted_tracefs(RealExecutor(), str(tmp_path / "tracefs"))
    yield place
    if place.startswith(str(tmp_path)):
        run("umount", place)


def group_of(device: str) -> str:
    return os.path.dirname(limit_file(os.path.basename(device)))


def test_a_traced_load_has_every_figure_and_leaves_nothing(own_scratch, tmp_path, tracefs):
    # A group that a run left whose folder was deleted.
    os.makedirs(group_of(own_scratch.device), exist_ok=True)
    done, folder = carry_out(PLAN, own_scratch.device, tmp_path)
    assert done.returncode == 0, done.stderr
    state = read_state(folder)
    (cell,) = state.cells
    assert cell.status is CellStatus.DONE
    assert not os.path.exists(group_of(own_scratch.device))
    assert not os.path.exists(instance_path(tracefs, state.request.run_id))
    wrote, cold = figures(cell)
    assert {metric for typical, peak, _ in BDI_FIELDS for metric in (typical, peak)} <= set(wrote)
    assert wrote[Metric.BDI_DIRTIED_MAX] >= wrote[Metric.BDI_DIRTIED] > 0
    assert wrote[Metric.QUEUE_DEPTH_MAX] >= wrote[Metric.QUEUE_DEPTH] >= 0
    # Four files that are synced after every write: the head goes to and fro between them and the journal.
    assert wrote[Metric.WRITE_SEEK] > 0
    assert wrote[Metric.WRITES_IN_ORDER] < 100
    assert wrote[Metric.TRACE_LOST] == cold[Metric.TRACE_LOST] == 0
    assert wrote[Metric.WRITEBACK_STARTS] > 0
    assert wrote[Metric.NR_PAGES_NEGATIVE] == 0
    assert not {Metric.WRITEBACK_STARTS, Metric.BDI_WRITEBACK, Metric.WRITE_SEEK} & set(cold)
    # A file of more than four extents has their list in a block of its own. Others may drop the caches meanwhile.
    extents = [one.value for step in cell.steps for one in step.measurements if one.metric is Metric.EXTENTS_MEDIAN]
    assert extents[0] > 4
    assert cold[Metric.READ_BYTES] == 32 * MIB
    assert cold[Metric.READ_BEYOND] == cold[Metric.DEVICE_READ] - 32 * MIB >= 2 * 1024
    assert 1 <= cold[Metric.SMALL_READS] <= 64
    assert cold[Metric.META_READ] >= 1024 * cold[Metric.META_READS] >= 0
    of_writes, _ = sorted(pathlib.Path(folder.raw).glob("*-writeback"))
    # Each event of the writes has its line: seconds since the load's start, nr_pages, reason.
    _, _, events = of_writes.read_text().partition("writeback_start, the first ")
    told = re.findall(r"(?m)^ +(\d+\.\d{6}) +(-?\d+) (\w+)$", events)
    assert len(told) == wrote[Metric.WRITEBACK_STARTS]
    at_s = [float(one) for one, _, _ in told]
    assert at_s == sorted(at_s)
    assert at_s[0] > 0
    for reason, _ in REASONS:
        assert sum(name == reason for _, _, name in told) == wrote[Metric(f"starts_{reason}")], reason


WRITER = "import sys; sys.stdin.read(1); open(sys.argv[1], 'wb').write(bytes(40 << 20))"


def test_page_cache_of_a_process_in_the_group_stays_below_its_limit(tmp_path):
    path, kernel = limit_file(f"test-{os.getpid()}"), Kernel()
    kernel.write(path, str(16 * MIB))
    try:
        with subprocess.Popen((sys.executable, "-c", WRITER, str(tmp_path / "file")), stdin=subprocess.PIPE) as writer:
            assert join(os.path.dirname(path), writer.pid, "/proc") == 1
            writer.communicate(b"x")
        assert writer.returncode == 0
        peak = next(
            name
            for name in ("memory.max_usage_in_bytes", "memory.peak")
            if os.path.exists(f"{os.path.dirname(path)}/{name}")
        )
        assert 8 * MIB < int(pathlib.Path(f"{os.path.dirname(path)}/{peak}").read_text()) <= 16 * MIB
    finally:
        kernel.write(path, "none")
    assert kernel.value(path) == "none"


def test_cleanup_after_a_killed_engine_removes_its_trace_and_its_memory_cgroup(own_scratch, tmp_path, tracefs):
    runs = str(tmp_path / "runs")
    folder = new_run(SLOW, own_scratch.device, runs)
    start_engine(folder)
    workers = freeze_load(folder)
    trace = instance_path(tracefs, read_state(folder).request.run_id)
    assert os.path.isdir(trace)
    assert pathlib.Path(f"{trace}/events/block/block_rq_issue/enable").read_text().strip() == "1"
    group = group_of(own_scratch.device)
    held = pathlib.Path(f"{group}/cgroup.procs").read_text().split()
    assert {str(pid) for pid in workers} <= set(held)
    os.kill(engine_of(folder), signal.SIGKILL)
    wait_for_end(folder)
    wait_until(lambda: processes_with(folder.path) == [], "its processes end")
    (cleaned,) = clean_up(runs)
    assert f"the trace {os.path.basename(trace)} is removed" in cleaned.did
    assert f"the memory cgroup {group} is removed" in cleaned.did
    assert not os.path.exists(trace)
    assert not os.path.exists(group)
    assert not list(remove_left_trace(read_state(folder).request.run_id, RealExecutor()))
