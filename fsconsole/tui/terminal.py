"""Semantic colours; words say the same, for terminals without them.

With 16 colours the bright ones are taken where the dim ones can hardly be read on black (blue, red, magenta: a contrast
below 3.5 on the kernel's palette, where the bright ones have 4.1 and more).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.theme import Theme

from fsconsole.show.terminal import ASCII, SAFE, WIDE, Colours, Glyphs, Terminal
from fsconsole.text import printable

_BOX = "─│┌┐└┘├┤┬┴┼━┃┏┓┗┛┣┫┳┻╋═║╔╗╚╝╠╣╦╩╬╭╮╰╯╌╍╎╏┄┅┆┇┈┉╴╵╶╷╸╹╺╻╼╾▛▜▙▟▗▖▝▘"
_BOX_ASCII = "-|+++++++++-|+++++++++=|+++++++++++++--||--||---|-|-|-|--++++++++"
_BOX_THIN = "─│┌┐└┘├┤┬┴┼─│┌┐└┘├┤┬┴┼═║╔╗╚╝├┤┬┴┼┌┐└┘──││──││───│─│─│─│──┌┐└┘┌┐└┘"
_BLOCKS = "▁▔▂▃▄▅▆▇▀▏▎▍▌▋▊▉▐▕"
_BLOCKS_SAFE = "────█████│││││││││"
_BLOCKS_ASCII = "_-__####-|||||||||"
_SUBSTITUTES = {  # What Textual's own widgets draw with, and what is common in texts.
    "\u2026": ".", "•": "*", "·": ".", "\u00d7": "x", "→": ">", "←": "<", "↑": "^", "↓": "v", "\u2013": "-", "—": "-", "▶": ">",
    "▼": "v", "▲": "^", "■": "*", "█": "#", "▓": "=", "▒": ":", "░": ".", "✓": "x", "✔": "x", "✗": "x", "✘": "x",
    "⭘": "o", "●": "*", "▪": "*", "◦": "*", "‣": "*", "⭑": "*", "○": "o", "◉": "*", "▸": ">", "▾": "v", "►": ">", "◀": "<", "\u2018": "'", "\u2019": "'",
    "“": '"', "”": '"', "«": "<", "»": ">", "⏎": "<", "⌫": "<", "µ": "u", "\u03bc": "u", "°": "o", "ß": "s", "\u00a0": " ",
    "Æ": "A", "æ": "a", "Ø": "O", "ø": "o", "ð": "d", "þ": "p", "Đ": "D", "đ": "d", "Ł": "L", "ł": "l",
}  # fmt: skip
_SAFE_SUBSTITUTES = _SUBSTITUTES | dict(zip(_BOX + _BLOCKS, _BOX_THIN + _BLOCKS_SAFE, strict=True))
_ASCII_SUBSTITUTES = _SUBSTITUTES | dict(zip(_BOX + _BLOCKS, _BOX_ASCII + _BLOCKS_ASCII, strict=True))
_ZERO_WIDTH_JOINER, _EMOJI_PRESENTATION = "\u200d", "\ufe0f"


@lru_cache(maxsize=4096)
def shown(text: str, glyphs: Glyphs) -> str:
    """Return text in characters of the set, as many columns wide."""
    if text.isascii() and text.isprintable():
        return text
    if _drawn(glyphs).issuperset(text):
        return text
    pieces: list[str] = []
    for character in text:
        is_part = not cell_len(character) or character == _EMOJI_PRESENTATION
        if pieces and (is_part or pieces[-1].endswith(_ZERO_WIDTH_JOINER)):
            pieces[-1] += character
        else:
            pieces.append(character)
    return "".join(_shown(piece, glyphs) for piece in pieces)


@lru_cache(maxsize=8)
def allowed(glyphs: Glyphs) -> frozenset[str]:
    """Return what a set has beside printable ASCII; the wide one has all that is printable, and its list is empty."""
    return frozenset("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝") if glyphs == SAFE else frozenset()


@lru_cache(maxsize=8)
def _drawn(glyphs: Glyphs) -> frozenset[str]:
    """Return what charts and boxes are drawn with, and printable ASCII, as far as a set has it: most texts have no more."""
    drawn = (*map(chr, range(0x20, 0x7F)), *_BOX, *_BLOCKS, glyphs.full, *glyphs.shades, glyphs.square)
    return frozenset(character for character in drawn if _shown(character, glyphs) == character)


def _shown(piece: str, glyphs: Glyphs) -> str:
    width = cell_len(piece)
    if len(piece) == 1 and _is_in(piece, glyphs):
        return piece
    if glyphs == WIDE and _EMOJI_PRESENTATION not in piece and _is_plain(piece) and width:
        return piece
    # Terminals don't agree on the width of joined characters, so that only the first is looked at.
    base = piece[0]
    letter = unicodedata.normalize("NFKD", base)[:1]
    if not (letter.isascii() and letter.isprintable()):
        letter = "?" * cell_len(base)
    substitutes = _ASCII_SUBSTITUTES if glyphs == ASCII else _SAFE_SUBSTITUTES
    alike = base if _is_in(base, glyphs) else substitutes.get(base, letter)
    taken = cell_len(alike)
    return alike + " " * (width - taken) if taken <= width else "?" * width


def _is_plain(text: str) -> bool:
    return printable(text) == text and text.isprintable()


def _is_in(character: str, glyphs: Glyphs) -> bool:
    if character.isascii():
        return character.isprintable()
    if glyphs == WIDE:
        return _is_plain(character) and cell_len(character) > 0
    return character in allowed(glyphs)


# The last thing before the terminal: characters that it lacks, and those that would steer it, are replaced.
#
# Widths stay: a replacement is as many columns wide as what it stands for.


class GlyphFilter(LineFilter):
    """Replaces what the terminal's font lacks."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(enabled=True)
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.control or (segment.text.isascii() and segment.text.isprintable())
            else Segment(shown(segment.text, self._glyphs), segment.style)
            for segment in segments
        ]


