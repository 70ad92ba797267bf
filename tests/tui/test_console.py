"""The console as a whole: its screens, its keys, its sizes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

READY = {1: "0 devices", 2: "New plan", 3: "last gauges", 4: "sorted by", 5: "1 run"}
MODES = ("devices", "plan", "run", "results", "runs")


@pytest.mark.parametrize("size", SIZES)
def test_every_screen_is_reached_by_its_number(size: tuple[int, int]) -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=size) as pilot:
            for number, mode in enumerate(MODES, start=1):
                await pilot.press(str(number))
                await pilot.pause()
                assert app.current_mode == mode
                assert "1 Devices" in picture(pilot)

    asyncio.run(look())


def test_a_terminal_that_is_too_small_gets_a_sentence() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(20, 5)) as pilot:
            await pilot.pause()
            assert "too small" in " ".join(picture(pilot).split())
            await pilot.resize_terminal(80, 24)
            await pilot.pause()
            assert "1 Devices" in picture(pilot)

    asyncio.run(look())


@pytest.mark.parametrize("mode", range(1, 6))
def test_keys_go_where_they_went_before_the_terminal_was_too_small(mode: int, tmp_path: Path) -> None:
    async def look() -> None:
        children = Scripted({"devices": "[]"})
        app = console(children, runs_dir=tmp_path, folder=recorded("grid", tmp_path))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press(str(mode))
            await shows(pilot, READY[mode])
            before = app.screen.focused
            assert before is not None
            await pilot.resize_terminal(20, 5)
            await pilot.pause()
            await pilot.resize_terminal(80, 24)
            await until(pilot, lambda: app.screen.focused is before, "the focus where it was")

    asyncio.run(look())


def test_help_names_the_keys_of_the_screen() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 60)) as pilot:
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Quit" in picture(pilot)
            await pilot.press("escape")

    asyncio.run(look())


def test_a_text_that_is_longer_than_its_field_is_seen_at_its_end() -> None:
    async def look() -> None:
        app = console()
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("n")
            await pilot.pause()
            app.screen.query(Input).last().value = "/long" * 30 + "/the-end"
            app.screen.query(Input).last().focus()
            await pilot.press("end")
            await pilot.pause()
            assert "/long/the-end" in picture(pilot)

    asyncio.run(look())
