"""Lines of text and of lists: mark, name, value and explanation, wrapped to a width."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, zip_longest

from fsconsole.text import (
    ELLIPSIS,
    cells_of,
    hanging,
    pad_right,
    printable,
    shell_lines,
    shorten_end,
    shorten_middle,
    wrap,
)


@dataclass(frozen=True, slots=True)
class TextLine:
    """One printable line, which fits the width that it was made for."""

    text: str
    tone: str = ""
    """"strong", "weak", "bad", "warning" or nothing."""


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


def command_parts(argv: Sequence[str]) -> list[str]:
    """Return a command's words as a shell takes them, printable, an option with its value in one."""
    parts: list[str] = []
    for before, word in zip(["", *argv], argv, strict=False):
        quoted = printable(shlex.quote(word))
        if before.startswith("-") and not word.startswith("-"):
            parts[-1] += f" {quoted}"
        else:
            parts.append(quoted)
    return parts


def command_lines(argv: Sequence[str], width: int, tone: str = "", *, lead: str = "") -> list[TextLine]:
    """Return a command in lines that can be copied; a word that is wider than a line is broken without a mark."""
    found: list[TextLine] = []
    for line in shell_lines(command_parts(argv), width, lead=lead):
        if cells_of(line) <= width:
            found.append(TextLine(line, tone))
        else:
            found += block(shorten_middle(line, _LONGEST_WORD), width, tone, is_whole=True)
    return found


_LONGEST_WORD = 8000
"""Cells of a word that is shown whole: a journal from elsewhere may have any."""


_GAP = 2
_MARK_WIDTH = 4
_INDENT = "  "


class Mark(Enum):
    """The mark of a line; NONE for one that can't be ticked."""

    NONE = ""
    OFF = "[ ]"
    ON = "[x]"
    UNKNOWN = "[?]"
    """Not known yet whether it is available; it can be ticked."""
    BARRED = "[-]"
    """Not available; its explanation says why."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One of several values beside each other on a line; each is ticked by itself."""

    value: str
    is_on: bool = False
    is_barred: bool = False
    """Not available; the line's explanation says why."""
    is_implied: bool = False
    """Applies since no other one is ticked."""
    is_out: bool = False
    """Ticked, and every variant with it is left out; the line's warning says why."""

    @property
    def text(self) -> str:
        """The value between what tells its state without a colour, and a place for the cursor before it."""
        left, right = "[]" if self.is_on else "--" if self.is_barred else "()" if self.is_implied else "  "
        return f" {left}{printable(self.value)}{right}"

    @property
    def tone(self) -> str:
        """The tone of its text; empty for that of its line."""
        return "warning" if self.is_out else "strong" if self.is_on else ""


OTHER = "other.."
"""Value of the chip that asks for further values."""
EVERY = "*"
"""All values of a line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; the key is unique in its list."""

    key: str
    name: str
    mark: Mark = Mark.NONE
    value: str = ""
    about: tuple[str, ...] = ()
    warning: str = ""
    """Reason why some of it can't run; shown before its explanation."""
    is_heading: bool = False
    """Can't be chosen."""
    is_faint: bool = False
    wraps: bool = False
    """Name and value are shown whole, over several lines where they must be; else their middles go."""
    found_by: str = ""
    """More words by which it is looked for, beside its name and value."""
    chips: tuple[Chip, ...] = ()
    """Shown instead of the value."""

    @property
    def chip_in_effect(self) -> int:
        """The number of the first ticked chip, or of the first of all where none is ticked: the default."""
        return next((number for number, chip in enumerate(self.chips) if chip.is_on), 0)

    @property
    def tone(self) -> str:
        """The tone of its text."""
        return "heading" if self.is_heading else "faint" if self.is_faint else "warning" if self.warning else ""


def told_rows(line: Line, width: int, most: int) -> list[TextLine]:
    """Return what is told of a line, its warning first; what most rows have no room for is missing behind "..."."""
    rows = text_lines(line.warning, width, "warning") if line.warning else []
    rows += [row for text in line.about for row in text_lines(text, width)]
    if len(rows) <= most:
        return rows
    last = rows[most - 1]
    return [*rows[: most - 1], TextLine(shorten_end(f"{last.text} {ELLIPSIS}", width), last.tone)]


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


def best_match(shown: Sequence[Line], text: str) -> str:
    """Return the key of the line that a text means most likely, of those that match it; empty where none does.

    Better than anywhere in a name is the beginning of a word in it, then of the name, then the whole name; other words
    by which a line is found come after its name. Of equal ones it is the first.
    """
    words = text.casefold().split()
    found = [line for line in matching(shown, text) if not line.is_heading]
    return min(found, key=lambda line: sum(_distance(line, word) for word in words)).key if found and words else ""


def _distance(line: Line, word: str) -> int:
    name, others = line.name.partition(" (")[0].casefold(), f"{line.value} {line.found_by}".casefold()
    ways = (
        name == word,
        name.startswith(word),
        _begins_word(name, word),
        word in name,
        word in others.split(),
        _begins_word(others, word),
    )
    return next((distance for distance, is_found in enumerate(ways) if is_found), len(ways))


def _begins_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}", text) is not None


def matching_words(shown: Sequence[Line], text: str, what: str) -> str:
    """Return how many lines are left of how many; what they are called is in the plural."""
    left, all_of_them = (sum(not line.is_heading for line in lines) for lines in (matching(shown, text), shown))
    verb = "matches" if left == 1 else "match"
    return f"{left:,} of {all_of_them:,} {what} {verb} '{printable(text.strip())}'"


