"""The built-in generator and raw rows on a real device."""

from __future__ import annotations

import json
import os
import queue
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.runner import require_own_commands
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import GeneratorFailed, JournalUnusable
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.load import ThreadState
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind, Write
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellStatus
from fsconsole.model.workload import DataKind, Directories, Layout, Workload, WorkloadKind
from fsconsole.system.block import open_exclusive
from fsconsole.system.mounts import engine_argv
from fsconsole.telemetry.machine import bdi_stats_path
from fsconsole.telemetry.sampler import Sampler
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import BuiltInLoad, prepare_load
from fsconsole.workloads.protocol import load_measurements
from fsconsole.workloads.raw import from_line
from tests.conftest import MakeLoopDevice, Mount, run, wait_until
from tests.loop.runs import assert_nothing_left, fsconsole, new_run, objects, succeed, written

LIMIT_S = 60.0
SIZES = {"ext4": 128 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}
MKFS = {"ext4": ("mkfs.ext4", "-q"), "xfs": ("mkfs.xfs", "-q"), "btrfs": ("mkfs.btrfs", "-q")}


@dataclass(frozen=True)
class Target:
    """A mounted filesystem on a loop device, with the tree in which loads write."""

    device: str
    point: Path
    tree: Path


@pytest.fixture
def make_target(loop_device: MakeLoopDevice, mounted: Mount) -> Callable[..., Target]:
    def make(filesystem: str, size_bytes: int = 0) -> Target:
        device = loop_device(size_bytes or SIZES[filesystem])
        subprocess.run([*MKFS[filesystem], device], check=True, capture_output=True)
        point = mounted(device)
        (point / "tree").mkdir()
        return Target(device, point, point / "tree")

    return make


def workload(threads: int, files: int, file_size_bytes: int, **more: object) -> Workload:
    return Workload(
        "large files",
        WorkloadKind.CREATE,
        threads,
        files,
        file_size_bytes,
        64 * KIB,
        **more,  # type: ignore[arg-type]
    )


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
def test_files_are_as_asked_for_and_the_counters_agree(
    make_target: Callable[..., Target], filesystem: str
) -> None:
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
    assert len(load_measurements(result)) == 6


def test_what_is_written_does_not_compress(make_target: Callable[..., Target], tmp_path: Path) -> None:
    target = make_target("ext4")
    with prepared(target, workload(2, 2, 4 * MIB)) as handle:
        handle.wait_ready()
        handle.go()
        handle.wait()
    data = b"".join(path.read_bytes() for path in files_of(target))
    packed = subprocess.run(["gzip", "-1", "-c"], input=data, check=True, capture_output=True).stdout
    assert len(packed) > len(data)
    blocks = {data[start : start + 4 * KIB] for start in range(0, len(data), 4 * KIB)}
    assert len(blocks) == len(data) // (4 * KIB)


