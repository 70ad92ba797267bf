"""A device that gives no answer: `plan` and `resume` name it and end, whatever waits for it in the kernel.

Here the program that asks it stands still, in the lab (inside/hotplug) the device itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.devices import answering
from fsconsole.devices.answering import require_answer
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
    monkeypatch.setattr(answering, "ANSWER_LIMIT_S", 0.5)
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


def test_an_error_is_an_answer_too(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    require_answer(loop_device(64 * MIB), RealExecutor())
    require_answer(str(tmp_path / "nothing here"), RealExecutor())
