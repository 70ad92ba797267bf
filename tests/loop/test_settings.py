"""Settings of devices and of the kernel, options in effect and features read back."""

from __future__ import annotations

import os
import pathlib
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.devices.settings import MACHINE_LOCK, Kernel
from fsconsole.errors import ExitCode
from fsconsole.inspect.extents import space_measurements
from fsconsole.inspect.features import parse_mkfs_features, read_mount_options
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.results.grid import build_grid
from fsconsole.system.locks import FileLock
from fsconsole.text import KIB, MIB
from tests.conftest import run, wait_until
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import (
    agree_again,
    assert_nothing_left,
    carry_out,
    clean_up,
    engine_of,
    freeze_load,
    fsconsole,
    generator_of,
    kill_engines,
    new_run,
    processes_with,
    settings_of,
    succeed,
    wait_for_end,
    written,
)

KERNEL = Kernel()
LIMITS = "/proc/sys/vm/dirty_bytes"

AXES = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = { read_ahead = ["64KiB", "512KiB"], scheduler = ["none", "mq-deadline"], dirty_bytes = "48MiB" }
variant = [{ type = "ext4" }]
workload = [
    { name = "few", kind = "create", threads = 2, file_size = "256KiB", with = { read_ahead = "4MiB" } },
    { name = "more", kind = "create", threads = 2, file_size = "256KiB" },
]
after = { check = false, delete = "none" }
"""
SLOW = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = { read_ahead = "512KiB", scheduler = "mq-deadline", nr_requests = 32, dirty_bytes = "48MiB" }
variant = [{ type = "ext4" }]
workload = [
    { kind = "create", threads = 2, file_size = "128KiB", block_size = "1", with = { read_ahead = "4MiB" } },
]
after = { check = false }
"""


@pytest.fixture
def device(own_scratch: scratch.Scratch) -> Iterator[str]:
    """A scratch device, with settings that no default has, so that a default is no way back."""
    queue = queue_of(own_scratch.device)
    if "mq-deadline" not in pathlib.Path(f"{queue}/scheduler").read_text():
        pytest.skip("THIS KERNEL OFFERS LOOP DEVICES NO mq-deadline")
    before = settings_of(own_scratch.device)
    KERNEL.write(f"{queue}/read_ahead_kb", "320")
    KERNEL.write(f"{queue}/nr_requests", "48")
    yield own_scratch.device
    kill_engines(str(pathlib.Path(own_scratch.path).parents[1] / "runs"))
    for path, value in before.items():
        if KERNEL.value(path) != value:
            KERNEL.write(path, value)


@pytest.fixture(autouse=True)
def _limits_are_as_before() -> Iterator[None]:
    """Put the machine's own limits back should a test fail to, and say that it did."""
    wait_until(lambda: not is_held(), "another test's run gives the machine's limits back", 60)
    before = KERNEL.in_force(LIMITS)
    yield
    after = KERNEL.in_force(LIMITS)
    if after != before:
        KERNEL.write(before.path, before.value)
    assert after == before


def is_held() -> bool:
    try:
        FileLock.acquire(MACHINE_LOCK).release()
    except BlockingIOError:
        return True
    return False


def queue_of(device: str) -> str:
    return f"/sys/block/{os.path.basename(device)}/queue"


def seen_in_loads(folder: RunFolder) -> list[dict[str, str]]:
    """Return, for each load in the order of loads, what every setting was read to be right before it."""
    steps = {
        (cell.index, number): step
        for cell in read_state(folder).request.plan.cells
        for number, step in enumerate(cell.steps)
    }
    fields = ", ".join(f"json_extract(body, '$.{name}')" for name in ("cell", "step", "path", "value"))
    query = f"SELECT {fields} FROM event WHERE kind = 'setting_seen' ORDER BY id"  # noqa: S608
    found: dict[tuple[int, int], dict[str, str]] = {}
    with closing(sqlite3.connect(f"file:{folder.journal}?mode=ro", uri=True)) as journal:
        for cell, step, path, value in journal.execute(query):
            if steps[cell, step].kind is StepKind.WORKLOAD:
                found.setdefault((cell, step), {})[os.path.basename(path)] = value
    return list(found.values())


