"""What an operator can ask of a living run, and what must not reach it: every kind of stop, and lost viewers.

The writers of a cell are stopped by a signal in the middle of their writes while a test asks for something, so that
nothing depends on how fast this machine is.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import pty
import signal
import subprocess
import termios

import pytest

from fsconsole.client.children import ask
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import CellNotSkipped, RequestRefused
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive
from fsconsole.model.events import CellStarted, ControlRequested, Observation, Verb
from fsconsole.model.state import CellStatus, RunState, RunStatus
from tests.conftest import wait_until
from tests.lab.soak import tried
from tests.loop.runs import (
    FSCONSOLE,
    UNHURRIED_PLAN,
    assert_nothing_left,
    engine_of,
    freeze_load,
    fsconsole,
    kill_engines,
    new_folder,
    new_run,
    objects,
    succeed,
    thaw,
    wait_for,
    wait_for_end,
    written,
)
from tests.tui.on_a_pty import read_for
from tests.unit.cli.contract import checked

TWO_CELLS_PLAN = UNHURRIED_PLAN.replace(', "journal"]', "]")
FOUR_CELLS_PLAN = TWO_CELLS_PLAN.replace("repeats = 1", "repeats = 2")
DONE, PENDING, STOPPED, SKIPPED = (
    CellStatus.DONE, CellStatus.PENDING, CellStatus.STOPPED, CellStatus.SKIPPED,
)  # fmt: skip
Viewer = subprocess.Popen[str]


class Run:
    """A run that starts in front of a viewer, its first cell in the middle of its load."""

    def __init__(self, directory: pathlib.Path, device: str, plan: str = TWO_CELLS_PLAN) -> None:
        self.device = device
        self.runs = str(directory / "runs")
        self.words = ("run", written(directory, plan), "--device", device, "--runs", self.runs)
        self.viewers: list[Viewer] = []
        self.workers: list[int] = []

    def view(self, *words: str, **how: object) -> Viewer:
        """Start a command in a process group of its own, as a shell does."""
        pipes: dict[str, object] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        argv = [*FSCONSOLE, *words]
        options = {"stdin": subprocess.DEVNULL, "text": True, "start_new_session": True} | pipes | how
        self.viewers.append(subprocess.Popen(argv, **options))  # type: ignore[call-overload]
        return self.viewers[-1]

    def start(self, *words: str, **how: object) -> Viewer:
        """Start the run and freeze its first load."""
        viewer = self.view(*self.words, *words, **how)
        self.freeze()
        return viewer

    def take_up(self, cell: int) -> Viewer:
        """Start a viewer that resumes the run, and freeze a cell's load."""
        begun = len(self.state.started)
        viewer = self.view("resume", "--runs", self.runs)
        wait_until(lambda: len(self.state.started) > begun, "the engine begins")
        self.freeze(cell)
        return viewer

    def attach(self, *words: str) -> tuple[Viewer, str]:
        """Start a second viewer, and return it with its first line."""
        attached = self.view("attach", "--runs", self.runs, *words)
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
        entries = JournalReader(self.folder.journal).read_since(Cursor()).entries
        return [entry.observation for entry in entries]

    def ask(self, *words: str) -> str:
        return succeed("stop", "--runs", self.runs, *words)

    def asked(self) -> list[Verb]:
        return [seen.verb for seen in self.observations if isinstance(seen, ControlRequested)]

    def pause_after_the_cell(self) -> None:
        self.ask("--pause")
        self.thaw()
        paused = RunStatus.PAUSED
        wait_for(self.folder, lambda state: (state.status, state.current_cell) == (paused, None))

    def ended(self, viewer: Viewer, code: ExitCode, *statuses: CellStatus) -> str:
        """Wait for the end of a viewer and its run, and return what the viewer printed on stderr."""
        _, errors = viewer.communicate(timeout=60)
        assert_nothing_left(self.device, self.folder)
        assert viewer.returncode == code, errors
        assert self.statuses == list(statuses)
        return errors

    def resume(self) -> None:
        """Resume the run to its end, and prove that all its cells were begun in the plan's order."""
        checked("resume", succeed("resume", "--runs", self.runs, "--json"))
        assert set(self.statuses) <= {DONE, SKIPPED}
        begun = [seen.cell for seen in self.observations if isinstance(seen, CellStarted)]
        assert begun == sorted(begun)
        assert self.state.exit_code == ExitCode.OK
        assert_nothing_left(self.device, self.folder)

    def close(self) -> None:
        """End whatever a failed test has left."""
        kill_engines(self.runs)
        for viewer in self.viewers:
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
    out, errors = made.start("--detach").communicate(timeout=30)
    assert (out, errors, made.viewers[0].returncode) == (f"{made.folder.name}\n", "", 0)
    yield made
    made.close()


