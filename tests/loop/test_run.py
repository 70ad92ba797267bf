"""Whole runs on loop devices: every filesystem and axis, failures of one cell, and how an engine starts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fsconsole.client import engine
from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import EngineNotStarted
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import layout_places, read_layouts, read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.metrics import BDI_FIELDS, OF_BONNIE, OF_MIXES, OF_WRITEBACK, PILOTS, Metric, Unit
from fsconsole.model.plan import Plan, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.model.workload import Layout
from fsconsole.text import MIB
from tests.conftest import run as program
from tests.conftest import wait_until
from tests.loop.faulty_engine import Event
from tests.loop.faulty_run import carry_out as faulty_carry_out
from tests.loop.runs import (
    FSCONSOLE,
    TINY_PLAN,
    assert_nothing_left,
    carry_out,
    fsconsole,
    generator_of,
    is_in,
    new_folder,
    new_run,
    objects,
    processes_with,
    succeed,
    wait_for,
    wait_for_end,
    written,
)

FILESYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs")
DEVICE_BYTES = 400 * MIB
"""mkfs.xfs refuses less than 300 MB (man 8 mkfs.xfs)."""
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def kept_files(*filesystems: str, delete: str) -> str:
    """Return a plan with a cell of each filesystem, whose files are deleted like that."""
    variants = ", ".join(f'{{ type = "{name}" }}' for name in filesystems)
    return f"""
