"""Colours and pictures on terminals of every kind."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Button, DataTable, Input, OptionList

from fsconsole.show.terminal import ASCII, SAFE, WIDE, Colours, Glyphs
from fsconsole.tui.terminal import plain
from tests.tui.harness import console, picture, strips
from tests.tui.on_a_pty import ESCAPES, read_for, read_until, terminal

KINDS = pytest.mark.parametrize(
    ("colours", "glyphs"),
    [(Colours.NONE, ASCII), (Colours.SIXTEEN, SAFE), (Colours.MANY, WIDE)],
    ids=["none", "16", "many"],
)
Check = Callable[[list[list[Segment]], str], None]


class Sample(Screen[None]):
    CSS = "Horizontal { height: 12; } DataTable, OptionList { width: 1fr; height: 10; }"

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield DataTable(classes="pane", cursor_type="row")
            yield OptionList(*(plain(f"option {number}") for number in range(12)), classes="pane")
        yield Input("4 KiB", compact=False)
        yield Button("Start")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("name", "size")
        for number in range(20):
            table.add_row(f"row {number}", "10 GiB")


def look(colours: Colours, glyphs: Glyphs, keys: tuple[str, ...], check: Check) -> None:
    async def run() -> None:
        app = console(colours=colours, glyphs=glyphs)
        async with app.run_test(size=(80, 24)) as pilot:
            await app.push_screen(Sample())
            await pilot.press(*keys)
            await pilot.pause()
            check([list(strip) for strip in strips(pilot)], picture(pilot))

    asyncio.run(run())


def drawn(rows: list[list[Segment]], text: str) -> tuple[object, ...]:
    """Return attributes and colours of the segment with a text in it."""
    style = next(segment.style for row in rows for segment in row if text in segment.text)
    return (style.bold, style.reverse, style.color, style.bgcolor) if style else ()


@KINDS
def test_the_row_under_the_cursor_differs_from_the_others(colours: Colours, glyphs: Glyphs) -> None:
    def check(rows: list[list[Segment]], _text: str) -> None:
        assert drawn(rows, "row 1") != drawn(rows, "row 2")
        assert drawn(rows, "row 3") == drawn(rows, "row 2")

    look(colours, glyphs, ("down",), check)


@KINDS
def test_the_option_under_the_cursor_differs_from_the_others(colours: Colours, glyphs: Glyphs) -> None:
    def check(rows: list[list[Segment]], _text: str) -> None:
        assert drawn(rows, "option 1") != drawn(rows, "option 2")

    look(colours, glyphs, ("tab", "down"), check)


@KINDS
def test_a_focused_button_differs_from_one_that_is_not(colours: Colours, glyphs: Glyphs) -> None:
    found: list[object] = []

    def check(rows: list[list[Segment]], _text: str) -> None:
        found.append(drawn(rows, "Start"))

    look(colours, glyphs, (), check)
    look(colours, glyphs, ("tab", "tab", "tab"), check)
    assert found[0] != found[1]


def test_without_colours_the_cursor_is_reversed_and_nothing_has_a_colour() -> None:
    def check(rows: list[list[Segment]], _text: str) -> None:
        assert drawn(rows, "row 0")[1] is True
        styles = [segment.style for row in rows for segment in row if segment.style is not None]
        assert [style for style in styles if style.color or style.bgcolor] == []

    look(Colours.NONE, ASCII, (), check)


def test_with_16_colours_no_other_is_sent_and_the_terminals_own_go_without_saying() -> None:
    def check(rows: list[list[Segment]], _text: str) -> None:
        styles = [segment.style for row in rows for segment in row if segment.style is not None]
        colours = [
            colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None
        ]
        assert colours
        assert all(colour.number is not None and colour.number < 16 for colour in colours)

    look(Colours.SIXTEEN, SAFE, (), check)


def test_nothing_is_dim_where_dim_is_dark_grey_on_black() -> None:
    def check(rows: list[list[Segment]], _text: str) -> None:
        assert [
            segment.text for row in rows for segment in row if segment.style is not None and segment.style.dim
        ] == []

    look(Colours.SIXTEEN, SAFE, (), check)


@pytest.mark.parametrize(
    ("colours", "glyphs", "corner"), [(Colours.NONE, ASCII, "+="), (Colours.SIXTEEN, SAFE, "╔═")]
)
def test_the_pane_that_the_keys_go_to_has_a_double_line(
    colours: Colours, glyphs: Glyphs, corner: str
) -> None:
    def check(_rows: list[list[Segment]], text: str) -> None:
        assert text.startswith(corner)
        assert text.splitlines()[0].count(corner) == 1

    look(colours, glyphs, (), check)


UTF8 = {"LANG": "C.UTF-8"}
SAFE_CHARACTERS = set("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")
FIRST = b"1 Devices"
LIST = b"Choose the devices to test"
"""In the list that ctrl+p shows: with it there are borders, a cursor and a scroll bar."""


def sent(environ: Mapping[str, str], runs_dir: Path, *options: str) -> bytes:
    """Return what the console sends for its first screen and the list of all that can be done."""
    with terminal(environ, "--runs", str(runs_dir), *options) as fd:
        found = read_until(fd, FIRST)
        os.write(fd, b"\x10")
        return found + read_until(fd, LIST) + read_for(fd, 0.2)


def drawn_for_real(raw: bytes) -> set[str]:
    """Return the characters on the screen, without the letters of sequences."""
    text = ESCAPES.sub(b"", raw).decode()
    return {character for character in text if character not in "\r\n\x1b"}


def colours(raw: bytes) -> set[bytes]:
    """Return the parameters of all SGR sequences that are colours."""
    parameters = {one for sequence in re.findall(rb"\x1b\[([0-9;]*)m", raw) for one in sequence.split(b";")}
    return {one for one in parameters if re.fullmatch(rb"[349][0-8]|10[0-7]", one)}


def test_the_linux_console_gets_16_colours_and_characters_of_its_font(tmp_path: Path) -> None:
    raw = sent({"TERM": "linux", "COLORTERM": "truecolor", **UTF8}, tmp_path)
    odd = {character for character in drawn_for_real(raw) if not character.isascii()}
    assert odd
    assert odd <= SAFE_CHARACTERS
    assert colours(raw)
    assert not colours(raw) & {b"38", b"48"}


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "linux", "LANG": "C"},
        {"TERM": "linux", "LC_ALL": "C"},
        {"TERM": "xterm-256color"},
        {"TERM": "vt220", **UTF8},
    ],
    ids=["LANG=C", "LC_ALL=C", "no locale", "vt220"],
)
def test_without_utf_8_ascii_alone_is_sent(environ: dict[str, str], tmp_path: Path) -> None:
    assert sent(environ, tmp_path).isascii()


@pytest.mark.parametrize("environ", [{"TERM": "vt220"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}])
def test_without_colours_there_is_none_and_the_cursor_is_reversed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    raw = sent({**environ, **UTF8}, tmp_path)
    assert colours(raw) == set()
    assert re.search(rb"\x1b\[(?:1;)?7m", raw)


def test_gnu_screen_gets_no_24_bit_colours(tmp_path: Path) -> None:
    raw = sent({"TERM": "screen-256color", "COLORTERM": "truecolor", **UTF8}, tmp_path)
    assert b"38;5;" in raw
    assert b"38;2;" not in raw


def test_a_dumb_terminal_is_told_what_it_can_have(tmp_path: Path) -> None:
    with terminal({"TERM": "dumb", **UTF8}, "--runs", str(tmp_path)) as fd:
        assert b"fsconsole run" in read_until(fd, b"any terminal")
