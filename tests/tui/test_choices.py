"""Lists of choices and rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from fsconsole.show.lines import Line, Mark
from fsconsole.tui.widgets.lists import Choices, List
from fsconsole.tui.widgets.rows import Numbered, Texts
from tests.tui.harness import picture

LINES = (
    Line("one", "first", is_heading=True),
    Line("a", "a", Mark.OFF),
    Line("b", "b with a name that takes [/x] more than one row", Mark.ON, wraps=True),
    Line("two", "second", is_heading=True),
    Line("c", "c", Mark.BARRED, is_faint=True),
)


class Listed(App[None]):
    """An app with a list alone, which notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield Choices(id="list")

    @property
    def choices(self) -> Choices:
        return self.query_one(Choices)

    def on_list_ticked(self, event: Choices.Ticked) -> None:
        self.told.append(f"ticked {event.key}")

    def on_list_opened(self, event: Choices.Opened) -> None:
        self.told.append(f"opened {event.key}")

    def on_list_left(self, _event: Choices.Left) -> None:
        self.told.append("left")


@asynccontextmanager
async def listed(shown: Sequence[Line] = LINES) -> AsyncIterator[tuple[Listed, Pilot[None]]]:
    app = Listed()
    async with app.run_test(size=(40, 10)) as pilot:
        app.choices.show_lines(shown)
        app.choices.focus()
        await pilot.pause()
        yield app, pilot


async def test_a_name_stands_whole_and_what_is_clicked_in_any_of_its_rows_is_opened() -> None:
    async with listed() as (app, pilot):
        assert picture(pilot).splitlines()[:6] == [
            "first",
            "[ ] a",
            "[x] b with a name that takes [/x] more",
            "      than one row",
            "second",
            "[-] c",
        ]
        for row in (3, 4, 9):
            await pilot.click(Choices, offset=(6, row))
        assert app.told == ["opened b"]


async def test_headings_are_passed_over_the_highlight_follows_its_line_and_an_empty_list_has_none() -> None:
    async with listed() as (app, pilot):
        seen = []
        for key in ("home", "up", "down", "down", "down", "up", "end", "pageup", "pagedown"):
            await pilot.press(key)
            line = app.choices.looked_at
            seen.append(line.key if line else "")
        assert seen == ["a", "a", "b", "c", "c", "b", "c", "a", "c"]
        await pilot.press("space", "enter", "right", "left")
        assert app.told == ["ticked c", "opened c", "opened c", "left"]
        app.told.clear()
        app.choices.show_lines(LINES[1:])
        assert app.choices.looked_at == LINES[4]
        app.choices.show_lines(())
        await pilot.press("down", "up", "end", "pageup", "space", "enter")
        assert app.choices.looked_at is None
        assert app.told == []
        app.choices.show_lines(LINES)
        assert app.choices.looked_at == LINES[1]


async def test_of_ten_thousand_lines_those_in_sight_are_made_whatever_is_done() -> None:
    many = tuple(Line(f"k{number}", f"{number} " + "long " * 20, wraps=True) for number in range(10_000))
    async with listed(many) as (app, pilot):
        await pilot.press("end", "home", "pagedown", "up", "end")
        await pilot.pause()
        assert picture(pilot).splitlines()[-1].startswith("9999 ")
        assert app.choices.rows.rows.made < 100
        app.choices.show_lines((*many[:-1], Line("k9999", "another")))
        await pilot.pause()
        assert picture(pilot).splitlines()[-1].split()[0] == "another"
        assert app.choices.rows.rows.made < 100


@dataclass(frozen=True)
class Made:
    text: str
    tone: str = ""


class Shown(App[None]):
    """An app with rows alone, which counts those that were made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield List()

    @property
    def rows(self) -> List:
        return self.query_one(List)

    def row(self, number: int, _width: int) -> Made:
        self.made.append(number)
        return Made(f"row {number} [/x]\x1b")

    def on_list_opened(self, event: List.Opened) -> None:
        self.chosen.append(int(event.key))

    async def show(self, pilot: Pilot[None], count: int, *, at: str = "") -> list[str]:
        """Show so many rows; return the lines of the screen."""
        self.rows.show(lambda width: Numbered(count, self.row, width), at=at)
        await pilot.pause()
        return picture(pilot).splitlines()


@asynccontextmanager
async def rows_alone() -> AsyncIterator[tuple[Shown, Pilot[None]]]:
    app = Shown()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        yield app, pilot


async def test_of_ten_thousand_rows_only_those_in_sight_are_made_and_none_acts_as_markup_or_escape() -> None:
    async with rows_alone() as (app, pilot):
        lines = await app.show(pilot, 10_000)
        assert set(app.made) == set(range(10))
        assert lines[1].startswith(r"  row 1 [/x]\x1b")
        app.made.clear()
        await pilot.press("end")
        await pilot.pause()
        assert min(app.made) > 9_900
        assert "> row 9999" in picture(pilot)


async def test_the_cursor_follows_until_it_is_moved() -> None:
    async with rows_alone() as (app, pilot):
        for at in ("50", "70"):
            assert not app.rows.was_moved
            assert f"> row {at}" in "\n".join(await app.show(pilot, 100, at=at))
        await pilot.press("up")
        assert app.rows.was_moved
        await app.show(pilot, 100)
        assert app.rows.cursor == 69
        assert "> row 90" in "\n".join(await app.show(pilot, 100, at="90"))


async def test_keys_and_clicks_move_the_cursor_within_the_rows_and_fewer_rows_keep_it_among_them() -> None:
    async with rows_alone() as (app, pilot):
        await app.show(pilot, 100)
        for keys, cursor in (
            (("down", "down"), 2),
            (("home", "up"), 0),
            (("end",), 99),
            (("end", "home"), 0),
            (("pagedown",), 9),
            (("end", "down"), 99),
        ):
            await pilot.press(*keys, "enter")
            await pilot.pause()
            assert (app.rows.cursor, app.chosen[-1]) == (cursor, cursor), keys
        await app.show(pilot, 3)
        assert app.rows.cursor == 2
        await app.show(pilot, 100)
        await pilot.press("home")
        await pilot.click(List, offset=(5, 3))
        assert app.rows.cursor == 3
        lines = await app.show(pilot, 0)
        await pilot.press("down", "up", "enter")
        assert lines[0] == ""


async def test_a_text_has_no_cursor_and_is_scrolled_line_by_line() -> None:
    async with rows_alone() as (app, pilot):
        app.rows.show(lambda width: Texts([app.row(number, width) for number in range(100)]))
        for keys, line, first in (
            (("down", "down", "enter"), 0, "row 2"),
            (("end",), 9, "row 99"),
            (("up",), 9, "row 98"),
            (("home",), 0, "row 0"),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert picture(pilot).splitlines()[line].startswith(first), keys
        assert app.chosen == []
