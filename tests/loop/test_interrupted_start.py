"""A signal at any moment after `fsconsole run` began: never a run that goes on alone, unless its viewer hung up."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.text import MIB
from tests.conftest import loops_under, wait_until
from tests.loop.runs import FSCONSOLE, TINY_PLAN, assert_nothing_left, kill_engines, wait_for_end, written

pytestmark = pytest.mark.root

MOMENTS = (
    *(("start", ms) for ms in (0, 100, 200, 300, 400, 500, 600)),
    *(("folder", ms) for ms in (0, 20, 60, 120, 250)),
)
"""Milliseconds after the start of the command, which loads and looks at the disks first, and after the run's
folder is there, when the engine is about to be started."""
SOME = (("start", 200), ("folder", 0), ("folder", 40), ("folder", 150))
LONG_PLAN = TINY_PLAN.replace("repeats = 1", "repeats = 9").replace(
    'order = "as', 'equalise = "none"\norder = "as'
)
"""So many cells that no run of them ends by itself while a test looks on."""
NO_RUN = {ExitCode.INTERRUPTED, -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP}
"""How a command ends that was cut before its run; while Python itself begins, it may also fail with a traceback."""


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A scratch device of 64 MiB."""
    made = scratch.create(64 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


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


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_stops_the_run_or_none_was_made(begin, tmp_path, device, moment):
    viewer = begin()
    await_moment(tmp_path, viewer, moment)
    os.killpg(viewer.pid, signal.SIGINT)
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.parametrize("moment", SOME)
def test_a_second_ctrl_c_stops_the_run_at_once_however_early_both_were(begin, tmp_path, device, moment):
    viewer = begin()
    await_moment(tmp_path, viewer, moment)
    os.killpg(viewer.pid, signal.SIGINT)
    time.sleep(0.03)
    if viewer.poll() is None:
        os.killpg(viewer.pid, signal.SIGINT)
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.parametrize("moment", SOME)
def test_sigterm_is_as_ctrl_c(begin, tmp_path, device, moment):
    viewer = begin()
    await_moment(tmp_path, viewer, moment)
    viewer.terminate()
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.parametrize("moment", SOME)
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
    stopped = subprocess.run(
        [*FSCONSOLE, "stop", "--now", "--runs", str(tmp_path / "runs")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert stopped.returncode == 0, stopped.stderr
    wait_for_end(folder)
    assert_nothing_left(device, folder)


def test_detach_with_an_early_ctrl_c_leaves_no_run_going_unseen(begin, tmp_path, device):
    viewer = begin("--detach")
    wait_until(lambda: bool(list_runs(str(tmp_path / "runs"))), "the run is made")
    os.killpg(viewer.pid, signal.SIGINT)
    out, errors = viewer.communicate(timeout=60)
    assert_stopped_or_nothing(tmp_path, device, viewer, out + errors)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_cut_before_its_run_leaves_no_scratch_device(tmp_path, number):
    words = ["demo", "--dir", str(tmp_path / "scratch"), "--size", "1GiB", "--runs", str(tmp_path / "runs")]
    viewer = subprocess.Popen([*FSCONSOLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: loops_under(str(tmp_path)) != [], "the scratch device is attached", 30)
    viewer.send_signal(number)
    viewer.send_signal(number)
    viewer.communicate(timeout=60)
    assert viewer.returncode in NO_RUN
    assert only_run(tmp_path) is None
    assert list((tmp_path / "scratch").glob("*")) == []
    assert loops_under(str(tmp_path)) == []
