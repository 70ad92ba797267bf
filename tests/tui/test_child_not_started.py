"""A command that can't be started, or a directory that is gone, is a sentence on the screen; the console goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Children, Done
from fsconsole.tui.screens.confirm import ConfirmScreen, ResumeScreen
from fsconsole.tui.widgets.lists import Table
from tests.lab.soak import tried
from tests.tui.harness import SIZES, Scripted, console, drive
from tests.tui.offers import SOURCE, target, ticks_of
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

NOT_STARTED = "can't be started: No such file or directory. Try again; a run that goes on is not touched by it."


class Unstartable(Scripted):
    """Children of an interpreter that has been removed."""

    async def run(self, *words: str) -> Done:
        self.asked.append(words)
        return await Children().run(*words)


@pytest.fixture(autouse=True)
def _interpreter_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone" / "python"))
    # The recorded run can be resumed as if its scratch file was there.
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())


async def press(pilot: Pilot[None], first: str, *further: str) -> None:
    """Press a key, and those of the dialog that it opens once that is there."""
    here = pilot.app.screen
    await pilot.press(first)
    if further:
        await until(pilot, lambda: pilot.app.screen is not here, "a dialog")
        await pilot.press(*further)


READY = {"3": "r Resume", "4": "] Block", "5": "r resumes it"}
ACTS = (
    ("5", ("C",), "cleanup"),
    ("5", ("m", "end", "!", "enter"), "runs"),
    ("5", ("x",), "runs"),
    ("5", ("r",), "resume"),
    ("4", ("e", "tab", "enter"), "results"),
    ("3", ("C",), "cleanup"),
    ("3", ("r",), "resume"),
)


async def test_a_key_whose_command_can_not_be_started_says_so_and_acts_again(tmp_path: Path) -> None:
    children = Unstartable()
    app = console(children, runs_dir=tmp_path, folder=recorded("killed", tmp_path))
    async with drive(app) as pilot:
        # In each size anew: nothing is left as if the first one went on.
        for size, acts in zip(SIZES, (ACTS, tried(ACTS, ACTS[:3])), strict=True):
            await pilot.resize_terminal(*size)
            for mode, keys, says in acts:
                await pilot.press("1", mode)
                await shows(pilot, READY[mode])
                asked = len(children.acted)
                await press(pilot, *keys)
                await until(pilot, lambda: len(children.acted) > asked, f"{keys} on {mode} acts")  # noqa: B023
                assert children.acted[-1][0] == says
                await shows(pilot, f"`fsconsole {says}` {NOT_STARTED}")


async def test_what_would_be_lost_can_not_be_asked_and_nothing_begins(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    app = console(Unstartable(), runs_dir=tmp_path, folder=folder)
    async with drive(app) as pilot:
        for screen in (
            ResumeScreen(folder),
            ConfirmScreen("/plan.toml", ticks_of(target("/dev/sdb")), SOURCE),
        ):
            app.push_screen(screen)
            await shows(pilot, NOT_STARTED)
            await pilot.press("f10", "escape")
            await until(pilot, lambda: app.screen is not screen, f"{screen} is left")  # noqa: B023


async def test_an_export_from_a_directory_that_is_gone_goes_to_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, gone = recorded("grid", tmp_path), tmp_path / "left"
    gone.mkdir()
    monkeypatch.chdir(gone)
    app = console(runs_dir=tmp_path, folder=folder)
    async with drive(app, "4") as pilot:
        await shows(pilot, "durable", "] Block")
        gone.rmdir()
        await pilot.press("e")
        await shows(pilot, "Export run grid", "/grid.txt")
        # A path that is relative is below it too.
        path = pilot.app.screen.query_one("#path")
        path.value = str(folder.path)[1:]
        path.focus()
        await pilot.press("enter")
        await shows(pilot, "Give the path of a file.")


async def test_the_screens_that_look_say_it_too(tmp_path: Path) -> None:
    async with drive(console(Unstartable(), runs_dir=tmp_path)) as pilot:
        await shows(pilot, f"`fsconsole devices` {NOT_STARTED}")
        await pilot.press("2")
        await shows(pilot, f"`fsconsole catalog` {NOT_STARTED}")
        await pilot.press("5")
        await until(pilot, lambda: pilot.app.screen.query(Table), "the list")
