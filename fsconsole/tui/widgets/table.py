"""A table of any length: only the lines in sight are drawn. Its first column stands still, the others move by columns.

Textual's DataTable needs a second to take a thousand rows, and clips what is too long at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import DataTable

from fsconsole.show.tables import Sheet, TableRow, TableValue, lay_out
from fsconsole.tui.terminal import cell
from fsconsole.tui.widgets.lists import moving

# A DataTable that shows a Sheet made for its width, and keeps its cursor on the same row when rows come and go.

MakeSheet = Callable[[int], Sheet]


class SheetTable(DataTable[Text], inherit_bindings=False):
    """Rows of one line; the first column may be clicked."""

    BINDINGS: ClassVar[list[BindingType]] = moving(
        "table", "row", ("cursor_up", "cursor_down", "page_up", "page_down", "scroll_top", "scroll_bottom")
    )

    class MarkClicked(Message):
        """The first column of a row was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The cursor stands on another row, or on a row that shows something else now."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, cursor_type="row", cell_padding=0, zebra_stripes=False)
        self._make: MakeSheet | None = None
        self._sheet = Sheet((), ())

    @property
    def key(self) -> str:
        """The key of the row under the cursor; "" where there is none."""
        rows = self._sheet.rows
        return rows[self.cursor_row].key if 0 <= self.cursor_row < len(rows) else ""

    def show(self, make: MakeSheet) -> None:
        """Show what make gives for the width there is, now and after each change of it."""
        self._make = make
        self._refill()

    def go_to(self, key: str) -> None:
        """Put the cursor on a row; it stays where there is none of that key."""
        keys = [row.key for row in self._sheet.rows]
        if key in keys:
            self.move_cursor(row=keys.index(key))

    def on_resize(self) -> None:
        self._refill()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        meta = event.style.meta
        row, column = meta.get("row", -1), meta.get("column", -1)
        if column == 0 and 0 <= row < len(self._sheet.rows):
            self.post_message(self.MarkClicked(self._sheet.rows[row].key))

    def _refill(self) -> None:
        # The column of the scroll bar, and one before it, are kept free, whether or not there is one.
        width = self.outer_size.width - 2
        if self._make is not None and width > 0:
            self._fill(self._make(width))

    def _fill(self, sheet: Sheet) -> None:
        before, self._sheet = self._sheet, sheet
        same_rows = [row.key for row in before.rows] == [row.key for row in sheet.rows]
        if before.columns == sheet.columns and same_rows:
            self._update(before, sheet)
        else:
            self._rebuild(before, sheet)
        self.post_message(self.Moved())

    def _update(self, before: Sheet, sheet: Sheet) -> None:
        for old, new in zip(before.rows, sheet.rows, strict=True):
            for index, (was, now) in enumerate(zip(old.cells, new.cells, strict=True)):
                if was != now:
                    self.update_cell(new.key, str(index), cell(now.text, now.style))

    def _rebuild(self, before: Sheet, sheet: Sheet) -> None:
        stood, row, scrolled = self.key_in(before), self.cursor_row, self.scroll_y
        keys = [line.key for line in sheet.rows]
        with self.app.batch_update():
            self.clear(columns=True)
            for index, column in enumerate(sheet.columns):
                self.add_column(cell(column.title), width=column.width, key=str(index))
            for line in sheet.rows:
                self.add_row(*(cell(one.text, one.style) for one in line.cells), key=line.key)
            self.move_cursor(row=keys.index(stood) if stood in keys else row, scroll=False)
            self.call_after_refresh(self._scroll_back, scrolled)

    def _scroll_back(self, scrolled: float) -> None:
        self.scroll_to(y=scrolled, animate=False, force=True)
        self.move_cursor(row=self.cursor_row)

    def key_in(self, sheet: Sheet) -> str:
        """Return the key under the cursor in a sheet that was shown before."""
        return sheet.rows[self.cursor_row].key if 0 <= self.cursor_row < len(sheet.rows) else ""


_HEAD_LINES = 3
_EMPTY = TableValue("", (), ())