def test_a_run_is_paused_between_cells_goes_on_skips_a_cell_and_stops_after_one(tmp_path, device):
    run = Run(tmp_path, device, FOUR_CELLS_PLAN)
    try:
        viewer = run.start()
        run.pause_after_the_cell()
        run.ask("--continue")
        run.freeze(1)
        seen = run.observations
        assert seen.index(ControlRequested(Verb.CONTINUE)) < seen.index(CellStarted(1, 1))
        seen = run.state.running_cell
        run.ask("--skip")
        run.freeze(2)
        # The answer to a question that was asked in the cell before.
        with pytest.raises(CellNotSkipped, match="it is finished, and cell 3 runs now"):
            ask(run.folder, Verb.SKIP, seen)
        assert "Stopping after the current cell (cell 3, workload" in run.ask()
        run.thaw()
        errors = run.ended(viewer, ExitCode.STOPPED, DONE, SKIPPED, DONE, PENDING)
        assert (
            f"hint: `fsconsole resume {run.folder.name} --runs {os.path.dirname(run.folder.path)}` goes on with what is left."
            in errors
        )
        assert run.state.status is RunStatus.FINISHED
        before = run.state.cells[:3]
        run.resume()
        assert run.state.cells[:3] == before
        assert run.state.cells[3].attempt == 2
    finally:
        run.close()


def test_a_cell_that_is_stopped_in_the_middle_of_its_load_is_done_again_by_resume(run):
    viewer = run.start()
    run.pause_after_the_cell()
    run.ask()
    run.ended(viewer, ExitCode.STOPPED, DONE, PENDING)
    ways = (
        lambda: checked("stop", run.ask("--now", "--json")),
        lambda: os.kill(engine_of(run.folder), signal.SIGTERM),
    )
    chosen = tried(ways, ways[:1])
    for stop in chosen:
        viewer = run.take_up(1)
        stop()
        run.ended(viewer, ExitCode.STOPPED, DONE, STOPPED)
        assert run.state.cells[1].reason == "workload: interrupted by the operator"
    run.resume()
    assert [cell.attempt for cell in run.state.cells] == [1, 2 + len(chosen)]


def test_one_ctrl_c_stops_after_the_cell_and_does_not_reach_the_engine_and_a_second_stops_at_once(run):
    viewer = run.start()
    os.killpg(viewer.pid, signal.SIGINT)
    wait_until(lambda: run.asked() == [Verb.STOP_AFTER], "the engine is asked")
    run.thaw()
    errors = run.ended(viewer, ExitCode.STOPPED, DONE, PENDING)
    assert errors.startswith("stopping after this cell (cell 1, workload")
    viewer = run.take_up(1)
    for asked in ([Verb.STOP_AFTER], [Verb.STOP_AFTER, Verb.STOP_NOW]):
        os.killpg(viewer.pid, signal.SIGINT)
        wait_until(lambda asked=asked: run.asked()[1:] == asked, "the engine is asked")
    run.ended(viewer, ExitCode.STOPPED, DONE, STOPPED)


