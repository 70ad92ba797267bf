"""Colours and pictures on terminals of every kind."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Button, DataTable, Input, OptionList

from fsconsole.show.terminal import ASCII, SAFE, WIDE, Colours, Glyphs
from fsconsole.tui.terminal import plain
from tests.tui.at_plan import catalog_answer
from tests.tui.harness import Scripted, console, drive, picture, strips
from tests.tui.on_a_pty import ESCAPES, read_for, read_until, terminal
from tests.tui.recorded import recorded
from tests.tui.waiting import shows


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


def drawn(rows: list[list[Segment]], text: str) -> tuple[object, ...]:
    """Return attributes and colours of the segment with a text in it."""
    style = next(segment.style for row in rows for segment in row if text in segment.text)
    return (style.bold, style.reverse, style.color, style.bgcolor) if style else ()


@pytest.mark.parametrize(
    ("kind", "glyphs", "corner"),
    [(Colours.NONE, ASCII, "+="), (Colours.SIXTEEN, SAFE, "╔═"), (Colours.MANY, WIDE, "╔═")],
    ids=["none", "16", "many"],
)
async def test_what_the_keys_go_to_differs_from_what_they_do_not(kind: Colours, glyphs: Glyphs, corner: str) -> None:
    app = console(colours=kind, glyphs=glyphs)
    async with drive(app) as pilot:

        async def after(*keys: str) -> list[list[Segment]]:
            await pilot.press(*keys)
            await pilot.pause()
            return [list(strip) for strip in strips(pilot)]

        await app.push_screen(Sample())
        first = await after()
        assert picture(pilot).splitlines()[0].startswith(corner)
        assert picture(pilot).splitlines()[0].count(corner) == 1
        styles = [segment.style for row in first for segment in row if segment.style is not None]
        used = [colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None]
        if kind is Colours.NONE:
            assert drawn(first, "row 0")[1] is True
            assert used == []
        elif kind is Colours.SIXTEEN:
            # No other colour is sent, and nothing is dim, which is dark grey on black there.
            assert used
            assert all(colour.number is not None and colour.number < 16 for colour in used)
            assert not any(style.dim for style in styles)
        rows = await after("down")
        assert drawn(rows, "row 1") != drawn(rows, "row 2")
        assert drawn(rows, "row 3") == drawn(rows, "row 2")
        rows = await after("tab", "down")
        assert drawn(rows, "option 1") != drawn(rows, "option 2")
        assert drawn(await after("tab", "tab"), "Start") != drawn(first, "Start")


@pytest.mark.parametrize("kind", Colours)
async def test_of_a_row_of_values_only_the_one_at_the_cursor_stands_out(kind: Colours) -> None:
    app = console(Scripted({"catalog": catalog_answer()}), colours=kind)
    async with drive(app, "2") as pilot:
        await shows(pilot, "2 variants")
        await pilot.press("enter")
        await shows(pilot, ">(default)  on   off")
        row = next(strip for strip in strips(pilot) if "delalloc" in strip.text)
        plain_style = next(segment.style for segment in row if "off" in segment.text)
        marked = "".join(
            segment.text
            for segment in row
            if segment.style and (segment.style.reverse or segment.style.bgcolor != plain_style.bgcolor)
        )
        assert marked == ">(default)"


UTF8 = {"LANG": "C.UTF-8"}
SAFE_CHARACTERS = set("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")
FIRST = b"1 Devices"
LIST = b"choose the devices to test"
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


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": ""}], ids=["", "empty NO_COLOR"])
def test_the_linux_console_gets_16_colours_and_characters_of_its_font(more: dict[str, str], tmp_path: Path) -> None:
    raw = sent({"TERM": "linux", "COLORTERM": "truecolor", **UTF8, **more}, tmp_path)
    odd = {character for character in drawn_for_real(raw) if not character.isascii()}
    assert odd
    assert odd <= SAFE_CHARACTERS
    assert colours(raw)
    assert not colours(raw) & {b"38", b"48"}


def test_without_utf_8_ascii_alone_is_sent(tmp_path: Path) -> None:
    # Python itself takes LANG=C for UTF-8.
    assert sent({"TERM": "linux", "LANG": "C"}, tmp_path).isascii()


@pytest.mark.parametrize("environ", [{"TERM": "vt220"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}])
def test_without_colours_there_is_none_and_the_cursor_is_reversed(environ: dict[str, str], tmp_path: Path) -> None:
    raw = sent({**environ, **UTF8}, tmp_path)
    assert colours(raw) == set()
    assert re.search(rb"\x1b\[(?:1;)?7m", raw)
    if "vt220" in environ.values():
        assert raw.isascii()


def test_gnu_screen_gets_no_24_bit_colours(tmp_path: Path) -> None:
    raw = sent({"TERM": "screen-256color", "COLORTERM": "truecolor", **UTF8}, tmp_path)
    assert b"38;5;" in raw
    assert b"38;2;" not in raw


def test_a_dumb_terminal_is_told_what_it_can_have(tmp_path: Path) -> None:
    with terminal({"TERM": "dumb", **UTF8}, "--runs", str(tmp_path)) as fd:
        assert b"fsconsole run" in read_until(fd, b"any terminal")


@pytest.mark.parametrize(("term", "is_sent"), [("xterm-256color", True), ("linux", False)])
def test_the_lines_of_a_row_are_sent_to_the_clipboard_of_a_terminal_and_not_to_the_kernel_s_console(
    tmp_path: Path, term: str, is_sent: bool
) -> None:
    recorded("grid", tmp_path)
    with terminal({"TERM": term, **UTF8}, "--runs", str(tmp_path)) as fd:
        read_until(fd, FIRST)
        os.write(fd, b"4")
        read_until(fd, b"verdict")
        os.write(fd, b"y")
        # What is sent goes before the lines themselves.
        found = read_until(fd, b"mkfs and /etc/fstab")
    assert (b"\x1b]52" in found) is is_sent
    copied = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", found)
    assert [b64decode(one)[:5] for one in copied] == [b"mkfs."] * is_sent
