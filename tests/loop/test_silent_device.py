"""A device that gives no answer: `plan`, `resume` and `readtest` name it and end, and `devices` shows all others.

Here the program that asks it stands still, in the lab (inside/hotplug) the device itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.cli import device_survey
from fsconsole.cli.readtest import readtest
from fsconsole.devices import answering
from fsconsole.devices.answering import require_answer
from fsconsole.devices.state import Claim
from fsconsole.engine.renewal import look_again
from fsconsole.errors import DeviceSilent, ExitCode
from fsconsole.system.command import RealExecutor
from tests.conftest import MakeLoopDevice
from tests.loop.gate_cases import MIB
from tests.loop.runs import TINY_PLAN, hold_program, new_run

pytestmark = pytest.mark.root


@pytest.fixture
def silent(loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A device of which a read doesn't end: not before the barrier is gone."""
    device, barrier = loop_device(64 * MIB), tmp_path / "barrier"
    barrier.touch()
    hold_program("dd", f"if={device}", barrier, monkeypatch)
    for limit in ("ANSWER_LIMIT_S", "GLANCE_LIMIT_S"):
        monkeypatch.setattr(answering, limit, 0.5)
    return device


def test_a_plan_for_it_ends_with_its_name(silent: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceSilent, match=f"{silent} does not answer") as caught:
        new_run(TINY_PLAN, silent, str(tmp_path / "runs"))
    assert caught.value.exit_code == ExitCode.DEVICE_HANGS


def test_a_run_on_it_is_not_resumed(silent: str, tmp_path: Path) -> None:
    (tmp_path / "barrier").unlink()
    folder = new_run(TINY_PLAN, silent, str(tmp_path / "runs"))
    (tmp_path / "barrier").touch()
    with pytest.raises(DeviceSilent, match=silent):
        look_again(folder, RealExecutor())


def test_the_listing_names_it_and_shows_the_others(
    silent: str, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    other = loop_device(64 * MIB)
    survey = device_survey.take((silent, other), str(tmp_path / "runs"))
    states = {row.row.device.path: row.state for row in survey.rows}
    assert states[silent].text == "does not answer"
    assert states[silent].claim is Claim.HAZARDOUS
    assert "does not answer" not in states[other].text
    (note,) = survey.notes
    assert f"{silent} does not answer" in note


def test_it_is_not_read_for_its_speed(silent: str) -> None:
    with pytest.raises(DeviceSilent, match=silent):
        readtest(silent, seconds=0.1)


def test_an_error_is_an_answer_too(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    require_answer(loop_device(64 * MIB), RealExecutor())
    require_answer(str(tmp_path / "nothing here"), RealExecutor())
