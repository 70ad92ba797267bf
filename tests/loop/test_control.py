"""What an operator can ask of a living run, and what must not reach it: every kind of stop, and lost viewers.

The writers of the first cell are stopped by a signal in the middle of their writes while a test asks for
something, so that nothing depends on how fast this machine is.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import pty
import signal
import subprocess
import termios

import pytest

from fsconsole.errors import ExitCode
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive
from fsconsole.model.events import CellStarted, ControlRequested, Observation, Verb
from fsconsole.model.state import CellStatus, RunState, RunStatus
from tests.conftest import wait_until
from tests.loop.runs import (
    FSCONSOLE,
    UNHURRIED_PLAN,
    assert_nothing_left,
    engine_of,
    freeze_load,
    fsconsole,
    kill_engines,
    new_folder,
    objects,
    succeed,
    thaw,
    wait_for,
    wait_for_end,
)

TWO_CELLS_PLAN = UNHURRIED_PLAN.replace(', "journal"]', "]")
DONE, PENDING, STOPPED = CellStatus.DONE, CellStatus.PENDING, CellStatus.STOPPED


class Run:
    """A run in front of a viewer of its own, its first cell in the middle of its load."""

    def __init__(self, directory: pathlib.Path, device: str) -> None:
        self.device = device
        self.runs = str(directory / "runs")
        plan = directory / "plan.toml"
        plan.write_text(TWO_CELLS_PLAN)
        self.words = ("run", str(plan), "--device", device, "--runs", self.runs)
        self.viewer: subprocess.Popen[str] | None = None
        self.attached: list[subprocess.Popen[str]] = []
        self.workers: list[int] = []

    def start(self, *words: str, **how: object) -> subprocess.Popen[str]:
        """Start the run in a process group of its own, as a shell does, and freeze its first load."""
        self.viewer = subprocess.Popen(
            [*FSCONSOLE, *self.words, *words],
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "start_new_session": True,
            }
            | how,
        )
        self.freeze()
        return self.viewer

    def attach(self, *words: str) -> tuple[subprocess.Popen[str], str]:
        """Start a second viewer, in a process group of its own, and return it with its first line."""
        attached = subprocess.Popen(
            [*FSCONSOLE, "attach", "--runs", self.runs, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.attached.append(attached)
        assert attached.stdout is not None
        return attached, attached.stdout.readline()

    def freeze(self, cell: int = 0) -> None:
        self.workers = freeze_load(self.folder, cell)

    def thaw(self) -> None:
        thaw(self.workers)
        self.workers = []

    @property
    def folder(self) -> RunFolder:
        return new_folder(self.runs)

    @property
    def state(self) -> RunState:
        return read_state(self.folder)

    @property
    def statuses(self) -> list[CellStatus]:
        return [cell.status for cell in self.state.cells]

    @property
    def observations(self) -> list[Observation]:
        return [
            entry.observation for entry in JournalReader(self.folder.journal).read_since(Cursor()).entries
        ]

    def ask(self, *words: str) -> str:
        return succeed("stop", "--runs", self.runs, *words)

    def asked(self) -> list[Verb]:
        return [seen.verb for seen in self.observations if isinstance(seen, ControlRequested)]

    def end(self) -> tuple[str, str]:
        """Wait for the viewer's end and return what it printed."""
        assert self.viewer is not None
        printed = self.viewer.communicate(timeout=60)
        assert_nothing_left(self.device, self.folder)
        return printed

    def resume(self) -> None:
        """Resume the run and prove that all its cells were carried out in the plan's order."""
        succeed("resume", "--runs", self.runs)
        assert set(self.statuses) <= {DONE, CellStatus.SKIPPED}
        begun = [seen.cell for seen in self.observations if isinstance(seen, CellStarted)]
        assert begun == sorted(begun)
        assert self.state.exit_code == ExitCode.OK
        assert_nothing_left(self.device, self.folder)

    def close(self) -> None:
        """End whatever a failed test has left."""
        kill_engines(self.runs)
        for viewer in (*self.attached, *([self.viewer] if self.viewer else [])):
            viewer.kill()
            viewer.wait()
            for stream in (viewer.stdout, viewer.stderr):
                if stream is not None:
                    stream.close()


