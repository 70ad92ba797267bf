"""Which lines of a list have some words in them."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.plaintext import printable
from fsconsole.tui.views.lines import Line


def matching(shown: Sequence[Line], text: str) -> tuple[Line, ...]:
    """Return the lines that have all words of a text in them, in any case, below their headings; all for no word."""
    words = text.casefold().split()
    if not words:
        return tuple(shown)
    kept: list[Line] = []
    heading: Line | None = None
    for line in shown:
        if line.is_heading:
            heading = line
        elif _has(line, words):
            kept += [heading, line] if heading is not None else [line]
            heading = None
    return tuple(kept)


def matching_words(shown: Sequence[Line], text: str, what: str) -> str:
    """Return how many lines are left of how many; what they are called is in the plural."""
    left, all_of_them = (
        sum(not line.is_heading for line in lines) for lines in (matching(shown, text), shown)
    )
    verb = "matches" if left == 1 else "match"
    return f"{left:,} of {all_of_them:,} {what} {verb} '{printable(text.strip())}'"


def _has(line: Line, words: Sequence[str]) -> bool:
    hay = f"{line.name} {line.value} {line.found_by}".casefold()
    return all(word in hay for word in words)
