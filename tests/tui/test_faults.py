"""A fault of the program is the console's own error: nothing goes on as if nothing were."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.errors import ConsoleFailed, ExitCode
from fsconsole.tui import app as tui_app
from fsconsole.tui import bridge
from fsconsole.tui.bridge import Bridge, Fault, Watch
from tests.conftest import wait_until
from tests.tui.harness import console, drive
from tests.tui.recorded import recorded
from tests.tui.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have looking at a run fail as no file of it can bring about."""

    def look(_watch: Watch) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(Watch, "look", look)
    monkeypatch.setattr(bridge, "_IDLE_S", 0.01)


@pytest.mark.usefixtures("faulty")
def test_a_bridge_hands_over_what_it_died_of(tmp_path: Path) -> None:
    told: list[int] = []
    one = Bridge(recorded("grid", tmp_path), lambda: told.append(1))
    one.start()
    wait_until(lambda: one.ended, "the bridge's end")
    taken = one.take()
    assert isinstance(taken, Fault)
    assert isinstance(taken.error, ZeroDivisionError)
    assert told == [1]


@pytest.mark.usefixtures("faulty")
async def test_what_a_bridge_died_of_ends_the_console(tmp_path: Path) -> None:
    app = console(folder=recorded("grid", tmp_path), runs_dir=tmp_path)
    with pytest.raises(ZeroDivisionError, match="made up"):
        async with drive(app, "3") as pilot:
            await until(pilot, lambda: app.return_code == 1, "the end of the console")


def test_a_console_that_ended_by_a_fault_says_so_and_does_not_end_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = SimpleNamespace(return_code=1, run=lambda: None)
    monkeypatch.setattr(tui_app, "ConsoleApp", lambda _session: faulty)
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(ConsoleFailed, match="a run that it showed goes on") as caught:
        tui_app.run_console(str(tmp_path))
    assert caught.value.exit_code is ExitCode.FAILURE
