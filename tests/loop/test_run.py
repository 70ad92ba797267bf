"""Whole runs on scratch devices: every figure there, every command as planned, every failure told and survived."""

from __future__ import annotations

import os
import pathlib
import re

import pytest

from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.plan import Plan, StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.model.workload import Layout
from fsconsole.text import MIB
from tests.conftest import run as program
from tests.loop.runs import (
    assert_nothing_left,
    carry_out,
    objects,
    succeed,
    written,
)

pytestmark = pytest.mark.root

FILESYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs")
DEVICE_BYTES = 400 * MIB
"""mkfs.xfs refuses less than 300 MB (man 8 mkfs.xfs)."""
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
KEPT_FILES = """
schema = 1
order = "as-listed"
{variants}
[[workload]]
name = "interleaved"
kind = "create"
threads = 2
files = 4
file_size = "2MiB"
block_size = "4KiB"
[after]
delete = "{delete}"
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A scratch device that is large enough for every filesystem."""
    made = scratch.create(DEVICE_BYTES, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, device):
    """One run with a cell of each filesystem: what it printed, its folder, and its plan as planned before."""
    directory = tmp_path_factory.mktemp("whole")
    plan = written(directory, KEPT_FILES.format(variants=variants(*FILESYSTEMS), delete="rm"))
    planned = succeed("plan", plan, "--device", device, "--runs", str(directory / "runs"), "--json")
    printed = succeed("run", plan, "--device", device, "--runs", str(directory / "runs"), "--json")
    (folder,) = list_runs(str(directory / "runs"))
    assert_nothing_left(device, folder)
    return objects(printed), folder, objects_of_one(planned)


def variants(*types: str) -> str:
    return "\n".join(f'[[variant]]\ntype = "{name}"' for name in types)


def objects_of_one(text: str) -> dict[str, object]:
    (document,) = objects(" ".join(text.splitlines()))
    return document


def cells_by_filesystem(folder: RunFolder) -> dict[str, CellState]:
    state = read_state(folder)
    return {state.request.plan.cells[cell.index].variant.filesystem: cell for cell in state.cells}


def test_every_cell_of_a_run_over_all_filesystems_is_done(whole):
    _, folder, _ = whole
    state = read_state(folder)
    assert (state.status, state.outcome, state.exit_code) == (RunStatus.FINISHED, Outcome.DONE, 0)
    assert [(cell.status, cell.reason) for cell in state.cells] == [(CellStatus.DONE, "")] * len(FILESYSTEMS)
    assert all(step.outcome is Outcome.DONE for cell in state.cells for step in cell.steps)


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_every_figure_of_a_cell_is_there_and_makes_sense(whole, filesystem):
    cell = cells_by_filesystem(whole[1])[filesystem]
    value = {
        measurement.metric: measurement.value for step in cell.steps for measurement in step.measurements
    }
    only_by_e2fsck = set() if filesystem.startswith("ext") else {Metric.NON_CONTIGUOUS}
    of_reads = {Metric.READ, Metric.READ_BYTES, Metric.READ_TIME}
    of_raw_rows = {
        Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1, Metric.RAW_READ_N, Metric.READTEST,
        Metric.OF_RAW_1, Metric.OF_RAW_N,
    }  # fmt: skip
    # A load that ends between two samples has no stalls that could be seen; there is no array.
    left_out = {Metric.STALLS, Metric.ARRAY_SYNC}
    assert set(value) - left_out == set(Metric) - only_by_e2fsck - of_reads - of_raw_rows - left_out
    assert value[Metric.WRITTEN] == 4 * 2 * MIB
    assert 0 < value[Metric.DURABLE] <= value[Metric.WRITE]
    assert value[Metric.WRITE] == pytest.approx(value[Metric.WRITTEN] / value[Metric.WRITE_TIME])
    assert 0 < value[Metric.FIRST_DONE] <= value[Metric.LAST_DONE] == value[Metric.WRITE_TIME]
    assert value[Metric.FILES_PER_S] == pytest.approx(4 / value[Metric.WRITE_TIME])
    assert value[Metric.FILES_MAPPED] == 4
    assert 1 <= value[Metric.EXTENTS_MEAN] <= value[Metric.EXTENTS_MAX]
    assert 0 < value[Metric.EXTENT_SIZE_MEDIAN] <= 2 * MIB
    assert DEVICE_BYTES / 2 < value[Metric.USABLE] < DEVICE_BYTES
    assert value[Metric.DELETE] <= value[Metric.DELETE_DURABLE]
    for metric in (Metric.MKFS, Metric.MOUNT, Metric.UNMOUNT, Metric.CHECK, Metric.DELETE):
        assert 0 < value[metric] < 60, metric
    percents = [metric for metric in value if metric.unit is Unit.PERCENT]
    # The generator's own CPU share may exceed 100: it is of one CPU, as FFSB counts.
    assert all(0 <= value[metric] <= 100 for metric in percents if metric is not Metric.CPU_GENERATOR)
    assert all(figure >= 0 for figure in value.values())


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_the_check_of_a_new_filesystem_says_clean(whole, filesystem):
    cell = cells_by_filesystem(whole[1])[filesystem]
    assert [step.verdict for step in cell.steps if step.kind is StepKind.CHECK] == ["clean"]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_what_is_in_effect_is_read_back_and_kept(whole, filesystem):
    features = {
        (seen.scope, seen.name): seen.value for seen in cells_by_filesystem(whole[1])[filesystem].features
    }
    assert features["mount", "nosuid"] == features["mount", "nodev"] == "on"
    assert [name for scope, name in features if scope == "mkfs"]
    assert features["mount", "driver"] == ("ext4" if filesystem.startswith("ext") else filesystem)
    has_journal = features.get(("mkfs", "has_journal"), "off")
    assert has_journal == ("on" if filesystem in ("ext3", "ext4") else "off")


