"""How a run ends on the screen, also where its engine died."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.devices.scratch import Scratch
from fsconsole.errors.runs import EngineNotListening
from fsconsole.journal.folder import RunFolder
from fsconsole.model.wire import encode
from fsconsole.show.lines import Line
from fsconsole.tui import bridge
from fsconsole.tui.screens import devices
from fsconsole.tui.screens import runs as runs_module
from fsconsole.tui.screens.confirm import ConfirmScreen
from fsconsole.tui.screens.dialogs import AskScreen, PickScreen
from fsconsole.tui.screens.scratch_form import ScratchForm
from tests.tui.at_devices import Held
from tests.tui.device_lists import FREE, listed
from tests.tui.harness import SIZES, Scripted, console, drive, picture
from tests.tui.living import living_run
from tests.tui.offers import SOURCE, said, target, ticks_of
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

SCRATCH = target("/dev/loop0", scratch=True, loss="nothing")
NAME = "20261121-081000-k7qf"
BEGUN = json.dumps({"run": NAME, "folder": "/elsewhere"}) + "\n"
FOLDER = RunFolder(f"/runs/{NAME}")


class Starting(Scripted):
    """Children of which the one that starts a run waits for the test."""

    def __init__(self, out: str = BEGUN) -> None:
        super().__init__({"devices": listed(FREE), "plan": said(SCRATCH)})
        self.out, self.release = out, asyncio.Event()

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        await self.release.wait()
        return Done(words, 0, self.out, "")


async def started(pilot: Pilot[None], ended: list[RunFolder | None]) -> None:
    pilot.app.push_screen(ConfirmScreen("plan.toml", ticks_of(SCRATCH), SOURCE), ended.append)
    await shows(pilot, "Only scratch devices are wiped")
    await pilot.press("ctrl+s")
    await shows(pilot, "Escape cancels")


def test_a_start_that_ends_in_another_mode_ends_its_screen_when_that_is_shown_again() -> None:
    children, ended = Starting(), list[RunFolder | None]()

    async def steps(pilot: Pilot[None]) -> None:
        await started(pilot, ended)
        await pilot.app.switch_mode("runs")
        children.release.set()
        await pilot.pause()
        await pilot.pause()
        assert (pilot.app.current_mode, ended) == ("runs", [])
        await pilot.press("1")
        await until(pilot, lambda: ended, "its end")
        assert len(pilot.app.screen_stack) == 1

    drive(console(children, runs_dir="/runs"), steps)
    assert ended == [FOLDER]


def test_a_start_that_ends_below_a_question_leaves_the_question_alone() -> None:
    children, ended, answers = Starting(), list[RunFolder | None](), list[bool | None]()

    async def steps(pilot: Pilot[None]) -> None:
        await started(pilot, ended)
        pilot.app.push_screen(AskScreen("Really?", "It is asked.", yes="Do", no="Don't"), answers.append)
        await shows(pilot, "Really?")
        children.release.set()
        await pilot.pause()
        await pilot.pause()
        assert (answers, ended) == ([], [])
        await pilot.press("n")
        await until(pilot, lambda: ended, "its end")

    drive(console(children, runs_dir="/runs"), steps)
    assert (ended, answers) == ([FOLDER], [False])


def test_the_palette_does_not_cover_a_screen_that_asks() -> None:
    children, ended = Starting(), list[RunFolder | None]()

    async def steps(pilot: Pilot[None]) -> None:
        await started(pilot, ended)
        await pilot.press("ctrl+p")
        assert isinstance(pilot.app.screen, ConfirmScreen)
        children.release.set()
        await until(pilot, lambda: ended, "its end")
        await pilot.press("escape")

    drive(console(children, runs_dir="/runs"), steps)
    assert ended == [FOLDER]


def test_enter_twice_in_one_read_answers_a_question_once() -> None:
    answers: list[bool | None] = []

    async def steps(pilot: Pilot[None]) -> None:
        question = AskScreen("Really?", "It is asked.", yes="Do", no="Don't")
        pilot.app.push_screen(question, answers.append)
        await shows(pilot, "Really?")
        button = question.query_one("#no")
        button.press()  # type: ignore[attr-defined]
        button.press()  # type: ignore[attr-defined]
        await until(pilot, lambda: answers, "its end")

    drive(console(Scripted({"devices": "[]"})), steps)
    assert answers == [False]


def test_enter_twice_in_one_read_chooses_once() -> None:
    chosen: list[str | None] = []

    async def steps(pilot: Pilot[None]) -> None:
        pick = PickScreen("Which?", [Line("0", "one"), Line("1", "two")])
        pilot.app.push_screen(pick, chosen.append)
        await shows(pilot, "Which?")
        pick.action_accept()
        pick.action_accept()
        await until(pilot, lambda: chosen, "its end")

    drive(console(Scripted({"devices": "[]"})), steps)
    assert chosen == ["0"]


def test_one_device_is_made_however_often_that_is_submitted_at_once(tmp_path: Path) -> None:
    made = encode(Scratch("/dev/loop7", str(tmp_path / "a.img"), 64 << 20, "0a1b"))
    children = Held({"devices": "[]", "scratch create": made}, held=("scratch",))

    async def steps(pilot: Pilot[None]) -> None:
        form = ScratchForm(children, str(tmp_path))
        pilot.app.push_screen(form)
        await shows(pilot, "New scratch device")
        form.query_one("#size").value = "64MiB"  # type: ignore[attr-defined]
        await pilot.pause()
        form.submitted()
        form.submitted()
        await until(pilot, lambda: children.running, "its making")
        children.release.set()
        await until(pilot, lambda: pilot.app.screen is not form, "its end")

    drive(console(children), steps)
    assert [words[:2] for words in children.asked].count(("scratch", "create")) == 1


def test_a_demo_that_has_begun_takes_nobody_away_from_a_form(tmp_path: Path) -> None:
    children = Starting()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("d")
        await shows(pilot, "starting the demo")
        form = ScratchForm(children, str(tmp_path))
        pilot.app.push_screen(form)
        await shows(pilot, "New scratch device")
        children.release.set()
        await pilot.pause()
        assert pilot.app.screen is form
        await pilot.press("escape")
        await shows(pilot, f"run {NAME} has started", "the list of runs (5) shows it")

    drive(console(children, runs_dir=tmp_path / "runs"), steps, size=(120, 40))


def test_a_demo_that_was_ended_and_goes_on_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unheard(folder: RunFolder) -> str:
        return f"Run {folder.name} GOES ON, {EngineNotListening(folder.name)}"

    monkeypatch.setattr(devices, "not_stopped", unheard)
    children = Starting()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("d")
        await shows(pilot, "starting the demo")
        await pilot.press("escape")
        await shows(pilot, "Stopping")
        children.release.set()
        await shows(pilot, f"Run {NAME} GOES ON", "The list of runs (5) shows it.")
        assert "no run was started" not in picture(pilot)

    drive(console(children, runs_dir=tmp_path / "runs"), steps, size=(120, 40))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "POLL_S", 0.05)
    monkeypatch.setattr(bridge, "_IDLE_S", 0.1)
    monkeypatch.setattr(runs_module, "_REFRESH_S", 0.1)


def acts(children: Scripted) -> list[tuple[str, ...]]:
    return [words for words in children.asked if words[0] != "devices"]


@pytest.mark.parametrize("size", SIZES)
def test_one_that_dies_while_it_is_watched_is_told_with_both_remedies(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=size) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload: large files")
                run.die()
                await shows(
                    pilot,
                    "engine died in workload of cell 1",
                    "1 ext4 data=ordered interrupted engine died",
                    "Its engine died: c cleans up, r resumes the run.",
                    "c Clean up",
                    "r Resume",
                )

    asyncio.run(watch())


@pytest.mark.parametrize("size", SIZES)
def test_one_that_dies_while_the_list_is_looked_at_is_told_with_both_remedies(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=size) as pilot:
                await pilot.press("5")
                await shows(pilot, "two filesystems", "running: workload of cell 1 of 2; t follows it")
                run.die()
                await shows(
                    pilot,
                    "-> engine died in workload of cell 1; c cleans up, u resumes it",
                    "c Clean up",
                    "u Resume",
                    "q Quit",
                )

    asyncio.run(watch())


def test_cleanup_from_the_list_is_one_command_whose_answer_is_said(tmp_path: Path) -> None:
    recorded("killed", tmp_path)
    children = Scripted({"cleanup": "killed: marked as interrupted\n"})

    async def clean() -> None:
        async with console(children, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "engine died in workload of cell 6; c cleans up")
            await pilot.press("c")
            await shows(pilot, "killed: marked as interrupted")

    asyncio.run(clean())
    assert acts(children) == [("cleanup", "--runs", str(tmp_path))]


def test_what_was_cleaned_up_already_is_only_resumed(tmp_path: Path) -> None:
    async def look() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload: large files")
                run.die()
                await shows(pilot, "Its engine died")
                run.interrupt()
                await shows(pilot, "Interrupted and cleaned up: r resumes the run.")
                await pilot.press("5")
                await shows(pilot, "-> engine died in workload of cell 1; u resumes it")

    asyncio.run(look())


def test_without_root_both_say_how(tmp_path: Path) -> None:
    recorded("killed", tmp_path)
    children = Scripted()

    async def look() -> None:
        async with console(children, runs_dir=tmp_path, is_root=False).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "engine died")
            await pilot.press("c")
            await shows(pilot, "Cleaning up needs root")
            await pilot.press("u")
            await shows(pilot, "Resuming a run needs root")
            await pilot.press("enter", "3")
            await shows(pilot, "Its engine died")
            await pilot.press("c")
            await shows(pilot, "Cleaning up needs root")

    asyncio.run(look())
    assert acts(children) == []
