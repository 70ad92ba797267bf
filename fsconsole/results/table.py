"""Tables as values, and their one layout: names on the left, columns under heads of two lines, for console and print."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from fsconsole.text import cells_of, pad_left, pad_right, shorten_middle, wrap

LEAST_WIDTH = 40
"""Below this nothing can be printed; a narrower terminal wraps the lines itself."""

_LEAST_NAME = 20
"""Cells of names at least."""
_NAME_LINES = 2
_ANY_LINES = 100
_NOTE_LINES = 8
_GAPS = (2, 1)
_LONGEST_HEAD = 12


@dataclass(frozen=True, slots=True)
class Column:
    """A column behind the first one: what stands over it, in two lines, and on which side its texts stand."""

    name: str
    unit: str = ""
    is_right: bool = True
    is_whole: bool = False
    """True if the name stands in one line, however long."""
    is_drawn: bool = False
    """True if the texts are drawn with characters of one width: Markdown keeps their spaces."""

    @property
    def head(self) -> tuple[str, str]:
        """Name and unit; the last word of a long name stands in the second line."""
        if self.is_whole:
            return self.name, self.unit
        first, _, last = self.name.rpartition(" ")
        if first and len(self.name) > _LONGEST_HEAD:
            return first, f"{last} {self.unit}".rstrip()
        return self.name, self.unit


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row; all texts are printable. Without cells the notes stand in their place, else below the row."""

    key: str
    """Key that tells it from the others, also when the table is drawn again."""
    name: str
    cells: tuple[str, ...]
    notes: tuple[str, ...] = ()
    tone: str = ""
    """"strong", "weak", "good", "bad", "faint" or nothing."""


@dataclass(frozen=True, slots=True)
class TableValue:
    """Content of a table; mark stands in the rule below the head of one column."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    marked: int | None = None
    mark: str = ""
    cuts_names: bool = False
    """True if a name that needs more than two lines loses its middle, rather than stand above its cells."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of each column that shows its head and all cells whole."""
        full = [row.cells for row in self.rows if row.cells]
        return tuple(
            max(map(cells_of, (*column.head, *(cells[index] for cells in full))))
            for index, column in enumerate(self.columns)
        )


