"""The last thing before the terminal: characters that it lacks, and those that would steer it, are replaced.

Widths stay: a replacement is as many columns wide as what it stands for.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from fsconsole.plaintext import printable
from fsconsole.tui.terminal import ASCII, SAFE, WIDE, Glyphs

_BOX = "─│┌┐└┘├┤┬┴┼━┃┏┓┗┛═║╔╗╚╝╭╮╰╯"
_BOX_ASCII = "-|+++++++++=|++++=|++++++++"
_LIKENESS = {  # What Textual's own widgets draw with, and what is common in texts.
    "\u2026": ".", "•": "*", "·": ".", "\u00d7": "x", "→": ">", "←": "<", "↑": "^", "↓": "v", "\u2013": "-", "—": "-", "▶": ">",
    "▼": "v", "▲": "^", "■": "*", "█": "#", "▓": "=", "▒": ":", "░": ".", "▁": "_", "▔": "-", "▊": "|", "▎": "|",
    "▌": "|", "▐": "|", "✓": "x", "✔": "x", "⭘": "o", "▸": ">", "▾": "v", "\u2019": "'", "“": '"', "”": '"',
}  # fmt: skip


class GlyphFilter(LineFilter):
    """Replaces what the terminal's font lacks."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(enabled=True)
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 (given by Textual)
        """Return the segments in characters that can be shown, each as wide as before."""
        return [
            segment
            if segment.control or (segment.text.isascii() and segment.text.isprintable())
            else Segment(shown(segment.text, self._glyphs), segment.style)
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def shown(text: str, glyphs: Glyphs) -> str:
    """Return text in characters of the set, column for column."""
    return "".join(_shown(character, glyphs) for character in text)


def _shown(character: str, glyphs: Glyphs) -> str:
    if character.isascii() and character.isprintable():
        return character
    if character in allowed(glyphs):
        return character
    if glyphs == WIDE and printable(character) == character:
        return character
    if character in _BOX:
        return _BOX_ASCII[_BOX.index(character)] if not glyphs.has_boxes else _plain_box(character)
    return _LIKENESS.get(character, "?" * cell_len(character) if character not in "\n" else "")


def _plain_box(character: str) -> str:
    """Return the thin line for a heavy, double or round one."""
    thin = "─│┌┐└┘├┤┬┴┼"
    likeness = {"+": "┼", "-": "─", "|": "│", "=": "─"}
    return character if character in thin else likeness[_BOX_ASCII[_BOX.index(character)]]


@lru_cache(maxsize=8)
def allowed(glyphs: Glyphs) -> frozenset[str]:
    """Return what a set has beside printable ASCII."""
    if glyphs == ASCII:
        return frozenset()
    if glyphs == SAFE:
        return frozenset("█░▒▓■▲▼─│┌┐└┘├┤┬┴┼═║╔╗╚╝")
    return frozenset()