schema = 1
repeats = 1
order = "as-listed"
variant = [{variants}]
workload = [
    {{ name = "interleaved", kind = "create", threads = 2, files = 4, file_size = "2MiB", block_size = "4KiB" }},
]
after = {{ delete = "{delete}" }}
"""


@pytest.fixture(scope="module")
def large_device(tmp_path_factory):
    """A scratch device that is large enough for every filesystem."""
    made = scratch.create(DEVICE_BYTES, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, large_device):
    """One run with a cell of each filesystem: what it printed, its folder, and its plan as planned before."""
    directory = tmp_path_factory.mktemp("whole")
    plan = written(directory, kept_files(*FILESYSTEMS, delete="rm"))
    planned = succeed("plan", plan, "--device", large_device, "--runs", str(directory / "runs"), "--json")
    printed = succeed("run", plan, "--device", large_device, "--runs", str(directory / "runs"), "--json")
    (folder,) = list_runs(str(directory / "runs"))
    assert_nothing_left(large_device, folder)
    return objects(printed), folder, json.loads(planned)


def cells_by_filesystem(folder: RunFolder) -> dict[str, CellState]:
    state = read_state(folder)
    return {state.request.plan.cells[cell.index].variant.filesystem: cell for cell in state.cells}


def test_every_cell_of_a_run_over_all_filesystems_is_done(whole):
    _, folder, _ = whole
    state = read_state(folder)
    assert (state.status, state.outcome, state.exit_code) == (RunStatus.FINISHED, Outcome.DONE, 0)
    assert [(cell.status, cell.reason) for cell in state.cells] == [(CellStatus.DONE, "")] * len(FILESYSTEMS)
    assert all(step.outcome is Outcome.DONE for cell in state.cells for step in cell.steps)
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        assert [step.verdict for step in cell.steps if step.kind is StepKind.CHECK] == ["clean"]
        (mkfs,) = [step for step in cell.steps if step.kind is StepKind.MKFS]
        assert [found for word in mkfs.commands[0].argv for found in UUID.findall(word)] == [planned.uuid]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_every_figure_of_a_cell_is_there_and_makes_sense(whole, filesystem):
    cell = cells_by_filesystem(whole[1])[filesystem]
    value = {measurement.metric: measurement.value for step in cell.steps for measurement in step.measurements}
    absent = set() if filesystem.startswith("ext") else {Metric.NON_CONTIGUOUS}
    absent |= {Metric.INODES} if filesystem == "btrfs" else set()
    of_reads = {Metric.READ, Metric.READ_BYTES, Metric.READ_TIME}
    of_raw_rows = {
        Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1, Metric.RAW_READ_N, Metric.READTEST,
        Metric.OF_RAW_1, Metric.OF_RAW_N, *PILOTS,
    }  # fmt: skip
    # A load that ends between two samples has no stalls that could be seen; there is no array.
    left_out = {Metric.AGE, Metric.AGED_BYTES, Metric.AGED_FILES, Metric.STALLS, Metric.ARRAY_SYNC}
    # Nor does every tool live long enough for its memory to be read: on a busy machine it has ended when the engine gets a CPU,
    # whose own memory the kernel counts with the child's (system/run.py, RunningChild.collect).
    left_out |= {Metric.CHECK_RSS, Metric.CHECK_EMPTY_RSS}
    # Of a mix, and of loads that sync.
    left_out |= {
        Metric.RECOVER, Metric.RECOVER_FSCK, Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM, Metric.LOST_SYNCED,
        Metric.SYNCED, Metric.UNSYNCED, Metric.UNSYNCED_WHOLE, Metric.UNSYNCED_PART,
    }  # fmt: skip
    # Of commands and copies.
    left_out |= {Metric.MADE, Metric.FILES_MADE, Metric.SOURCE_FILES, Metric.SOURCE_BYTES}
    # Of fio, of bonnie++, of traced loads, and of checks that the plan does not ask for.
    left_out |= {Metric.CPU_FIO, *OF_BONNIE, *OF_WRITEBACK, *(metric for pair in BDI_FIELDS for metric in pair[:2])}
    left_out |= {Metric.QUICK_CHECK, Metric.QUICK_CHECK_USER, Metric.QUICK_CHECK_SYSTEM}
    # Computed from CPU/GiB.
    left_out |= {Metric.CPU_EFFICIENCY}
    left_out |= {*OF_MIXES, Metric.FSYNC_COUNT, Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99, Metric.FSYNC_MAX}
    absent |= set() if filesystem == "xfs" else {Metric.GROUPS_PER_FILE}
    absent |= set() if filesystem in ("ext4", "xfs") else {Metric.LISTS_READ}
    assert set(value) - left_out == set(Metric) - absent - of_reads - of_raw_rows - left_out
    assert value[Metric.WRITTEN] == 4 * 2 * MIB
    assert 0 < value[Metric.DURABLE] <= value[Metric.WRITE]
    assert value[Metric.WRITE] == pytest.approx(value[Metric.WRITTEN] / value[Metric.WRITE_TIME])
    assert 0 < value[Metric.FIRST_DONE] <= value[Metric.LAST_DONE] == value[Metric.WRITE_TIME]
    assert value[Metric.FILES_PER_S] == pytest.approx(4 / value[Metric.WRITE_TIME])
    assert value[Metric.FILES_MAPPED] == 4
    assert 1 <= value[Metric.EXTENTS_MEAN] <= value[Metric.EXTENTS_MAX]
    assert 0 < value[Metric.EXTENT_SIZE_MEDIAN] <= 2 * MIB
    assert DEVICE_BYTES / 2 < value[Metric.USABLE] < DEVICE_BYTES
    assert 0 < value[Metric.AVAILABLE] <= value[Metric.USABLE]
    assert value[Metric.DELETE] <= value[Metric.DELETE_DURABLE]
    for metric in (Metric.MKFS, Metric.CHECK, Metric.DELETE):
        assert 0 < value[metric] < 60, metric
    # Each of a command in one certain step.
    for metric, kind, tool in (
        (Metric.MOUNT, StepKind.MOUNT, "mount"),
        (Metric.MOUNT_FILLED, StepKind.COLD_MOUNT, "mount"),
        (Metric.UNMOUNT, StepKind.REMOUNT, "umount"),
        (Metric.CHECK, StepKind.CHECK, ""),
        (Metric.CHECK_EMPTY, StepKind.CHECK_EMPTY, ""),
    ):
        (step,) = [step for step in cell.steps if step.kind is kind]
        (took_s,) = [c.elapsed_s for c in step.commands if c.argv[0] == tool or not tool]
        assert value[metric] == took_s > 0, metric
    assert 4 * 2 * MIB <= value[Metric.USED] <= 4 * 2 * MIB + DEVICE_BYTES / 20
    percents = [metric for metric in value if metric.unit is Unit.PERCENT]
    # The generator's own CPU share may exceed 100: it is of one CPU, as FFSB counts.
    assert all(0 <= value[metric] <= 100 for metric in percents if metric is not Metric.CPU_GENERATOR)
    assert all(figure >= 0 for figure in value.values())


def test_the_layout_of_every_cell_s_files_is_kept_and_drawn(whole):
    folder = whole[1]
    places = layout_places(folder, read_state(folder))
    by_cell = {index: read_layouts(folder, numbers)[0] for index, numbers in places.items()}
    for cell in read_state(folder).cells:
        layout = by_cell[cell.index]
        assert (layout.files, len(layout.names)) == (cell.value(Metric.FILES_MAPPED), 4)
        assert sum(end - begin for begin, end, _ in layout.spans()) == cell.value(Metric.WRITTEN)
        assert {file for *_, file in layout.spans()} == set(range(4))
    drawn = succeed("results", folder.name, "--map", "--runs", os.path.dirname(folder.path))
    assert max(map(len, drawn.splitlines())) <= 80
    for filesystem in FILESYSTEMS:
        assert f"{filesystem} - interleaved (cell " in drawn
    assert "A to D: the files in the order of their names" in " ".join(drawn.split())
    assert "its own logical addresses" in drawn


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_what_is_in_effect_is_read_back_and_kept(whole, filesystem):
    seen = cells_by_filesystem(whole[1])[filesystem].features
    features = {(feature.scope, feature.name): feature.value for feature in seen}
    assert features["mount", "nosuid"] == features["mount", "nodev"] == "on"
    assert [name for scope, name in features if scope == "mkfs"]
    assert features["mount", "driver"] == ("ext4" if filesystem.startswith("ext") else filesystem)
    has_journal = features.get(("mkfs", "has_journal"), "off")
    assert has_journal == ("on" if filesystem in ("ext3", "ext4") else "off")


def test_every_command_has_its_raw_output_where_the_journal_says(whole):
    _, folder, _ = whole
    commands = [command for cell in read_state(folder).cells for step in cell.steps for command in step.commands]
    told = [command.output for command in commands]
    kept = [name for name in os.listdir(folder.raw) if not name.endswith("-kernel-log")]
    assert sorted(told) == sorted(f"raw/{name}" for name in kept)
    for command in commands:
        said = Path(folder.path, command.output).read_text()
        if command.argv[0] == "e2fsck":
            assert "Pass 5: Checking group summary information" in said


FOUND_OUT = ("unshare", "debugfs", "xfs_db")
"""Commands that no plan lists: a generator's own, and looks at inodes, which have no number before they are made."""


