"""What happens to a run when something comes in between, and what is written down while a clock runs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.events import Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import CommandFinished, Outcome, StepStarted, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.system.mounts import engine_argv
from tests.conftest import run
from tests.loop.runs import TINY_PLAN, new_run, wait_for_end

pytestmark = pytest.mark.root

DRIVER = pathlib.Path(__file__).with_name("disturbed_engine.py")


@pytest.fixture
def folder(tmp_path):
    """The folder of a run of two tiny cells that has not begun."""
    made = scratch.create(64 * 2**20, str(tmp_path / "scratch"))
    yield new_run(TINY_PLAN, made.device, str(tmp_path / "runs"))
    scratch.remove(made)


def disturbed(folder, disturbance: str):
    """Carry out a run with a disturbance, and return its state; nothing of it may be a traceback."""
    argv = engine_argv((sys.executable, str(DRIVER), folder.path, disturbance))
    ended = subprocess.run(
        argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, start_new_session=True
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    state = read_state(folder)
    assert state.exit_code == ended.returncode
    return state


def test_a_skip_in_the_instant_of_a_mount_leaves_nothing_mounted_for_the_next_cell(folder):
    state = disturbed(folder, "skip-at-mount")
    assert [cell.status for cell in state.cells] == [CellStatus.SKIPPED, CellStatus.DONE], state.reason
    assert state.exit_code == ExitCode.OK


def test_what_the_kernel_complains_about_during_a_load_is_a_warning_on_the_cell_and_kept(folder):
    state = disturbed(folder, "kernel-error")
    warned = [[w.kind for w in cell.warnings].count(WarningKind.KERNEL_LOG) for cell in state.cells]
    assert warned == [1, 0]
    (kept,) = pathlib.Path(folder.raw).glob("000-*-kernel-log")
    assert "EXT4-fs error" in kept.read_text()


def test_a_filesystem_that_cannot_be_given_back_ends_the_run_with_the_reason(folder):
    state = disturbed(folder, "kept-busy")
    assert (state.outcome, state.exit_code) == (Outcome.FAILED, ExitCode.TOOL_FAILED)
    assert "umount" in state.reason
    assert [cell.status for cell in state.cells] == [CellStatus.STOPPED, CellStatus.PENDING]


def test_a_system_call_that_fails_between_steps_ends_the_run_with_the_reason(folder):
    state = disturbed(folder, "system-refuses")
    assert (state.outcome, state.exit_code) == (Outcome.FAILED, ExitCode.FAILURE)
    assert "/proc/1: Operation not permitted" in state.reason
    assert state.cells[0].status is CellStatus.UNKNOWN


def test_a_stop_that_kills_a_probe_is_a_stop_and_nothing_against_the_device(folder):
    state = disturbed(folder, "stop-in-proof")
    assert (state.outcome, state.exit_code) == (Outcome.STOPPED, ExitCode.STOPPED), state.reason
    assert [cell.status for cell in state.cells] == [CellStatus.STOPPED, CellStatus.PENDING]


def test_a_resumed_run_does_not_forget_what_failed_before(folder):
    assert disturbed(folder, "fails-first").exit_code == ExitCode.STOPPED
    start_engine(folder)
    wait_for_end(folder)
    state = read_state(folder)
    assert [cell.status for cell in state.cells] == [CellStatus.FAILED, CellStatus.DONE]
    assert (state.exit_code, state.reason) == (ExitCode.CELLS_FAILED, "1 of 2 cells failed")


def test_a_loop_device_without_direct_io_is_a_warning_on_the_run(folder):
    (target,) = read_state(folder).request.targets
    run("losetup", "--direct-io=off", target.path)
    start_engine(folder)
    wait_for_end(folder)
    warned = {warning.kind: warning.reason for warning in read_state(folder).warnings}
    assert warned[WarningKind.CACHED].startswith(f"{target.path} goes through the page cache")


def test_a_disk_that_counts_nothing_is_a_warning_and_its_gauge_stays_empty(folder):
    (target,) = read_state(folder).request.targets
    name = os.path.basename(target.path)
    pathlib.Path(f"/sys/block/{name}/queue/iostats").write_text("0")
    try:
        start_engine(folder)
        wait_for_end(folder)
    finally:
        pathlib.Path(f"/sys/block/{name}/queue/iostats").write_text("1")
    warned = {warning.kind: warning for warning in read_state(folder).warnings}
    assert warned[WarningKind.NOT_COUNTED].reason.startswith(f"I/O statistics are disabled for {name}")
    samples = JournalReader(folder.journal).read_since(Cursor()).samples
    assert samples
    assert name not in {device.name for sample in samples for device in sample.devices}


def test_nothing_is_written_down_between_a_delete_and_the_unmount_that_makes_it_durable(folder):
    start_engine(folder)
    wait_for_end(folder)
    seen = [
        entry.observation
        for entry in JournalReader(folder.journal).read_since(Cursor(), max_samples=0).entries
        if getattr(entry.observation, "cell", None) == 0
    ]
    starts = {o.kind: number for number, o in enumerate(seen) if isinstance(o, StepStarted)}
    commands = {o.argv[0]: number for number, o in enumerate(seen) if isinstance(o, CommandFinished)}
    assert commands["rm"] > starts[StepKind.DELETE_UNMOUNT]
    assert commands["unshare"] > starts[StepKind.DRAIN]


def test_every_command_stands_under_its_own_step_whenever_it_was_written_down(folder):
    start_engine(folder)
    wait_for_end(folder)
    cell = read_state(folder).cells[0]
    programs = {step.kind: [command.argv[0] for command in step.commands] for step in cell.steps}
    assert programs[StepKind.WORKLOAD] == ["unshare"]
    assert programs[StepKind.DRAIN] == []
    assert programs[StepKind.DELETE] == ["rm"]
    assert programs[StepKind.DELETE_UNMOUNT] == ["umount"]


def test_a_durable_delete_lasts_from_the_delete_to_the_end_of_the_unmount(folder):
    start_engine(folder)
    wait_for_end(folder)
    cell = read_state(folder).cells[0]
    (unmount,) = [step for step in cell.steps if step.kind is StepKind.DELETE_UNMOUNT]
    parts_s = cell.value(Metric.DELETE) + unmount.commands[0].elapsed_s
    assert cell.value(Metric.DELETE_DURABLE) >= parts_s