class BriefFilter(LineFilter):
    """Leaves out what is in the terminal's own colours anyway, and joins neighbours that look alike.

    On a page of gauges that is half of all bytes. Dim text is left as bright as other text: on a console it is dark grey
    on black. (Where there are many colours, Textual has made a colour of it before.)
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return list(Segment.simplify(_restyled(segments, _without_defaults)))


class ColourFilter(LineFilter):
    """Takes all colours away; what had a background of its own, as a cursor has, is reversed instead.

    Textual's own sets the colours to the terminal's default instead, which takes bytes and which old terminals lack.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return _restyled(segments, _reversed_for_background)


def _restyled(segments: Iterable[Segment], change: Callable[[Style], Style]) -> list[Segment]:
    return [
        segment if segment.style is None or segment.control else Segment(segment.text, change(segment.style))
        for segment in segments
    ]


@lru_cache(maxsize=1024)
def _reversed_for_background(style: Style) -> Style:
    has_background = style.bgcolor is not None and not style.bgcolor.is_default
    return _colourless(style) + Style(reverse=True) if has_background else _colourless(style)


@lru_cache(maxsize=1024)
def _colourless(style: Style) -> Style:
    # What the mouse finds under itself is kept in the style's meta.
    return style.without_color + Style.from_meta(style.meta) if style.meta else style.without_color


@lru_cache(maxsize=1024)
def _without_defaults(style: Style) -> Style:
    # Each text ends with a reset, so that the next one begins in the terminal's own colours.
    colours = (style.color, style.bgcolor)
    if not style.dim and not any(colour is not None and colour.is_default for colour in colours):
        return style
    kept = [None if colour is not None and colour.is_default else colour for colour in colours]
    return _colourless(style) + Style(color=kept[0], bgcolor=kept[1], dim=False if style.dim else None)


# Text from outside on a screen: labels, file names and tool output are never markup.
#
# A label ``[/x]`` would crash most widgets, and one with an escape sequence would reach the terminal. So every text that a
# widget is given is made here, as Content, which is no str.


def plain(text: str, style: str = "") -> Content:
    """Return one line for a widget; what can't be printed is shown as an escape."""
    return Content.styled(printable(text), style) if style else Content(printable(text))


def lines(*parts: Content) -> Content:
    """Return several lines for a widget."""
    return Content("\n").join(parts)


_CURSOR_MANY = {
    "block-cursor-foreground": "#000000",
    "block-cursor-background": "#87d7ff",
    "block-cursor-text-style": "none",
    "block-cursor-blurred-foreground": "#e4e4e4",
    "block-cursor-blurred-background": "#3a3a3a",
    "border-blurred": "#5f87af",
    "scrollbar": "#5f87af",
    **dict.fromkeys(("border", "footer-key-foreground", "scrollbar-hover", "scrollbar-active"), "#87d7ff"),
    **dict.fromkeys(("footer-background", "footer-description-background"), "#000000"),
}
_MANY = Theme(
    name="fsconsole",
    primary="#5fafff",
    secondary="#5f87af",
    warning="#ffaf5f",
    error="#ff5f5f",
    success="#87d787",
    accent="#87d7ff",
    foreground="#d0d0d0",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables=_CURSOR_MANY,
)
_CURSOR_SIXTEEN = {
    "block-cursor-background": "ansi_cyan",
    "block-cursor-blurred-text-style": "bold",
    "scrollbar": "ansi_cyan",
    **dict.fromkeys(("block-cursor-text-style", "input-cursor-text-style"), "none"),
    **dict.fromkeys(
        (
            "ansi-background",
            "block-cursor-foreground",
            "input-cursor-foreground",
            "input-selection-foreground",
        ),
        "ansi_black",
    ),
    **dict.fromkeys(("ansi-foreground", "input-cursor-background"), "ansi_white"),
    **dict.fromkeys(("text-muted", "text-disabled", "foreground-muted", "border-blurred"), "ansi_default"),
    **dict.fromkeys([f"scrollbar-background{of}" for of in ("", "-hover", "-active")], "ansi_default"),
    **dict.fromkeys(("border", "footer-key-foreground", "scrollbar-hover", "scrollbar-active"), "ansi_bright_cyan"),
}
_SIXTEEN = Theme(
    name="fsconsole",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_bright_blue",
    warning="ansi_bright_yellow",
    error="ansi_bright_red",
    success="ansi_bright_green",
    accent="ansi_bright_cyan",
    dark=True,
    variables=_CURSOR_SIXTEEN,
)


def theme_of(terminal: Terminal) -> Theme:
    """Return the theme that a terminal can show; without colours it is that of 16, see ColourFilter."""
    return _MANY if terminal.colours is Colours.MANY else _SIXTEEN
