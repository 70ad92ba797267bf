"""What a screen says is shown whole, however long its paths are."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from fsconsole.errors.runs import JournalUnusable
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import PromptScreen
from fsconsole.tui.widgets.panes import Sentence
from tests.tui.harness import console, picture
from tests.tui.waiting import shows, until

LONG = "/srv/" + "a-directory-with-a-rather-long-name/" * 9 + "journal.sqlite"
MANY = "/srv/" + "a-directory-with-a-rather-long-name/" * 40 + "journal.sqlite"


def screen(pilot: Pilot[None]) -> ConsoleScreen:
    shown = pilot.app.screen
    assert isinstance(shown, ConsoleScreen)
    return shown


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
@pytest.mark.parametrize("key", "12345")
def test_an_error_with_a_long_path_is_shown_whole_on_every_screen(key: str, size: tuple[int, int]) -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            await pilot.press(key)
            await pilot.pause()
            screen(pilot).complain(error)
            shown = await shows(pilot, f"{error}{error.hint}")
            assert "q Quit" in shown or size[0] < 80
            assert "5 Runs" in shown

    asyncio.run(go())


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_one_that_fits_no_screen_leaves_room_and_scrolls(size: tuple[int, int]) -> None:
    error = JournalUnusable(path=MANY, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(error)
            shown = await shows(pilot, "The journal /srv/", "there is more: the tab key leads here")
            assert "There are no runs in" in shown
            await tab_to_the_sentence(pilot)
            await pilot.press("end")
            await shows(pilot, error.hint)
            screen(pilot).say("Short again.")
            await until(
                pilot, lambda: not isinstance(pilot.app.focused, Sentence), "the keys go elsewhere again"
            )
            assert "there is more" not in picture(pilot)

    asyncio.run(go())


async def tab_to_the_sentence(pilot: Pilot[None]) -> None:
    for _ in range(5):
        await pilot.press("tab")
        if isinstance(pilot.app.focused, Sentence):
            return
    raise AssertionError(f"the tab key does not lead to the sentence:\n{picture(pilot)}")


def test_a_short_sentence_takes_one_line_and_is_no_stop_for_tab() -> None:
    async def go() -> None:
        async with console().run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(JournalUnusable(path=LONG, why="malformed"))
            await shows(pilot, "malformed")
            screen(pilot).say("Done.")
            await shows(pilot, "Done.")
            said = screen(pilot).query_one(Sentence)
            await until(pilot, lambda: said.size.height == 1, "one line")
            assert not said.can_focus
            assert said not in screen(pilot).focus_chain

    asyncio.run(go())


def test_a_sentence_is_broken_anew_when_the_terminal_is_resized() -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=(120, 40)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            screen(pilot).complain(error)
            for size in ((60, 16), (20, 5), (80, 24), (200, 60)):
                await pilot.resize_terminal(*size)
                if size[0] >= 60:
                    await shows(pilot, f"{error}{error.hint}")

    asyncio.run(go())


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_what_is_wrong_in_a_dialog_is_shown_whole(size: tuple[int, int]) -> None:
    error = JournalUnusable(path=LONG, why="file is not a database")

    async def go() -> None:
        async with console().run_test(size=size) as pilot:
            words = f"{error} {error.hint}"
            await pilot.app.push_screen(
                PromptScreen("A path", "", hint="Where. " * 99, check=lambda _: words)
            )
            await pilot.press("x")
            await shows(pilot, f"{error}{error.hint}")

    asyncio.run(go())
