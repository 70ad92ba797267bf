"""What Confirm says where all targets together become members of arrays: one consent for the set."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.plaintext import printable
from fsconsole.tui.views.blocks import block
from fsconsole.tui.views.run import Row

_MOST_ARRAYS = 8
_MOST_CHARACTERS = 400
"""More names don't fit the place where it is said what must be typed."""


def member_rows(names: Sequence[str], *, is_asked: bool, width: int) -> list[Row]:
    """Return who the members are, each by its whole name."""
    lead = "one consent for all" if is_asked else "all"
    told = f"Members of arrays, {lead} {len(names)}: {' '.join(names)}"
    return [Row(""), *block(told, width, "strong", is_whole=True)]


def array_rows(arrays: Sequence[str], width: int) -> list[Row]:
    """Return what is made of them."""
    others = len(arrays) - _MOST_ARRAYS
    more = [f"and {others} more, in `fsconsole plan`"] if others > 0 else []
    rows = [row for words in (*arrays[:_MOST_ARRAYS], *more) for row in block(f"  {words}", width)]
    return [Row(""), *block("Arrays, one in each cell, taken apart after it:", width), *rows]


def wanted_words(to_type: str) -> str:
    """Return what must be typed, or where it stands where it is longer than its place."""
    names = printable(to_type)
    if len(names) <= _MOST_CHARACTERS:
        return names
    return "the names of all devices above, but of no scratch device, in their order,"