@dataclass(frozen=True, slots=True)
class _FittedRow:
    """The lines of a row's name and notes; is_above: its name is as wide as the table, above its cells."""

    names: tuple[str, ...]
    notes: tuple[str, ...]
    is_above: bool
    height: int


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table fitted into a width."""

    value: TableValue
    width: int
    name_width: int
    gap: int
    """The spaces before each column."""
    widths: tuple[int, ...]
    rows: tuple[_FittedRow, ...]
    begins: tuple[int, ...]
    """The first line of each row, and last of all how many lines there are."""

    @property
    def height(self) -> int:
        """Number of lines of all rows."""
        return self.begins[-1]

    def row_at(self, line: int) -> int:
        """Return the index of the row that a line belongs to."""
        return min(bisect_right(self.begins, line) - 1, len(self.rows) - 1)

    def in_sight(self, first: int) -> range:
        """Return the columns that stand beside the name when the first of them is this one; at least one does."""
        room = self.width - self.name_width
        last = first
        for index in range(first, len(self.widths)):
            room -= self.widths[index] + self.gap
            if room < 0:
                break
            last = index + 1
        return range(first, max(last, min(first + 1, len(self.widths))))

    def first_for(self, column: int, first: int) -> int:
        """Return from which column on to show them, so that this one is in sight; it moves no further than needed."""
        if column < first:
            return column
        while first < column and column not in self.in_sight(first):
            first += 1
        return first

    def head_line(self, line: int, first: int) -> str:
        """Return the first or second line of the head."""
        texts = [column.head[line] for column in self.value.columns]
        return pad_right("" if line else self.value.name, self.name_width) + self._beside(texts, first)

    def row_line(self, line: int, first: int) -> str:
        """Return one line of the rows."""
        index = self.row_at(line)
        row, fitted = self.value.rows[index], self.rows[index]
        number = line - self.begins[index]
        if fitted.is_above and number < len(fitted.names):
            return fitted.names[number]
        names = ("",) if fitted.is_above else fitted.names
        number -= len(fitted.names) if fitted.is_above else 0
        name = pad_right(names[number] if number < len(names) else "", self.name_width)
        if not row.cells:
            return f"{name}  {fitted.notes[number] if number < len(fitted.notes) else ''}".rstrip()
        if number >= len(names):
            return f"    {fitted.notes[number - len(names)]}"
        return (name if number else name + self._beside(row.cells, first)).rstrip()

    def column_span(self, column: int, first: int) -> tuple[int, int]:
        """Return where a column that is in sight begins, and how wide it is."""
        before = sum(self.widths[index] + self.gap for index in range(first, column))
        return self.name_width + before + self.gap, self.widths[column]

    def column_at(self, x: int, first: int) -> int | None:
        """Return the column at a place of a line; None where there is none."""
        for column in self.in_sight(first):
            begin, width = self.column_span(column, first)
            if begin - self.gap <= x < begin + width:
                return column
        return None

    def _beside(self, texts: Sequence[str], first: int) -> str:
        """Return the texts of the columns that are in sight; one that is wider than all the room loses its middle."""
        room = max(1, self.width - self.name_width - self.gap)
        parts = []
        for index in self.in_sight(first):
            width = min(self.widths[index], room)
            text = shorten_middle(texts[index], width)
            pad = pad_left if self.value.columns[index].is_right else pad_right
            parts.append(" " * self.gap + pad(text, width))
        return "".join(parts)


def lay_out(value: TableValue, width: int, *, is_printed: bool = False) -> TableLayout:
    """Fit a table into a width: names get what the columns leave, and those that need more a line of their own.

    On a screen notes have a line each, and columns give way so that names keep to one; printed ones show all.
    """
    widths = value.widths
    longest = max(map(cells_of, (value.name, *(row.name for row in value.rows))))
    wanted = min(_LEAST_NAME, longest) if is_printed else longest
    gap = _GAPS[sum(widths) + _GAPS[0] * len(widths) + wanted > width]
    left = width - sum(widths) - gap * len(widths)
    name_width = max(2, min(longest, max(left, min(_LEAST_NAME, width * 4 // 5))))
    if not is_printed:
        # Where not all columns fit, names get what those in sight leave.
        name_width = min(longest, name_width + _unused(width - name_width, widths, gap))
    note_lines = _NOTE_LINES if is_printed else 1
    name_lines = _NAME_LINES if value.cuts_names else _ANY_LINES
    rows = tuple(_fitted(row, name_width, width, name_lines, note_lines) for row in value.rows)
    begins = (0, *accumulate(row.height for row in rows))
    return TableLayout(value, width, name_width, gap, widths, rows, begins)


def _unused(room: int, widths: Sequence[int], gap: int) -> int:
    """Return what stays empty behind as many of the first columns as fit into the room; 0 where not one does."""
    left = room
    for width in widths:
        if width + gap > left:
            break
        left -= width + gap
    return left if left < room else 0


def table_lines(value: TableValue, width: int, *, is_plain: bool = False) -> list[str]:
    """Return the table in lines of at most width cells (at least LEAST_WIDTH); is_plain: without units and rule.

    Columns that don't fit beside each other go into a further block below, under the same names.
    """
    width, widths = max(width, LEAST_WIDTH), value.widths
    longest = max(map(cells_of, (value.name, *(row.name for row in value.rows))))
    blocks: list[list[int]] = [[]]
    for column in range(len(widths)):
        taken = sum(widths[other] + _GAPS[1] for other in (*blocks[-1], column))
        if blocks[-1] and taken > width - min(_LEAST_NAME, longest):
            blocks.append([])
        blocks[-1].append(column)
    printed: list[str] = []
    for block in blocks:
        rows = (replace(row, cells=tuple(row.cells[i] for i in block if row.cells)) for row in value.rows)
        part = replace(value, columns=tuple(value.columns[i] for i in block), rows=tuple(rows))
        layout = lay_out(part, width, is_printed=True)
        rule = "-" * min(width, layout.name_width + sum(layout.widths) + layout.gap * len(block))
        printed += [""] if printed else []
        printed.append(layout.head_line(0, 0).rstrip())
        printed += [] if is_plain else [layout.head_line(1, 0).rstrip(), rule]
        printed += [layout.row_line(line, 0) for line in range(layout.height)]
    return printed


def _fitted(row: TableRow, name_width: int, width: int, name_lines: int, note_lines: int) -> _FittedRow:
    """Return a row with its name in two lines beside its cells, or, where it needs more, as wide as the table."""
    names = _indented(row.name, name_width, name_lines)
    is_above = len(names) > _NAME_LINES
    names, lines_beside = (_indented(row.name, width), 1) if is_above else (names, len(names))
    notes: list[str] = []
    if row.cells:
        notes = [part for note in row.notes for part in wrap(note, width - 4, max_lines=note_lines)]
        height = lines_beside + len(notes)
    else:
        notes = wrap(" / ".join(row.notes), max(2, width - name_width - 2), max_lines=note_lines)
        height = max(lines_beside, len(notes))
    return _FittedRow(names, tuple(notes), is_above, height + (len(names) if is_above else 0))


def _indented(name: str, width: int, most: int = _ANY_LINES) -> tuple[str, ...]:
    """Return a name in as many lines as it needs, at most so many, each as far to the right as its first."""
    text = name.lstrip(" ")
    indent = min(len(name) - len(text), max(0, width - 2))
    return tuple(" " * indent + part for part in wrap(text, width - indent, max_lines=most))
