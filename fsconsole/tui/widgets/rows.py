"""Rows of a list: table rows, ticked lines, text; fitted to a width, made when they come into sight."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from fsconsole.results.table import TableValue, lay_out
from fsconsole.show.devices import Sheet
from fsconsole.show.lines import Line, LineRows, TextLine
from fsconsole.text import pad_right, printable, shorten_middle

Spans = Sequence[tuple[str, str]]
"""Parts of one line: text, and tone (one of TONES, or nothing)."""
TONES = (
    *("strong", "weak", "good", "bad", "error", "warning", "primary", "value", "free", "hazard"),
    *("faint", "heading", "head", "column", "rule", "cursor"),
    *("map0", "map1", "map2", "map3", "map4", "map5"),
)
_SHEET_TONES = {"bold": "strong", "green": "free", "yellow": "hazard"}


class Rows:
    """Items of a list, fitted into a width; here each takes one line, and its key is its number."""

    head = 0
    """Lines on top that don't scroll."""
    mark_width = 0
    """Columns at the left whose click ticks an item."""
    has_cursor = True
    is_pointed = False
    """True if the cursor's line begins with "> ", and the others with two blanks."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.begins: Sequence[int] = range(count + 1)
        """The first line of each item, and last of all how many lines there are."""

    @property
    def height(self) -> int:
        return self.begins[-1]

    def spans(self, line: int) -> Spans:
        raise NotImplementedError

    def head_spans(self, y: int, cursor: int, page: int) -> Spans:
        """Return the text of a line of the head, where the cursor is on an item and a page has so many lines."""
        raise NotImplementedError

    def key(self, item: int) -> str:
        """Return the key of an item, which stays the same when items are redrawn."""
        return str(item)

    def find(self, key: str) -> int | None:
        """Return the item with this key."""
        return int(key) if key.isdecimal() and int(key) < self.count else None

    def item_at(self, line: int) -> int:
        return bisect_right(self.begins, line) - 1

    def is_heading(self, item: int) -> bool:
        """Return whether the cursor passes over an item."""
        return False

    def has_spot(self, item: int) -> bool:
        """Return whether its own tones show the cursor, on one part of it."""
        return False


class Texts(Rows):
    """Lines of text, which are scrolled and have no cursor."""

    has_cursor = False

    def __init__(self, lines: Sequence[TextLine | Spans]) -> None:
        super().__init__(len(lines))
        self._lines = lines

    def spans(self, line: int) -> Spans:
        found = self._lines[line]
        return ((found.text, found.tone),) if isinstance(found, TextLine) else found


class Numbered(Rows):
    """Rows that a function makes of their number and the width."""

    is_pointed = True

    def __init__(self, count: int, make: Callable[[int, int], TextLine], width: int) -> None:
        super().__init__(count)
        self._make, self._width = make, width - len("> ")

    def spans(self, line: int) -> Spans:
        row = self._make(line, self._width)
        return ((shorten_middle(printable(row.text), self._width), row.tone),)


class Keyed(Rows):
    """Items with keys of their own."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(len(keys))
        self._keys = keys
        self._items = {key: item for item, key in enumerate(keys)}

    def key(self, item: int) -> str:
        return self._keys[item]

    def find(self, key: str) -> int | None:
        return self._items.get(key)


class SheetRows(Keyed):
    """A table whose first column is a mark, and whose cells have styles."""

    head = 1

    def __init__(self, sheet: Sheet) -> None:
        super().__init__([row.key or row.heading for row in sheet.rows])
        self._sheet = sheet
        self._widths = [width for _, width in sheet.columns]
        self.mark_width = self._widths[0] if self._widths else 0

    def is_heading(self, item: int) -> bool:
        return bool(self._sheet.rows[item].heading)

    def spans(self, line: int) -> Spans:
        cells = self._sheet.rows[line].cells
        if heading := self._sheet.rows[line].heading:
            return ((heading, "heading"),)
        return [
            (pad_right(text, width), _SHEET_TONES.get(style, ""))
            for (text, style), width in zip(cells, self._widths, strict=True)
        ]

    def head_spans(self, y: int, cursor: int, page: int) -> Spans:
        return (("".join(pad_right(*column) for column in self._sheet.columns), "head"),)


class LineItems(Keyed):
    """Lines that can be ticked, under headings."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        super().__init__([line.key for line in lines])
        self.rows = LineRows(lines, width)
        self.begins = self.rows.begins
        self.cursor, self.chip = 0, 0
        """The item that has the cursor, and the chip in it that has it; -1 for none."""

    def spans(self, line: int) -> Spans:
        item = self.item_at(line)
        return self.rows.spans(item, line - self.begins[item], self.chip if item == self.cursor else -1)

    def is_heading(self, item: int) -> bool:
        return self.rows.lines[item].is_heading

    def has_spot(self, item: int) -> bool:
        return bool(self.rows.lines[item].chips)


class TableRows(Keyed):
    """A table whose first column is fixed while the others scroll."""

    head = 3

    def __init__(self, value: TableValue, width: int) -> None:
        super().__init__([row.key for row in value.rows])
        self.layout = lay_out(value, width)
        self.begins = self.layout.begins
        self.column = self.first_column = 0
        """The column with the cursor, and the first one that is in sight."""

    def spans(self, line: int) -> Spans:
        tone = self.layout.value.rows[self.layout.row_at(line)].tone
        return ((self.layout.row_line(line, self.first_column), tone),)

    def head_spans(self, y: int, cursor: int, page: int) -> Spans:
        layout, column, first = self.layout, self.column, self.first_column
        if y == self.head - 1:
            return ((self._rule(cursor, page), "rule"),)
        text = layout.head_line(y, first)
        if column not in layout.in_sight(first):
            return ((text, "head"),)
        begin, width = layout.column_span(column, first)
        # Characters are cells here: heads are ASCII but for what a run from elsewhere may hold.
        end = begin + width
        return ((text[:begin], "head"), (text[begin:end], "column"), (text[end:], "head"))

    def _rule(self, cursor: int, page: int) -> str:
        """Return the line below the head: the cursor's place, the mark of one column, and where there are more."""
        layout, value, first = self.layout, self.layout.value, self.first_column
        in_sight = layout.in_sight(first)
        line = ["─"] * layout.width
        if layout.height > page:
            place = f" {cursor + 1}/{self.count} "
            line[1 : 1 + len(place)] = place
        if value.marked is not None and value.marked in in_sight:
            begin, width = layout.column_span(value.marked, first)
            if begin + width <= layout.width:
                line[begin + width - 1] = value.mark
        if in_sight and in_sight.start > 0:
            line[min(layout.name_width, layout.width - 1)] = "<"
        if in_sight and in_sight.stop < len(value.columns):
            line[-1] = ">"
        return "".join(line)
