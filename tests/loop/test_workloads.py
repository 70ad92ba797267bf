"""Every kind of load in whole runs on ext4: figures, latencies, cold reads, limits, and what ends one early."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from fsconsole.devices import scratch
from fsconsole.engine.steps.load import failure_in_words, require_inodes
from fsconsole.engine.work import StepFailed
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import LatencySeen, WarningKind
from fsconsole.model.metrics import OF_DEVICE, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, StepState
from fsconsole.model.timed import Timed
from fsconsole.model.workload import Directories, Workload, WorkloadKind
from fsconsole.results.blocks import blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import BuiltInLoad, prepare_load
from fsconsole.workloads.protocol import LoadResult
from fsconsole.workloads.tree import SourceFiles
from tests.conftest import MakeLoopDevice, Mount
from tests.conftest import run as program
from tests.loop.runs import carry_out

HEAD = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4" }]
"""
NO_CHECK = "after = { check = false, delete = 'none' }\n"
# Of STAT so many that it is not over within a tick of /proc/stat: such a load has no figure of CPU.
EVERY_KIND = (
    HEAD
    + """
workload = [
    { name = "files", kind = "create", threads = 4, files = 40, file_size = ["4KiB", "256KiB"], block_size = "4KiB", directories = "per-thread", fsync = 100 },
    { name = "others", kind = "create", threads = 2, file_size = "4MiB", data = 0.5, fsync = "each-file", sync_call = "fdatasync" },
    { name = "cold read", kind = "read", cold = true, threads = 4, of = "files", block_size = "4KiB" },
    { kind = "append", threads = 4, of = "files", file_size = "64KiB", fsync = "end" },
    { kind = "random-read", threads = 2, block_size = "4KiB", direct = true },
    { kind = "random-write", threads = 2, block_size = "4KiB" },
    { kind = "stat", threads = 2, of = "files", files = 50000 },
    { kind = "mix", of = "files", threads = 4, weights = { read = 3, create = 2, delete = 1, stat = 1 }, file_size = "16KiB", block_size = "4KiB", files = 200 },
    { kind = "delete", of = "others", threads = 2 },
]
after = { delete = "built-in" }
"""
)
FILES, OTHERS, COLD_READ, APPEND, RANDOM_READ, RANDOM_WRITE, STAT, MIX, DELETE = range(9)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    made = scratch.create(128 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture(scope="module")
def every_kind(device: str, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    done, folder = carry_out(EVERY_KIND, device, tmp_path_factory.mktemp("every"))
    assert done.returncode == 0, done.stderr
    return folder


def cell_of(folder: RunFolder) -> CellState:
    (cell,) = read_state(folder).cells
    return cell


def step_of(folder: RunFolder, kind: StepKind, workload: int) -> StepState:
    state = read_state(folder)
    planned = state.request.plan.cells[0].steps
    (step,) = [step for step in state.cells[0].steps if step.kind is kind and planned[step.number].workload == workload]
    return step


def figures(folder: RunFolder, workload: int, *kinds: StepKind) -> dict[Metric, float]:
    steps = [step_of(folder, kind, workload) for kind in kinds or (StepKind.WORKLOAD,)]
    return {figure.metric: figure.value for step in steps for figure in step.measurements}


def latencies(folder: RunFolder, workload: int) -> dict[Timed, LatencySeen]:
    step = step_of(folder, StepKind.WORKLOAD, workload)
    seen = JournalReader(folder.journal).read_since(Cursor()).observations
    return {one.operation: one for one in seen if isinstance(one, LatencySeen) and one.step == step.number}


def test_every_kind_of_load_is_carried_out(every_kind: RunFolder) -> None:
    cell = cell_of(every_kind)
    assert (cell.status, cell.reason) == (CellStatus.DONE, "")
    wanted = {FILES: 40, OTHERS: 2, COLD_READ: 40, APPEND: 40, RANDOM_READ: 2, RANDOM_WRITE: 2, DELETE: 2}
    wanted |= {STAT: 50000, MIX: 200}
    for workload, files in wanted.items():
        of = figures(every_kind, workload)
        assert of[Metric.FILES_PER_S] * of[Metric.LAST_DONE] == pytest.approx(files), workload


def test_what_was_written_is_what_is_read_back(every_kind: RunFolder) -> None:
    assert figures(every_kind, COLD_READ)[Metric.READ_BYTES] == figures(every_kind, FILES)[Metric.WRITTEN]
    assert figures(every_kind, RANDOM_READ)[Metric.READ_BYTES] == 8 * MIB
    assert figures(every_kind, RANDOM_WRITE)[Metric.WRITTEN] == 8 * MIB
    assert figures(every_kind, APPEND)[Metric.WRITTEN] == 40 * 64 * KIB
    assert not {Metric.READ, Metric.WRITE} & set(figures(every_kind, STAT))


def test_a_load_that_changes_nothing_has_its_cpu_figures_without_a_drain(every_kind: RunFolder) -> None:
    for workload in (COLD_READ, RANDOM_READ, STAT):
        of = figures(every_kind, workload)
        assert {Metric.CPU_GENERATOR, Metric.OBSERVER, Metric.LATENCY_MEAN} <= set(of)
        # The cold read of 5 MiB may be over within a tick.
        assert Metric.CPU in of or workload == COLD_READ
    assert {Metric.READ, Metric.CPU_PER_GIB} <= set(figures(every_kind, COLD_READ))
    drained = figures(every_kind, APPEND, StepKind.WORKLOAD, StepKind.DRAIN)
    assert {Metric.DURABLE, Metric.CPU, Metric.LATENCY_P99, Metric.WRITE} <= set(drained)


def test_latencies_of_every_operation_are_journalled_one_for_each_call(every_kind: RunFolder) -> None:
    made = latencies(every_kind, FILES)
    assert set(made) == {Timed.CREATE, Timed.WRITE, Timed.FSYNC}
    assert made[Timed.CREATE].count == 40
    assert made[Timed.WRITE].count >= figures(every_kind, FILES)[Metric.WRITTEN] / (4 * KIB)
    assert latencies(every_kind, RANDOM_READ)[Timed.RANDOM_READ].count == 8 * MIB / (4 * KIB)
    assert latencies(every_kind, STAT)[Timed.STAT].count == 50000
    assert set(latencies(every_kind, MIX)) == {
        Timed.READ, Timed.CREATE, Timed.WRITE, Timed.DELETE, Timed.STAT,
    }  # fmt: skip
    for workload in range(9):
        for latency in latencies(every_kind, workload).values():
            assert 0 < latency.max_ns <= latency.sum_ns


def test_latency_figures_rise_with_the_percentile(every_kind: RunFolder) -> None:
    for workload in (FILES, APPEND, RANDOM_WRITE, DELETE):
        of = figures(every_kind, workload, StepKind.DRAIN)
        rising = [of[metric] for metric in (Metric.LATENCY_P50, Metric.LATENCY_P95, Metric.LATENCY_P99)]
        assert 0 < rising[0] <= rising[1] <= rising[2] <= of[Metric.LATENCY_MAX]
        assert of[Metric.OVER_10_S] == of[Metric.OVER_2_S] == 0 or of[Metric.LATENCY_MAX] > 2000


def test_syncs_of_every_load_that_asks_for_them_are_columns_by_themselves(every_kind: RunFolder) -> None:
    for workload, call in ((FILES, Timed.FSYNC), (OTHERS, Timed.FDATASYNC), (APPEND, Timed.FSYNC)):
        of, seen = figures(every_kind, workload, StepKind.DRAIN), latencies(every_kind, workload)[call]
        assert of[Metric.FSYNC_MEAN] == pytest.approx(seen.sum_ns / seen.count / 1e6)
        assert 0 < of[Metric.FSYNC_P50] <= of[Metric.FSYNC_P99] <= of[Metric.FSYNC_MAX] == seen.max_ns / 1e6
    assert latencies(every_kind, OTHERS)[Timed.FDATASYNC].count == 2
    assert latencies(every_kind, APPEND)[Timed.FSYNC].count == 40
    # A write's time has the sync after it.
    made = latencies(every_kind, FILES)
    assert made[Timed.WRITE].sum_ns > made[Timed.FSYNC].sum_ns
    state = read_state(every_kind)
    shown = {metric for block in blocks_of(state, build_grid(state)) for metric in block.columns}
    assert {Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99, Metric.FSYNC_MAX} < shown


def test_operations_are_counted_and_those_of_a_mix_by_their_kind(every_kind: RunFolder) -> None:
    for workload, operations in ((RANDOM_READ, 8 * MIB / (4 * KIB)), (STAT, 50000), (DELETE, 2)):
        of = figures(every_kind, workload)
        assert of[Metric.OPS_PER_S] * of[Metric.LAST_DONE] == pytest.approx(operations), workload
    mixed = figures(every_kind, MIX, StepKind.WORKLOAD, StepKind.DRAIN)
    for kind, seen in latencies(every_kind, MIX).items():
        assert mixed[Metric(f"{kind.value}_ops_per_s")] * mixed[Metric.LAST_DONE] == pytest.approx(seen.count)
        assert mixed[Metric(f"{kind.value}_mean")] == pytest.approx(seen.sum_ns / seen.count / 1e6)
        assert mixed[Metric(f"{kind.value}_max")] == seen.max_ns / 1e6
    assert Metric.LATENCY_MEAN not in mixed


def test_extents_are_those_of_each_workloads_own_files(every_kind: RunFolder) -> None:
    assert figures(every_kind, FILES, StepKind.EXTENTS)[Metric.FILES_MAPPED] <= 40
    assert figures(every_kind, OTHERS, StepKind.EXTENTS)[Metric.FILES_MAPPED] == 0, "they were deleted"
    assert figures(every_kind, MIX, StepKind.EXTENTS)[Metric.FILES_MAPPED] > 0


def test_a_cold_load_comes_after_its_filesystem_was_unmounted_synced_and_mounted(
    every_kind: RunFolder,
) -> None:
    step = step_of(every_kind, StepKind.COLD, COLD_READ)
    assert [command.argv[0] for command in step.commands] == ["umount", "sync", "mount"]
    numbers = [
        step_of(every_kind, kind, COLD_READ).number for kind in (StepKind.QUIESCE, StepKind.COLD, StepKind.WORKLOAD)
    ]
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    assert step_of(every_kind, StepKind.DRAIN, OTHERS).number < numbers[0]


def test_the_built_in_delete_removes_the_tree_and_is_timed(every_kind: RunFolder) -> None:
    (delete,) = [step for step in cell_of(every_kind).steps if step.kind is StepKind.DELETE]
    assert delete.commands == ()
    assert {figure.metric for figure in delete.measurements} - OF_DEVICE == {
        Metric.DELETE, Metric.DELETE_USER, Metric.DELETE_SYSTEM,
    }  # fmt: skip


def read_sectors(device: str) -> int:
    """Return what was read from a device so far (Documentation/block/stat.rst)."""
    return int(pathlib.Path(f"/sys/block/{os.path.basename(device)}/stat").read_text().split()[2])


def test_a_cold_read_comes_from_the_device_and_a_hot_one_does_not(device: str, tmp_path: pathlib.Path) -> None:
    sectors: dict[str, int] = {}
    # A hot file's pages are given up when another test's run drops the caches, or by the kernel itself (DAMON).
    for attempt in ("cold", "hot", "hot again", "hot once more"):
        is_cold = attempt == "cold"
        (tmp_path / attempt).mkdir()
        before = read_sectors(device)
        read = f"kind = 'read', threads = 2, cold = {str(is_cold).lower()}"
        plan = of_loads("kind = 'create', threads = 2, file_size = '16MiB'", read)
        done, folder = carry_out(plan, device, tmp_path / attempt)
        assert done.returncode == 0, done.stderr
        sectors[attempt] = read_sectors(device) - before
        warned = {w.kind for w in cell_of(folder).warnings if "read" in w.reason}
        # Of 32 MiB; what the gate reads is the same in both.
        spared_bytes = (sectors["cold"] - sectors[attempt]) * 512
        if not is_cold and WarningKind.CACHED in warned and spared_bytes >= 20 * MIB:
            return
        assert not is_cold or WarningKind.CACHED not in warned
    pytest.fail(f"a hot read comes from the device: {sectors}")


SLOW_FILE = "kind = 'create', threads = 2, file_size = '64KiB', block_size = '1B', duration = '0.01s'"
"""65,536 calls for each file: far longer than its time limit."""


@pytest.mark.parametrize(
    ("end", "files"), [("between-operations", 2), pytest.param("at-once", 0, marks=pytest.mark.soak)]
)
def test_a_time_limit_ends_after_the_file_at_hand_or_in_the_middle_of_it(
    device: str, tmp_path: pathlib.Path, end: str, files: int
) -> None:
    plan = of_loads(f"{SLOW_FILE}, end = '{end}'", "kind = 'read', threads = 2")
    done, folder = carry_out(plan, device, tmp_path)
    assert done.returncode == 0, done.stderr
    made, read = figures(folder, 0), figures(folder, 1)
    assert made[Metric.FILES_PER_S] * made[Metric.LAST_DONE] == pytest.approx(files)
    assert (made[Metric.WRITTEN] == 2 * 64 * KIB) is (end == "between-operations")
    # Files that were cut short are there, and are read back.
    assert read[Metric.READ_BYTES] == made[Metric.WRITTEN]


def test_too_few_inodes_are_told_before_the_load_where_the_plan_could_not_count_them(tmp_path: pathlib.Path) -> None:
    load = Workload("many", WorkloadKind.CREATE, 2, 500, 4 * KIB, 4 * KIB)
    program("mount", "-t", "tmpfs", "-o", "nr_inodes=100", "tmpfs", str(tmp_path))
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(StepFailed, match=r"'many' makes 500 files .* free inodes \(df -i\)"):
            require_inodes(load, root)
        require_inodes(replace(load, files=50), root)
    finally:
        os.close(root)
        program("umount", str(tmp_path))


def test_what_a_generator_said_before_it_failed_at_its_barrier_is_kept(
    device: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").write_text("#!/bin/sh\necho first words >&2\necho last words >&2\nexit 3\n")
    (tmp_path / "bin" / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    done, folder = carry_out(of_loads("kind = 'create', file_size = '64KiB'"), device, tmp_path)
    assert done.returncode == 3
    command, *_ = step_of(folder, StepKind.WORKLOAD, 0).commands
    assert command.exit_code == 3
    assert (pathlib.Path(folder.path) / command.output).read_text() == "first words\nlast words\n"
    assert "last words" in cell_of(folder).reason


@contextmanager
def prepared(tree: pathlib.Path, load: Workload, source: SourceFiles | None = None) -> Iterator[BuiltInLoad]:
    """Give a load that waits for the word."""
    handle = prepare_load(load, tree=str(tree), tree_device=tree.stat().st_dev, hidden=(), source=source)
    try:
        handle.wait_ready()
        yield handle
    finally:
        handle.kill()


def loaded(tree: pathlib.Path, workload: Workload, source: SourceFiles | None = None) -> LoadResult:
    with prepared(tree, workload, source) as load:
        load.go()
        return load.wait()


def program_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:
        # It has ended, and nobody has waited for it yet.
        return ""


def python_below(pid: int) -> list[int]:
    """Return the processes below one that run Python."""
    below = [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    python = os.path.realpath(sys.executable)
    own = [child for child in below if program_of(child) == python]
    return own + [found for child in below if program_of(child) for found in python_below(child)]


def test_each_writer_is_a_process_and_beyond_128_a_thread_of_one(tmp_path: pathlib.Path) -> None:
    for writers, processes in ((1, 1), (16, 16), (128, 128), (150, 128)):
        before = len(python_below(os.getpid()))
        with prepared(tmp_path, Workload("files", WorkloadKind.CREATE, writers, writers, 100, 100)) as load:
            # With the host itself.
            assert len(python_below(os.getpid())) - before == processes + 1
            load.go()
            assert load.wait().files_done == writers


def test_readers_of_large_blocks_share_one_buffer(tmp_path: pathlib.Path) -> None:
    (tmp_path / "files").mkdir()
    for number in range(4):
        (tmp_path / "files" / f"f{number:08d}").write_bytes(b"x" * 3 * MIB)
    source = SourceFiles("files", Directories(), (1, 1, 1, 1))
    for block, is_shared in ((2 * MIB, True), (MIB, False)):
        before = set(python_below(os.getpid()))
        with prepared(tmp_path, Workload("read", WorkloadKind.READ, 4, 0, 0, block), source) as load:
            workers = set(python_below(os.getpid())) - before
            maps = [pathlib.Path(f"/proc/{pid}/maps").read_text() for pid in workers]
            # What memory is called that forks share (man 5 proc_pid_maps).
            assert ["/dev/zero (deleted)" in text for text in maps] == [is_shared] * 5
            load.go()
            result = load.wait()
        assert (result.read_bytes, result.failures) == (12 * MIB, "")


def test_a_hot_read_touches_no_device(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    device = loop_device(32 * MIB)
    program("mkfs.ext4", "-q", device)
    tree = mounted(device)
    create = Workload("files", WorkloadKind.CREATE, 2, 4, MIB, 64 * KIB)
    assert loaded(tree, create).directory == "files"
    os.sync()
    read = Workload("read", WorkloadKind.READ, 2, 0, 0, 64 * KIB)
    spent = []
    # Again where another test's run has dropped the caches meanwhile.
    while 0 not in spent and len(spent) < 5:
        before = read_sectors(device)
        result = loaded(tree, read, SourceFiles("files", Directories(), (2, 2)))
        assert (result.read_bytes, result.written_bytes, result.failures) == (4 * MIB, 0, "")
        spent.append(read_sectors(device) - before)
    assert 0 in spent


def test_direct_io_that_the_device_refuses_says_so(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    device = loop_device(32 * MIB, sector_bytes=4096)
    program("mkfs.ext4", "-q", device)
    create = Workload("files", WorkloadKind.CREATE, 2, 2, MIB, 512, direct=True)
    result = loaded(mounted(device), create)
    assert result.is_failure
    assert failure_in_words(create, result) == (
        "2 of 2 writers stopped: Invalid argument"
        " (direct I/O in blocks of 512B is refused by the filesystem or its device)"
    )


def of_loads(*loads: str, head: str = HEAD) -> str:
    """Return a plan with these workloads, each the lines of its inline table, and as little beside as can be."""
    return f"{head}workload = [{', '.join(f'{{ {load} }}' for load in loads)}]\n{NO_CHECK}"
