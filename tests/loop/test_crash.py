"""Crashes on loop devices: loads struck by a shutdown, recoveries, losses that are planted, rows that can't be tested."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from fsconsole.journal.past import read_state
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.results.blocks import blocks_of
from fsconsole.results.content import crash_words
from fsconsole.results.grid import build_grid
from fsconsole.system.block import shut_down
from fsconsole.text import MIB
from tests.conftest import run as program
from tests.conftest import unmount
from tests.lab.soak import SOAK
from tests.loop.faulty_engine import Event
from tests.loop.faulty_run import carry_out as faulty_carry_out
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import FSCONSOLE, assert_nothing_left, carry_out, new_run, succeed

PLAN = """
schema = 1
repeats = 1
equalise = "none"
order = "as-listed"
variant = [
    { type = "ext4" }, { type = "xfs" },
    { type = "ext4", mount = "barrier=0", label = "no barriers" },
    { type = "btrfs" }, MORE
]
workload = [{ kind = "create", files = 4, file_size = "64KiB" }]
after = { crash = true }
"""
MORE = '{ type = "ext3" }, { type = "ext4", mkfs = "-O ^has_journal", label = "no journal" }, { type = "ext2" },'
PLAN = PLAN.replace(" MORE", f" {MORE}" if SOAK else "")
ONE = PLAN.split('{ type = "xfs" }')[0] + "]\n" + "\n".join(PLAN.splitlines()[-2:])
STRUCK, NOT = (
    (*(("ext3",) if SOAK else ()), "ext4", "xfs", "no barriers"),
    ("btrfs", *(("no journal", "ext2") if SOAK else ())),
)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """One run with a crash of every row that can have one: its folder and its state."""
    directory = tmp_path_factory.mktemp("crashed")
    with scratch_device(directory, 320 * MIB) as device:
        done, folder = carry_out(PLAN, device, directory)
        assert done.returncode == 0, done.stderr + done.stdout
        yield folder, read_state(folder)


def cell_of(state, label):
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    return next(known for planned, known in cells if planned.variant.label == label)


@pytest.mark.parametrize("label", STRUCK)
def test_what_was_synced_survives_a_shutdown_and_the_recovery_is_timed(crashed, label):
    cell = cell_of(crashed[1], label)
    strikes = 1 if label == "xfs" else 2
    value = {figure.metric: figure.value for step in cell.steps for figure in step.measurements}
    assert cell.status is CellStatus.DONE
    assert value[Metric.LOST_SYNCED] == 0
    # Half of the syncs, each an eighth of which is a second one of a file, and what was done until the strike was felt.
    assert value[Metric.SYNCED] > strikes * 300
    assert value[Metric.UNSYNCED_WHOLE] + value[Metric.UNSYNCED_PART] <= value[Metric.UNSYNCED]
    if label != "ext3":
        # Its journal names blocks as soon as they are written, and each sync of any file writes them all. A log that was
        # flushed would save every file, a sync of another program on this machine some of them.
        assert value[Metric.UNSYNCED_WHOLE] < value[Metric.UNSYNCED]
    # The strike came in the middle: of 800 unsynced files as many were begun as were synced.
    assert abs(value[Metric.UNSYNCED] - value[Metric.SYNCED]) < strikes * 100
    recoveries = [step for step in cell.steps if step.kind is StepKind.RECOVER]
    timed = [(Metric.RECOVER, "mount"), (Metric.RECOVER_FSCK, "e2fsck")][:strikes]
    for step, (metric, tool) in zip(recoveries, timed, strict=True):
        assert value[metric] == step.commands[0].elapsed_s > 0
        assert step.commands[0].argv[0] == tool
        said = [line for command in step.commands for line in command.kernel_log]
        replayed = ("recovery complete", "Ending recovery")
        assert any(words in line for line in said for words in replayed) == (tool == "mount"), said
    command = recoveries[-1].commands[0]
    spent = [] if label == "xfs" else [command.user_s, command.system_s]
    split = (Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM)
    assert [value[metric] for metric in split if metric in value] == spent
    verified = [step for step in cell.steps if step.kind is StepKind.CRASH_VERIFY]
    assert [step.verdict for step in verified] == ["clean"] * strikes
    assert all("synced files none lost" in step.reason for step in verified)
    # A shutdown's own messages are no fault of the device.
    assert WarningKind.KERNEL_LOG not in {warning.kind for warning in cell_of(crashed[1], label).warnings}


def test_e2fsck_says_that_it_recovered_the_journal(crashed):
    folder, state = crashed
    for label in sorted({"ext3", "ext4"} & set(STRUCK)):
        second = [step for step in cell_of(state, label).steps if step.kind is StepKind.RECOVER][1]
        with open(f"{folder.path}/{second.commands[0].output}") as said:
            assert "recovering journal" in said.read()


@pytest.mark.skipif("device-mapper" in Path("/proc/misc").read_text(), reason="has device-mapper, as the lab")
@pytest.mark.parametrize("label", NOT)
def test_rows_that_a_shutdown_tells_nothing_of_say_why_where_there_is_no_device_mapper(crashed, label):
    state = crashed[1]
    cell = cell_of(state, label)
    assert cell.status is CellStatus.DONE
    of_crash = {StepKind.CRASH_LOAD, StepKind.RECOVER, StepKind.CRASH_VERIFY}
    reasons = [(step.reason, step.measurements) for step in cell.steps if step.kind in of_crash]
    assert reasons == [
        ("this kernel has no device-mapper", ()),
        ("no crash was tested", ()),
        ("no crash was tested", ()),
    ]
    (told,) = [warning.reason for warning in cell.warnings if warning.kind is WarningKind.POWER_LOSS]
    why = "its driver has no FS_IOC_SHUTDOWN" if label == "btrfs" else "without a journal what is in memory is written"
    assert why in told
    assert told.endswith("dm-flakey is not available: this kernel has no device-mapper")
    assert any(note.startswith(f"{label}: a crash needs dm-flakey: ") for note in state.request.plan.notes)


def test_rows_with_barriers_off_say_that_power_loss_is_not_tested(crashed):
    for label in STRUCK:
        told = [one.reason for one in cell_of(crashed[1], label).warnings if one.kind is WarningKind.POWER_LOSS]
        assert [reason.partition(":")[0] for reason in told] == ["power loss not tested"] * (label == "no barriers")


def test_the_grid_has_the_recovery_and_the_losses_in_columns_and_the_counts_in_words(crashed):
    folder, state = crashed
    grid = build_grid(state)
    shown = {metric for block in blocks_of(state, grid) for metric in block.columns}
    assert {Metric.RECOVER, Metric.LOST_SYNCED} <= shown
    words = {row.name: crash_words(row) for row in grid.rows}
    assert words["ext4"].startswith("crash: of ")
    assert "synced files none lost; of " in words["ext4"]
    assert words["btrfs"] == ""
    text = " ".join(succeed("results", folder.name, "--runs", folder.path.rpartition("/")[0]).split())
    assert words["ext4"].replace("crash:", "ext4:") in text.partition(" Crashes ")[2]


def test_a_shutdown_writes_no_log_and_keeps_what_was_synced(tmp_path, mounted):
    with scratch_device(tmp_path, 64 * MIB) as device:
        program("mkfs.ext4", "-q", device)
        point = mounted(device)
        fd = os.open(point, os.O_RDONLY)
        for number in range(200):
            with (point / f"{number}").open("w") as file:
                file.write("content")
                if number < 20:
                    file.flush()
                    os.fsync(file.fileno())
        shut_down(fd)
        os.close(fd)
        unmount(point)
        point = mounted(device)
        there = {int(path.name) for path in point.iterdir() if path.name.isdigit()}
        assert {int(path.name) for path in point.iterdir() if path.name.isdigit() and path.read_text()} >= {*range(20)}
        # A log that was flushed would bring all names back.
        assert there < {*range(200)}
        unmount(point)


FILES = "/run/fsconsole/mnt/crash/strike/t0000"


def test_a_synced_file_that_a_recovery_damages_or_loses_is_called_lost(tmp_path):
    damage = f"rm {FILES}/f00000000; truncate -s 4096 {FILES}/f00000008; truncate -s 0 {FILES}/f00000004"
    with scratch_device(tmp_path, 64 * MIB) as device:
        folder = new_run(ONE, device, str(tmp_path / "runs"))
        faulty_carry_out(folder, [Event(0, "recover", damage, when="after")], device)
        state = read_state(folder)
    (cell,) = state.cells
    first, second = [step for step in cell.steps if step.kind is StepKind.CRASH_VERIFY]
    # An empty file that had never been synced is no loss.
    assert "2 lost (1 missing, 1 cut, the first: strike/t0000/f00000000)" in first.reason
    assert (first.verdict, second.verdict) == ("lost", "clean")
    assert cell.value(Metric.LOST_SYNCED) == 2
    (told,) = [warning for warning in cell.warnings if warning.kind is WarningKind.LOST_DATA]
    assert first.reason in told.reason
    (row,) = build_grid(state).rows
    assert row.verdict == "lost"
    assert " 2 LOST; " in crash_words(row)


@pytest.mark.soak
def test_a_skip_in_the_middle_of_the_load_ends_the_cell_and_leaves_nothing(tmp_path):
    with scratch_device(tmp_path, 64 * MIB) as device:
        folder = new_run(ONE, device, str(tmp_path / "runs"))
        skip = shlex.join([*FSCONSOLE, "stop", "--skip", folder.name, "--runs", str(tmp_path / "runs")])
        faulty_carry_out(folder, [Event(0, "crash-load", skip, when="ready")], device)
        state = read_state(folder)
        assert_nothing_left(device, folder)
    (cell,) = state.cells
    assert cell.status is CellStatus.SKIPPED
    assert [step.outcome for step in cell.steps if step.kind is StepKind.CRASH_LOAD] == [Outcome.SKIPPED]
