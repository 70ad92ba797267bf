"""Confirm starts what it showed of what was ticked, or nothing; and a start is cancelled, or told to be too late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from fsconsole.client import children as client_children
from fsconsole.client.children import Done
from fsconsole.errors.runs import EngineNotListening
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.confirm import ConfirmScreen
from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.offers import SOURCE, said, target, ticks_of
from tests.tui.waiting import shows, until

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
DISK = target("/dev/sdb")
BEGUN = '{"run": "20261121-081000-k7qf", "folder": "/elsewhere"}\n'
FOLDER = RunFolder("/runs/20261121-081000-k7qf")
Act = Callable[[Pilot[None], "Held", list[RunFolder | None]], Awaitable[None]]


class Held(Scripted):
    """Children of which the one that starts waits until it is asked to end, and then ends as it is told to."""

    last: Done = Done(("run",), -15, "", "")

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        await end.wait()
        return self.last


def confirming(
    children: Scripted,
    act: Act,
    *,
    ticked: dict[str, object] = SCRATCH,
    source: str = SOURCE,
    size: tuple[int, int] = (80, 24),
) -> list[RunFolder | None]:
    ended: list[RunFolder | None] = []
    ticks = ticks_of(ticked)

    async def drive() -> None:
        app = console(children, runs_dir="/runs")
        app.session.ticks.update(ticks)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            app.push_screen(ConfirmScreen("plan.toml", ticks, source), ended.append)
            await act(pilot, children, ended)  # type: ignore[arg-type]

    asyncio.run(drive())
    return ended


def ticked_now(pilot: Pilot[None]) -> tuple[str, ...]:
    assert isinstance(pilot.app, ConsoleApp)
    return pilot.app.session.targets


def starts(children: Scripted) -> list[tuple[str, ...]]:
    return [words for words in children.asked if words[0] == "run"]


OTHERS: dict[str, dict[str, object]] = {
    "sequence number 7, now 8": {"diskseq": 8},
    "size 2GiB, now 1GiB": {"size_bytes": 2**30},
    "number 8:16, now 8:32": {"device_number": 0x820},
    "serial number Z1X, now Z2X": {"serial": "Z2X"},
    "WWN none, now 0x5000": {"wwn": "0x5000"},
    "scratch mark none, now 0a1b": {"scratch_id": "0a1b"},
    "file none, now 77": {"backing_inode": 77},
}


@pytest.mark.parametrize("words", OTHERS)
def test_another_device_under_a_ticked_name_is_refused_and_unticked(words: str) -> None:
    async def act(pilot: Pilot[None], children: Held, _: object) -> None:
        await shows(
            pilot, "REFUSED: /dev/sdb is another device", words, "nothing can start. Escape goes back"
        )
        assert ticked_now(pilot) == ()
        await pilot.press(*"sdb", "ctrl+s", "f5")
        await shows(pilot, "REFUSED: /dev/sdb")
        await pilot.press("ctrl+s", "escape")
        assert starts(children) == []

    other = target("/dev/sdb", **OTHERS[words])
    children = Scripted({"devices": "[]", "plan": said(other, consent="CODE"), "run": BEGUN})
    assert confirming(children, act, ticked=DISK) in ([], [None])


def test_a_target_that_nobody_ticked_is_refused() -> None:
    async def act(pilot: Pilot[None], children: Held, _: object) -> None:
        await shows(pilot, "REFUSED: /dev/sdb is a target and was not ticked.", "nothing can start")
        await pilot.press("ctrl+s")
        assert starts(children) == []

    confirming(Scripted({"devices": "[]", "plan": said(SCRATCH, DISK), "run": BEGUN}), act)


def test_a_plan_that_is_not_the_one_that_was_written_is_refused() -> None:
    async def act(pilot: Pilot[None], children: Held, _: object) -> None:
        await shows(pilot, "REFUSED: The plan's file was changed by somebody", "nothing can start")
        await pilot.press("ctrl+s")
        assert starts(children) == []

    confirming(Scripted({"devices": "[]", "plan": said(SCRATCH), "run": BEGUN}), act, source="6" * 64)


def test_an_answer_that_does_not_tell_who_a_target_is_begins_nothing() -> None:
    unknown = {name: value for name, value in SCRATCH.items() if name != "identity"}

    async def act(pilot: Pilot[None], children: Held, _: object) -> None:
        await shows(pilot, "can't be read")
        await pilot.press("ctrl+s")
        assert starts(children) == []

    confirming(Scripted({"devices": "[]", "plan": said(unknown), "run": BEGUN}), act)


def test_a_start_that_is_refused_since_something_changed_is_shown_anew() -> None:
    async def act(pilot: Pilot[None], children: Held, ended: list[RunFolder | None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        children.answers = {
            **children.answers,
            "plan": said(target("/dev/loop0", scratch=True, loss="letters")),
        }
        await pilot.press("ctrl+s")
        await shows(pilot, "has changed since you agreed", "/dev/loop0 holds letters; before it was nothing")
        assert ended == []
        assert len(starts(children)) == 1

    stale = Done(
        ("run",), 53, "", "fsconsole: Not as it was shown any more: /dev/loop0.\nhint: Look again.\n"
    )
    confirming(Scripted({"devices": "[]", "plan": said(SCRATCH), "run": stale}), act)


@pytest.mark.parametrize("size", SIZES)
def test_the_file_below_a_loop_device_is_shown_to_its_end(size: tuple[int, int]) -> None:
    path = "/srv/images/of/a/whole/department/" + "very-long-name-" * 4 + "the-end.img"
    loop = target("/dev/loop0", scratch=True, loss="nothing", stands_on=f"loop over {path}")

    async def act(pilot: Pilot[None], *_: object) -> None:
        await shows(pilot, "loop over /srv/images", "the-end.img", "Ctrl+s starts.")

    confirming(Scripted({"devices": "[]", "plan": said(loop)}), act, ticked=loop, size=size)


def test_escape_cancels_a_start_and_says_so_once_it_is_true() -> None:
    async def act(pilot: Pilot[None], children: Held, ended: list[RunFolder | None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s")
        await shows(pilot, "Escape cancels")
        await pilot.press("escape")
        await shows(pilot, "Cancelled: no run was started, and nothing was wiped.")
        assert ended == []
        await pilot.press("escape")
        await until(pilot, lambda: ended, "its end")
        assert len(starts(children)) == 1

    assert confirming(Held({"devices": "[]", "plan": said(SCRATCH)}), act) == [None]


@pytest.mark.parametrize("exit_code", [4, 0, -15], ids=["stopped", "handed over", "killed at the end"])
def test_a_run_that_began_before_it_was_cancelled_is_stopped_and_shown(
    monkeypatch: pytest.MonkeyPatch, exit_code: int
) -> None:
    stopped: list[RunFolder] = []
    monkeypatch.setattr(client_children, "stop_at_once", stopped.append)

    async def act(pilot: Pilot[None], _children: Held, ended: list[RunFolder | None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s", "escape")
        await until(pilot, lambda: ended, "its end")

    children = Held({"devices": "[]", "plan": said(SCRATCH)})
    children.last = Done(("run",), exit_code, BEGUN + '{"other": "events"}\n', "")
    assert confirming(children, act) == [FOLDER]
    assert stopped == [FOLDER]


def test_a_run_that_can_not_be_stopped_is_said_to_go_on_before_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unheard(folder: RunFolder) -> None:
        raise EngineNotListening(folder.name)

    monkeypatch.setattr(client_children, "stop_at_once", unheard)

    async def act(pilot: Pilot[None], children: Held, ended: list[RunFolder | None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s", "escape")
        await shows(pilot, f"Run {FOLDER.name} GOES ON, it could not be stopped.", "Escape shows it.")
        await pilot.press("ctrl+s", "f5")
        assert len(starts(children)) == 1
        assert ended == []
        await pilot.press("escape")
        await until(pilot, lambda: ended, "its end")

    children = Held({"devices": "[]", "plan": said(SCRATCH)})
    children.last = Done(("run",), -15, BEGUN, "")
    assert confirming(children, act) == [FOLDER]


def test_a_start_that_was_killed_is_not_said_to_have_begun_nothing() -> None:
    async def act(pilot: Pilot[None], *_: object) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s", "escape")
        await shows(pilot, "killed without a word", "the list of runs (5) shows whether one goes on")
        assert "nothing was wiped" not in picture(pilot)

    children = Held({"devices": "[]", "plan": said(SCRATCH)})
    children.last = Done(("run",), -9, "", "")
    confirming(children, act)
