"""What the terminal at hand can show, decided once at the start: colours, glyphs, how often to paint.

On a Linux console (TERM=linux) there are 16 colours and 256 or 512 glyphs. What CP437 and Debian's Lat15 console fonts
both have is ASCII, box drawing, the full block, three shades, the black square and two triangles; everything else
would be a box. vt220 and the like get ASCII.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fsconsole.errors import DumbTerminal

_DUMB = frozenset({"", "dumb", "unknown"})
_ASCII_TERMS = ("vt", "ansi", "cons25")
_PAINT_HZ, _SLOW_PAINT_HZ = 4.0, 0.5


class Colours(Enum):
    """How many colours there are."""

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
    """Whether borders may be drawn with lines; with ASCII otherwise."""


ASCII = Glyphs("#", ".:=", " ", "_#", "|- ", "`- ", "|  ", "-", "|", "^", "v", "*", has_boxes=False)
SAFE = Glyphs("█", "░▒▓", " ", "█", "├─ ", "└─ ", "│  ", "─", "│", "▲", "▼", "■", has_boxes=True)
WIDE = Glyphs("█", "░▒▓", " ", "▁▂▃▄▅▆▇█", "├─ ", "└─ ", "│  ", "─", "│", "▲", "▼", "■", has_boxes=True)


@dataclass(frozen=True, slots=True)
class Terminal:
    """What screens and widgets ask before they draw."""

    colours: Colours
    glyphs: Glyphs
    paint_hz: float
    """How often gauges are painted; samples come at their own rate."""
    slow: bool = False
    """Whether every byte counts: bars in ASCII, plots on demand, nothing painted twice."""


def terminal_of(
    environ: Mapping[str, str], encoding: str, *, ascii_only: bool = False, slow_link: bool = False
) -> Terminal:
    """Return what a terminal can do, by TERM, COLORTERM, NO_COLOR and its encoding. Raises DumbTerminal."""
    term = environ.get("TERM", "")
    if term in _DUMB:
        raise DumbTerminal(term=term)
    return Terminal(
        colours=_colours(term, environ),
        glyphs=_glyphs(term, encoding, ascii_only=ascii_only or slow_link),
        paint_hz=_SLOW_PAINT_HZ if slow_link else _PAINT_HZ,
        slow=slow_link,
    )


def _colours(term: str, environ: Mapping[str, str]) -> Colours:
    # https://no-color.org: present and not empty.
    if environ.get("NO_COLOR") or term.startswith("vt"):
        return Colours.NONE
    if "256color" in term or environ.get("COLORTERM", "") in {"truecolor", "24bit"}:
        return Colours.MANY
    return Colours.SIXTEEN


def _glyphs(term: str, encoding: str, *, ascii_only: bool) -> Glyphs:
    if ascii_only or term.startswith(_ASCII_TERMS) or encoding.lower().replace("-", "") != "utf8":
        return ASCII
    return SAFE if term.startswith("linux") else WIDE
