"""Engines killed in every kind of step, at random moments, and signals at any moment of a start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.engine.steps import HANDLERS
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.conftest import loops_under, wait_until
from tests.lab.soak import tried
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import (
    FSCONSOLE,
    RAW_PLAN,
    THREE_CELLS_PLAN,
    TINY_PLAN,
    WHOLE_PLAN,
    agree_again,
    assert_nothing_left,
    clean_up,
    kill_engines,
    new_run,
    settings_of,
    succeed,
    wait_for_end,
    written,
)
from tests.loop.soak_kill import soak

DRIVER = Path(__file__).with_name("hanging_engine.py")
CELL = 1
"""The second cell hangs, so that there is a first one to be lost."""


def hanging(folder, kind, position, marker, *, cell=CELL, under=()) -> subprocess.Popen[bytes]:
    """Start a run's engine, and wait until it stands still before or after a kind of step of a cell."""
    argv = (sys.executable, str(DRIVER), folder.path, kind.value, position, str(cell), str(marker))
    with open(os.path.join(folder.path, "engine.log"), "ab") as log:
        child = subprocess.Popen(
            [*under, *engine_argv(argv)],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def is_there() -> bool:
        assert child.poll() is None, Path(folder.path, "engine.log").read_text()
        # A drain begins without waiting for the journal; the test wants to know that it was written down.
        return marker.exists() and getattr(read_state(folder).current_step, "kind", None) is kind

    wait_until(is_there, f"the engine comes to {kind.value}")
    return child


def kill_engine(unshare: subprocess.Popen[bytes]) -> None:
    """Kill the engine itself, not its parent: the child of unshare is PID 1 of the namespace."""
    children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    unshare.wait(timeout=30)


PLAN = (
    WHOLE_PLAN
    + """cold = true
with = { read_ahead = "64KiB" }
[settings]
read_ahead = "2MiB"
nr_requests = 16
[after]
crash = true
quick_check = true
"""
)
OTHER_PLAN = THREE_CELLS_PLAN.replace("schema = 1", "schema = 1\nage = { cycles = 1, fill = 0.1 }").replace(
    "workload = [", 'workload = [{ kind = "command", argv = ["true"], sources = ["/usr/share/zoneinfo"] }, '
)
RAW = (StepKind.RAW_PILOT, StepKind.RAW_WRITE, StepKind.RAW_READ, StepKind.READTEST)
PLANS = {
    **dict.fromkeys(HANDLERS, PLAN),
    **dict.fromkeys(RAW, RAW_PLAN),
    StepKind.AGE: OTHER_PLAN,
    StepKind.WARM: OTHER_PLAN,
}
"""A plan whose second cell has a step of that kind."""
ELSEWHERE = frozenset({StepKind.ARRAY, StepKind.ARRAY_SYNC, StepKind.ARRAY_STOP, StepKind.PILOT})
"""Kinds of steps that need md and several disks: an engine is killed in them in tests/lab/inside/whatif; and those of
pilots, in test_sizing.py."""
EVERY_CASE = [(kind, "after") for kind in PLANS if kind not in ELSEWHERE] + [
    (kind, "before") for kind in (StepKind.EQUALISE, StepKind.MKFS)
]
CASES = tried(
    EVERY_CASE,
    [
        (StepKind.MKFS, "before"), (StepKind.SETTINGS, "after"), (StepKind.WORKLOAD, "after"), (StepKind.DELETE, "after"),
    ],
)  # fmt: skip
"""In the test command a kind of each of what is held then: the gate's proof, settings, a mount with writers, files half removed."""


def test_an_engine_is_killed_in_every_kind_of_step_that_there_is():
    assert {kind for kind, _ in EVERY_CASE} | ELSEWHERE == set(StepKind)
    assert set(CASES) <= set(EVERY_CASE)


class Victim:
    """A run that is killed again and again in its second cell."""

    def __init__(self, plan_text: str, device: str, directory: Path) -> None:
        self.device, self.runs_dir = device, str(directory / "runs")
        self.settings = settings_of(device)
        self.folder = new_run(plan_text, device, self.runs_dir)
        self.planned = read_state(self.folder).request.plan.cells[CELL]
        self.attempts = 0
        self.first_cells: list[CellState] = []


@pytest.fixture(scope="module")
def victims(tmp_path_factory):
    """Runs by their plans."""
    made: dict[str, Victim] = {}
    with ExitStack() as stack:
        for plan in dict.fromkeys(PLANS[kind] for kind, _ in CASES):
            place = tmp_path_factory.mktemp("victim")
            # Raw streams fill a device.
            device = stack.enter_context(scratch_device(place, 16 * MIB if plan == RAW_PLAN else 64 * MIB))
            made[plan] = Victim(plan, device, place)
        yield made


@pytest.mark.parametrize(("kind", "position"), CASES, ids=lambda value: getattr(value, "value", value))
def test_a_run_killed_in_any_step_is_cleaned_up_and_can_go_on(tmp_path, victims, kind, position):
    victim = victims[PLANS[kind]]
    assert kind in {step.kind for step in victim.planned.steps}, (
        f"{kind.value} needs a plan here, or a place in ELSEWHERE"
    )
    if victim.attempts:
        agree_again(victim.folder)
    victim.attempts += 1
    kill_engine(hanging(victim.folder, kind, position, tmp_path / "marker"))
    assert_nothing_left(victim.device, victim.folder)

    (cleaned,) = clean_up(victim.runs_dir)
    assert cleaned.resumable
    assert kind.words in cleaned.did
    state = read_state(victim.folder)
    assert state.status is RunStatus.INTERRUPTED
    assert state.cells[0].status is CellStatus.DONE
    assert (state.cells[CELL].status, state.cells[CELL].attempt) == (CellStatus.UNKNOWN, victim.attempts)
    assert clean_up(victim.runs_dir) == ()
    assert (settings_of(victim.device), state.settings) == (victim.settings, ())
    victim.first_cells.append(state.cells[0])


@pytest.mark.parametrize(
    "plan_text",
    [pytest.param(PLAN, id="a filesystem"), pytest.param(RAW_PLAN, id="raw", marks=pytest.mark.soak)],
)
def test_a_run_that_was_killed_in_all_its_steps_is_finished_and_has_lost_nothing(victims, plan_text):
    victim = victims[plan_text]
    agree_again(victim.folder)
    start_engine(victim.folder)
    wait_for_end(victim.folder)
    state = read_state(victim.folder)
    assert (state.status, state.reason) == (RunStatus.FINISHED, "")
    assert [cell.status for cell in state.cells] == [CellStatus.DONE, CellStatus.DONE]
    assert [cell for cell in victim.first_cells if cell != state.cells[0]] == []
    assert state.cells[CELL].attempt == victim.attempts + 1
    # Raw streams fill a device that takes less than ten seconds.
    size_bytes = state.request.targets[0].identity.size_bytes
    assert state.cells[CELL].value(Metric.WRITTEN) == (size_bytes if plan_text == RAW_PLAN else 4 * 2**20)
    assert_nothing_left(victim.device, victim.folder)


def test_a_killed_btrfs_is_made_again_also_where_nothing_clears_the_device(tmp_path):
    plan = TINY_PLAN.replace('mount = { data = ["ordered", "writeback"] }', "").replace("ext4", "btrfs")
    with scratch_device(tmp_path, 256 * MIB) as device:
        plan = plan.replace("repeats = 1", 'repeats = 1\nequalise = "none"')
        folder = new_run(plan, device, str(tmp_path / "runs"))
        kill_engine(hanging(folder, StepKind.MOUNT, "after", tmp_path / "marker", cell=0))
        clean_up(str(tmp_path / "runs"))
        agree_again(folder)
        start_engine(folder)
        wait_for_end(folder)
        state = read_state(folder)
    assert [(cell.status, cell.reason) for cell in state.cells] == [(CellStatus.DONE, "")]


def test_killing_the_parent_of_the_engine_ends_it_too(tmp_path, own_scratch):
    folder = new_run(TINY_PLAN, own_scratch.device, str(tmp_path / "runs"))
    unshare = hanging(folder, StepKind.DRAIN, "before", tmp_path / "marker", cell=0)
    unshare.kill()
    unshare.wait(timeout=30)
    wait_for_end(folder, 10)
    assert_nothing_left(own_scratch.device, folder)


KILLS = 200


CUTS = tried(
    (
        *(((signal.SIGINT,), ("start", ms)) for ms in (0, 150, 300, 450, 600)),
        *(((signal.SIGINT,), ("folder", ms)) for ms in (0, 60, 200)),
        *(((signal.SIGINT, signal.SIGINT), moment) for moment in (("start", 200), ("folder", 0), ("folder", 60))),
        *(((signal.SIGTERM,), moment) for moment in (("start", 200), ("folder", 40))),
    ),
    (
        ((signal.SIGINT,), ("start", 300)),
        ((signal.SIGINT, signal.SIGINT), ("folder", 60)),
        ((signal.SIGTERM,), ("folder", 40)),
    ),
)
"""What is sent, and milliseconds after the start of the command, which loads and looks at the disks first, or after the
run's folder is there, when the engine is about to be started."""


@pytest.mark.parametrize(("numbers", "moment"), CUTS)
def test_ctrl_c_once_or_twice_and_sigterm_stop_the_run_or_none_was_made(begin, tmp_path, device, numbers, moment):
    viewer = begin()
    await_moment(tmp_path, viewer, moment)
    for number in numbers:
        if viewer.poll() is None:
            os.killpg(viewer.pid, number)
        time.sleep(0.03)
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.soak
def test_a_run_killed_at_random_moments_is_finished_and_loses_nothing(tmp_path):
    seed = time.time_ns()
    print(f"the moments are those of seed {seed}")
    said = list(soak(KILLS, seed, str(tmp_path)))
    assert len(said) == KILLS
    assert all(words.startswith("the engine died ") for words in said)


LONG_PLAN = TINY_PLAN.replace("repeats = 1", "repeats = 9").replace('order = "as', 'equalise = "none"\norder = "as')
"""So many cells that no run of them ends by itself while a test looks on."""
NO_RUN = {ExitCode.INTERRUPTED, -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP}
"""How a command ends that was cut before its run; while Python itself begins, it may also fail with a traceback."""


@pytest.fixture
def begin(tmp_path, device):
    """Begin a run in a process group of its own; its runs are in tmp_path/runs."""
    begun = []

    def start(*words: str) -> subprocess.Popen[str]:
        plan = written(tmp_path, LONG_PLAN)
        argv = [*FSCONSOLE, "run", plan, "--device", device, "--runs", str(tmp_path / "runs"), *words]
        begun.append(
            subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                start_new_session=True,
            )
        )  # fmt: skip
        return begun[-1]

    yield start
    kill_engines(str(tmp_path / "runs"))
    for viewer in begun:
        viewer.kill()
        viewer.communicate()


