"""Rows of any number: only those in sight are made, and a cursor that follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from fsconsole.tui.widgets.lists import RowList


@dataclass(frozen=True)
class Made:
    text: str
    tone: str = ""


class Shown(App[None]):
    """An app with rows alone, which counts those that were made."""

    def __init__(self, *, has_cursor: bool = True) -> None:
        super().__init__()
        self.made: list[int] = []
        self.chosen: list[int] = []
        self._has_cursor = has_cursor

    def compose(self) -> ComposeResult:
        yield RowList(has_cursor=self._has_cursor)

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    def row(self, number: int, _width: int) -> Made:
        self.made.append(number)
        return Made(f"row {number} [/x]\x1b")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        self.chosen.append(event.row)


def lines(app: App[None]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def drive(act: Callable[[Shown, Pilot[None]], Awaitable[None]], *, has_cursor: bool = True) -> None:
    async def run() -> None:
        app = Shown(has_cursor=has_cursor)
        async with app.run_test(size=(40, 10)) as pilot:
            app.rows.focus()
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())


def test_of_ten_thousand_rows_only_those_in_sight_are_made() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(10_000, app.row)
        await pilot.pause()
        assert set(app.made) == set(range(10))
        app.made.clear()
        await pilot.press("end")
        await pilot.pause()
        assert min(app.made) > 9_900
        assert lines(app)[-1].startswith("> row 9999") or any(
            line.startswith("> row 9999") for line in lines(app)
        )

    drive(act)


def test_what_is_in_a_row_is_neither_markup_nor_an_escape() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(3, app.row)
        await pilot.pause()
        assert lines(app)[1].startswith(r"  row 1 [/x]\x1b")

    drive(act)


def test_the_cursor_follows_until_it_is_moved() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(100, app.row, follow=50)
        await pilot.pause()
        assert any(line.startswith("> row 50") for line in lines(app))
        app.rows.show(100, app.row, follow=70)
        await pilot.pause()
        assert any(line.startswith("> row 70") for line in lines(app))
        await pilot.press("up")
        app.rows.show(100, app.row, follow=90)
        await pilot.pause()
        assert app.rows.cursor == 69
        app.rows.follow()
        await pilot.pause()
        assert any(line.startswith("> row 90") for line in lines(app))

    drive(act)


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("down", "down"), 2),
        (("up",), 0),
        (("end",), 99),
        (("end", "home"), 0),
        (("pagedown",), 9),
        (("end", "down"), 99),
    ],
)
def test_keys_move_the_cursor_within_the_rows(keys: tuple[str, ...], cursor: int) -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(100, app.row)
        await pilot.press(*keys)
        assert app.rows.cursor == cursor
        await pilot.press("enter")
        await pilot.pause()
        assert app.chosen == [cursor]

    drive(act)


def test_a_click_moves_the_cursor() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(100, app.row)
        await pilot.pause()
        await pilot.click(RowList, offset=(5, 3))
        assert app.rows.cursor == 3

    drive(act)


def test_rows_that_become_fewer_keep_the_cursor_among_them() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(100, app.row)
        await pilot.press("end")
        app.rows.show(3, app.row)
        await pilot.pause()
        assert app.rows.cursor == 2
        app.rows.show(0, app.row)
        await pilot.press("down", "up", "enter")
        assert lines(app)[0] == ""

    drive(act)


def test_a_text_has_no_cursor_and_is_scrolled_line_by_line() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.rows.show(100, app.row)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert lines(app)[0].startswith("row 2")
        assert app.chosen == []
        await pilot.press("end")
        await pilot.pause()
        assert lines(app)[9].startswith("row 99")
        await pilot.press("up")
        await pilot.pause()
        assert lines(app)[9].startswith("row 98")
        await pilot.press("home")
        await pilot.pause()
        assert lines(app)[0].startswith("row 0")

    drive(act, has_cursor=False)
