"""Capabilities of the terminal, detected once at the start: colours, glyphs, refresh rate.

On a Linux console (TERM=linux) there are 16 colours and 256 or 512 glyphs. What CP437 and Debian's Lat15 console fonts
both have is ASCII, box drawing, the full block, three shades, the black square and two triangles; everything else
would be a box. vt220 and the like get ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fsconsole.errors import DumbTerminal

_DUMB = frozenset({"", "dumb", "unknown"})
_ASCII_TERMS = re.compile(r"(vt\d|ansi|pcansi|cons25|sun|wy|hp|qvt|tvi)")
"""Terminals of their own right, or what claims no more than one of those: no UTF-8 to be relied on."""
_MONOCHROME = re.compile(r"(vt\d|sun|wy|hp|qvt|tvi)|.*-(m|mono)$")
_MANY_COLOURS = ("256color", "kitty")
"""Endings of TERM with 256 colours; rich.console, which writes the colours, uses the same ones."""
_PAINT_HZ, _SLOW_PAINT_HZ = 4.0, 0.5


class Colours(Enum):
    """Numbers of colours."""

    NONE = "none"
    SIXTEEN = "16"
    MANY = "many"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters that pictures are made of; each is one column wide."""

    full: str
    shades: str
    """From light to dark, three of them."""
    empty: str
    steps: str
    """Parts of a full block from the bottom up, the last one full: how finely a plot can be drawn."""
    branch: str
    last_branch: str
    trunk: str
    """Guides of a tree, three columns each."""
    horizontal: str
    vertical: str
    up: str
    down: str
    square: str
    has_boxes: bool
    """True if borders may be drawn with lines; with ASCII otherwise."""


ASCII = Glyphs("#", ".:=", " ", "_#", "|- ", "`- ", "|  ", "-", "|", "^", "v", "*", has_boxes=False)
SAFE = Glyphs("█", "░▒▓", " ", "█", "├─ ", "└─ ", "│  ", "─", "│", "▲", "▼", "■", has_boxes=True)
WIDE = Glyphs("█", "░▒▓", " ", "▁▂▃▄▅▆▇█", "├─ ", "└─ ", "│  ", "─", "│", "▲", "▼", "■", has_boxes=True)


@dataclass(frozen=True, slots=True)
class Terminal:
    """Terminal features that screens and widgets ask for before they draw."""

    colours: Colours
    glyphs: Glyphs
    paint_hz: float
    """Paints of gauges per second; samples come at their own rate."""
    slow: bool = False
    """True if every byte counts: bars in ASCII, plots on demand, nothing painted twice."""
    copies: bool = False
    """True if it may take text for its clipboard (OSC 52); the kernel's console and old terminals would print it."""


def terminal_of(
    environ: Mapping[str, str], encoding: str, *, ascii_only: bool = False, slow_link: bool = False
) -> Terminal:
    """Return what a terminal can do, by TERM, COLORTERM, NO_COLOR and its encoding. Raises DumbTerminal."""
    term = environ.get("TERM", "").strip().lower()
    if term.split("-")[0] in _DUMB:
        raise DumbTerminal(term=term)
    colours = _colours(term, environ)
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    is_ascii = ascii_only or slow_link or not is_utf8 or _ASCII_TERMS.match(term)
    return Terminal(
        # A colour of 16 takes 5 bytes, one of many up to 19, and there are two to a word.
        colours=Colours.SIXTEEN if slow_link and colours is Colours.MANY else colours,
        glyphs=ASCII if is_ascii else SAFE if _is_linux(term) else WIDE,
        paint_hz=_SLOW_PAINT_HZ if slow_link else _PAINT_HZ,
        slow=slow_link,
        copies=not (_is_linux(term) or _ASCII_TERMS.match(term) or is_screen(term)),
    )


def _colours(term: str, environ: Mapping[str, str]) -> Colours:
    # https://no-color.org: present and not empty.
    if environ.get("NO_COLOR") or _MONOCHROME.match(term):
        return Colours.NONE
    if _is_linux(term) or _ASCII_TERMS.match(term):
        return Colours.SIXTEEN
    if term.rpartition("-")[2] in _MANY_COLOURS:
        return Colours.MANY
    # GNU screen before 5 passes no 24-bit colours on, while COLORTERM of the terminal outside gets through.
    has_more = environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}
    return Colours.MANY if has_more and not is_screen(term) else Colours.SIXTEEN


def is_screen(term: str) -> bool:
    """Return whether this is GNU screen, or tmux that calls itself so."""
    return re.match(r"screen([.-]|$)", term) is not None


def _is_linux(term: str) -> bool:
    """Return whether this is the kernel's console, also within GNU screen (screen.linux)."""
    return term.rpartition(".")[2].split("-")[0] == "linux"