def await_moment(directory: Path, viewer: subprocess.Popen[str], moment: tuple[str, int]) -> None:
    """Wait for the moment; a viewer that is over before it has failed."""
    since, after_ms = moment
    if since == "folder":
        wait_until(
            lambda: bool(list_runs(str(directory / "runs"))) or viewer.poll() is not None,
            "the run is made",
            30,
        )
        assert viewer.poll() is None, viewer.communicate()
    time.sleep(after_ms / 1000)
    assert viewer.poll() is None


def only_run(directory: Path) -> RunFolder | None:
    """Return the one run there is; where there is none, nothing of one may be left."""
    runs = directory / "runs"
    found = list_runs(str(runs))
    if not found:
        assert not list(runs.glob(".*"))
        return None
    (folder,) = found
    return folder


def assert_stopped_or_nothing(directory: Path, device: str, viewer: subprocess.Popen[str], said: str) -> None:
    folder = only_run(directory)
    if folder is None:
        assert viewer.returncode in NO_RUN or said.endswith("KeyboardInterrupt\n"), said
        return
    assert_nothing_left(device, folder)
    state = read_state(folder)
    assert (state.status, state.outcome) == (RunStatus.FINISHED, Outcome.STOPPED), said
    assert viewer.returncode == ExitCode.STOPPED, said
    statuses = [cell.status for cell in state.cells]
    assert statuses.count(CellStatus.PENDING) >= len(statuses) - 2