def test_zero_data_is_zero_and_yet_written(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    with prepared(target, workload(1, 1, MIB, data=DataKind.ZERO)) as handle:
        handle.wait_ready()
        handle.go()
        handle.wait()
    (path,) = files_of(target)
    assert not any(path.read_bytes())
    assert path.stat().st_blocks * 512 >= MIB


def test_many_small_files_lie_in_directories_of_the_size_asked_for(
    make_target: Callable[..., Target],
) -> None:
    target = make_target("ext4")
    load = workload(4, 250, 4 * KIB, directories=Directories(Layout.PER_COUNT, 100))
    with prepared(target, load) as handle:
        handle.wait_ready()
        handle.go()
        assert handle.wait().files_done == 250
    counts = [len(list(path.iterdir())) for path in sorted((target.tree / "large-files").iterdir())]
    assert counts == [100, 100, 50]


def test_a_full_filesystem_is_a_result_with_a_reason(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4", 32 * MIB)
    with prepared(target, workload(8, 8, 16 * MIB)) as handle:
        handle.wait_ready()
        handle.go()
        result = handle.wait()
    assert result.failures == "8 of 8 writers stopped: No space left on device"
    assert not result.is_failure
    assert result.written_bytes == sum(path.stat().st_size for path in files_of(target))
    assert result.elapsed_s > 0


def test_a_stop_ends_a_load_that_would_go_on(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    with prepared(target, workload(4, 10**9, 0)) as handle:
        handle.wait_ready()
        handle.go()
        wait_until(lambda: handle.page.read()[0].files_done > 0, "the first file")
        assert not handle.finished(0.0)
        handle.page.request_stop()
        assert handle.finished(LIMIT_S)
        result = handle.wait()
    assert result.stopped
    assert (result.failures, result.is_failure) == ("", False)
    assert result.files_done == len(files_of(target))


def test_a_killed_load_leaves_nothing_that_holds_the_filesystem(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    with prepared(target, workload(4, 10**9, 0)) as handle:
        handle.wait_ready()
        handle.go()
        wait_until(lambda: handle.page.read()[0].files_done > 0, "the first file")
    wait_until(lambda: subprocess.run(["umount", target.point], check=False).returncode == 0, "it is free")


def test_a_generator_that_was_killed_is_told_of(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    with prepared(target, workload(4, 10**9, 0)) as handle:
        handle.wait_ready()
        handle.go()
        wait_until(lambda: handle.page.read()[0].files_done > 0, "the first file")
        handle._running.kill()
        assert handle.finished(LIMIT_S)
        result = handle.wait()
    assert result.is_failure
    assert result.failures == "4 of 4 writers stopped: killed before they were done; it ended with signal 9"
    assert result.last_ended_ns > result.first_started_ns


def test_a_tree_on_another_filesystem_is_refused(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    handle = prepare_load(workload(1, 1, 1), tree=str(target.tree), tree_device=1, hidden=())
    with pytest.raises(GeneratorFailed, match="not on the filesystem that was mounted for it"):
        handle.wait_ready()
    handle.kill()
    assert files_of(target) == []


def test_a_tree_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    handle = prepare_load(workload(1, 1, 1), tree=str(tmp_path / "none"), tree_device=1, hidden=())
    with pytest.raises(GeneratorFailed, match="No such file or directory"):
        handle.wait_ready()
    handle.kill()


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


def sized(streams: int, each: int, block: int = MIB) -> list[str]:
    return ["--streams", str(streams), "--bytes", str(each), "--block", str(block)]


def nonzero_mib(device: str) -> list[int]:
    """Return the numbers of the MiB of a device that hold anything."""
    data = Path(device).read_bytes()
    return [n for n in range(len(data) // MIB) if any(data[n * MIB : (n + 1) * MIB])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with a raw row and a filesystem's on a device that needs consent: what was planned, its folder, the device."""
    directory = tmp_path_factory.mktemp("raw")
    backing_file = directory / "disk"
    backing_file.touch()
    os.truncate(backing_file, 64 * MIB)
    device = run("losetup", "--find", "--show", "--direct-io=on", str(backing_file)).strip()
    try:
        plan, runs = written(directory, PLAN), str(directory / "runs")
        (planned,) = objects(
            " ".join(succeed("plan", plan, "-d", device, "--runs", runs, "--json").split("\n"))
        )
        done = fsconsole("run", plan, "-d", device, "--runs", runs, "--consent", planned["consent"])
        assert done.returncode == 0, done.stderr
        (folder,) = list_runs(runs)
        assert_nothing_left(device, folder)
        yield planned, folder, device
    finally:
        run("losetup", "--detach", device)


def test_a_raw_row_has_its_figures_each_from_the_command_that_was_planned(whole):
    planned, folder, _ = whole
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 2
    raw = state.cells[0]
    executed = [list(command.argv) for step in raw.steps for command in step.commands]
    assert executed == [argv for step in planned["cells"][0]["steps"] for argv in step["commands"]]
    assert len(executed) == 5
    for metric in (
        Metric.RAW_WRITE_1,
        Metric.RAW_WRITE_N,
        Metric.RAW_READ_1,
        Metric.RAW_READ_N,
        Metric.READTEST,
    ):
        assert raw.value(metric) > 0, metric
    assert raw.value(Metric.WRITTEN) == raw.value(Metric.READ_BYTES) == 12 * MIB
    assert raw.value(Metric.DURABLE) == raw.value(Metric.RAW_WRITE_N) <= raw.value(Metric.WRITE)
    assert {step.outcome for step in raw.steps} == {Outcome.DONE}


def test_a_filesystem_stands_against_both_raw_figures(whole):
    _, folder, _ = whole
    raw, ext4 = read_state(folder).cells
    document = json.loads(
        succeed("results", folder.name, "--runs", os.path.dirname(folder.path), "--format", "json")
    )
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


def test_every_stream_writes_its_own_part_of_the_device_and_nothing_else(loop_device):
    device = loop_device(40 * MIB)
    done = stream("write", device, *sized(4, 2 * MIB))
    assert done.returncode == 0, done.stderr
    assert from_line(done.stdout).moved_bytes == 8 * MIB
    assert nonzero_mib(device) == [0, 1, 10, 11, 20, 21, 30, 31]


def test_a_write_ends_with_one_flush_and_a_read_writes_nothing(loop_device):
    device = loop_device(8 * MIB)
    before = flushes(device)
    assert stream("read", device, *sized(2, 4 * MIB)).returncode == 0
    assert flushes(device) == before
    assert nonzero_mib(device) == []
    assert stream("write", device, *sized(2, 4 * MIB)).returncode == 0
    assert flushes(device) == before + 1


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


def test_a_stream_that_fails_in_the_middle_says_so(tmp_path, loop_device):
    device = loop_device(8 * MIB)
    backing_file = Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file").read_text().strip()
    os.truncate(backing_file, MIB)
    done = stream("read", device, *sized(1, 8 * MIB))
    assert done.returncode == 1
    assert done.stderr == f"{device}: Input/output error\n"


def test_what_somebody_else_put_there_meanwhile_stops_the_run_before_a_stream(tmp_path, loop_device):
    device = loop_device(32 * MIB)
    plan, runs = written(tmp_path, PLAN), str(tmp_path / "runs")
    (planned,) = objects(" ".join(succeed("plan", plan, "-d", device, "--runs", runs, "--json").split("\n")))
    run("mkfs.ext4", "-q", device)
    done = fsconsole("run", plan, "-d", device, "--runs", runs, "--consent", planned["consent"])
    assert done.returncode == ExitCode.CONSENT_STALE
    assert "ext4" in run("blkid", "--probe", device)


def test_a_journal_that_asks_for_another_device_is_refused(tmp_path, whole):
    """What an engine executes is what its cell comes to, raw streams and settings included."""
    _, folder, _ = whole
    request = read_state(folder).request
    require_own_commands(request, load_catalog(), folder.journal)

    def forged(**changes):
        cell = request.plan.cells[0]
        steps = tuple(
            replace(step, **changes) if step.kind is StepKind.RAW_WRITE else step for step in cell.steps
        )
        cells = (replace(cell, steps=steps), *request.plan.cells[1:])
        return replace(request, plan=replace(request.plan, cells=cells))

    other = tuple(shlex.split(shlex.join(STREAM) + " write /dev/null --streams 1 --bytes 1 --block 1"))
    for changes in ({"commands": (other,)}, {"writes": (Write("read_ahead", "/etc/passwd", "1"),)}):
        with pytest.raises(JournalUnusable):
            require_own_commands(forged(**changes), load_catalog(), folder.journal)


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
    assert "foreign" in state.reason or "ext4" in state.reason
    assert run("blkid", "--probe", "-s", "LABEL", "-o", "value", device) == "foreign\n"
    kinds = [step.kind for step in state.cells[0].steps if step.outcome is Outcome.DONE]
    assert kinds.count(StepKind.RAW_WRITE) == 1