def test_every_combination_holds_while_its_loads_run_and_is_planned_named_and_given_back(tmp_path, device):
    before = settings_of(device)
    planned = succeed("plan", written(tmp_path, AXES), "--device", device, "--commands")
    assert f"write 512 to {queue_of(device)}/read_ahead_kb" in planned
    assert f"write 50331648 to {LIMITS}" in planned
    done, folder = carry_out(AXES, device, tmp_path)
    assert done.returncode == 0, done.stderr
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 4
    assert state.settings == ()
    assert seen_in_loads(folder) == [
        {"read_ahead_kb": ahead, "scheduler": scheduler, "dirty_bytes": str(48 * MIB)}
        for own in ("64", "512")
        for scheduler in ("none", "mq-deadline")
        for ahead in ("4096", own)
    ]
    assert settings_of(device) == before
    warned = {warning.kind for cell in state.cells for warning in cell.warnings}
    assert WarningKind.NOT_IN_EFFECT not in warned
    assert_shown(folder)


def assert_shown(folder: RunFolder) -> None:
    """Prove that rows are named by their settings, and that the heading says which of them differ."""
    runs = os.path.dirname(folder.path)
    summary = succeed("results", folder.name, "--runs", runs, "--format", "csv", "--summary")
    names = [f"read_ahead={size}, scheduler={name}" for size in ("64KiB", "512KiB") for name in ("none", "mq-deadline")]
    assert all(name in summary for name in names)
    table = succeed("results", folder.name, "--runs", runs)
    assert "read-ahead differs (see rows), scheduler differs (see rows)" in " ".join(table.split())


