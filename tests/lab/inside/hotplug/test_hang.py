"""A device that answers no more while a step goes on: given up and named, by the limit or when the run is stopped."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.client.control import ask
from fsconsole.engine.cleanup import clean_folder
from fsconsole.errors import ExitCode
from fsconsole.journal.store import RunFolder
from fsconsole.model.observation import Verb
from fsconsole.model.state import CellStatus, RunStatus
from fsconsole.system.waiting import waiting_below
from tests.lab.guest import run, settle, wait_until
from tests.lab.runs import act, begin_anew, cells_on, new_run, state_of
from tests.lab.soak import tried
from tests.lab.warm import Forked

PLAN = Path("tests/lab/inside/hotplug/hang.toml")
DEVICE = "/dev/dm-0"
SUSPEND = ("dmsetup", "suspend", "--nolockfs", "--noflush", "hanging")
HUNG_TASK_S = Path("/proc/sys/kernel/hung_task_timeout_secs")
STEPS = (
    "mkfs",
    "mount",
    "quiesce",
    "workload",
    "drain",
    "remount",
    "extents",
    "check",
    "cold-mount",
    "delete",
    "release",
)

EVERY = [(step, ends) for step in STEPS for ends in ("limit", "stop")]
SLEEPY_STEPS = ("mkfs", "mount", "quiesce", "workload", "drain", "remount", "unmount", "delete")
"""Of nilfs2, whose programs sleep while they wait for their disk, so that they are ended in time."""


@pytest.fixture(autouse=True)
def _hanging() -> Iterator[None]:
    sectors = run("blockdev", "--getsz", "/dev/vda").strip()
    run("dmsetup", "create", "hanging", "--table", f"0 {sectors} linear /dev/vda 0")
    settle()
    usual = HUNG_TASK_S.read_text()
    yield
    HUNG_TASK_S.write_text(usual)
    while ENGINES:
        ENGINES.pop().kill()
    run("dmsetup", "resume", "hanging")
    wait_until(
        lambda: (
            subprocess.run(["dmsetup", "remove", "hanging"], check=False, capture_output=True).returncode == 0
        ),
        "nothing holds the device any more",
    )


ENGINES: list[Forked] = []
PATIENCE_S = 300.0


def hanging_in(step: str, plan: Path = PLAN) -> RunFolder:
    """Begin a run whose device answers no more in a step of its first cell, and wait until it hangs."""
    folder = new_run(str(plan), DEVICE)
    ENGINES.append(begin_anew(folder, act(state_of(folder).cells[0], step, SUSPEND)))
    suspended = ("dmsetup", "info", "--columns", "--noheadings", "-o", "suspended", "hanging")
    wait_until(lambda: run(*suspended).strip() == "Suspended", "it hangs", PATIENCE_S)
    return folder


def over(folder: RunFolder) -> bool:
    return state_of(folder).status is RunStatus.FINISHED


@pytest.mark.parametrize(("step", "ends"), tried(EVERY, [("workload", "limit")]))
def test_a_device_that_answers_no_more_is_given_up_and_named(step: str, ends: str) -> None:
    folder = hanging_in(step)
    if ends == "stop":
        wait_until(lambda: waiting_below("unshare", folder.path) != (), "somebody waits for it", PATIENCE_S)
        assert ask(folder, Verb.STOP_NOW).accepted
    else:
        HUNG_TASK_S.write_text("2")
    wait_until(lambda: over(folder), "the run ends", PATIENCE_S)
    state = state_of(folder)
    assert state.exit_code == (ExitCode.STOPPED if ends == "stop" else ExitCode.DEVICE_HANGS), state
    assert f"{DEVICE} does not answer" in state.reason
    assert "(process " in state.reason
    ended = CellStatus.STOPPED if ends == "stop" else CellStatus.FAILED
    # When all is given back the device is needed no more: the next cell is the one that finds it silent.
    is_late = step == "release"
    cells = cells_on(state, DEVICE)
    assert [cell.status for cell in cells] == (
        [CellStatus.DONE, ended] if is_late else [ended, CellStatus.PENDING]
    )
    assert "does not answer" in cells[is_late].reason
    assert not ENGINES[-1].is_over()
    (cleaned,) = clean_folder(folder)
    assert "still waits" in cleaned.did
    run("dmsetup", "resume", "hanging")
    ENGINES.pop().wait()
    assert clean_folder(folder) == ()


@pytest.mark.parametrize("step", tried(SLEEPY_STEPS, ()))
def test_a_device_whose_filesystem_sleeps_while_it_waits_is_given_up_and_named(
    step: str, tmp_path: Path
) -> None:
    plan = tmp_path / "nilfs2.toml"
    plan.write_text(PLAN.read_text().replace('"ext4"', '"nilfs2"'))
    folder = hanging_in(step, plan)
    HUNG_TASK_S.write_text("2")
    wait_until(lambda: over(folder), "the run ends", PATIENCE_S)
    state = state_of(folder)
    assert state.exit_code == ExitCode.DEVICE_HANGS, state
    assert f"{DEVICE} does not answer" in state.reason
    assert [cell.status for cell in cells_on(state, DEVICE)] == [CellStatus.FAILED, CellStatus.PENDING], state
    run("dmsetup", "resume", "hanging")
    ENGINES.pop().wait()
    clean_folder(folder)
    assert clean_folder(folder) == ()
