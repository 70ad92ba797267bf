"""The built-in generator and the sampler on real filesystems."""

from __future__ import annotations

import os
import queue
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.load import ThreadState
from fsconsole.model.sample import Sample
from fsconsole.model.workload import DataKind, Directories, Layout, Workload, WorkloadKind
from fsconsole.telemetry.machine import bdi_stats_path
from fsconsole.telemetry.sampler import Sampler
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import BuiltInGenerator, BuiltInLoad
from fsconsole.workloads.protocol import load_measurements
from tests.conftest import MakeLoopDevice, Mount, wait_until

pytestmark = pytest.mark.root

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
    handle = BuiltInGenerator().prepare(
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
        assert {thread.state for thread in handle.counters()} == {ThreadState.READY}
        assert files_of(target) == []
        handle.go()
        result = handle.wait()
        assert handle.finished(0.0)
        assert handle.wait() is result
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
        wait_until(lambda: handle.counters()[0].files_done > 0, "the first file")
        assert not handle.finished(0.0)
        handle.request_stop()
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
        wait_until(lambda: handle.counters()[0].files_done > 0, "the first file")
    wait_until(lambda: subprocess.run(["umount", target.point], check=False).returncode == 0, "it is free")


def test_a_generator_that_was_killed_is_told_of(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    with prepared(target, workload(4, 10**9, 0)) as handle:
        handle.wait_ready()
        handle.go()
        wait_until(lambda: handle.counters()[0].files_done > 0, "the first file")
        handle._running.kill()
        assert handle.finished(LIMIT_S)
        result = handle.wait()
    assert result.is_failure
    assert result.failures == "4 of 4 writers stopped: killed before they were done; it ended with signal 9"
    assert result.last_ended_ns > result.first_started_ns


def test_a_tree_on_another_filesystem_is_refused(make_target: Callable[..., Target]) -> None:
    target = make_target("ext4")
    generator = BuiltInGenerator()
    handle = generator.prepare(workload(1, 1, 1), tree=str(target.tree), tree_device=1, hidden=())
    with pytest.raises(GeneratorFailed, match="not on the filesystem that was mounted for it"):
        handle.wait_ready()
    handle.kill()
    assert files_of(target) == []


def test_a_tree_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    handle = BuiltInGenerator().prepare(
        workload(1, 1, 1), tree=str(tmp_path / "none"), tree_device=1, hidden=()
    )
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
    sampler.gauges.watch_device(os.path.basename(target.device))
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
