"""Characters that a terminal's font lacks, and what looks like them; column for column."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

from fsconsole.plaintext import printable
from fsconsole.tui.terminal import ASCII, SAFE, WIDE, Glyphs

_BOX = "─│┌┐└┘├┤┬┴┼━┃┏┓┗┛┣┫┳┻╋═║╔╗╚╝╠╣╦╩╬╭╮╰╯╌╍╎╏┄┅┆┇┈┉╴╵╶╷╸╹╺╻╼╾▛▜▙▟▗▖▝▘"
_BOX_ASCII = "-|+++++++++-|+++++++++=|+++++++++++++--||--||---|-|-|-|--++++++++"
_BOX_THIN = "─│┌┐└┘├┤┬┴┼─│┌┐└┘├┤┬┴┼═║╔╗╚╝├┤┬┴┼┌┐└┘──││──││───│─│─│─│──┌┐└┘┌┐└┘"
_BLOCKS = "▁▔▂▃▄▅▆▇▀▏▎▍▌▋▊▉▐▕"
_BLOCKS_SAFE = "────█████│││││││││"
_BLOCKS_ASCII = "_-__####-|||||||||"
_LIKENESS = {  # What Textual's own widgets draw with, and what is common in texts.
    "\u2026": ".", "•": "*", "·": ".", "\u00d7": "x", "→": ">", "←": "<", "↑": "^", "↓": "v", "\u2013": "-", "—": "-", "▶": ">",
    "▼": "v", "▲": "^", "■": "*", "█": "#", "▓": "=", "▒": ":", "░": ".", "✓": "x", "✔": "x", "✗": "x", "✘": "x",
    "⭘": "o", "●": "*", "▪": "*", "◦": "*", "‣": "*", "⭑": "*", "○": "o", "◉": "*", "▸": ">", "▾": "v", "►": ">", "◀": "<", "\u2018": "'", "\u2019": "'",
    "“": '"', "”": '"', "«": "<", "»": ">", "⏎": "<", "⌫": "<", "µ": "u", "\u03bc": "u", "°": "o", "ß": "s", "\u00a0": " ",
    "Æ": "A", "æ": "a", "Ø": "O", "ø": "o", "ð": "d", "þ": "p", "Đ": "D", "đ": "d", "Ł": "L", "ł": "l",
}  # fmt: skip
_ZERO_WIDTH_JOINER, _EMOJI_PRESENTATION = "\u200d", "\ufe0f"


@lru_cache(maxsize=4096)
def shown(text: str, glyphs: Glyphs) -> str:
    """Return text in characters of the set, as many columns wide."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(piece, glyphs) for piece in _pieces(text))


@lru_cache(maxsize=8)
def allowed(glyphs: Glyphs) -> frozenset[str]:
    """Return what a set has beside printable ASCII; the wide one has all that is printable, and its list is empty."""
    return frozenset("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝") if glyphs == SAFE else frozenset()


def _pieces(text: str) -> Iterator[str]:
    """Yield each character with those that take no column of their own, as rich.cells measures them."""
    piece = ""
    for character in text:
        joined = piece.endswith(_ZERO_WIDTH_JOINER)
        if piece and not joined and cell_len(character) and character != _EMOJI_PRESENTATION:
            yield piece
            piece = ""
        piece += character
    if piece:
        yield piece


def _shown(piece: str, glyphs: Glyphs) -> str:
    width = cell_len(piece)
    if len(piece) == 1 and _is_in(piece, glyphs):
        return piece
    if glyphs == WIDE and _EMOJI_PRESENTATION not in piece and _is_plain(piece) and width:
        return piece
    # Terminals don't agree on the width of joined characters, so that only the first is looked at.
    base = piece[0]
    alike = base if _is_in(base, glyphs) else _alike(base, glyphs)
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


def _alike(character: str, glyphs: Glyphs) -> str:
    """Return one character of the set that looks like another, or question marks, as wide as it is."""
    safe = glyphs != ASCII
    for those, these in (
        (_BOX, _BOX_THIN if safe else _BOX_ASCII),
        (_BLOCKS, _BLOCKS_SAFE if safe else _BLOCKS_ASCII),
    ):
        if character in those:
            return these[those.index(character)]
    if character in _LIKENESS:
        return _LIKENESS[character]
    letter = unicodedata.normalize("NFKD", character)[:1]
    return letter if letter.isascii() and letter.isprintable() else "?" * cell_len(character)