def test_two_dirty_limits_are_two_rows_and_each_is_in_force_in_its_own_loads(tmp_path, device):
    limit = KERNEL.in_force(LIMITS)
    axis = 'dirty_bytes = ["48MiB", "96MiB"] }'
    text = AXES.replace(
        'read_ahead = ["64KiB", "512KiB"], scheduler = ["none", "mq-deadline"], dirty_bytes = "48MiB" }', axis
    )
    assert axis in text
    done, folder = carry_out(text, device, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [seen["dirty_bytes"] for seen in seen_in_loads(folder)] == [str(size * MIB) for size in (48, 48, 96, 96)]
    assert KERNEL.in_force(LIMITS) == limit
    names = {row.name for row in build_grid(read_state(folder)).rows}
    assert names == {f"ext4, dirty_bytes={size}, {load}" for size in ("48MiB", "96MiB") for load in ("few", "more")}


def test_a_cell_that_does_not_come_to_its_end_gives_its_settings_back_too(tmp_path, device):
    before, runs = settings_of(device), str(tmp_path / "runs")
    folder = new_run(SLOW, device, runs)
    for stop in (
        lambda: succeed("stop", folder.name, "--now", "--runs", runs),
        lambda: os.kill(generator_of(folder)[0], signal.SIGKILL),
    ):
        start_engine(folder)
        freeze_load(folder)
        assert settings_of(device) != before
        stop()
        wait_for_end(folder)
        state = read_state(folder)
        assert state.cells[0].status in (CellStatus.FAILED, CellStatus.STOPPED)
        assert state.settings == ()
        assert settings_of(device) == before
        assert_nothing_left(device, folder)


def test_a_setting_that_the_kernel_refuses_is_a_warning_with_what_is_in_effect(tmp_path, device):
    text = AXES.replace('read_ahead = ["64KiB", "512KiB"]', "nr_requests = 10240")
    before = settings_of(device)
    done, folder = carry_out(text.replace('["none", "mq-deadline"]', '"none"'), device, tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,) = read_state(folder).cells
    (reason,) = {w.reason for w in cell.warnings if w.kind is WarningKind.NOT_IN_EFFECT}
    assert reason.startswith(f"{queue_of(device)}/nr_requests is 128 and not 10240")
    assert "Invalid argument" in reason
    assert settings_of(device) == before


def test_btrfs_that_reads_ahead_by_itself_is_warned_of(tmp_path, loop_device):
    device = loop_device(160 * MIB)
    text = (
        AXES.replace("ext4", "btrfs")
        .replace('["64KiB", "512KiB"]', '"64KiB"')
        .replace('["none", "mq-deadline"]', '"none"')
    )
    plan = written(tmp_path, text)
    runs = str(tmp_path / "runs")
    fsconsole("run", plan, "--device", device, "--runs", runs, "--consent", consent(plan, device, runs))
    (folder,) = list_runs(runs)
    (cell,) = read_state(folder).cells
    reasons = {w.reason for w in cell.warnings if w.kind is WarningKind.NOT_IN_EFFECT}
    assert "btrfs uses its own read-ahead of 4096 KiB, not the disk's" in reasons


def consent(plan: str, device: str, runs: str) -> str:
    printed = succeed("plan", plan, "--device", device, "--runs", runs)
    return printed.split("--consent ")[1].split()[0]


def killed_in_its_load(tmp_path: pathlib.Path, device: str) -> RunFolder:
    """Return the folder of a run whose engine was killed -9 in the middle of a load, with all that it had set."""
    folder = new_run(SLOW, device, str(tmp_path / "runs"))
    start_engine(folder)
    freeze_load(folder)
    assert list(settings_of(device).values()) == ["4096", "mq-deadline", "32"]
    assert KERNEL.value(LIMITS) == str(48 * MIB)
    os.kill(engine_of(folder), signal.SIGKILL)
    wait_for_end(folder)
    wait_until(lambda: processes_with(folder.path) == [], "its processes end")
    assert list(settings_of(device).values()) == ["4096", "mq-deadline", "32"]
    return folder


def test_cleanup_gives_back_what_a_killed_engine_had_set(tmp_path, device):
    before, limit = settings_of(device), KERNEL.in_force(LIMITS)
    killed_in_its_load(tmp_path, device)
    said = succeed("cleanup", "--runs", str(tmp_path / "runs"))
    assert settings_of(device) == before
    assert KERNEL.in_force(LIMITS) == limit
    assert f"{queue_of(device)}/read_ahead_kb is 320 again" in said
    assert f"{limit.path} is {limit.value} again" in said
    assert clean_up(str(tmp_path / "runs")) == ()


def test_resume_gives_back_first_and_the_run_ends_with_everything_as_before(tmp_path, device):
    before = settings_of(device)
    folder = killed_in_its_load(tmp_path, device)
    agree_again(folder)
    # A load of single bytes takes its time; it is the same cell that is done again.
    succeed("resume", folder.name, "--runs", str(tmp_path / "runs"))
    state = read_state(folder)
    assert (state.status, state.settings) == (RunStatus.FINISHED, ())
    assert state.cells[0].attempt == 2
    assert settings_of(device) == before
    assert_nothing_left(device, folder)


def test_cleanup_leaves_what_somebody_changed_since_and_says_so(tmp_path, device):
    killed_in_its_load(tmp_path, device)
    queue = queue_of(device)
    KERNEL.write(f"{queue}/read_ahead_kb", "1024")
    (cleaned,) = clean_up(str(tmp_path / "runs"))
    assert f"{queue}/read_ahead_kb is 1024 now, which this run did not set" in cleaned.did
    assert KERNEL.value(f"{queue}/read_ahead_kb") == "1024"
    assert KERNEL.value(f"{queue}/nr_requests") == "48"
    assert clean_up(str(tmp_path / "runs")) == ()


def test_two_runs_do_not_vary_the_machines_limits_at_once(tmp_path, device):
    with FileLock.acquire(MACHINE_LOCK):
        done, folder = carry_out(AXES, device, tmp_path)
    assert done.returncode == ExitCode.SETTINGS_LOCKED
    assert "Another run varies the machine's dirty limits" in done.stderr + done.stdout
    assert [cell.status for cell in read_state(folder).cells] == [CellStatus.PENDING] * 4


PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [
    { type = "ext4", label = "plain" },
    { type = "ext4", mkfs = "-O uninit_groups", mount = "nobh", label = "as in 2008", as_printed = "-I 256 -O uninit_groups" },
    { type = "ext4", mkfs = "-E lazy_itable_init=1", label = "lazy" },
    { type = "ext4", mount = "data=journal,dioread_nolock", label = "journalled" },
    { type = "ext4", mkfs = "-I 256", label = "the default said" },
    { type = "ext3", label = "ext3" },
]
workload = [{ kind = "create", threads = 1, file_size = "64KiB" }]
after = { check = false, delete = "none" }
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """The grid of one run of all these variants."""
    directory = tmp_path_factory.mktemp("effects")
    with scratch_device(directory, 64 * MIB) as device:
        done, folder = carry_out(PLAN, device, directory)
    assert done.returncode == 0, done.stderr
    return build_grid(read_state(folder))


def reasons(grid, kind: WarningKind) -> set[str]:
    return {warning.reason for warning in grid.warnings if warning.kind is kind}


def test_what_was_accepted_and_is_not_in_effect_is_told_with_what_is(grid):
    assert reasons(grid, WarningKind.NOT_IN_EFFECT) == {
        "-O uninit_bg is not in effect: mkfs made it without uninit_bg",
        "nobh is not in effect: the kernel says 'EXT4-fs: Ignoring removed nobh option'",
        "dioread_nolock is not in effect: the kernel mounted it without dioread_nolock",
    }


def test_variants_of_which_the_same_is_read_back_are_one_row_and_told_of(grid):
    assert reasons(grid, WarningKind.EQUAL) == {"'the default said' came out equal to 'plain'"}
    cells = {row.name: len(row.cells) for row in grid.rows}
    assert cells == {"plain": 2, "as in 2008": 1, "lazy": 1, "journalled": 1, "ext3": 1}


def test_a_driver_of_another_name_is_told(grid):
    assert reasons(grid, WarningKind.DRIVER) == {"ext3 uses the ext4 driver"}


TOOLS = {
    "ext4": ("dumpe2fs", "-h"),
    "xfs": ("xfs_info",),
    "btrfs": ("btrfs", "inspect-internal", "dump-super"),
}


def made(filesystem: str, device: str) -> dict[str, str]:
    text = run(*TOOLS[filesystem], device)
    return {feature.name: feature.value for feature in parse_mkfs_features(filesystem, text)}


@pytest.mark.parametrize(
    ("filesystem", "words", "has", "lacks"),
    [
        (
            "ext4",
            ("-O", "^has_journal,^flex_bg"),
            {"extent": "on"},
            {"has_journal", "flex_bg", "flex_bg_size"},
        ),
        ("ext4", ("-I", "512", "-G", "64"), {"inode_size": "512", "flex_bg_size": "64"}, set()),
        ("xfs", ("-d", "su=64k,sw=4,agcount=4"), {"data.sunit": "16", "data.swidth": "64"}, set()),
        ("xfs", ("-m", "reflink=0"), {"meta-data.reflink": "0", "meta-data.crc": "1"}, set()),
        ("btrfs", ("-R", "^free-space-tree"), {"no_holes": "on"}, {"free_space_tree"}),
        ("btrfs", ("-n", "8k"), {"nodesize": "8192", "free_space_tree": "on"}, set()),
    ],
)
def test_what_mkfs_was_told_is_what_is_read_back(filesystem, words, has, lacks, loop_device) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", *words, device)
    found = made(filesystem, device)
    assert has.items() <= found.items()
    assert not lacks & set(found)


@pytest.mark.parametrize(
    ("filesystem", "options", "has"),
    [
        ("ext2", "", {"driver": "ext4"}),
        ("ext3", "barrier=0", {"driver": "ext4", "nobarrier": "on", "data": "ordered"}),
        (
            "ext4",
            "data=writeback,nodelalloc",
            {"data": "writeback", "nodelalloc": "on", "block_validity": "on"},
        ),
        ("ext4", "", {"delalloc": "on", "barrier": "on", "dioread_nolock": "on", "commit": "5"}),
        ("xfs", "logbsize=256k", {"driver": "xfs", "logbsize": "256k"}),
        ("btrfs", "compress=zstd:3", {"driver": "btrfs", "compress": "zstd:3"}),
    ],
)
def test_what_is_in_effect_is_read_defaults_too_where_the_kernel_lists_them(
    filesystem, options, has, loop_device, mounted
) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", device)
    point = mounted(device, filesystem=filesystem, options=",".join(filter(None, ("nosuid,nodev", options))))
    features = read_mount_options(device, str(point))
    found = {feature.name: feature.value for feature in features}
    assert {feature.scope for feature in features} == {"mount"}
    assert has.items() <= found.items()
    assert found["nosuid"] == found["nodev"] == "on"
    usable, available, overhead = space_measurements(str(point), device)
    assert (usable.metric, available.metric, overhead.metric) == (Metric.USABLE, Metric.AVAILABLE, Metric.OVERHEAD)
    assert usable.value == os.statvfs(point).f_bfree * os.statvfs(point).f_frsize
    assert available.value == KIB * int(run("df", "--output=avail", str(point)).split()[-1])
    assert usable.value / (320 * MIB) + overhead.value / 100 == pytest.approx(1)
    assert 0 < overhead.value < 40