@pytest.mark.parametrize(
    "moment", tried([("start", 200), ("folder", 0), ("folder", 150)], [("start", 200), ("folder", 150)])
)
def test_a_hang_up_makes_no_run_or_leaves_it_going(begin, tmp_path, device, moment):
    viewer = begin()
    await_moment(tmp_path, viewer, moment)
    viewer.send_signal(signal.SIGHUP)
    out, errors = viewer.communicate(timeout=60)
    assert (viewer.returncode, errors) == (-signal.SIGHUP, ""), out
    folder = only_run(tmp_path)
    if folder is None:
        return
    wait_until(lambda: read_state(folder).started != (), "the engine begins", 30)
    succeed("stop", "--now", "--runs", str(tmp_path / "runs"))
    wait_for_end(folder)
    assert_nothing_left(device, folder)


def test_detach_with_an_early_ctrl_c_leaves_no_run_going_unseen(begin, tmp_path, device):
    viewer = begin("--detach")
    wait_until(lambda: bool(list_runs(str(tmp_path / "runs"))), "the run is made")
    os.killpg(viewer.pid, signal.SIGINT)
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.parametrize("number", tried([signal.SIGINT, signal.SIGHUP], [signal.SIGINT]))
def test_a_demo_that_is_cut_before_its_run_leaves_no_scratch_device(tmp_path, number):
    (tmp_path / "scratch").mkdir()
    words = ["demo", "--dir", str(tmp_path / "scratch"), "--size", "320MiB", "--runs", str(tmp_path / "runs")]
    viewer = subprocess.Popen([*FSCONSOLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: loops_under(str(tmp_path)) != [], "the scratch device is attached", 30)
    viewer.send_signal(number)
    viewer.send_signal(number)
    viewer.communicate(timeout=60)
    assert viewer.returncode in NO_RUN
    assert only_run(tmp_path) is None
    assert list((tmp_path / "scratch").glob("*")) == []
    assert loops_under(str(tmp_path)) == []
