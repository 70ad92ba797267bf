"""What a terminal can show, by its name, the locale and the operator's wish."""

from __future__ import annotations

import pytest

from fsconsole.errors import DumbTerminal
from fsconsole.show.terminal import ASCII, SAFE, WIDE, Colours, is_screen, terminal_of
from fsconsole.text import encoding_of

NONE, SIXTEEN, MANY = Colours.NONE, Colours.SIXTEEN, Colours.MANY


def test_each_terminal_gets_what_it_can_show() -> None:
    for terms, shown in {
        ("linux", "linux-16color", "screen.linux"): (SIXTEEN, SAFE, False),
        ("xterm", "xterm-16color", "tmux"): (SIXTEEN, WIDE, True),
        ("screen",): (SIXTEEN, WIDE, False),
        ("xterm-256color", "xterm-kitty", "vte-256color", "tmux-256color"): (MANY, WIDE, True),
        ("screen.xterm-256color", "screen-256color"): (MANY, WIDE, False),
        ("xterm-mono",): (NONE, WIDE, True),
        ("vt100", "vt220", "ansi-m"): (NONE, ASCII, False),
        ("ansi",): (SIXTEEN, ASCII, False),
    }.items():
        for term in terms:
            found = terminal_of({"TERM": term}, "utf-8")
            assert (found.colours, found.glyphs, found.copies) == shown, term


def test_a_terminal_that_places_no_cursor_is_refused() -> None:
    for environ in ({}, {"TERM": ""}, {"TERM": "dumb"}, {"TERM": "unknown"}, {"TERM": "dumb-emacs"}):
        with pytest.raises(DumbTerminal, match="can't show the console"):
            terminal_of(environ, "utf-8")


def test_without_utf_8_and_for_the_asking_there_is_ascii() -> None:
    for encoding in ("ascii", "ANSI_X3.4-1968", "iso-8859-1", "latin-1"):
        for term in ("linux", "xterm-256color", "screen.linux"):
            assert terminal_of({"TERM": term}, encoding).glyphs == ASCII, (term, encoding)
    assert terminal_of({"TERM": "xterm-256color"}, "utf-8", ascii_only=True).glyphs == ASCII


def test_in_pythons_utf_8_mode_the_locales_name_counts_else_the_streams_encoding() -> None:
    for environ, encoding in (
        ({}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "ascii"),  # As Python leaves it, started in the C locale.
        ({"LC_ALL": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "ascii"),
        ({"LANG": "en_US.ISO-8859-1", "LC_CTYPE": "C.UTF-8"}, "ascii"),
        ({"LANG": "de_DE.UTF-8", "LC_CTYPE": "C.UTF-8"}, "utf-8"),  # Sent by ssh, not installed here.
        ({"LC_CTYPE": "UTF-8"}, "utf-8"),
        ({"LANG": "de_DE.utf8"}, "utf-8"),
    ):
        assert encoding_of(environ, "utf-8", is_utf8_mode=True) == encoding, environ
    assert encoding_of({"LANG": "C"}, "iso-8859-1", is_utf8_mode=False) == "iso-8859-1"


def test_colorterm_tells_of_more_colours_than_term_and_no_color_of_none() -> None:
    for term, name, value, colours in (
        ("xterm", "COLORTERM", "truecolor", MANY),
        ("xterm", "COLORTERM", "24bit", MANY),
        ("xterm", "COLORTERM", "yes", SIXTEEN),
        # That of a terminal outside is not believed.
        ("linux", "COLORTERM", "truecolor", SIXTEEN),
        ("screen", "COLORTERM", "truecolor", SIXTEEN),
        ("screen.linux", "COLORTERM", "truecolor", SIXTEEN),
        ("xterm-256color", "NO_COLOR", "1", NONE),
        ("xterm-256color", "NO_COLOR", "", MANY),
    ):
        assert terminal_of({"TERM": term, name: value}, "utf-8").colours is colours, (term, name, value)


def test_on_a_slow_link_every_byte_counts_and_no_colours_come_back() -> None:
    found = terminal_of({"TERM": "xterm-256color"}, "utf-8", slow_link=True)
    assert (found.glyphs, found.colours, found.slow) == (ASCII, SIXTEEN, True)
    # Every 2 s.
    assert (found.paint_hz, terminal_of({"TERM": "xterm-256color"}, "utf-8").paint_hz) == (0.5, 4.0)
    assert terminal_of({"TERM": "vt220"}, "utf-8", slow_link=True).colours is NONE


def test_gnu_screen_is_known_by_its_name() -> None:
    terms = ("screen", "screen.linux", "screen-256color", "screenish", "tmux")
    assert [is_screen(term) for term in terms] == [True, True, True, False, False]
