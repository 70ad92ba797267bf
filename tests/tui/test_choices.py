"""A list of lines: moved in past its headings, clicked, and made into text only where it is in sight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from fsconsole.show.lines import Line, Mark
from fsconsole.tui.widgets.choices import Choices

LINES = (
    Line("one", "first", is_heading=True),
    Line("a", "a", Mark.OFF),
    Line("b", "b with a name that takes [/x] more than one row", Mark.ON, wraps=True),
    Line("two", "second", is_heading=True),
    Line("c", "c", Mark.BARRED, is_faint=True),
)


class Listed(App[None]):
    """An app with a list alone, which notes what it is told."""

    def __init__(self, shown: Sequence[Line]) -> None:
        super().__init__()
        self.told: list[str] = []
        self._first = shown

    def compose(self) -> ComposeResult:
        yield Choices(id="list")

    def on_mount(self) -> None:
        self.choices.show_lines(self._first)
        self.choices.focus()

    @property
    def choices(self) -> Choices:
        return self.query_one(Choices)

    def on_choices_ticked(self, event: Choices.Ticked) -> None:
        self.told.append(f"ticked {event.key}")

    def on_choices_opened(self, event: Choices.Opened) -> None:
        self.told.append(f"opened {event.key}")

    def on_choices_left(self, _event: Choices.Left) -> None:
        self.told.append("left")


def text_of(app: Listed) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def drive(
    act: Callable[[Listed, Pilot[None]], Awaitable[None]],
    shown: Sequence[Line] = LINES,
    size: tuple[int, int] = (40, 10),
) -> None:
    async def run() -> None:
        app = Listed(shown)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(app, pilot)

    asyncio.run(run())


def test_a_name_stands_whole_and_what_is_clicked_in_any_of_its_rows_is_opened() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        assert text_of(app)[:6] == [
            "first",
            "[ ] a",
            "[x] b with a name that takes [/x] more",
            "      than one row",
            "second",
            "[-] c",
        ]
        await pilot.click(Choices, offset=(6, 3))
        await pilot.click(Choices, offset=(6, 4))
        await pilot.click(Choices, offset=(6, 9))
        assert app.told == ["opened b"]

    drive(act)


def test_headings_are_passed_over_and_ends_are_ends() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        seen = []
        for key in ("home", "up", "down", "down", "down", "up", "end", "pageup", "pagedown"):
            await pilot.press(key)
            line = app.choices.looked_at
            seen.append(line.key if line else "")
        assert seen == ["a", "a", "b", "c", "c", "b", "c", "a", "c"]
        await pilot.press("space", "enter", "right", "left")
        assert app.told == ["ticked c", "opened c", "opened c", "left"]

    drive(act)


def test_the_highlight_follows_its_line_and_an_empty_list_has_none() -> None:
    async def act(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        app.choices.show_lines(LINES[1:])
        assert app.choices.looked_at == LINES[4]
        app.choices.show_lines(())
        await pilot.press("down", "up", "end", "pageup", "space", "enter")
        assert app.choices.looked_at is None
        assert app.told == []
        app.choices.show_lines(LINES)
        assert app.choices.looked_at == LINES[1]

    drive(act)


def test_of_ten_thousand_lines_those_in_sight_are_made_whatever_is_done() -> None:
    many = tuple(Line(f"k{number}", f"{number} " + "long " * 20, wraps=True) for number in range(10_000))

    async def act(app: Listed, pilot: Pilot[None]) -> None:
        await pilot.press("end", "home", "pagedown", "up", "end")
        await pilot.pause()
        assert text_of(app)[-1].startswith("9999 ")
        assert app.choices._rows.made < 100
        app.choices.show_lines((*many[:-1], Line("k9999", "another")))
        await pilot.pause()
        assert text_of(app)[-1].split()[0] == "another"
        assert app.choices._rows.made < 100

    drive(act, many)
