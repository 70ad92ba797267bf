"""A device that gives no answer: `plan`, `resume` and `readtest` name it and end, and `devices` shows all others.

Here the child that asks it stands still, in the lab (inside/hotplug) the device itself.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fsconsole.cli.devices import readtest
from fsconsole.devices import ask, ask_child
from fsconsole.devices.ask import require_answer
from fsconsole.devices.state import Claim
from fsconsole.engine.proof import look_again
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceSilent
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.preflight import device_survey
from fsconsole.system.locks import FileLock
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice
from tests.loop.runs import TINY_PLAN, new_run

HELD = """
import os, runpy, time
open_for_real = os.open
def held(path, flags):
    while path == {device!r} and os.path.exists({barrier!r}):
        time.sleep(0.02)
    return open_for_real(path, flags)
os.open = held
runpy.run_path({child!r}, run_name="__main__")
"""


@pytest.fixture
def silent(loop_device: MakeLoopDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A device of which a read doesn't end: not before the barrier is gone."""
    device, barrier, held = loop_device(64 * MIB), tmp_path / "barrier", tmp_path / "held.py"
    barrier.touch()
    held.write_text(HELD.format(device=device, barrier=str(barrier), child=ask_child.__file__))
    monkeypatch.setattr(ask, "CHILD", str(held))
    for limit in ("ANSWER_LIMIT_S", "GLANCE_LIMIT_S"):
        monkeypatch.setattr(ask, limit, 0.5)
    return device


def test_an_engine_that_watches_over_its_read_test_is_not_kept_from_it(
    silent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    readtest(silent, seconds=0.1, is_watched=True)
    assert "read through the page cache" in capsys.readouterr().out


def test_an_error_is_an_answer_too(loop_device: MakeLoopDevice, tmp_path: Path) -> None:
    require_answer(loop_device(64 * MIB), 64 * MIB, RealExecutor())
    require_answer(str(tmp_path / "nothing here"), 64 * MIB, RealExecutor())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    made = Reads()
    monkeypatch.setattr(ask_child.os, "open", lambda _, flags: flags)
    monkeypatch.setattr(ask_child.os, "close", lambda _: None)
    monkeypatch.setattr(ask_child.os, "preadv", made.preadv)
    return made


class Reads:
    """Stands for a device: the flags and places of reads, and an error for direct ones where it takes none."""

    def __init__(self) -> None:
        self.done: list[tuple[bool, int]] = []
        self.takes_direct = True

    def preadv(self, flags: int, _pages: object, place: int) -> int:
        is_direct = bool(flags & os.O_DIRECT)
        self.done.append((is_direct, place))
        if is_direct and not self.takes_direct:
            raise OSError(errno.EINVAL, "Invalid argument")
        return 4096


def test_the_page_cache_is_asked_only_where_the_device_itself_takes_no_direct_read(reads: Reads) -> None:
    ask_child.ask("/dev/md0", 64 * MIB)
    assert reads.done == [(True, 0), (True, 64 * MIB - 4096)]
    reads.takes_direct = False
    ask_child.ask("/dev/sda", 0)
    assert reads.done[2:] == [(True, 0), (False, 0)]


class Answers:
    """An executor that counts the children it is asked for; none of them has a word to say."""

    def __init__(self, error: ToolFailed | None = None) -> None:
        self._error = error
        self.count = 0

    def run(self, command: Command) -> CommandResult:
        self.count += 1
        if self._error is not None:
            raise self._error
        return CommandResult(command.argv, -9, b"", b"", ResourceUsage(0, 0, 0, 0), timed_out=True)


def test_where_an_earlier_look_waits_none_is_begun_and_where_one_has_only_just_begun_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = ask_child.task_name(os.stat("/dev/loop-control").st_rdev)
    monkeypatch.setattr(ask, "block_number", lambda path: os.stat(path).st_rdev)
    for age_s, asked in ((59.0, 1), (61.0, 0)):
        monkeypatch.setattr(ask, "stuck_tasks", lambda _, age_s=age_s: {stuck: age_s})
        executor = Answers()
        with pytest.raises(DeviceSilent):
            require_answer("/dev/loop-control", 0, executor)
        assert executor.count == asked


def test_a_device_that_could_not_be_asked_is_left_to_whoever_looks_at_it() -> None:
    fails = Answers(ToolFailed("python", -1, "Resource temporarily unavailable"))
    assert ask.silent_among({"/dev/sda": 0, "/dev/sdb": 0}, fails) == {}


def test_whatever_is_asked_of_it_ends_with_its_name(silent: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceSilent, match=f"{silent} does not answer") as caught:
        new_run(TINY_PLAN, silent, str(tmp_path / "runs"))
    assert caught.value.exit_code == ExitCode.DEVICE_HANGS
    with pytest.raises(DeviceSilent, match=silent):
        readtest(silent, seconds=0.1)
    (tmp_path / "barrier").unlink()
    folder = new_run(TINY_PLAN, silent, str(tmp_path / "runs"))
    (tmp_path / "barrier").touch()
    with pytest.raises(DeviceSilent, match=silent):
        look_again(folder, RealExecutor())


def test_the_listing_names_it_shows_the_others_and_asks_nothing_of_what_a_run_has_locked(
    silent: str, loop_device: MakeLoopDevice, tmp_path: Path
) -> None:
    other = loop_device(64 * MIB)
    survey = device_survey.take((silent, other), str(tmp_path / "runs"))
    states = {device.path: device.state for device in survey.devices}
    assert states[silent].text == "does not answer"
    assert states[silent].claim is Claim.HAZARDOUS
    assert "does not answer" not in states[other].text
    (note,) = survey.notes
    assert f"{silent} does not answer" in note
    with FileLock.acquire(silent):
        survey = device_survey.take((silent,), str(tmp_path / "runs"))
    (device,) = survey.devices
    assert "is locked by another run or tool" in device.state.text
    assert survey.notes == ()
