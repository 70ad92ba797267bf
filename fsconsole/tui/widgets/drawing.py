"""Pictures as columns of characters, without Textual: what a widget paints, and where two paintings differ."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.cells import cell_len

from fsconsole.plaintext import printable
from fsconsole.tui.likeness import shown
from fsconsole.tui.terminal import Glyphs

Cell = tuple[str, str]
"""One column: its character, and its kind (a word that the style sheet gives a colour)."""
Line = tuple[Cell, ...]

NOT_HERE = "not to be had here"

_FULL = 3
_SHADES = {"system": 2, "write": 2, "iowait": 1, "waiting": 1, "irq": 0, "softirq": 0, "steal": 0, "other": 0}
KINDS = (
    *("value", "user", "nice", "system", "iowait", "irq", "softirq", "steal", "guest", "other", "idle"),
    *("read", "write", "dirty", "writeback", "cpu", "waiting", "queue", "good", "bad"),
    *("label", "text", "mark", "name", "axis", "behind"),
)
"""What has a colour of its own in drawn.py; other words are drawn as "value"."""


def shade_of(kind: str, glyphs: Glyphs) -> str:
    """Return what a bar's part is made of, so that parts differ without colours too."""
    shade = _SHADES.get(kind, _FULL)
    return glyphs.full if shade == _FULL else glyphs.shades[shade]


def flat(text: str, glyphs: Glyphs) -> str:
    """Return text with exactly one column for each character, all of the glyph set."""
    return "".join(
        character if cell_len(character) == 1 else "?" * cell_len(character)
        for character in shown(printable(text), glyphs)
    )


def cells(text: str, kind: str) -> Line:
    """Return flat text as columns."""
    return tuple((character, kind) for character in text)


def fitted(line: Iterable[Cell], width: int) -> Line:
    """Return a line of exactly that many columns."""
    found = tuple(line)[: max(width, 0)]
    return found + ((" ", "text"),) * (width - len(found))


def runs(line: Line) -> list[tuple[str, str]]:
    """Return neighbouring columns of one kind as (text, kind)."""
    return [
        ("".join(character for character, _ in group), kind)
        for kind, group in groupby(line, key=lambda cell: cell[1])
    ]


def words_of(line: Line) -> str:
    """Return the characters of a line."""
    return "".join(character for character, _ in line)


def difference(before: Line, after: Line) -> tuple[int, int]:
    """Return the first column that differs and how many from there on; lines of one width. (0, 0) for none."""
    # Most lines are as they were: that is found out without a look at each column.
    if before == after:
        return 0, 0
    pairs = list(zip(before, after, strict=True))
    first = next(column for column, (old, new) in enumerate(pairs) if old != new)
    last = next(
        column
        for column, (old, new) in zip(range(len(pairs) - 1, -1, -1), reversed(pairs), strict=True)
        if old != new
    )
    return first, last - first + 1