def test_what_was_executed_is_what_was_planned_but_for_the_uuids(whole):
    events, folder, planned = whole
    for document, cell in zip(planned["cells"], read_state(folder).cells, strict=True):
        listed = [neutral(step["commands"]) for step in document["steps"]]
        executed = [
            neutral([command.argv for command in step.commands if command.argv[0] not in FOUND_OUT])
            for step in cell.steps
        ]
        assert executed == listed
        told = [event for event in events if event["event"] == "step_started" and event["cell"] == cell.index + 1]
        assert [neutral(event["commands"]) for event in told] == listed
        assert [event["title"] for event in told] == [step["title"] for step in document["steps"]]


def neutral(commands) -> list[list[str]]:
    return [[UUID.sub("UUID", word) for word in argv] for argv in commands]


@pytest.mark.parametrize("filesystem", [pytest.param("ext4", marks=pytest.mark.soak), "xfs"])
def test_extents_map_and_space_of_48_writers_are_what_filefrag_and_statfs_count(
    tmp_path, large_device, mounted, filesystem
):
    plan = kept_files(filesystem, delete="none").replace(
        "threads = 2, files = 4", "threads = 48, files = 48, fsync = 128"
    )
    # e2fsck -y gives blocks back where an extent tree can be narrower (its pass 1E), which files in many pieces have.
    plan = plan.replace("after = {", "after = { check = false,")
    done, folder = carry_out(plan, large_device, tmp_path)
    assert done.returncode == 0, done.stderr
    cell = read_state(folder).cells[0]
    # Read-only: for the next run it is what the last one left.
    point = mounted(large_device, options="ro,nosuid,nodev")
    room = os.statvfs(point)
    # A read-only xfs keeps no blocks back for its trees, of which it tells in f_bfree (fs/xfs/xfs_fsops.c).
    if filesystem == "ext4":
        assert cell.value(Metric.USED) == cell.value(Metric.USABLE) - room.f_bfree * room.f_frsize
    assert cell.value(Metric.INODES) == room.f_files - room.f_ffree
    files = [str(path) for path in (point / "tree").rglob("*") if path.is_file()]
    assert sum(os.path.getsize(path) for path in files) == cell.value(Metric.WRITTEN) == 48 * 2 * MIB
    said = program("filefrag", "-v", *files)
    counts = [int(count) for count in re.findall(r": (\d+) extents? found", said)]
    assert cell.value(Metric.FILES_MAPPED) == len(counts) == len(files)
    assert cell.value(Metric.EXTENTS_MEAN) == pytest.approx(sum(counts) / len(counts))
    assert cell.value(Metric.EXTENTS_MAX) == max(counts)
    (layout,) = read_layouts(folder, layout_places(folder, read_state(folder))[0])
    mapped = {(layout.names[file], begin, end) for begin, end, file in layout.spans()}
    assert mapped == {
        (name, begin, end) for name in layout.names for begin, end in pieces(point / "tree" / name, layout.unit_bytes)
    }
    assert len(layout.names) == 48
    # AGs as xfs itself numbers them; ext4 has none.
    listed = [program("xfs_io", "-r", "-c", "bmap -v", path) for path in files] if filesystem == "xfs" else []
    groups = Counter(int(group) for text in listed for group in XFS_BMAP.findall(text))
    assert {group: count for group, count in enumerate(layout.group_extents) if count} == groups


