"""A DataTable that shows a Sheet made for its width, and keeps its cursor on the same row when rows come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import DataTable

from fsconsole.tui.plaintext import cell
from fsconsole.tui.views.sheet import Sheet
from fsconsole.tui.widgets.moving import moving

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

    def __init__(self, *, id: str) -> None:  # noqa: A002 (Textual's name)
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
        """Make the table anew where its width has changed."""
        self._refill()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Tell that the cursor has moved."""
        event.stop()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Tell that a row's mark was clicked."""
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
