"""Confirm: what is shown, what must be typed, and that Enter alone wipes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens.confirm import ConfirmScreen, ResumeScreen
from tests.tui.harness import SIZES, Scripted, console
from tests.tui.offers import SOURCE, hazard, said, target, ticks_of
from tests.tui.recorded import recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows, until

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
DISK = target("/dev/sdb", hazards=(hazard("/dev/sdb", "may be open"),))
REFUSED = target("/dev/sdb", hazards=(hazard("/dev/sdb", "is mounted on /srv", "refused"),))
BEGUN = '{"run": "20261121-081000-k7qf", "folder": "/elsewhere"}\n'
STALE = Done(("run",), 28, "", "fsconsole: The consent code does not fit.\nhint: Look again.\n")


@dataclass
class Shown:
    """A Confirm screen, what its children were asked, and what it ended with."""

    pilot: Pilot[None]
    children: Scripted
    ended: list[RunFolder | None] = field(default_factory=list)

    @property
    def begun(self) -> list[tuple[str, ...]]:
        """The commands that would wipe."""
        return [
            words for words in self.children.asked if words[0] in ("run", "resume") and "--show" not in words
        ]


def confirming(
    answers: dict[str, Done | str],
    act: Callable[[Shown], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    screen: ConfirmScreen | None = None,
    ticked: tuple[dict[str, object], ...] = (DISK,),
) -> Shown:
    """Drive a Confirm screen over children that answer so."""
    made: list[Shown] = []

    async def drive() -> None:
        children = Scripted({"devices": "[]", **answers})
        async with console(children, runs_dir="/runs").run_test(size=size) as pilot:
            shown = Shown(pilot, children)
            made.append(shown)
            await pilot.pause()
            confirm = screen or ConfirmScreen("plan.toml", ticks_of(*ticked), SOURCE)
            pilot.app.push_screen(confirm, shown.ended.append)
            await act(shown)

    asyncio.run(drive())
    return made[0]


async def press(shown: Shown, *keys: str) -> None:
    await shown.pilot.press(*keys)
    await shown.pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_what_would_be_lost_is_shown_before_anything_else(size: tuple[int, int]) -> None:
    async def act(shown: Shown) -> None:
        await shows(
            shown.pilot,
            "would be LOST: ext4 '[/x]'",
            "may be open",
            "type sdb",
            "2 cells",
            "3.0 GiB",
        )
        assert_looks_as_kept(shown.pilot, f"confirm-{size[0]}x{size[1]}")

    shown = confirming({"plan": said(DISK, consent="CODE")}, act, size=size)
    assert (
        "plan",
        "plan.toml",
        "--device",
        "/dev/sdb",
        "--cell",
        "0",
        "--json",
        "--runs",
        "/runs",
    ) in shown.children.asked
    assert shown.begun == []


def test_enter_alone_never_wipes_a_scratch_device() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "Only scratch devices are wiped")
        await press(shown, "enter", "enter", "space", "enter")

    assert confirming({"plan": said(SCRATCH), "run": BEGUN}, act, ticked=(SCRATCH,)).begun == []


def test_a_scratch_device_is_begun_with_by_a_key_of_its_own() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "Only scratch devices are wiped")
        await press(shown, "ctrl+s")
        await until(shown.pilot, lambda: shown.ended, "its end")

    shown = confirming({"plan": said(SCRATCH), "run": BEGUN}, act, ticked=(SCRATCH,))
    seen = ("--seen", "PLAN0.SEEN0")
    assert shown.begun == [
        ("run", "plan.toml", "--device", "/dev/loop0", *seen, "--detach", "--json", "--runs", "/runs")
    ]
    assert shown.ended == [RunFolder("/runs/20261121-081000-k7qf")]


def test_the_button_begins_once_it_was_moved_to() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "Only scratch devices are wiped")
        await press(shown, "tab", "tab", "enter")
        await until(shown.pilot, lambda: shown.ended, "its end")

    assert len(confirming({"plan": said(SCRATCH), "run": BEGUN}, act, ticked=(SCRATCH,)).begun) == 1


def test_a_disk_is_wiped_only_when_its_name_was_typed() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "type sdb")
        await press(shown, "ctrl+s", "enter", *"sda", "ctrl+s", "enter")
        await shows(shown.pilot, "That is not the name.")
        assert shown.begun == []
        await press(shown, "backspace", "b", "enter", "enter")
        await shows(shown.pilot, "Enter alone wipes nothing")
        assert shown.begun == []
        await press(shown, "ctrl+s")
        await until(shown.pilot, lambda: shown.ended, "its end")

    shown = confirming({"plan": said(DISK, consent="CODE"), "run": BEGUN}, act)
    (words,) = shown.begun
    assert words[words.index("--consent") + 1] == "CODE"


def test_a_refused_target_can_not_be_begun_with() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "REFUSED: /dev/sdb is mounted on /srv.", "nothing can start")
        await press(shown, *"sdb", "ctrl+s", "tab", "enter")

    refused = Done(
        ("plan",), 22, said(REFUSED), "fsconsole: /dev/sdb is mounted on /srv; nothing was touched.\n"
    )
    shown = confirming({"plan": refused, "run": BEGUN}, act)
    assert shown.begun == []
    assert shown.ended in ([], [None])


def test_escape_leaves_everything_as_it_is() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "type sdb")
        await press(shown, *"sdb", "escape")

    shown = confirming({"plan": said(DISK, consent="CODE"), "run": BEGUN}, act)
    assert (shown.begun, shown.ended) == ([], [None])


def test_a_plan_that_can_not_be_made_is_told_with_its_hint() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "There is no /dev/sdb.", "Look with devices.")
        await press(shown, "ctrl+s", "escape")

    failed = Done(("plan",), 20, "", "fsconsole: There is no /dev/sdb.\nhint: Look with devices.\n")
    shown = confirming({"plan": failed}, act)
    assert (shown.begun, shown.ended) == ([], [None])


def test_a_device_that_changed_meanwhile_is_read_again_and_what_changed_is_said() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "type sdb")
        shown.children.answers = {
            **shown.children.answers,
            "plan": said(target("/dev/sdb", loss="xfs 'other'"), consent="NEW"),
        }
        await press(shown, *"sdb", "ctrl+s")
        await shows(
            shown.pilot,
            "has changed since you agreed",
            "/dev/sdb holds xfs 'other'; before it was ext4",
            "type sdb",
        )
        await press(shown, "ctrl+s", "enter")
        assert len(shown.begun) == 1
        shown.children.answers = {**shown.children.answers, "run": BEGUN}
        await press(shown, *"sdb", "ctrl+s")
        await until(shown.pilot, lambda: shown.ended, "its end")

    shown = confirming({"plan": said(DISK, consent="OLD"), "run": STALE}, act)
    assert [words[words.index("--consent") + 1] for words in shown.begun] == ["OLD", "NEW"]


def test_a_run_that_does_not_start_is_told_and_can_be_tried_again() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "Only scratch")
        await press(shown, "ctrl+s")
        await shows(shown.pilot, "The engine did not start.", "Ask doctor.")
        shown.children.answers = {**shown.children.answers, "run": BEGUN}
        await press(shown, "ctrl+s")
        await until(shown.pilot, lambda: shown.ended, "its end")

    failed = Done(("run",), 48, "", "fsconsole: The engine did not start.\nhint: Ask doctor.\n")
    assert len(confirming({"plan": said(SCRATCH), "run": failed}, act, ticked=(SCRATCH,)).begun) == 2


def test_an_answer_that_is_no_json_is_a_sentence() -> None:
    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "can't be read")

    confirming({"plan": "nonsense"}, act)


def test_a_resume_that_must_be_agreed_to_shows_what_is_on_its_devices(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)

    async def act(shown: Shown) -> None:
        await shows(shown.pilot, "type sdb")
        await press(shown, *"sdb", "ctrl+s")
        await until(shown.pilot, lambda: shown.ended, "its end")

    answers: dict[str, Done | str] = {
        "resume killed --exact --show": said(DISK, consent="CODE"),
        "resume killed --exact --consent": '{"run": "killed", "folder": "/elsewhere"}\n',
    }
    shown = confirming(answers, act, screen=ResumeScreen(folder))
    assert shown.ended == [RunFolder("/runs/killed")]


@dataclass
class Slow(Scripted):
    """Children of which run lasts until it may end, and notes when it is ended before that."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, *words: str) -> Done:
        if words[0] != "run":
            return await super().run(*words)
        self.asked.append(words)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.asked.append(("ended", *words))
            raise
        return Done(words, 0, BEGUN, "")


def test_a_key_that_is_held_begins_one_run_whose_start_nothing_ends() -> None:
    async def drive() -> tuple[list[RunFolder | None], list[tuple[str, ...]]]:
        children = Slow({"devices": "[]", "plan": said(SCRATCH)})
        ended: list[RunFolder | None] = []
        async with console(children, runs_dir="/runs").run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            pilot.app.push_screen(ConfirmScreen("plan.toml", ticks_of(SCRATCH), SOURCE), ended.append)
            await shows(pilot, "Ctrl+s starts")
            await pilot.press("ctrl+s", "ctrl+s", "f5", "ctrl+s")
            children.may_end.set()
            await until(pilot, lambda: ended, "its end")
        return ended, [words for words in children.asked if words[0] in ("run", "ended")]

    ended, asked = asyncio.run(drive())
    assert [folder.path for folder in ended if folder] == ["/runs/20261121-081000-k7qf"]
    assert [words[0] for words in asked] == ["run"]
