"""Sentences broken into rows, whose further lines stand in by two cells."""

from __future__ import annotations

from fsconsole.plaintext import printable
from fsconsole.report.cells import wrap
from fsconsole.tui.views.run import Row

_MOST_LINES = 8


def block(text: str, width: int, tone: str = "", *, is_whole: bool = False) -> list[Row]:
    """Return text from anywhere in rows, under its own indent; of a long one the middle goes, unless it is_whole."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    told = printable(text.strip())
    most = max(_MOST_LINES, len(told)) if is_whole else _MOST_LINES
    first, *others = wrap(told, max(20, width - len(indent) - 2), max_lines=most)
    return [Row(indent + first, tone), *(Row(f"{indent}  {other}", tone) for other in others)]
