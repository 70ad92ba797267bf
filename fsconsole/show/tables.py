"""Tables as values, and their layout: column widths, wrapped names, visible columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from fsconsole.text import cells_of, pad_left, pad_right, shorten_middle, wrap


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column; width has the gap behind it."""

    title: str
    width: int


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A cell: text in at most the column's width, safe to print, and a style of rich."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row; its key names what it shows, whatever row that is in."""

    key: str
    cells: tuple[SheetCell, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that fits a width."""

    columns: tuple[SheetColumn, ...]
    rows: tuple[SheetRow, ...]


_GAPS = (2, 1)
_NAME_LINES = 2
_LEAST_NAME = 18
_ANY_LINES = 100


@dataclass(frozen=True, slots=True)
class Column:
    """A column behind the first one: what stands over it, in two lines, and on which side its texts stand."""

    name: str
    unit: str = ""
    is_right: bool = True


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row; all texts are printable. Without cells the note stands in their place, else below the row."""

    key: str
    """What tells it from the others, also when the table is shown anew."""
    name: str
    cells: tuple[str, ...]
    note: str = ""
    tone: str = ""
    """"strong", "weak" or nothing."""


@dataclass(frozen=True, slots=True)
class TableValue:
    """What a table shows; mark stands in the rule below the head of one column."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    marked: int | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table fitted into a width."""

    value: TableValue
    width: int
    name_width: int
    gap: int
    """The spaces before each column."""
    widths: tuple[int, ...]
    names: tuple[tuple[str, ...], ...]
    """The lines of each row's name."""
    begins: tuple[int, ...]
    """The first line of each row, and last of all how many lines there are."""

    @property
    def height(self) -> int:
        """How many lines all rows take."""
        return self.begins[-1]

    def row_at(self, line: int) -> int:
        """Return the index of the row that a line belongs to."""
        return min(bisect_right(self.begins, line) - 1, len(self.value.rows) - 1)

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
        columns = self.value.columns
        texts = [column.unit if line else column.name for column in columns]
        return pad_right("" if line else self.value.name, self.name_width) + self._beside(texts, first)

    def row_line(self, line: int, first: int) -> str:
        """Return one line of the rows."""
        index = self.row_at(line)
        row, names = self.value.rows[index], self.names[index]
        number = line - self.begins[index]
        figures = self.figures_line(index)
        if number < len(names) and number != figures:
            return names[number]
        if number != figures:
            return f"    {shorten_middle(row.note, self.width - 4)}"
        text = pad_right(names[number] if number < len(names) else "", self.name_width)
        if row.cells:
            return text + self._beside(row.cells, first)
        return f"{text}  {shorten_middle(row.note, self.width - self.name_width - 2)}"

    def figures_line(self, index: int) -> int:
        """Return on which of a row's lines its cells stand: the first, or the one below a name as wide as the table."""
        names = self.names[index]
        return len(names) if is_above(names, self.name_width) else 0

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


def is_above(names: Sequence[str], name_width: int) -> bool:
    """Return whether a name takes the table's whole width, above its cells."""
    return any(cells_of(name) > name_width for name in names)


def lay_out(value: TableValue, width: int) -> TableLayout:
    """Fit a table into a width: names get what the columns leave, and those that need more a line of their own."""
    widths = tuple(_width(index, column, value.rows) for index, column in enumerate(value.columns))
    longest = max((cells_of(row.name) for row in value.rows), default=0)
    longest = max(longest, cells_of(value.name))
    roomy = longest + sum(widths) + _GAPS[0] * len(widths) <= width
    gap = _GAPS[0] if roomy else _GAPS[1]
    left = width - sum(widths) - gap * len(widths)
    name_width = max(2, min(longest, max(left, min(_LEAST_NAME, width))))
    names = tuple(_name_lines(row.name, name_width, width) for row in value.rows)
    heights = (
        len(lines) + is_above(lines, name_width) + bool(row.note and row.cells)
        for lines, row in zip(names, value.rows, strict=True)
    )
    return TableLayout(value, width, name_width, gap, widths, names, (0, *accumulate(heights)))


def _width(index: int, column: Column, rows: Sequence[TableRow]) -> int:
    widest = max((cells_of(row.cells[index]) for row in rows if row.cells), default=0)
    return max(widest, cells_of(column.name), cells_of(column.unit))


def _name_lines(name: str, name_width: int, width: int) -> tuple[str, ...]:
    """Return a name in two lines beside its cells, or, where it needs more, as wide as the table."""
    if cells_of(name) <= name_width:
        return (name,)
    beside = _indented(name, name_width)
    return beside if len(beside) <= _NAME_LINES else _indented(name, width)


def _indented(name: str, width: int) -> tuple[str, ...]:
    """Return a name in as many lines as it needs, each as far to the right as its first."""
    text = name.lstrip(" ")
    indent = min(len(name) - len(text), max(0, width - 2))
    return tuple(" " * indent + part for part in wrap(text, width - indent, max_lines=_ANY_LINES))