@pytest.fixture
def run(tmp_path, device):
    made = Run(tmp_path, device)
    yield made
    made.close()


@pytest.fixture(scope="module")
def living(tmp_path_factory, device):
    """A run in the middle of its first load, for all the tests that leave it as it is."""
    made = Run(tmp_path_factory.mktemp("living"), device)
    made.start()
    yield made
    made.close()


def test_stop_ends_the_run_after_the_cell_at_hand(run):
    viewer = run.start()
    assert "Stopping after the current cell (cell 1, workload" in run.ask()
    run.thaw()
    _, errors = run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert f"hint: `fsconsole resume {run.folder.name}` goes on with what is left." in errors
    assert run.statuses == [DONE, PENDING]
    assert run.state.status is RunStatus.FINISHED
    first = run.state.cells[0]
    run.resume()
    assert run.state.cells[0] == first
    assert [cell.attempt for cell in run.state.cells] == [1, 2]


def test_stop_now_ends_the_cell_in_the_middle_of_its_load_and_resume_does_it_again(run):
    viewer = run.start()
    run.ask("--now")
    run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert run.statuses == [STOPPED, PENDING]
    assert run.state.cells[0].reason == "workload: interrupted by the operator"
    run.resume()
    assert [cell.attempt for cell in run.state.cells] == [2, 2]


def test_skip_ends_the_cell_at_hand_and_goes_on_with_the_next(run):
    viewer = run.start()
    run.ask("--skip")
    run.end()
    assert viewer.returncode == ExitCode.OK
    assert run.statuses == [CellStatus.SKIPPED, DONE]


def test_a_pause_holds_the_next_cell_until_the_run_is_to_continue(run):
    viewer = run.start()
    run.ask("--pause")
    run.thaw()
    state = wait_for(run.folder, lambda state: state.cells[0].status is DONE)
    assert (state.status, state.current_cell) == (RunStatus.PAUSED, None)
    run.ask("--continue")
    run.end()
    assert viewer.returncode == ExitCode.OK
    assert run.statuses == [DONE, DONE]
    seen = run.observations
    assert seen.index(ControlRequested(Verb.CONTINUE)) < seen.index(CellStarted(1, 1))


def test_a_paused_run_can_be_stopped(run):
    viewer = run.start()
    run.ask("--pause")
    run.thaw()
    wait_for(run.folder, lambda state: state.cells[0].status is DONE)
    run.ask()
    run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert run.statuses == [DONE, PENDING]


def test_sigterm_to_the_engine_stops_the_cell_and_the_run(run):
    viewer = run.start()
    os.kill(engine_of(run.folder), signal.SIGTERM)
    run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert run.statuses == [STOPPED, PENDING]
    run.resume()


def test_one_ctrl_c_stops_after_the_cell_and_does_not_reach_the_engine(run):
    viewer = run.start()
    os.killpg(viewer.pid, signal.SIGINT)
    wait_until(lambda: run.asked() == [Verb.STOP_AFTER], "the engine is asked")
    run.thaw()
    _, errors = run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert errors.startswith("stopping after this cell; Ctrl-C again stops immediately\n")
    assert run.statuses == [DONE, PENDING]


def test_a_second_ctrl_c_stops_at_once(run):
    viewer = run.start()
    os.killpg(viewer.pid, signal.SIGINT)
    wait_until(lambda: run.asked() == [Verb.STOP_AFTER], "the engine is asked")
    os.killpg(viewer.pid, signal.SIGINT)
    run.end()
    assert viewer.returncode == ExitCode.STOPPED
    assert run.asked() == [Verb.STOP_AFTER, Verb.STOP_NOW]
    assert run.statuses == [STOPPED, PENDING]


