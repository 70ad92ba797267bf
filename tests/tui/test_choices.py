"""Lists of choices and rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from fsconsole.show.lines import Line, Mark, TextLine
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


class Alone(App[None]):
    """An app with a list alone, which notes what it is told."""

    def __init__(self, shown: List) -> None:
        super().__init__()
        self.shown = shown
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.shown

    def on_list_ticked(self, event: List.Ticked) -> None:
        self.told.append(f"ticked {event.key}")

    def on_list_opened(self, event: List.Opened) -> None:
        self.told.append(f"opened {event.key}")


@asynccontextmanager
async def listed(shown: Sequence[Line] = LINES) -> AsyncIterator[tuple[Alone, Choices, Pilot[None]]]:
    choices = Choices(id="list")
    app = Alone(choices)
    async with app.run_test(size=(40, 10)) as pilot:
        choices.show_lines(shown)
        choices.focus()
        await pilot.pause()
        yield app, choices, pilot


async def test_a_name_stands_whole_and_what_is_clicked_in_any_of_its_rows_is_opened() -> None:
    async with listed() as (app, _, pilot):
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
    async with listed() as (app, choices, pilot):
        seen = []
        for key in ("home", "up", "down", "down", "down", "up", "end", "pageup", "pagedown"):
            await pilot.press(key)
            line = choices.looked_at
            seen.append(line.key if line else "")
        assert seen == ["a", "a", "b", "c", "c", "b", "c", "a", "c"]
        await pilot.press("space", "enter", "right")
        assert app.told == ["ticked c", "opened c", "opened c"]
        app.told.clear()
        await pilot.press("up")
        choices.show_lines(LINES[1:])
        assert choices.looked_at == LINES[2]
        choices.show_lines(())
        await pilot.press("down", "up", "end", "pageup", "space", "enter")
        assert choices.looked_at is None
        assert app.told == []
        choices.show_lines(LINES)
        assert choices.looked_at == LINES[1]


async def test_of_ten_thousand_lines_those_in_sight_are_made_whatever_is_done() -> None:
    many = tuple(Line(f"k{number}", f"{number} " + "long " * 20, wraps=True) for number in range(10_000))
    async with listed(many) as (_, choices, pilot):
        await pilot.press("end", "home", "pagedown", "up", "end")
        await pilot.pause()
        assert picture(pilot).splitlines()[-1].startswith("9999 ")
        assert len(choices.rows.rows._texts) < 100
        choices.show_lines((*many[:-1], Line("k9999", "another")))
        await pilot.pause()
        assert picture(pilot).splitlines()[-1].split()[0] == "another"
        assert len(choices.rows.rows._texts) < 100


class Rows:
    """A list of rows alone, of which those that were made are noted."""

    def __init__(self, app: Alone, pilot: Pilot[None]) -> None:
        self.list, self.told, self.pilot = app.shown, app.told, pilot
        self.made: list[int] = []

    def row(self, number: int, _width: int) -> TextLine:
        self.made.append(number)
        return TextLine(f"row {number} [/x]\x1b")

    async def show(self, count: int, *, at: str = "") -> list[str]:
        """Show so many rows; return the lines of the screen."""
        self.list.show(lambda width: Numbered(count, self.row, width), at=at)
        return await self.press()

    async def press(self, *keys: str) -> list[str]:
        """Press keys; return the lines of the screen."""
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return picture(self.pilot).splitlines()


@asynccontextmanager
async def rows_alone() -> AsyncIterator[Rows]:
    app = Alone(List())
    async with app.run_test(size=(40, 10)) as pilot:
        app.shown.focus()
        yield Rows(app, pilot)


async def test_of_ten_thousand_rows_only_those_in_sight_are_made_and_none_acts_as_markup_or_escape() -> None:
    async with rows_alone() as rows:
        lines = await rows.show(10_000)
        assert set(rows.made) == set(range(10))
        assert lines[1].startswith(r"  row 1 [/x]\x1b")
        rows.made.clear()
        assert "> row 9999" in "\n".join(await rows.press("end"))
        assert min(rows.made) > 9_900


async def test_the_cursor_follows_until_it_is_moved() -> None:
    async with rows_alone() as rows:
        for at in ("50", "70"):
            assert not rows.list.was_moved
            assert f"> row {at}" in "\n".join(await rows.show(100, at=at))
        await rows.press("up")
        assert rows.list.was_moved
        await rows.show(100)
        assert rows.list.cursor == 69
        assert "> row 90" in "\n".join(await rows.show(100, at="90"))


async def test_keys_and_clicks_move_the_cursor_within_the_rows_and_fewer_rows_keep_it_among_them() -> None:
    async with rows_alone() as rows:
        await rows.show(100)
        for keys, cursor in (
            (("down", "down"), 2),
            (("home", "up"), 0),
            (("end",), 99),
            (("end", "home"), 0),
            (("pagedown",), 9),
            (("end", "down"), 99),
        ):
            await rows.press(*keys, "enter")
            assert (rows.list.cursor, rows.told[-1]) == (cursor, f"opened {cursor}"), keys
        await rows.show(3)
        assert rows.list.cursor == 2
        await rows.show(100)
        await rows.press("home")
        await rows.pilot.click(List, offset=(5, 3))
        assert rows.list.cursor == 3
        assert (await rows.show(0))[0] == ""
        await rows.press("down", "up", "enter")


async def test_a_text_has_no_cursor_and_is_scrolled_line_by_line() -> None:
    async with rows_alone() as rows:
        rows.list.show(lambda width: Texts([rows.row(number, width) for number in range(100)]))
        for keys, line, first in (
            (("down", "down", "enter"), 0, "row 2"),
            (("end",), 9, "row 99"),
            (("up",), 9, "row 98"),
            (("home",), 0, "row 0"),
        ):
            assert (await rows.press(*keys))[line].startswith(first), keys
        assert rows.told == []