_MOST_WRAPPED = 500
"""In longer lists every line takes one row: how many rows a line takes would have to be found out for all."""


class LineRows:
    """Lines of a list in the rows of a width: marks, names, values; texts are made on demand."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        self.lines = tuple(lines)
        self._mark_width = _MARK_WIDTH if any(line.mark is not Mark.NONE for line in lines) else 0
        self._room = width - self._mark_width
        plain = [line for line in lines if not line.is_heading]
        values = max((cells_of(printable(line.value)) for line in plain), default=0)
        names = max((cells_of(printable(line.name)) for line in plain), default=0)
        # A value keeps a third of the room, where it wants so much; names differ at their ends and go first.
        most = self._room - min(values, self._room // 3) - _GAP if values else self._room
        self._name_width = min(names, most)
        named = max((cells_of(printable(line.name)) for line in plain if line.chips), default=0)
        self._chip_name = min(named, self._room // 2)
        self._chip_room = self._room - self._chip_name - 1
        self._texts: dict[int, tuple[str, ...]] = {}
        wraps = any(line.wraps or line.chips for line in self.lines)
        self._is_wrapped = len(self.lines) <= _MOST_WRAPPED and wraps
        self.begins: Sequence[int] = range(len(self.lines) + 1)
        """The first row of each line, and last of all how many rows there are."""
        if self._is_wrapped:
            self.begins = (0, *accumulate(len(self.text(place)) for place in range(len(self.lines))))

    def text(self, place: int) -> tuple[str, ...]:
        """Return the text of a line, row by row."""
        if place not in self._texts:
            self._texts[place] = self._text_of(place)
        return self._texts[place]

    def spans(self, place: int, row: int, chip: int = -1) -> list[tuple[str, str]]:
        """Return one row of a line as texts with tones; chip is the one that has the cursor."""
        line = self.lines[place]
        if not line.chips or line.is_heading:
            return [(self.text(place)[row], line.tone)]
        rows = self._chip_rows(line.chips)
        spans = [(self._chip_lead(line, row), "strong" if chip >= 0 else line.tone)]
        for number in rows[row]:
            text = self._chip_text(line.chips[number])
            if number == chip:
                # Only the value stands out, behind the mark, with nothing of its neighbour's beside it.
                at = max(0, len(text) - len(text.lstrip()) - 1)
                end = len(text.rstrip())
                spans += [(text[:at], line.tone), (f">{text[at + 1 : end]}", "cursor"), (text[end:], line.tone)]
            else:
                spans.append((text, line.chips[number].tone or line.tone))
        return spans

    def chip_at(self, place: int, row: int, x: int) -> int | None:
        """Return the chip of a line in this column of one of its rows; None for none."""
        line = self.lines[place]
        if not line.chips:
            return None
        begin = cells_of(self._chip_lead(line, row))
        for number in self._chip_rows(line.chips)[row]:
            end = begin + cells_of(self._chip_text(line.chips[number]))
            if begin <= x < end:
                return number
            begin = end
        return None

    def _chip_text(self, chip: Chip) -> str:
        # Any may stand in a further row.
        return shorten_middle(chip.text, self._chip_room - len(_INDENT))

    def _chip_lead(self, line: Line, row: int) -> str:
        """Return what stands before the chips of a row: mark and name, or blanks that reach below the first chip."""
        if row:
            return " " * (self._mark_width + self._chip_name + 1 + len(_INDENT))
        mark, name = line.mark.value, shorten_middle(printable(line.name), self._chip_name)
        return pad_right(mark if self._mark_width else "", self._mark_width) + pad_right(name, self._chip_name + 1)

    def _chip_rows(self, chips: Sequence[Chip]) -> list[list[int]]:
        """Return the numbers of the chips in each row: as many as there is room for."""
        rows: list[list[int]] = [[]]
        left = self._chip_room
        for number, chip in enumerate(chips):
            width = cells_of(self._chip_text(chip))
            if width > left and rows[-1]:
                rows.append([])
                left = self._chip_room - len(_INDENT)
            rows[-1].append(number)
            left -= width
        return rows

    def _text_of(self, place: int) -> tuple[str, ...]:
        line = self.lines[place]
        name, value = printable(line.name), printable(line.value)
        if line.chips and not line.is_heading:
            rows = len(self._chip_rows(line.chips)) if self._is_wrapped else 1
            return tuple("".join(text for text, _ in self.spans(place, row)) for row in range(rows))
        if line.is_heading:
            return (shorten_middle(name, self._room + self._mark_width),)
        width = self._name_width if value else self._room
        names, values, room = [shorten_middle(name, width)], [value], self._room - width - _GAP
        is_wrapped = line.wraps and self._is_wrapped
        if is_wrapped and len(parts := wrap(name, width)) > 1:
            more = wrap(name[len(parts[0]) :].strip(), width - len(_INDENT))
            names = [parts[0], *(_INDENT + part for part in more)]
        if value:
            values = wrap(value, room) if is_wrapped else [shorten_middle(value, room)]
        lead = pad_right(line.mark.value, self._mark_width) if self._mark_width else ""
        return tuple(
            (" " * len(lead) if row else lead) + (pad_right(left, width + _GAP) + right if right else left)
            for row, (left, right) in enumerate(zip_longest(names, values, fillvalue=""))
        )
