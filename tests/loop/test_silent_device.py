"""A device that gives no answer: `plan`, `resume` and `readtest` name it and end, and `devices` shows all others.

Here the program that asks it stands still, in the lab (inside/hotplug) the device itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.cli.devices import readtest
from fsconsole.devices import ask
from fsconsole.devices.ask import require_answer
from fsconsole.devices.state import Claim
from fsconsole.engine.proof import look_again
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceSilent
from fsconsole.model.command import Command, CommandResult, Usage
from fsconsole.preflight import device_survey
from fsconsole.system.locks import FileLock
from fsconsole.system.run import RealExecutor
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
        monkeypatch.setattr(ask, limit, 0.5)
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


def test_an_engine_that_watches_over_its_read_test_is_not_kept_from_it(
    silent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    readtest(silent, seconds=0.1, is_watched=True)
    assert "read through the page cache" in capsys.readouterr().out


def test_what_a_run_has_locked_is_neither_asked_nor_probed_by_a_listing(silent: str, tmp_path: Path) -> None:
    with FileLock.acquire(silent):
        survey = device_survey.take((silent,), str(tmp_path / "runs"))
    (row,) = survey.rows
    assert "is locked by another run or tool" in row.state.text
    assert survey.notes == ()


def test_an_error_is_an_answer_too(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    require_answer(loop_device(64 * MIB), 64 * MIB, RealExecutor())
    require_answer(str(tmp_path / "nothing here"), 64 * MIB, RealExecutor())


class Answers:
    """An executor whose dd is answered by a test: it gets dd's words and returns an exit code, or None for no answer."""

    def __init__(self, answer: Callable[[tuple[str, ...]], int | None]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, ...]] = []

    def run(self, command: Command) -> CommandResult:
        self.asked.append(command.argv)
        code = self._answer(command.argv)
        used = Usage(0, 0, 0, 0)
        return CommandResult(
            command.argv, -9 if code is None else code, b"", b"", used, timed_out=code is None
        )


def test_a_device_whose_last_block_hangs_is_silent_though_its_first_one_comes() -> None:
    dd = Answers(lambda argv: None if "skip=16383" in argv else 0)
    with pytest.raises(DeviceSilent):
        require_answer("/dev/md0", 64 * MIB, dd)
    assert dd.asked[0] != dd.asked[1]


def test_the_page_cache_is_asked_only_where_the_device_itself_takes_no_direct_read() -> None:
    takes_it, takes_it_not = Answers(lambda _: 0), Answers(lambda argv: int("iflag=direct" in argv))
    require_answer("/dev/sda", 0, takes_it)
    require_answer("/dev/sda", 0, takes_it_not)
    assert ["iflag=direct" in argv for argv in takes_it.asked] == [True]
    assert ["iflag=direct" in argv for argv in takes_it_not.asked] == [True, False]


def test_where_an_earlier_look_waits_none_is_begun_and_where_one_has_only_just_begun_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Answers(lambda _: 0)
    require_answer("/dev/sda", 0, said)
    for age_s, asked in ((59.0, 1), (61.0, 0)):
        monkeypatch.setattr(ask, "waits_of", lambda _, age_s=age_s: {said.asked[0]: age_s})
        dd = Answers(lambda _: None)
        with pytest.raises(DeviceSilent):
            require_answer("/dev/sda", 0, dd, limit_s=60.0)
        assert len(dd.asked) == asked


def test_a_device_that_could_not_be_asked_is_left_to_whoever_looks_at_it() -> None:
    def fails(_: tuple[str, ...]) -> int:
        raise ToolFailed("dd", -1, "Resource temporarily unavailable")

    assert ask.silent_among({"/dev/sda": 0, "/dev/sdb": 0}, Answers(fails)) == {}
