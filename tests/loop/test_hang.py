"""Writers that no signal ends, and engines disturbed from outside.

By the limit they are given up in tests/lab/inside/faults/test_hang.py, here in the soak alone.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fsconsole.client.children import ask
from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors import ExitCode
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import CommandFinished, Outcome, StepStarted, Verb, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.plan.steps import TREE
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.conftest import run, wait_until
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import (
    TINY_PLAN,
    UNHURRIED_PLAN,
    WHOLE_PLAN,
    arguments_of,
    assert_nothing_left,
    descendants,
    fsconsole,
    is_free,
    new_run,
    wait_for,
    wait_for_end,
    written_by,
)

ENGINE = pathlib.Path(__file__).with_name("impatient_engine.py")
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
"""What fsfreeze does (include/uapi/linux/fs.h): who writes then waits in state D."""
LONG_S, SHORT_S = 600, 2


@dataclass
class Hung:
    """A run whose filesystem is frozen in the middle of its first load."""

    folder: RunFolder
    device: str
    engine: subprocess.Popen[bytes]
    tree: int
    """A descriptor of the frozen tree, by which it can be thawed; -1 when it has been."""

    def over(self) -> RunState:
        """Wait until the engine has said its last word and let go of the run; return how it ended."""
        wait_for(self.folder, lambda state: state.status is RunStatus.FINISHED, 120)
        wait_for_end(self.folder)
        return read_state(self.folder)

    def thaw(self) -> None:
        """Let the writers go, and wait until all that the run held is given back."""
        if self.tree >= 0:
            fcntl.ioctl(self.tree, FITHAW, 0)
            os.close(self.tree)
            self.tree = -1
            self.engine.wait()
            assert_nothing_left(self.device, self.folder)


@pytest.fixture(params=[SHORT_S])
def hung(own_scratch: scratch.Scratch, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Hung]:
    device = own_scratch.device
    folder = new_run(UNHURRIED_PLAN, device, str(tmp_path / "runs"))
    argv = engine_argv((sys.executable, str(ENGINE), folder.path, str(request.param)))
    engine = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)

    def writers() -> list[int]:
        words = ["-I", "-m", "fsconsole.workloads.host"]
        hosts = [pid for pid in descendants(engine.pid) if arguments_of(pid)[1:4] == words]
        return [pid for pid in hosts[1:] if written_by(pid) > 1000]

    try:
        wait_until(lambda: writers() != [], "writers write", 120)
        tree = os.open(f"/proc/{writers()[0]}/root{TREE}", os.O_RDONLY)
        fcntl.ioctl(tree, FIFREEZE, 0)
        hung = Hung(folder, device, engine, tree)
        try:
            yield hung
        finally:
            hung.thaw()
    finally:
        engine.kill()
        engine.wait()
        wait_until(lambda: is_free(device), "nothing holds the device")


@pytest.mark.soak
def test_writers_that_no_signal_ends_are_given_up_and_named_by_cleanup_until_nobody_waits(hung: Hung) -> None:
    state = hung.over()
    assert state.exit_code == ExitCode.DEVICE_HANGS
    assert f"{hung.device} does not answer in workload: python" in state.reason
    assert "(state D)" in state.reason
    assert "fsconsole cleanup" in state.hint
    first, *others = [cell.status for cell in state.cells]
    assert (first, set(others)) == (CellStatus.FAILED, {CellStatus.PENDING})
    assert state.cells[0].reason == state.reason
    assert hung.engine.poll() is None
    done = fsconsole("cleanup", "--runs", str(pathlib.Path(hung.folder.path).parent))
    assert "still waits in the kernel" in done.stdout, done
    hung.thaw()
    assert clean_folder(hung.folder) == ()


@pytest.mark.parametrize("hung", [LONG_S], indirect=True)
def test_stop_now_ends_a_run_whose_writers_no_signal_ends(hung: Hung) -> None:
    assert ask(hung.folder, Verb.STOP_NOW).accepted
    state = hung.over()
    assert state.exit_code == ExitCode.STOPPED
    assert f"stopped as asked, but {hung.device} does not answer" in state.reason
    assert state.cells[0].status is CellStatus.STOPPED


DRIVER = pathlib.Path(__file__).with_name("disturbed_engine.py")


@pytest.fixture
def folder(tmp_path, device):
    """The folder of a run of two tiny cells that has not begun."""
    return new_run(TINY_PLAN, device, str(tmp_path / "runs"))


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


def test_samples_that_the_journal_could_not_take_are_a_warning_on_their_cell_alone(folder):
    cells = disturbed(folder, "loses-samples").cells
    told = [[w.reason for w in cell.warnings if w.kind is WarningKind.NOT_COUNTED] for cell in cells]
    assert told == [
        ["3 gauge samples were lost: the disk of the run folder didn't answer for too long"],
        [],
    ]


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


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run that nobody disturbed, on a disk that goes through the page cache and counts nothing."""
    directory = tmp_path_factory.mktemp("ended")
    with scratch_device(directory, 64 * MIB) as device:
        run("losetup", "--direct-io=off", device)
        counting = pathlib.Path(f"/sys/block/{os.path.basename(device)}/queue/iostats")
        counting.write_text("0")
        folder = new_run(WHOLE_PLAN, device, str(directory / "runs"))
        start_engine(folder)
        wait_for_end(folder)
        counting.write_text("1")
        assert_nothing_left(device, folder)
        yield folder


def test_a_disk_without_direct_io_or_that_counts_nothing_is_a_warning_and_its_gauge_stays_empty(ended):
    state = read_state(ended)
    (target,) = state.request.targets
    name = os.path.basename(target.path)
    warned = {warning.kind: warning.reason for warning in state.warnings}
    assert warned[WarningKind.CACHED].startswith(f"{target.path} goes through the page cache")
    assert warned[WarningKind.NOT_COUNTED].startswith(f"I/O statistics are disabled for {name}")
    samples = JournalReader(ended.journal).read_since(Cursor()).samples
    assert samples
    assert name not in {device.name for sample in samples for device in sample.devices}


def test_nothing_is_written_down_between_a_delete_and_the_unmount_that_makes_it_durable(ended):
    seen = [
        entry.observation
        for entry in JournalReader(ended.journal).read_since(Cursor(), max_samples=0).entries
        if getattr(entry.observation, "cell", None) == 0
    ]
    starts = {o.kind: number for number, o in enumerate(seen) if isinstance(o, StepStarted)}
    commands = {o.argv[0]: number for number, o in enumerate(seen) if isinstance(o, CommandFinished)}
    assert commands["rm"] > starts[StepKind.DELETE_UNMOUNT]
    assert commands["unshare"] > starts[StepKind.DRAIN]


def test_every_command_stands_under_its_own_step_whenever_it_was_written_down(ended):
    cell = read_state(ended).cells[0]
    programs = {step.kind: [command.argv[0] for command in step.commands] for step in cell.steps}
    assert programs[StepKind.WORKLOAD] == ["unshare"]
    assert programs[StepKind.DRAIN] == []
    assert programs[StepKind.DELETE] == ["rm"]
    assert programs[StepKind.DELETE_UNMOUNT] == ["umount"]


def test_a_durable_delete_lasts_from_the_delete_to_the_end_of_the_unmount(ended):
    cell = read_state(ended).cells[0]
    (unmount,) = [step for step in cell.steps if step.kind is StepKind.DELETE_UNMOUNT]
    parts_s = cell.value(Metric.DELETE) + unmount.commands[0].elapsed_s
    assert cell.value(Metric.DELETE_DURABLE) >= parts_s