def test_every_command_has_its_raw_output_where_the_journal_says(whole):
    _, folder, _ = whole
    commands = [
        command for cell in read_state(folder).cells for step in cell.steps for command in step.commands
    ]
    told = [command.output for command in commands]
    kept = [name for name in os.listdir(folder.raw) if not name.endswith("-kernel-log")]
    assert sorted(told) == sorted(f"raw/{name}" for name in kept)
    for command in commands:
        said = pathlib.Path(folder.path, command.output).read_text()
        if command.argv[0] == "e2fsck":
            assert "Pass 5: Checking group summary information" in said


def test_what_was_executed_is_what_was_planned_but_for_the_uuids(whole):
    events, folder, planned = whole
    for document, cell in zip(planned["cells"], read_state(folder).cells, strict=True):
        listed = [neutral(step["commands"]) for step in document["steps"]]
        # A generator's own command is the engine's matter: it can't be repeated by hand without the engine.
        executed = [
            neutral([command.argv for command in step.commands if command.argv[0] != "unshare"])
            for step in cell.steps
        ]
        assert executed == listed
        told = [event for event in events if event["event"] == "step_started" and event["cell"] == cell.index]
        assert [neutral(event["commands"]) for event in told] == listed
        assert [event["title"] for event in told] == [step["title"] for step in document["steps"]]


def neutral(commands) -> list[list[str]]:
    return [[UUID.sub("UUID", word) for word in argv] for argv in commands]


def test_the_uuid_of_each_cell_is_the_one_that_mkfs_was_given(whole):
    state = read_state(whole[1])
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        (mkfs,) = [step for step in cell.steps if step.kind is StepKind.MKFS]
        assert [found for word in mkfs.commands[0].argv for found in UUID.findall(word)] == [planned.uuid]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_extents_are_what_filefrag_counts_on_the_same_files(tmp_path, device, mounted, filesystem):
    done, folder = carry_out(
        KEPT_FILES.format(variants=variants(filesystem), delete="none"), device, tmp_path
    )
    assert done.returncode == 0, done.stderr
    cell = read_state(folder).cells[0]
    point = mounted(device)
    files = [str(path) for path in point.joinpath("tree").rglob("*") if path.is_file()]
    assert sum(os.path.getsize(path) for path in files) == cell.value(Metric.WRITTEN) == 4 * 2 * MIB
    counts = [
        int(count) for count in re.findall(r": (\d+) extents? found", program("filefrag", "-v", *files))
    ]
    assert cell.value(Metric.FILES_MAPPED) == len(counts) == len(files)
    assert cell.value(Metric.EXTENTS_MEAN) == pytest.approx(sum(counts) / len(counts))
    assert cell.value(Metric.EXTENTS_MAX) == max(counts)


AXES = """
schema = 1
repeats = 2
order = "shuffled"
seed = 7
equalise = "none"
[[variant]]
type = "ext4"
mkfs = "-E nodiscard"
[[workload]]
name = "together"
kind = "create"
threads = [1, 8]
files = 8
file_size = "64KiB"
directories = "per-thread"
[[workload]]
name = "apart"
kind = "create"
threads = 2
files = 5
file_size = "128KiB"
directories = 2
data = "zero"
[after]
delete = "none"
"""


def test_axes_of_workloads_become_cells_that_write_as_they_say(tmp_path, device, mounted):
    planned = objects_of_one(succeed("plan", written(tmp_path, AXES), "--device", device, "--json"))
    done, folder = carry_out(AXES, device, tmp_path)
    assert done.returncode == 0, done.stderr
    state = read_state(folder)
    assert sorted(loads(state.request.plan)) == [(1, 1), (1, 2), (8, 1), (8, 2)]
    for cell in state.cells:
        # One figure of each workload; those of the second are the last that were taken.
        written_bytes = [
            m.value for step in cell.steps for m in step.measurements if m.metric is Metric.WRITTEN
        ]
        assert written_bytes == [8 * 64 * 1024, 5 * 128 * 1024]
        mapped = [
            m.value for step in cell.steps for m in step.measurements if m.metric is Metric.FILES_MAPPED
        ]
        assert mapped == [8, 5]
    assert [order_of(cell) for cell in planned["cells"]] == loads(state.request.plan)
    begun = [event["cell"] for event in objects(done.stdout) if event["event"] == "cell_started"]
    assert begun == [0, 1, 2, 3]
    tree = mounted(device) / "tree"
    last = state.request.plan.cells[-1].workloads[0]
    assert last.directories.layout is Layout.PER_THREAD
    assert directory_sizes(tree) == sorted([8 // last.threads] * last.threads + [2, 2, 1])


def loads(plan: Plan) -> list[tuple[int, int]]:
    return [(cell.workloads[0].threads, cell.repeat) for cell in plan.cells]


def order_of(cell) -> tuple[int, int]:
    return cell["workloads"][0]["threads"], cell["repeat"]


def directory_sizes(tree: pathlib.Path) -> list[int]:
    counts = [len(files) for _, _, files in os.walk(tree)]
    return sorted(count for count in counts if count)


def test_the_same_seed_gives_the_same_order_again(tmp_path, device):
    plan = written(tmp_path, AXES.replace("repeats = 2", "repeats = 9"))
    orders = [
        [
            order_of(cell)
            for cell in objects_of_one(succeed("plan", plan, "--device", device, "--json"))["cells"]
        ]
        for _ in range(2)
    ]
    assert orders[0] == orders[1]
    assert orders[0] != sorted(orders[0])