class Table(ScrollView, can_focus=True):
    """Rows with a cursor, under heads with a cursor of their own."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--head",
        "table--column",
        "table--rule",
        "table--cursor",
        "table--strong",
        "table--weak",
    }
    DEFAULT_CSS = """
    Table { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 0; }
    Table > .table--head { text-style: bold; }
    Table > .table--column { text-style: bold reverse; }
    Table > .table--rule { color: $foreground; }
    Table > .table--cursor { text-style: reverse; }
    Table > .table--strong { text-style: bold; }
    Table > .table--weak { text-style: italic; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *moving(
            "table",
            "row",
            ("rows(-1)", "rows(1)", "pages(-1)", "pages(1)", "rows(-1000000)", "rows(1000000)"),
        ),
        Binding("left", "columns(-1)", "Left", id="table.left", tooltip="The column before", show=False),
        Binding("right", "columns(1)", "Right", id="table.right", tooltip="The next column", show=False),
        Binding(
            "enter",
            "choose",
            "Open",
            id="table.choose",
            tooltip="Open the row at the cursor",
            key_display="enter",
        ),
    ]

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, table: Table, row: TableRow) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> Table:
            """The table."""
            return self.table

    class Chosen(Moved):
        """A row was opened."""

    def __init__(self, *, rule: str = "-", id: str | None = None) -> None:
        super().__init__(id=id)
        self._rule = rule
        self._layout = lay_out(_EMPTY, 80)
        self._cursor = 0
        self._column = 0
        self._first = 0

    @property
    def value(self) -> TableValue:
        """What is shown."""
        return self._layout.value

    @property
    def row(self) -> TableRow | None:
        """The row at the cursor; None where there is no row."""
        rows = self.value.rows
        return rows[self._cursor] if rows else None

    @property
    def column(self) -> int:
        """The index of the column at the cursor."""
        return self._column

    def show(self, value: TableValue) -> None:
        """Show another table; the cursor stays on its row, or where it was if that is gone."""
        known = self.row
        self._layout = lay_out(value, self._room())
        keys = [row.key for row in value.rows]
        if known is not None and known.key in keys:
            self._cursor = keys.index(known.key)
        self._cursor = max(0, min(self._cursor, len(keys) - 1))
        self._column = max(0, min(self._column, len(value.columns) - 1))
        self._settle()

    def point_at(self, key: str) -> None:
        """Set the cursor on a row, where there is one of that key."""
        for index, row in enumerate(self.value.rows):
            if row.key == key:
                self._move(index)

    def on_resize(self) -> None:
        self._layout = lay_out(self.value, self._room())
        self._settle()

    def render_line(self, y: int) -> Strip:
        width = self._layout.width
        if y < _HEAD_LINES:
            return self._head(y).adjust_cell_length(width, self.rich_style)
        line = y - _HEAD_LINES + round(self.scroll_y)
        if not 0 <= line < self._layout.height:
            return Strip.blank(width, self.rich_style)
        index = self._layout.row_at(line)
        style = self._style(index)
        text = self._layout.row_line(line, self._first)
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    def action_rows(self, by: int) -> None:
        self._move(self._cursor + by)

    def action_pages(self, by: int) -> None:
        line = self._layout.begins[self._cursor] if self.value.rows else 0
        self._move(self._layout.row_at(max(0, line + by * max(1, self.size.height - _HEAD_LINES - 1))))

    def action_columns(self, by: int) -> None:
        self._column = max(0, min(self._column + by, len(self.value.columns) - 1))
        self._settle()

    def action_choose(self) -> None:
        if self.row is not None:
            self.post_message(self.Chosen(self, self.row))

    def on_click(self, event: events.Click) -> None:
        """Point at a row or a column; twice opens the row."""
        line = event.y - _HEAD_LINES + round(self.scroll_y)
        column = self._layout.column_at(event.x, self._first)
        if column is not None:
            self._column = column
        if event.y >= _HEAD_LINES and 0 <= line < self._layout.height:
            self._move(self._layout.row_at(line))
            if event.chain > 1:
                self.action_choose()
        self._settle()

    def _room(self) -> int:
        return max(20, self.scrollable_content_region.width or self.size.width)

    def _move(self, index: int) -> None:
        if not self.value.rows:
            return
        index = max(0, min(index, len(self.value.rows) - 1))
        moved = index != self._cursor
        self._cursor = index
        self._settle()
        if moved:
            self.post_message(self.Moved(self, self.value.rows[index]))

    def _settle(self) -> None:
        self.virtual_size = Size(self._layout.width, _HEAD_LINES + self._layout.height)
        self._first = self._layout.first_for(self._column, min(self._first, self._column))
        if self.value.rows:
            begin, end = self._layout.begins[self._cursor], self._layout.begins[self._cursor + 1]
            page = max(1, self.size.height - _HEAD_LINES)
            top = min(begin, max(round(self.scroll_y), end - page))
            if top != round(self.scroll_y):
                self.scroll_to(y=top, animate=False, immediate=True, force=True)
        self.refresh()

    def _style(self, index: int) -> Style:
        if index == self._cursor:
            return self.get_component_rich_style("table--cursor")
        tone = self.value.rows[index].tone
        return self.get_component_rich_style(f"table--{tone}") if tone else self.rich_style

    def _head(self, y: int) -> Strip:
        layout = self._layout
        if y == _HEAD_LINES - 1:
            return Strip([Segment(self._rule_line(), self.get_component_rich_style("table--rule"))])
        text = layout.head_line(y, self._first)
        head, at = (self.get_component_rich_style(name) for name in ("table--head", "table--column"))
        if self._column not in layout.in_sight(self._first):
            return Strip([Segment(text, head)])
        begin, width = layout.column_span(self._column, self._first)
        # Cells, not characters: heads are ASCII but for what a run from elsewhere may hold.
        return Strip(
            [
                Segment(text[:begin], head),
                Segment(text[begin : begin + width], at),
                Segment(text[begin + width :], head),
            ]
        )

    def _rule_line(self) -> str:
        """Return the line below the head: where the cursor stands, one column's mark, and where there are more."""
        layout = self._layout
        in_sight = layout.in_sight(self._first)
        line = [self._rule] * layout.width
        if layout.height > self.size.height - _HEAD_LINES:
            place = f" {self._cursor + 1}/{len(self.value.rows)} "
            line[1 : 1 + len(place)] = place
        marked = self.value.marked
        if marked is not None and marked in in_sight:
            begin, width = layout.column_span(marked, self._first)
            if begin + width <= layout.width:
                line[begin + width - 1] = self.value.mark
        if in_sight and in_sight.start > 0:
            line[min(layout.name_width, layout.width - 1)] = "<"
        if in_sight and in_sight.stop < len(self.value.columns):
            line[-1] = ">"
        return "".join(line)
