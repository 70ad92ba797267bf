"""Leaving while a run is being started: cancelled first, and heard, since its start tells nobody else what it began."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from fsconsole.client import children as client_children
from fsconsole.client.children import Done
from fsconsole.errors.runs import EngineNotListening
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens.confirm import ConfirmScreen
from tests.tui.harness import Scripted, console, drive
from tests.tui.offers import SOURCE, said, target, ticks_of
from tests.tui.waiting import shows, until

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
NAME = "20261121-081000-k7qf"
FOLDER = RunFolder(f"/runs/{NAME}")


class Late(Scripted):
    """Children of which the one that starts a run ends some time after it was asked to, and has begun it all the same."""

    def __init__(self) -> None:
        super().__init__({"devices": "[]", "plan": said(SCRATCH)})
        self.may_end = asyncio.Event()

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        await end.wait()
        await self.may_end.wait()
        return Done(words, -15, f'{{"run": "{NAME}", "folder": "/runs/{NAME}"}}\n', "")


async def started(pilot: Pilot[None]) -> None:
    pilot.app.push_screen(ConfirmScreen("plan.toml", ticks_of(SCRATCH), SOURCE))
    await shows(pilot, "Only scratch devices are wiped")
    await pilot.press("ctrl+s")
    await shows(pilot, "Escape cancels")


@pytest.mark.parametrize("is_heard", [True, False])
def test_leaving_waits_for_the_start_and_stops_what_it_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_heard: bool
) -> None:
    stopped: list[RunFolder] = []

    def stop(folder: RunFolder) -> None:
        stopped.append(folder)
        if not is_heard:
            raise EngineNotListening(folder.name)

    monkeypatch.setattr(client_children, "stop_at_once", stop)
    children = Late()
    app = console(children, runs_dir="/runs")

    async def steps(pilot: Pilot[None]) -> None:
        await started(pilot)
        await pilot.press("ctrl+q")
        await shows(pilot, "Cancelling the start")
        assert not app._exit
        children.may_end.set()
        await until(pilot, lambda: app._exit, "its end")

    drive(app, steps)
    assert stopped == [FOLDER]
    assert [f"Run {NAME} GOES ON" in words for words in app.session.unstopped] == ([] if is_heard else [True])
    assert (f"Run {NAME} GOES ON" in capsys.readouterr().err) is not is_heard


def test_leaving_asked_for_again_waits_no_longer() -> None:
    children = Late()
    app = console(children, runs_dir="/runs")

    async def steps(pilot: Pilot[None]) -> None:
        await started(pilot)
        await pilot.press("ctrl+q")
        await shows(pilot, "Cancelling the start")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit, "its end")

    drive(app, steps)
