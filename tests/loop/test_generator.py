"""The built-in generator and raw rows on a real device."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.load import ThreadState
from fsconsole.model.metrics import PILOTS, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellStatus, raw_depths
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.raw import depth_of
from fsconsole.system.block import open_exclusive
from fsconsole.system.mounts import engine_argv
from fsconsole.telemetry.machine import bdi_stats_path
from fsconsole.telemetry.sampler import Sampler
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import BuiltInLoad, prepare_load
from fsconsole.workloads.protocol import load_measurements
from fsconsole.workloads.raw import from_line
from tests.conftest import MakeLoopDevice, Mount, run, wait_until
from tests.loop.gate_cases import file_below, loop_over, sparse
from tests.loop.runs import assert_nothing_left, new_run, succeed, written

LIMIT_S = 60.0
SIZES = {"ext4": 128 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}


@dataclass(frozen=True)
class Target:
    """A mounted filesystem on a loop device, with the tree in which loads write."""

    device: str
    point: Path
    tree: Path


@pytest.fixture
def make_target(loop_device: MakeLoopDevice, mounted: Mount) -> Callable[[str], Target]:
    def make(filesystem: str) -> Target:
        device = loop_device(SIZES[filesystem])
        run(f"mkfs.{filesystem}", "-q", device)
        point = mounted(device)
        (point / "tree").mkdir()
        return Target(device, point, point / "tree")

    return make


def workload(threads: int, files: int, file_size_bytes: int) -> Workload:
    return Workload("large files", WorkloadKind.CREATE, threads, files, file_size_bytes, 64 * KIB)


@contextmanager
def prepared(target: Target, load: Workload) -> Iterator[BuiltInLoad]:
    handle = prepare_load(
        load, tree=str(target.tree), tree_device=target.tree.stat().st_dev, hidden=(str(target.point.parent),)
    )
    try:
        yield handle
    finally:
        handle.kill()


def files_of(target: Target) -> list[Path]:
    os.sync()
    return sorted(path for path in target.tree.rglob("*") if path.is_file())


@pytest.mark.parametrize("filesystem", SIZES)
def test_files_are_as_asked_for_and_the_counters_agree(make_target: Callable[..., Target], filesystem: str) -> None:
    target = make_target(filesystem)
    size_bytes = MIB + 777
    with prepared(target, workload(16, 32, size_bytes)) as handle:
        handle.wait_ready()
        assert {thread.state for thread in handle.page.read()} == {ThreadState.READY}
        assert files_of(target) == []
        handle.go()
        result = handle.wait()
        assert handle.finished(0.0)
        ended = handle.end()
    assert (ended.exit_code, ended.stderr) == (0, b"")
    found = [path.stat() for path in files_of(target)]
    assert [stat.st_size for stat in found] == [size_bytes] * 32
    assert all(stat.st_blocks * 512 >= size_bytes for stat in found), "a file is sparse"
    assert result.written_bytes == sum(stat.st_size for stat in found)
    assert (result.files_done, result.failures, result.stopped, result.is_failure) == (32, "", False, False)
    assert result.is_whole
    assert 0 < result.first_started_ns < result.first_ended_ns <= result.last_ended_ns
    assert len(load_measurements(result)) == 10


@pytest.mark.parametrize("filesystem", SIZES)
def test_the_sampler_sees_a_load_its_device_and_its_writeback(
    make_target: Callable[..., Target], mounted: Mount, filesystem: str
) -> None:
    target = make_target(filesystem)
    samples: queue.Queue[Sample] = queue.Queue()
    sampler = Sampler(period_s=0.05, sink=samples.put)
    sampler.gauges.devices.watch(os.path.basename(target.device))
    debug = mounted("debugfs", filesystem="debugfs")
    sampler.gauges.watch_bdi(bdi_stats_path(str(debug), str(target.point)))
    sampler.reset_peak_dirty()
    with prepared(target, workload(4, 4, 8 * MIB)) as handle:
        handle.wait_ready()
        sampler.gauges.watch_load(handle.page)
        sampler.start()
        try:
            # The load may be over between two samples, of which one must be from before it.
            taken = [samples.get(timeout=LIMIT_S)]
            handle.go()
            result = handle.wait()
            # What it wrote is dirty until it is synced.
            taken += [samples.get(timeout=LIMIT_S) for _ in range(4)]
            os.sync()
            taken += [samples.get(timeout=LIMIT_S) for _ in range(10)]
        finally:
            sampler.gauges.watch_load(None)
            sampler.stop()
    last = taken[-1]
    assert last.load is not None
    assert (last.load.bytes_done, last.load.threads_running) == (result.written_bytes, 0)
    assert any(sample.load.bytes_s > 0 for sample in taken if sample.load)
    assert last.devices[0].name == os.path.basename(target.device)
    assert last.bdi is not None
    assert last.bdi.written_bytes >= result.written_bytes
    assert sampler.peak_dirty_bytes() > 0
    assert not [reason for reason, _ in sampler.gauges.problems() if "pressure" not in reason]


PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
raw = true
variant = [{ type = "ext4" }]
workload = [{ name = "few", kind = "create", threads = 4, file_size = "3MiB" }]
after = { delete = "none" }
"""
STREAM = (sys.executable, "-I", "-m", "fsconsole.workloads.raw")