XFS_BMAP = re.compile(r"^ *\d+: \[.*?\]: +\d+\.\.\d+ +(\d+) ", re.MULTILINE)
FILEFRAG = re.compile(r"^ *\d+: +\d+\.\. +\d+: +(\d+)\.\. +(\d+):", re.MULTILINE)


def pieces(path: Path, unit_bytes: int) -> list[tuple[int, int]]:
    """Return begin and end of each physically contiguous piece of a file, by filefrag."""
    found: list[tuple[int, int]] = []
    for first, last in FILEFRAG.findall(program("filefrag", "-v", f"-b{unit_bytes}", str(path))):
        begin, end = int(first) * unit_bytes, (int(last) + 1) * unit_bytes
        found = [*found[:-1], (found[-1][0], end)] if found and found[-1][1] == begin else [*found, (begin, end)]
    return found


def test_a_delete_ends_in_one_flush_of_the_device_also_where_the_unmount_sends_none(tmp_path, own_scratch):
    plan = kept_files("ext4", delete="rm").replace('"ext4"', '"ext4", mount = "barrier=0"')
    folder = new_run(plan, own_scratch.device, str(tmp_path / "runs"))
    stat = f"/sys/block/{Path(own_scratch.device).name}/stat"
    events = [Event(0, "delete-unmount", f"cat {stat} >{tmp_path}/{at}", at) for at in ("before", "after")]
    done = faulty_carry_out(folder, events, own_scratch.device)
    assert done.returncode == 0, done.stderr
    # Flush requests that were completed (Documentation/block/stat.rst).
    before, after = (int((tmp_path / event.when).read_text().split()[15]) for event in events)
    assert after - before == 1


AXES = """
schema = 1
repeats = 2
order = "shuffled"
seed = 7
equalise = "none"
variant = [{ type = "ext4", mkfs = "-E nodiscard" }]
workload = [
    { name = "together", kind = "create", threads = [1, 8], files = 8, file_size = "64KiB", directories = "per-thread", data = 0.5, block_size = "1KiB" },
    { name = "apart", kind = "create", threads = 2, files = 5, file_size = "128KiB", directories = 2, data = "zero" },
]
after = { delete = "none" }
"""


