"""A table of any length: only the lines in sight are drawn. Its first column stands still, the others move by columns.

Textual's DataTable needs a second to take a thousand rows, and clips what is too long at its end.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fsconsole.tui.widgets.moving import moving
from fsconsole.tui.widgets.table_layout import TableRow, TableValue, lay_out

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

    def __init__(self, *, rule: str = "-", id: str | None = None) -> None:  # noqa: A002 (Textual's name for it)
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
        """Fit the table into its new room."""
        self._layout = lay_out(self.value, self._room())
        self._settle()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the part in sight."""
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
        """Move the cursor by rows."""
        self._move(self._cursor + by)

    def action_pages(self, by: int) -> None:
        """Move the cursor by a page."""
        line = self._layout.begins[self._cursor] if self.value.rows else 0
        self._move(self._layout.row_at(max(0, line + by * max(1, self.size.height - _HEAD_LINES - 1))))

    def action_columns(self, by: int) -> None:
        """Move the column's cursor."""
        self._column = max(0, min(self._column + by, len(self.value.columns) - 1))
        self._settle()

    def action_choose(self) -> None:
        """Tell that the row at the cursor is opened."""
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
        """Bring the cursors into sight and draw anew."""
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