def test_a_closed_terminal_ends_the_view_and_attach_shows_the_run_to_its_end(run):
    terminal, inner = pty.openpty()
    viewer = run.start(
        stdin=inner, stdout=inner, stderr=inner, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    )
    os.close(inner)
    os.close(terminal)
    viewer.wait(timeout=30)
    assert is_alive(run.folder)
    attached, first = run.attach()
    assert "ext4 data=" in first
    run.thaw()
    out, errors = rest_of(attached)
    assert (attached.returncode, errors) == (0, "")
    assert out.count("durable") >= 2
    assert run.statuses == [DONE, DONE]
    assert_nothing_left(run.device, run.folder)


def test_detach_returns_the_id_at_once(run):
    viewer = run.start("--detach")
    out, errors = viewer.communicate(timeout=30)
    assert (out, errors, viewer.returncode) == (f"{run.folder.name}\n", "", 0)
    assert is_alive(run.folder)
    run.thaw()
    wait_for_end(run.folder)
    assert run.statuses == [DONE, DONE]


def test_two_viewers_at_once_see_the_same(run):
    run.start("--json")
    attached, first = run.attach("--json")
    run.thaw()
    rest, errors = rest_of(attached)
    out, _ = run.end()
    assert (attached.returncode, errors) == (0, "")
    assert observed(first + rest) == observed(out)
    assert observed(out)[-1]["event"] == "run_finished"


def rest_of(viewer: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a viewer still prints to its end; communicate() would lose what a read line left in the buffer."""
    assert viewer.stdout is not None
    assert viewer.stderr is not None
    out, errors = viewer.stdout.read(), viewer.stderr.read()
    viewer.wait(timeout=60)
    return out, errors


def observed(text: str) -> list[dict[str, object]]:
    return [event for event in objects(text) if event["event"] != "sample"]


def test_a_viewer_whose_reader_is_gone_leaves_the_run_going(run):
    viewer = run.start()
    attached, _ = run.attach("--json")
    assert viewer.stdout is not None
    viewer.stdout.readline()
    for each in (viewer, attached):
        each.stdout.close()
    run.thaw()
    wait_for(run.folder, lambda state: state.cells[0].status is DONE)
    for each in (viewer, attached):
        assert each.wait(timeout=30) == ExitCode.FAILURE
        assert each.stderr.read() == ""
    wait_for_end(run.folder)
    assert run.statuses == [DONE, DONE]


def test_ctrl_c_on_an_attached_viewer_leaves_the_run_alone(living):
    attached, _ = living.attach()
    os.killpg(attached.pid, signal.SIGINT)
    _, errors = rest_of(attached)
    assert (attached.returncode, errors) == (ExitCode.INTERRUPTED, "")
    assert living.asked() == []


def test_the_results_of_a_living_run_can_be_read_and_say_where_it_is(living):
    table = succeed("results", "--runs", living.runs)
    assert "workload of cell 1 of 2" in " ".join(table.split())
    succeed("results", "--runs", living.runs, "--format", "csv")
    (listed,) = objects(" ".join(succeed("runs", "--json", "--runs", living.runs).split()))[0]
    assert (listed["status"], listed["cells_over"], listed["cells"]) == ("running", 0, 2)


def test_a_living_run_is_neither_resumed_nor_cleaned_up_nor_taken_by_a_second_engine(living):
    refused = fsconsole("resume", "--runs", living.runs)
    assert refused.returncode == ExitCode.RUN_LIVES
    assert "is running." in refused.stderr
    assert succeed("cleanup", "--runs", living.runs) == "Nothing to clean up.\n"
    argv = [FSCONSOLE[0], "-m", "fsconsole.engine", living.folder.path]
    engine = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert engine.returncode == ExitCode.RUN_LIVES
    assert "another engine holds this run" in engine.stderr


def test_a_second_run_on_the_same_device_is_refused(living, tmp_path):
    for words in (living.words, (*living.words[:-1], str(tmp_path / "other"))):
        refused = fsconsole(*words)
        assert refused.returncode == ExitCode.DEVICE_LOCKED
        assert f"{living.device} is locked by another run or tool." in refused.stderr


def test_a_run_that_all_this_was_tried_on_ends_as_if_nothing_had_been(living):
    living.thaw()
    living.end()
    assert living.statuses == [DONE, DONE]
    assert len(living.state.started) == 1
    assert living.asked() == []