def stream(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STREAM, *words], check=False, capture_output=True, text=True)


def sized(depth: int, size: int, block: int = MIB) -> list[str]:
    return ["--depth", str(depth), "--bytes", str(size), "--block", str(block)]


def nonzero_mib(device: str) -> list[int]:
    """Return the numbers of the MiB of a device that hold anything."""
    data = Path(device).read_bytes()
    return [n for n in range(len(data) // MIB) if any(data[n * MIB : (n + 1) * MIB])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with a raw row and a filesystem's on a device that needs consent: what was planned, its folder, the device."""
    directory = tmp_path_factory.mktemp("raw")
    with loop_over(sparse(directory / "disk"), "--direct-io=on") as device:
        words = (written(directory, PLAN), "-d", device, "--runs", str(directory / "runs"))
        planned = json.loads(succeed("plan", *words, "--json"))
        succeed("run", *words, "--consent", planned["consent"])
        (folder,) = list_runs(str(directory / "runs"))
        assert_nothing_left(device, folder)
        yield planned, folder, device


def test_a_tree_on_another_filesystem_or_nowhere_is_refused(make_target: Callable[..., Target], tmp_path: Path) -> None:
    target = make_target("ext4")
    for tree, why in (
        (target.tree, "not on the filesystem that was mounted for it"),
        (tmp_path / "none", "No such file or directory"),
    ):
        handle = prepare_load(workload(1, 1, 1), tree=str(tree), tree_device=1, hidden=())
        with pytest.raises(GeneratorFailed, match=why):
            handle.wait_ready()
        handle.kill()
    assert files_of(target) == []


def test_a_raw_row_has_its_figures_each_from_the_command_that_was_planned(whole):
    planned, folder, _ = whole
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 2
    raw = state.cells[0]
    wanted, executed = (
        planned["cells"][0]["steps"],
        {step.number: [[*c.argv] for c in step.commands] for step in raw.steps},
    )
    (pilot,) = state.pilots
    of_pilot = {figure.metric: figure.value for figure in pilot.measurements}
    assert set(of_pilot) == set(PILOTS)
    assert min(of_pilot.values()) > 0
    chosen = {
        act: max((1, 4, 16, 32), key=lambda depth, act=act: of_pilot[Metric(f"raw_pilot_{act}_{depth}")])
        for act in ("write", "read")
    }
    assert raw_depths(pilot) == chosen
    depths = [
        (step["kind"], depth_of(argv)) for number, step in enumerate(wanted) for argv in executed[number]
        if step["kind"].startswith("raw-") and argv in step["commands"]
    ]  # fmt: skip
    assert depths == [
        *(("raw-pilot", depth) for depth in (1, 4, 16, 32) * 2),
        ("raw-write", 1), ("raw-write", chosen["write"]), ("raw-read", 1), ("raw-read", chosen["read"]),
    ]  # fmt: skip
    assert sum(map(len, executed.values())) == len(depths) + 1
    for metric in (
        Metric.RAW_WRITE_1,
        Metric.RAW_WRITE_N,
        Metric.RAW_READ_1,
        Metric.RAW_READ_N,
        Metric.READTEST,
    ):
        assert raw.value(metric) > 0, metric
    # The device was full, and as much had been read, before ten seconds were over.
    assert raw.value(Metric.WRITTEN) == raw.value(Metric.READ_BYTES) == 64 * MIB
    assert raw.value(Metric.DURABLE) == raw.value(Metric.RAW_WRITE_N) <= raw.value(Metric.WRITE)
    assert {step.outcome for step in raw.steps} == {Outcome.DONE}


def test_a_filesystem_stands_against_both_raw_figures(whole):
    _, folder, _ = whole
    raw, ext4 = read_state(folder).cells
    document = json.loads(succeed("results", folder.name, "--runs", os.path.dirname(folder.path), "--format", "json"))
    (row,) = [row for row in document["rows"] if row["name"] == "ext4"]
    for name, metric in (("of_raw_1", Metric.RAW_WRITE_1), ("of_raw_n", Metric.RAW_WRITE_N)):
        share = 100 * ext4.value(Metric.DURABLE) / raw.value(metric)
        assert row["figures"][name]["median"] == pytest.approx(share)
    table = succeed("results", folder.name, "--runs", os.path.dirname(folder.path))
    assert "% raw 1" in table
    assert "% raw N" in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_planned_command_can_be_repeated_by_hand(whole):
    planned, _, device = whole
    steps = {step["kind"]: step["commands"] for step in planned["cells"][0]["steps"]}
    report = from_line(run(*steps["raw-write"][0]))
    assert report.moved_bytes > 0
    assert json.loads(run(*steps["readtest"][0]))["device"] == device


def test_a_stream_writes_from_the_devices_beginning_and_no_more_than_its_bytes(loop_device):
    device = loop_device(40 * MIB)
    done = stream("write", device, *sized(4, 8 * MIB))
    assert done.returncode == 0, done.stderr
    assert from_line(done.stdout).moved_bytes == 8 * MIB
    assert nonzero_mib(device) == [*range(8)]


def test_a_write_ends_with_one_flush_and_a_read_writes_nothing(loop_device):
    device = loop_device(8 * MIB)
    before = flushes(device)
    assert stream("read", device, *sized(2, 4 * MIB)).returncode == 0
    assert flushes(device) == before
    assert nonzero_mib(device) == []
    # With time left it goes on to the end of the device; a read goes over the same 4 MiB again.
    for act, flushed in (("write", 1), ("read", 1)):
        done = stream(act, device, *sized(2, 4 * MIB), "--seconds", "60")
        assert from_line(done.stdout).moved_bytes == 8 * MIB
        assert flushes(device) == before + flushed
    assert nonzero_mib(device) == [*range(8)]


def flushes(device: str) -> int:
    """Return the flushes that a device has completed (Documentation/block/stat.rst, the 16th field)."""
    return int(Path(f"/sys/block/{os.path.basename(device)}/stat").read_text().split()[15])


def test_a_claimed_or_a_mounted_device_is_left_as_it_is(loop_device, mounted):
    device = loop_device(8 * MIB)
    held = open_exclusive(device)
    try:
        done = stream("write", device, *sized(1, MIB))
    finally:
        os.close(held)
    assert (done.returncode, "busy" in done.stderr) == (1, True)
    assert nonzero_mib(device) == []
    run("mkfs.ext4", "-q", device)
    mounted(device)
    assert stream("write", device, *sized(1, MIB)).returncode == 1


def test_what_a_stream_writes_is_random_and_no_page_comes_twice(loop_device):
    device = loop_device(40 * MIB)
    assert stream("write", device, *sized(16, 40 * MIB)).returncode == 0
    data = Path(device).read_bytes()
    assert len({data[place : place + 4096] for place in range(0, len(data), 4096)}) == len(data) // 4096
    assert len(zlib.compress(data[: 4 * MIB], 1)) > 4 * MIB


def test_processes_of_a_killed_stream_go_no_further(loop_device):
    device = loop_device(2**40)
    argv = [*STREAM, "read", device, *sized(4, 2**40), "--seconds", "600"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as parent:
        try:
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            wait_until(lambda: len(children.read_text().split()) == 4, "the processes have begun")
            parent.kill()
            # Each has the pipes open: these end with the last of them.
            assert parent.communicate(timeout=LIMIT_S) == (b"", b"")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


def test_a_stream_that_fails_in_the_middle_says_so(loop_device):
    device = loop_device(8 * MIB)
    os.truncate(file_below(device), MIB)
    done = stream("read", device, *sized(1, 8 * MIB))
    assert (done.returncode, done.stderr) == (1, f"{device}: Input/output error\n")


DISTURBED = """
import subprocess, sys
from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.model.plan import StepKind
quiesce, calls = HANDLERS[StepKind.QUIESCE], []
def disturbed(work, step):
    calls.append(step)
    if len(calls) == 2:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "foreign", work.cell.target], check=True)
    return quiesce(work, step)
HANDLERS[StepKind.QUIESCE] = disturbed
sys.exit(runner.main(sys.argv[1:]))
"""


def test_a_filesystem_that_appears_between_two_streams_stops_the_run(tmp_path, loop_device):
    device = loop_device(32 * MIB)
    folder = new_run(PLAN, device, str(tmp_path / "runs"))
    argv = engine_argv((sys.executable, "-c", DISTURBED, folder.path))
    subprocess.run(argv, check=False, capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True)
    state = read_state(folder)
    assert state.outcome is Outcome.FAILED
    assert "somebody wrote to it" in state.reason
    assert run("blkid", "--probe", "-s", "LABEL", "-o", "value", device) == "foreign\n"
    kinds = [step.kind for step in state.cells[0].steps if step.outcome is Outcome.DONE]
    assert kinds.count(StepKind.RAW_WRITE) == 1
