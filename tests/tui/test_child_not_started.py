"""A command that can't be started, or a directory that is gone, is a sentence on the screen; the console goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client import children as module
from fsconsole.client.children import Children, Done
from fsconsole.tui.screens.confirm import ConfirmScreen, ResumeScreen
from fsconsole.tui.widgets.lists import Table
from tests.tui.harness import SIZES, Scripted, Steps, console, drive
from tests.tui.offers import SOURCE, target, ticks_of
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

NOT_STARTED = (
    "can't be started: No such file or directory. Try again; a run that goes on is not touched by it."
)


class Unstartable(Scripted):
    """Children of an interpreter that has been removed."""

    async def run(self, *words: str) -> Done:
        self.asked.append(words)
        return await Children().run(*words)


@pytest.fixture(autouse=True)
def _interpreter_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "gone" / "python"))


async def press(pilot: Pilot[None], first: str, *further: str) -> None:
    """Press a key, and those of the dialog that it opens once that is there."""
    here = pilot.app.screen
    await pilot.press(first)
    if further:
        await until(pilot, lambda: pilot.app.screen is not here, "a dialog")
        await pilot.press(*further)


def on_the_run(runs_dir: Path, mode: str, *keys: str, says: str) -> Steps:
    async def steps(pilot: Pilot[None]) -> None:
        ready = {"3": "r Resume", "4": "sorted by durable", "5": "u resumes it"}[mode]
        await pilot.press(mode)
        await shows(pilot, ready)
        await press(pilot, *keys)
        await shows(pilot, f"`fsconsole {says}` {NOT_STARTED}")
        # Once more, in another size: nothing is left as if the first one went on.
        await pilot.resize_terminal(*SIZES[1])
        await pilot.press("2")
        await pilot.press(mode)
        await shows(pilot, ready)
        asked = len(pilot.app.session.children.asked)  # type: ignore[attr-defined]
        await press(pilot, *keys)
        await until(pilot, lambda: len(pilot.app.session.children.asked) > asked, "the key acts again")  # type: ignore[attr-defined]
        await shows(pilot, f"`fsconsole {says}` {NOT_STARTED}")

    return steps


@pytest.mark.parametrize(
    ("mode", "keys", "says"),
    [
        ("5", ("c",), "cleanup"),
        ("5", ("m", "end", "!", "enter"), "runs"),
        ("5", ("x", "y"), "runs"),
        ("5", ("u", "y"), "resume"),
        ("4", ("e", "tab", "enter"), "results"),
        ("3", ("c",), "cleanup"),
        ("3", ("r", "y"), "resume"),
    ],
)
def test_a_key_whose_command_can_not_be_started_says_so(
    mode: str, keys: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    folder = recorded("killed", tmp_path)
    app = console(Unstartable(), runs_dir=tmp_path, folder=folder)
    drive(app, on_the_run(tmp_path, mode, *keys, says=says), size=SIZES[0])


@pytest.mark.parametrize("of_a_run", [False, True])
def test_what_would_be_lost_can_not_be_asked_and_nothing_begins(of_a_run: bool, tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    app = console(Unstartable(), runs_dir=tmp_path, folder=folder)

    async def steps(pilot: Pilot[None]) -> None:
        ticks = ticks_of(target("/dev/sdb"))
        screen = ResumeScreen(folder) if of_a_run else ConfirmScreen("/plan.toml", ticks, SOURCE)
        app.push_screen(screen)
        await shows(pilot, NOT_STARTED)
        await pilot.press("ctrl+s", "escape")
        await until(pilot, lambda: app.screen is not screen, "it is left")

    drive(app, steps)


def test_an_export_from_a_directory_that_is_gone_goes_to_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, gone = recorded("grid", tmp_path), tmp_path / "left"
    gone.mkdir()
    monkeypatch.chdir(gone)
    app = console(runs_dir=tmp_path, folder=folder)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("4")
        await shows(pilot, "sorted by durable")
        gone.rmdir()
        await pilot.press("e")
        await shows(pilot, "Export the figures", "/grid.csv")
        # A path that is relative is below it too.
        path = pilot.app.screen.query_one("#path")
        path.value = str(folder.path)[1:]  # type: ignore[attr-defined]
        path.focus()
        await pilot.press("enter")
        await shows(pilot, "Give the path of a file.")

    drive(app, steps)


def test_the_screens_that_look_say_it_too(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, f"`fsconsole devices` {NOT_STARTED}")
        await pilot.press("2")
        await shows(pilot, f"`fsconsole catalog` {NOT_STARTED}")
        await pilot.press("5")
        await until(pilot, lambda: pilot.app.screen.query(Table), "the list")

    drive(console(Unstartable(), runs_dir=tmp_path), steps)
