"""The program itself on terminals of several kinds: what it sends them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tui.on_a_pty import ESCAPES, read_for, read_until, terminal

UTF8 = {"LANG": "C.UTF-8"}
SAFE_CHARACTERS = set("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")
FIRST = b"1 Devices"
LIST = b"What can be tested"
"""In the list that ctrl+p shows: with it there are borders, a cursor and a scroll bar."""


def sent(environ: Mapping[str, str], runs_dir: Path, *options: str) -> bytes:
    """Return what the console sends for its first screen and the list of all that can be done."""
    with terminal(environ, "--runs", str(runs_dir), *options) as fd:
        found = read_until(fd, FIRST)
        os.write(fd, b"\x10")
        return found + read_until(fd, LIST) + read_for(fd, 0.2)


def drawn(raw: bytes) -> set[str]:
    """Return the characters on the screen, without the letters of sequences."""
    text = ESCAPES.sub(b"", raw).decode()
    return {character for character in text if character not in "\r\n\x1b"}


def colours(raw: bytes) -> set[bytes]:
    """Return the parameters of all SGR sequences that are colours."""
    parameters = {one for sequence in re.findall(rb"\x1b\[([0-9;]*)m", raw) for one in sequence.split(b";")}
    return {one for one in parameters if re.fullmatch(rb"[349][0-8]|10[0-7]", one)}


def test_the_linux_console_gets_16_colours_and_characters_of_its_font(tmp_path: Path) -> None:
    raw = sent({"TERM": "linux", "COLORTERM": "truecolor", **UTF8}, tmp_path)
    odd = {character for character in drawn(raw) if not character.isascii()}
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
        assert b"fsconsole run" in read_until(fd, b"nothing but lines")
