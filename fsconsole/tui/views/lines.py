"""Lines of a list that can be ticked, as values: a mark, a name, what it is set to, and sentences on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of, pad_right, shorten_middle, wrap

_GAP = 2
_MARK_WIDTH = 4
_INDENT = "  "


class Mark(Enum):
    """How a line stands; NONE for one that can't be ticked."""

    NONE = ""
    OFF = "[ ]"
    ON = "[x]"
    COMPARE = "[*]"
    BARRED = "[-]"
    """Not to be had here; the sentences on it say why."""


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
    return _text(line, columns.names, columns.room, marked=columns.is_marked)


def texts_of(lines: Sequence[Line], width: int) -> tuple[tuple[str, ...], ...]:
    """Return each line as text in columns, in as many lines as it takes, none wider than width."""
    columns = columns_of(lines, width)
    return tuple(text_of(line, columns) for line in lines)


def _text(line: Line, name_width: int, room: int, *, marked: bool) -> tuple[str, ...]:
    if line.is_heading:
        return (shorten_middle(printable(line.name), room + (_MARK_WIDTH if marked else 0)),)
    lead = pad_right(line.mark.value, _MARK_WIDTH) if marked else ""
    name, *more = _names(line, name_width if line.value else room)
    value = shorten_middle(printable(line.value), room - name_width - _GAP)
    first = lead + (pad_right(name, name_width + _GAP) + value if line.value else name)
    return (first, *(" " * len(lead) + part for part in more))


def _names(line: Line, width: int) -> list[str]:
    if not line.wraps:
        return [shorten_middle(printable(line.name), width)]
    first, *_ = parts = wrap(printable(line.name), width)
    rest = printable(line.name)[len(first) :].strip()
    return (
        [first, *(_INDENT + part for part in wrap(rest, width - len(_INDENT)))] if len(parts) > 1 else parts
    )