def test_axes_of_workloads_become_cells_that_write_as_they_say(tmp_path, own_scratch, mounted):
    device = own_scratch.device
    planned = json.loads(succeed("plan", written(tmp_path, AXES), "--device", device, "--json"))
    done, folder = carry_out(AXES, device, tmp_path)
    assert done.returncode == 0, done.stderr
    state = read_state(folder)
    assert sorted(loads(state.request.plan)) == [(1, 1), (1, 2), (8, 1), (8, 2)]
    for cell in state.cells:
        # One figure of each workload; those of the second are the last that were taken.
        written_bytes = [m.value for step in cell.steps for m in step.measurements if m.metric is Metric.WRITTEN]
        assert written_bytes == [8 * 64 * 1024, 5 * 128 * 1024]
        mapped = [m.value for step in cell.steps for m in step.measurements if m.metric is Metric.FILES_MAPPED]
        assert mapped == [8, 5]
    assert [order_of(cell) for cell in planned["cells"]] == loads(state.request.plan)
    begun = [event["cell"] for event in objects(done.stdout) if event["event"] == "cell_started"]
    assert begun == [1, 2, 3, 4]
    tree = mounted(device) / "tree"
    last = state.request.plan.cells[-1].workloads[0]
    assert last.directories.layout is Layout.PER_THREAD
    assert directory_sizes(tree) == sorted([8 // last.threads] * last.threads + [2, 2, 1])
    content = b"".join(path.read_bytes() for path in (tree / "together").rglob("f*"))
    assert content.count(0) / len(content) == pytest.approx(0.5, abs=0.02)


def loads(plan: Plan) -> list[tuple[int, int]]:
    return [(cell.workloads[0].threads, cell.repeat) for cell in plan.cells]


def order_of(cell) -> tuple[int, int]:
    return cell["workloads"][0]["threads"], cell["repeat"]


def directory_sizes(tree: Path) -> list[int]:
    counts = [len(files) for _, _, files in os.walk(tree)]
    return sorted(count for count in counts if count)


TOO_MUCH = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [
    { type = "ext4", mkfs = "-i 1024", label = "full of inodes" },
    { type = "ext4", mkfs = "-i 65536", label = "roomy" },
]
workload = [{ kind = "create", threads = 2, file_size = "SIZE", block_size = "1MiB" }]
"""


def test_a_workload_that_fills_the_filesystem_is_a_result_with_a_reason(tmp_path, device):
    # 52 of 64 MiB fit by the estimate; with an inode of 256 bytes for each KiB they don't.
    done, folder = carry_out(TOO_MUCH.replace("SIZE", "26MiB"), device, tmp_path)
    assert done.returncode == 0, done.stderr
    full, roomy = read_state(folder).cells
    assert (full.status, roomy.status) == (CellStatus.DONE, CellStatus.DONE)
    assert 20 * MIB < full.value(Metric.WRITTEN) < 52 * MIB == roomy.value(Metric.WRITTEN)
    (warning,) = [warning for warning in full.warnings if warning.kind is WarningKind.TARGET_FULL]
    # The other writer may have been done before.
    assert re.fullmatch(r"[12] of 2 writers stopped: No space left on device", warning.reason)
    assert [step.reason for step in full.steps if step.kind is StepKind.WORKLOAD] == [warning.reason]
    assert [step.verdict for step in full.steps if step.kind is StepKind.CHECK] == ["clean"]


def test_a_plan_that_cannot_fit_is_refused_before_anything_is_touched(tmp_path, device):
    runs = tmp_path / "runs"
    plan = written(tmp_path, TOO_MUCH.replace("SIZE", "300MiB"))
    done = fsconsole("run", plan, "--device", device, "--runs", str(runs))
    assert done.returncode == ExitCode.DEVICE_TOO_SMALL
    assert 'in the plan smaller files, `scale = "fit"`' in done.stderr
    assert not runs.exists()


FAILING = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4", mkfs = "-b 1024 -I 2048" }, { type = "ext4" }]
workload = [{ kind = "create", threads = [256, 1], file_size = "512KiB" }]
"""


def test_an_mkfs_that_fails_or_a_load_that_cannot_fit_is_one_cell_and_the_run_goes_on(tmp_path, device):
    done, folder = carry_out(FAILING, device, tmp_path)
    assert done.returncode == ExitCode.CELLS_FAILED
    state = read_state(folder)
    by_status = {cell.status: cell for cell in state.cells}
    assert len(state.cells) == 4
    assert set(by_status) == {CellStatus.UNAVAILABLE, CellStatus.FAILED, CellStatus.DONE}
    assert (state.status, state.reason) == (RunStatus.FINISHED, "1 of 2 cells failed")
    too_large, failed = by_status[CellStatus.UNAVAILABLE], by_status[CellStatus.FAILED]
    assert 'use scale = "fit"' in too_large.reason
    assert too_large.steps == ()
    told = "mkfs: mkfs.ext4 failed with exit code 1: mkfs.ext4: invalid inode size 2048"
    assert failed.reason.startswith(told)
    assert [step.kind for step in failed.steps][-1] is StepKind.MKFS
    output = Path(folder.path, failed.steps[-1].commands[0].output)
    assert "invalid inode size 2048" in output.read_text()


SLOW = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4", mount = "sync" }, { type = "ext2" }]
workload = [{ kind = "create", threads = 2, file_size = "128KiB", block_size = "1" }]
"""


def test_a_generator_that_is_killed_is_one_failed_cell_and_the_run_goes_on(tmp_path, device):
    runs = str(tmp_path / "runs")
    argv = [*FSCONSOLE, "run", written(tmp_path, SLOW), "--device", device, "--runs", runs, "--json"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as viewer:
        folder = new_folder(runs)
        wait_for(folder, lambda state: is_in(0, StepKind.WORKLOAD)(state) and is_writing(state))
        os.kill(generator_of(folder)[0], signal.SIGKILL)
        viewer.communicate(timeout=60)
    assert viewer.returncode == ExitCode.CELLS_FAILED
    killed, next_one = read_state(folder).cells
    assert (killed.status, next_one.status) == (CellStatus.FAILED, CellStatus.DONE)
    assert killed.reason.startswith("workload: 2 of 2 writers stopped: killed before they were done; it ended")
    assert killed.steps[-1].commands[0].exit_code == 128 + signal.SIGKILL
    assert_nothing_left(device, folder)


def is_writing(state: RunState) -> bool:
    sample = state.last_sample
    return sample is not None and sample.load is not None and sample.load.bytes_done > 0


def interpreter(tmp_path: Path, script: str) -> str:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_an_engine_that_hangs_at_its_start_is_killed_before_it_is_called_not_started(tmp_path, device, monkeypatch):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, "sleep 600"))
    monkeypatch.setattr(engine, "_START_LIMIT_S", 0.5)
    with pytest.raises(EngineNotStarted, match="it said nothing"):
        start_engine(folder)
    wait_until(lambda: processes_with(folder.path) == [], "all of it ends")
    assert_nothing_left(device, folder)
    assert read_state(folder).started == ()


def test_an_engine_that_fails_at_its_start_is_quoted(tmp_path, device, monkeypatch):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    for script in ("echo what is wrong >&2; exit 3", "echo what is wrong; exit 0"):
        monkeypatch.setattr(sys, "executable", interpreter(tmp_path, script))
        with pytest.raises(EngineNotStarted, match="what is wrong"):
            start_engine(folder)


@pytest.mark.soak
def test_the_directory_at_hand_lends_the_engine_no_module(tmp_path, device, monkeypatch):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "json.py").write_text("raise SystemExit('not the real json')")
    monkeypatch.chdir(strange)
    start_engine(folder)
    wait_for_end(folder)
    assert read_state(folder).status is RunStatus.FINISHED
    assert_nothing_left(device, folder)


def test_in_a_mount_namespace_of_its_own_nobody_sees_what_init_sees():
    script = "from fsconsole.system.mounts import sees_what_init_sees; print(sees_what_init_sees())"
    argv = ["unshare", "--mount", "--propagation", "slave", "--", sys.executable, "-I", "-c", script]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout == "False\n"
