"""An engine killed -9 in every kind of step leaves nothing behind and loses nothing that was reported done.

One run is killed in one kind of step after the other, each engine going on where the one before it was killed.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.engine.cleanup import clean_up
from fsconsole.engine.steps import HANDLERS
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.system.mounts import engine_argv
from tests.loop.runs import TINY_PLAN, assert_nothing_left, new_run, wait_for_end

pytestmark = pytest.mark.root

DRIVER = pathlib.Path(__file__).with_name("hanging_engine.py")
CELL = 1
"""The second cell hangs, so that there is a first one to be lost."""


@pytest.fixture
def device(tmp_path):
    """A scratch device of 64 MiB."""
    made = scratch.create(64 * 2**20, str(tmp_path / "scratch"))
    yield made.device
    scratch.remove(made)


def hanging(folder, kind, position, marker) -> subprocess.Popen[bytes]:
    argv = engine_argv(
        (sys.executable, str(DRIVER), folder.path, kind.value, position, str(CELL), str(marker))
    )
    with open(os.path.join(folder.path, "engine.log"), "ab") as log:
        child = subprocess.Popen(
            argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    deadline = time.monotonic() + 60
    while not marker.exists():
        assert child.poll() is None, pathlib.Path(folder.path, "engine.log").read_text()
        assert time.monotonic() < deadline, f"the engine never came to {kind.value}"
        time.sleep(0.02)
    # A drain begins without waiting for the journal; the test wants to know that it was written down.
    while (step := read_state(folder).current_step) is None or step.kind is not kind:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return child


def settings_of(device: str) -> list[str]:
    queue = pathlib.Path("/sys/block", os.path.basename(device), "queue")
    return [(queue / name).read_text() for name in ("read_ahead_kb", "nr_requests", "scheduler")]


def kill_engine(unshare: subprocess.Popen[bytes]) -> None:
    """Kill the engine itself, not its parent: the child of unshare is PID 1 of the namespace."""
    children = pathlib.Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    unshare.wait(timeout=30)


PLAN = (
    TINY_PLAN
    + """cold = true
with = { read_ahead = "64KiB" }
[settings]
read_ahead = "2MiB"
nr_requests = 16
"""
)
RAW_PLAN = TINY_PLAN.replace('mount = { data = ["ordered", "writeback"] }', "").replace(
    '[[filesystem]]\ntype = "ext4"', ""
).replace("repeats = 1", "repeats = 2\nraw = true")  # fmt: skip
RAW = (StepKind.RAW_WRITE, StepKind.RAW_READ, StepKind.READTEST)
PLANS = {**dict.fromkeys(HANDLERS, PLAN), **dict.fromkeys(RAW, RAW_PLAN)}
"""A plan whose second cell has a step of that kind."""
ELSEWHERE = frozenset({StepKind.ARRAY, StepKind.ARRAY_SYNC, StepKind.ARRAY_STOP})
"""Kinds of steps that need md and several disks: an engine is killed in them in tests/lab/inside/whatif."""
CASES = [(kind, "after") for kind in PLANS if kind not in ELSEWHERE] + [
    (kind, "before") for kind in (StepKind.EQUALISE, StepKind.MKFS, StepKind.MOUNT, StepKind.DRAIN)
]


def test_an_engine_is_killed_in_every_kind_of_step_that_there_is():
    assert {kind for kind, _ in CASES} | ELSEWHERE == set(StepKind)


class Victim:
    """A run that is killed again and again in its second cell."""

    def __init__(self, plan_text: str, directory: pathlib.Path) -> None:
        self.made = scratch.create(64 * 2**20, str(directory / "scratch"))
        self.device, self.runs_dir = self.made.device, str(directory / "runs")
        self.settings = settings_of(self.device)
        self.folder = new_run(plan_text, self.device, self.runs_dir)
        self.planned = read_state(self.folder).request.plan.cells[CELL]
        self.attempts = 0
        self.first_cells: list[CellState] = []


@pytest.fixture(scope="module")
def victims(tmp_path_factory):
    """Runs by their plans."""
    made = {text: Victim(text, tmp_path_factory.mktemp("victim")) for text in (PLAN, RAW_PLAN)}
    yield made
    for victim in made.values():
        scratch.remove(victim.made)


@pytest.mark.parametrize(("kind", "position"), CASES, ids=lambda value: getattr(value, "value", value))
def test_a_run_killed_in_any_step_is_cleaned_up_and_can_go_on(tmp_path, victims, kind, position):
    victim = victims[PLANS[kind]]
    assert kind in {step.kind for step in victim.planned.steps}, (
        f"{kind.value} needs a plan here, or a place in ELSEWHERE"
    )
    victim.attempts += 1
    kill_engine(hanging(victim.folder, kind, position, tmp_path / "marker"))
    assert_nothing_left(victim.device, victim.folder)

    (cleaned,) = clean_up(victim.runs_dir)
    assert cleaned.resumable
    assert kind.value in cleaned.did
    state = read_state(victim.folder)
    assert state.status is RunStatus.INTERRUPTED
    assert state.cells[0].status is CellStatus.DONE
    assert (state.cells[CELL].status, state.cells[CELL].attempt) == (CellStatus.UNKNOWN, victim.attempts)
    assert clean_up(victim.runs_dir) == ()
    assert (settings_of(victim.device), state.settings) == (victim.settings, ())
    victim.first_cells.append(state.cells[0])


@pytest.mark.parametrize("plan_text", [PLAN, RAW_PLAN], ids=["a filesystem", "raw"])
def test_a_run_that_was_killed_in_all_its_steps_is_finished_and_has_lost_nothing(victims, plan_text):
    victim = victims[plan_text]
    start_engine(victim.folder)
    wait_for_end(victim.folder)
    state = read_state(victim.folder)
    assert (state.status, state.reason) == (RunStatus.FINISHED, "")
    assert [cell.status for cell in state.cells] == [CellStatus.DONE, CellStatus.DONE]
    assert [cell for cell in victim.first_cells if cell != state.cells[0]] == []
    assert state.cells[CELL].attempt == victim.attempts + 1
    assert state.cells[CELL].value(Metric.WRITTEN) == 4 * 2**20
    assert_nothing_left(victim.device, victim.folder)


def test_killing_the_parent_of_the_engine_ends_it_too(tmp_path, device):
    folder = new_run(TINY_PLAN, device, str(tmp_path / "runs"))
    unshare = hanging(folder, StepKind.DRAIN, "before", tmp_path / "marker")
    unshare.kill()
    unshare.wait(timeout=30)
    deadline = time.monotonic() + 10
    while is_alive(folder):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert_nothing_left(device, folder)