def test_a_closed_terminal_or_a_reader_that_is_gone_ends_the_view_and_the_run_goes_on(run):
    terminal, inner = pty.openpty()
    on_the_terminal = dict.fromkeys(("stdin", "stdout", "stderr"), inner)
    viewer = run.start(**on_the_terminal, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(inner)
    os.close(terminal)
    viewer.wait(timeout=30)
    assert is_alive(run.folder)
    shown, first = run.attach()
    assert "ext4 data=" in first
    unread, _ = run.attach("--json")
    unread.stdout.close()
    run.thaw()
    assert unread.wait(timeout=60) == ExitCode.FAILURE
    assert unread.stderr.read() == ""
    out, errors = rest_of(shown)
    assert (shown.returncode, errors) == (0, "")
    assert out.count("durable") >= 2
    assert run.statuses == [DONE, DONE]
    assert_nothing_left(run.device, run.folder)


@pytest.mark.soak
def test_two_viewers_at_once_see_the_same(run):
    viewer = run.start("--json")
    attached, first = run.attach("--json")
    run.thaw()
    rest, errors = rest_of(attached)
    out, _ = rest_of(viewer)
    assert (attached.returncode, errors) == (0, "")
    checked("attach", first + rest)
    assert observed(first + rest) == observed(out)
    assert observed(out)[-1]["event"] == "run_finished"


def rest_of(viewer: Viewer) -> tuple[str, str]:
    """Return what a viewer still prints to its end; communicate() would lose what a read line left in the buffer."""
    assert viewer.stdout is not None
    assert viewer.stderr is not None
    out, errors = viewer.stdout.read(), viewer.stderr.read()
    viewer.wait(timeout=60)
    return out, errors


def observed(text: str) -> list[dict[str, object]]:
    return [event for event in objects(text) if event["event"] != "sample"]


def test_ctrl_c_on_an_attached_viewer_leaves_the_run_alone(living):
    attached, _ = living.attach()
    os.killpg(attached.pid, signal.SIGINT)
    _, errors = rest_of(attached)
    assert (attached.returncode, errors) == (ExitCode.INTERRUPTED, "")
    assert living.asked() == []


def test_skip_of_cell_that_does_not_run_is_refused(living):
    refused = fsconsole("stop", "--runs", living.runs, "--skip", "--cell", "2")
    name = living.folder.name
    assert refused.returncode == ExitCode.FAILURE
    assert f"Cell 2 of run {name} is not skipped: it does not run, and cell 1 runs now." in refused.stderr
    assert fsconsole("stop", "--runs", living.runs, "--now", "--cell", "1").returncode == ExitCode.USAGE
    # What a client of an older version sends, which names no cell.
    with pytest.raises(RequestRefused, match="the request names none"):
        ask(living.folder, Verb.SKIP)
    assert living.asked() == []


def test_skip_on_terminal_asks_about_named_cell(living):
    terminal, inner = pty.openpty()
    asking = living.view("stop", "--runs", living.runs, "--skip", stdin=inner, stderr=inner)
    os.close(inner)
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(terminal, 1000)
    assert b"Skip cell 1 of 2, ext4 data=" in asked
    os.write(terminal, b"n\n")
    assert asking.wait(timeout=30) == ExitCode.FAILURE
    assert b"Nothing is skipped." in read_for(terminal, 5.0)
    os.close(terminal)
    assert living.asked() == []


def test_the_results_of_a_living_run_can_be_read_and_say_where_it_is(living):
    table = succeed("results", "--runs", living.runs)
    assert "workload of cell 1 of 2" in " ".join(table.split())
    succeed("results", "--runs", living.runs, "--format", "csv")
    (listed,) = json.loads(succeed("runs", "--json", "--runs", living.runs))["runs"]
    assert (listed["status"], listed["cells_over"], listed["cell_count"]) == ("running", 0, 2)


def test_neither_a_living_run_nor_its_device_is_taken_by_another_engine(living, tmp_path):
    refused = fsconsole("resume", "--runs", living.runs)
    assert refused.returncode == ExitCode.RUN_LIVES
    assert "is running." in refused.stderr
    assert succeed("cleanup", "--runs", living.runs) == "Nothing to clean up.\n"
    argv = [FSCONSOLE[0], "-m", "fsconsole.engine", living.folder.path]
    engine = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert engine.returncode == ExitCode.RUN_LIVES
    assert "another engine holds this run" in engine.stderr
    others = str(tmp_path / "others")
    new_run(TWO_CELLS_PLAN, living.device, others)
    _, *words = living.words
    commands = (
        ("run", *words[:-1], str(tmp_path / "new")),
        ("resume", "--runs", others),
        ("run", *words),
        ("plan", *words),
    )
    for command in tried(commands, commands[:2]):
        refused = fsconsole(*command)
        assert refused.returncode == ExitCode.DEVICE_LOCKED, command
        assert f"{living.device} is locked by another run or tool." in refused.stderr + refused.stdout


def test_a_run_that_all_this_was_tried_on_ends_as_if_nothing_had_been(living):
    living.thaw()
    wait_for_end(living.folder)
    assert_nothing_left(living.device, living.folder)
    assert living.statuses == [DONE, DONE]
    assert len(living.state.started) == 1
    assert living.asked() == []
