"""What a terminal can show, by its name, the locale and the operator's wish."""

from __future__ import annotations

import pytest

from fsconsole.errors import DumbTerminal
from fsconsole.show.terminal import ASCII, SAFE, WIDE, Colours, Glyphs, encoding_of, is_screen, terminal_of


@pytest.mark.parametrize(
    ("term", "colours", "glyphs"),
    [
        ("linux", Colours.SIXTEEN, SAFE),
        ("linux-16color", Colours.SIXTEEN, SAFE),
        ("xterm", Colours.SIXTEEN, WIDE),
        ("xterm-16color", Colours.SIXTEEN, WIDE),
        ("xterm-256color", Colours.MANY, WIDE),
        ("xterm-kitty", Colours.MANY, WIDE),
        ("xterm-mono", Colours.NONE, WIDE),
        ("vte-256color", Colours.MANY, WIDE),
        ("screen", Colours.SIXTEEN, WIDE),
        ("screen.linux", Colours.SIXTEEN, SAFE),
        ("screen.xterm-256color", Colours.MANY, WIDE),
        ("screen-256color", Colours.MANY, WIDE),
        ("tmux", Colours.SIXTEEN, WIDE),
        ("tmux-256color", Colours.MANY, WIDE),
        ("vt100", Colours.NONE, ASCII),
        ("vt220", Colours.NONE, ASCII),
        ("ansi", Colours.SIXTEEN, ASCII),
        ("ansi-m", Colours.NONE, ASCII),
    ],
)
def test_each_terminal_gets_what_it_can_show(term: str, colours: Colours, glyphs: Glyphs) -> None:
    found = terminal_of({"TERM": term}, "utf-8")
    assert (found.colours, found.glyphs) == (colours, glyphs)


@pytest.mark.parametrize(
    "environ", [{}, {"TERM": ""}, {"TERM": "dumb"}, {"TERM": "unknown"}, {"TERM": "dumb-emacs"}]
)
def test_a_terminal_that_places_no_cursor_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(DumbTerminal, match="can't show the console"):
        terminal_of(environ, "utf-8")


@pytest.mark.parametrize("term", ["linux", "xterm-256color", "screen.linux"])
@pytest.mark.parametrize("encoding", ["ascii", "ANSI_X3.4-1968", "iso-8859-1", "latin-1"])
def test_without_utf_8_there_is_ascii(term: str, encoding: str) -> None:
    assert terminal_of({"TERM": term}, encoding).glyphs == ASCII


@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "ascii"),  # As Python leaves it, started in the C locale.
        ({"LC_ALL": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "ascii"),
        ({"LANG": "en_US.ISO-8859-1", "LC_CTYPE": "C.UTF-8"}, "ascii"),
        ({"LANG": "de_DE.UTF-8", "LC_CTYPE": "C.UTF-8"}, "utf-8"),  # Sent by ssh, not installed here.
        ({"LC_CTYPE": "UTF-8"}, "utf-8"),
        ({"LANG": "de_DE.utf8"}, "utf-8"),
    ],
)
def test_in_pythons_utf_8_mode_the_locales_name_counts(environ: dict[str, str], encoding: str) -> None:
    assert encoding_of(environ, "utf-8", is_utf8_mode=True) == encoding


def test_otherwise_the_streams_encoding_counts() -> None:
    assert encoding_of({"LANG": "C"}, "iso-8859-1", is_utf8_mode=False) == "iso-8859-1"


def test_colorterm_tells_of_more_colours_than_term() -> None:
    assert terminal_of({"TERM": "xterm", "COLORTERM": "truecolor"}, "utf-8").colours is Colours.MANY
    assert terminal_of({"TERM": "xterm", "COLORTERM": "24bit"}, "utf-8").colours is Colours.MANY
    assert terminal_of({"TERM": "xterm", "COLORTERM": "yes"}, "utf-8").colours is Colours.SIXTEEN


@pytest.mark.parametrize("term", ["linux", "screen", "screen.linux"])
def test_colorterm_of_a_terminal_outside_is_not_believed(term: str) -> None:
    assert terminal_of({"TERM": term, "COLORTERM": "truecolor"}, "utf-8").colours is Colours.SIXTEEN


def test_no_color_counts_when_it_is_not_empty() -> None:
    assert terminal_of({"TERM": "xterm-256color", "NO_COLOR": "1"}, "utf-8").colours is Colours.NONE
    assert terminal_of({"TERM": "xterm-256color", "NO_COLOR": ""}, "utf-8").colours is Colours.MANY


def test_ascii_is_had_for_the_asking() -> None:
    assert terminal_of({"TERM": "xterm-256color"}, "utf-8", ascii_only=True).glyphs == ASCII


def test_on_a_slow_link_every_byte_counts() -> None:
    found = terminal_of({"TERM": "xterm-256color"}, "utf-8", slow_link=True)
    assert (found.glyphs, found.colours, found.slow) == (ASCII, Colours.SIXTEEN, True)
    assert found.paint_hz < terminal_of({"TERM": "xterm-256color"}, "utf-8").paint_hz


def test_a_slow_link_brings_no_colours_back() -> None:
    assert terminal_of({"TERM": "vt220"}, "utf-8", slow_link=True).colours is Colours.NONE


@pytest.mark.parametrize(
    ("term", "so"),
    [
        ("screen", True),
        ("screen.linux", True),
        ("screen-256color", True),
        ("screenish", False),
        ("tmux", False),
    ],
)
def test_gnu_screen_is_known_by_its_name(term: str, so: bool) -> None:
    assert is_screen(term) is so
