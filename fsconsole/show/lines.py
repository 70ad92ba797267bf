"""Lines of text and of lists: mark, name, value and explanation, wrapped to a width."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate

from fsconsole.results.content import hanging
from fsconsole.text import cells_of, pad_right, printable, shorten_middle, wrap


@dataclass(frozen=True, slots=True)
class TextLine:
    """One printable line, which fits the width that it was made for."""

    text: str
    tone: str = ""
    """"strong", "weak", "bad" or nothing."""


_MOST_LINES = 8


def text_lines(text: str, width: int, tone: str = "", *, lead: str = "") -> list[TextLine]:
    """Return text from anywhere in as many lines as it needs, behind a lead, its further lines under its first."""
    return [TextLine(line, tone) for line in hanging(lead, printable(text), width)]


def block(text: str, width: int, tone: str = "", *, is_whole: bool = False) -> list[TextLine]:
    """Return text from anywhere in rows, under its own indent; of a long one the middle goes, unless it is_whole."""
    # What a tool has moved far to the right would have no room.
    indent = " " * min(len(text) - len(text.lstrip(" ")), max(0, width // 2 - 2))
    told = printable(text.strip())
    most = max(_MOST_LINES, len(told)) if is_whole else _MOST_LINES
    first, *others = wrap(told, max(20, width - len(indent) - 2), max_lines=most)
    return [TextLine(indent + first, tone), *(TextLine(f"{indent}  {other}", tone) for other in others)]


_GAP = 2
_MARK_WIDTH = 4
_INDENT = "  "


class Mark(Enum):
    """The mark of a line; NONE for one that can't be ticked."""

    NONE = ""
    OFF = "[ ]"
    ON = "[x]"
    COMPARE = "[*]"
    BARRED = "[-]"
    """Not available; its explanation says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; the key is unique in its list."""

    key: str
    name: str
    mark: Mark = Mark.NONE
    value: str = ""
    about: tuple[str, ...] = ()
    is_heading: bool = False
    """Can't be chosen."""
    is_faint: bool = False
    wraps: bool = False
    """Its name is shown whole, over several lines where it must be; else its middle goes."""
    found_by: str = ""
    """More words by which it is looked for, beside its name and value."""


def mark_of(count: int) -> Mark:
    """Return the mark of something that takes so many values."""
    return (Mark.OFF, Mark.ON, Mark.COMPARE)[min(count, 2)]


@dataclass(frozen=True, slots=True)
class Columns:
    """How the lines of a list share its width."""

    room: int
    """Cells beside the marks."""
    names: int
    is_marked: bool


def columns_of(lines: Sequence[Line], width: int) -> Columns:
    """Return the columns of these lines in so many cells."""
    marked = any(line.mark is not Mark.NONE for line in lines)
    room = width - (_MARK_WIDTH if marked else 0)
    plain = [line for line in lines if not line.is_heading]
    values = max((cells_of(printable(line.value)) for line in plain), default=0)
    names = max((cells_of(printable(line.name)) for line in plain), default=0)
    # A value keeps a third of the room, where it wants so much; names differ at their ends and go first.
    most = room - min(values, room // 3) - _GAP if values else room
    return Columns(room, min(names, most), marked)


def text_of(line: Line, columns: Columns) -> tuple[str, ...]:
    """Return a line as text in columns, in as many lines as it takes."""
    mark_width = _MARK_WIDTH if columns.is_marked else 0
    if line.is_heading:
        return (shorten_middle(printable(line.name), columns.room + mark_width),)
    lead = pad_right(line.mark.value, mark_width) if mark_width else ""
    name, *more = _names(line, columns.names if line.value else columns.room)
    value = shorten_middle(printable(line.value), columns.room - columns.names - _GAP)
    first = lead + (pad_right(name, columns.names + _GAP) + value if line.value else name)
    return (first, *(" " * mark_width + part for part in more))


def _names(line: Line, width: int) -> list[str]:
    name = printable(line.name)
    if not line.wraps:
        return [shorten_middle(name, width)]
    first, *more = wrap(name, width)
    rest = wrap(name[len(first) :].strip(), width - len(_INDENT)) if more else []
    return [first, *(_INDENT + part for part in rest)]


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
        elif all(word in f"{line.name} {line.value} {line.found_by}".casefold() for word in words):
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


_MOST_WRAPPED = 500
"""In longer lists every line takes one row: how many rows a line takes would have to be found out for all."""


class LineRows:
    """Maps lines of a list to rows of a width; texts are made on demand."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        self.lines = tuple(lines)
        self.width = width
        self._columns = columns_of(self.lines, width)
        self._texts: dict[int, tuple[str, ...]] = {}
        self._ends: list[int] = []
        """The row behind each line; empty where every line has one row."""
        if len(self.lines) <= _MOST_WRAPPED and any(line.wraps for line in self.lines):
            self._ends = list(accumulate(len(self.text(place)) for place in range(len(self.lines))))

    @property
    def made(self) -> int:
        """How many texts were made."""
        return len(self._texts)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._ends[-1] if self._ends else len(self.lines)

    def first_of(self, place: int) -> int:
        """Return the first row of a line."""
        return (self._ends[place - 1] if place else 0) if self._ends else place

    def height_of(self, place: int) -> int:
        """Return how many rows a line takes."""
        return self._ends[place] - self.first_of(place) if self._ends else 1

    def place_at(self, row: int) -> int:
        """Return the line at a row."""
        return bisect_right(self._ends, row) if self._ends else row

    def text(self, place: int) -> tuple[str, ...]:
        """Return the text of a line, row by row."""
        if place not in self._texts:
            line = self.lines[place]
            if len(self.lines) > _MOST_WRAPPED:
                line = replace(line, wraps=False)
            self._texts[place] = text_of(line, self._columns)
        return self._texts[place]
