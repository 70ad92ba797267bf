"""Rows of any number with a cursor, of which only those in sight are made: ten thousand open as quickly as ten."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fsconsole.plaintext import printable
from fsconsole.report.cells import pad_right, shorten_middle
from fsconsole.tui.widgets.moving import moving

_HERE, _ELSEWHERE = "> ", "  "
TONES = ("strong", "weak", "bad")


class RowLike(Protocol):
    """A row: its text, and how it is meant, one of TONES or nothing."""

    @property
    def text(self) -> str:
        """The text, on one line."""
        ...

    @property
    def tone(self) -> str:
        """How it is meant."""
        ...


class RowList(ScrollView, can_focus=True):
    """Shows rows that a function makes by their number; the cursor follows a row until the operator moves it.

    Without a cursor it is a text that is scrolled.
    """

    class Chosen(Message):
        """Enter was pressed on a row."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rowlist--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    RowList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    RowList > .rowlist--strong { text-style: bold; color: $accent; }
    RowList > .rowlist--weak { color: $text-muted; }
    RowList > .rowlist--bad { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *moving(
            "rows",
            "row",
            ("by(-1)", "by(1)", "by_pages(-1)", "by_pages(1)", "to(0)", "to(-1)"),
            keys=("up", "down", "pageup", "pagedown", "home", "end"),
        ),
        Binding("enter", "choose", "Choose", id="rows.choose", tooltip="Take this row", show=False),
    ]

    def __init__(self, *, id: str | None = None, has_cursor: bool = True) -> None:  # noqa: A002 (Textual's own name)
        super().__init__(id=id)
        self._has_cursor = has_cursor
        self.cursor = 0
        self._count = 0
        self._row: Callable[[int, int], RowLike] | None = None
        self._moved = False
        self._followed = 0
        self._painted: dict[int, tuple[str, str]] = {}

    def show(self, count: int, row: Callable[[int, int], RowLike], *, follow: int = 0) -> None:
        """Show rows 0 to count - 1, made by row(number, width); the cursor is at follow unless it was moved."""
        self._count, self._row, self._followed = count, row, follow
        self.virtual_size = Size(0, count)
        self._need_bar()
        self._go_to(self.cursor if self._moved else follow)
        if self._in_sight() != self._painted:
            self.refresh()

    def follow(self) -> None:
        """Have the cursor follow again, wherever it was moved."""
        self._moved = False
        if not self._has_cursor:
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self._go_to(self._followed)

    @property
    def moved(self) -> bool:
        """Whether the operator has moved the cursor away from what it follows."""
        return self._moved

    def render_line(self, y: int) -> Strip:
        """Make one line of those in sight."""
        number = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if number >= self._count or self._row is None:
            return Strip.blank(width, self.rich_style)
        text, tone = self._line(number)
        self._painted[number] = (text, tone)
        style = self.get_component_rich_style(f"rowlist--{tone}") if tone in TONES else self.rich_style
        if number == self.cursor and self.has_focus and self._has_cursor:
            style += Style(reverse=True)
        return Strip([Segment(pad_right(text, width), style)], width)

    def _line(self, number: int) -> tuple[str, str]:
        width = self.scrollable_content_region.width
        if self._row is None:
            return "", ""
        lead = (_HERE if number == self.cursor else _ELSEWHERE) if self._has_cursor else ""
        room = max(1, width - len(lead))
        row = self._row(number, room)
        return lead + shorten_middle(printable(row.text), room), row.tone

    def _in_sight(self) -> dict[int, tuple[str, str]]:
        first = self.scroll_offset.y
        last = min(self._count, first + self.scrollable_content_region.height)
        self._painted = {number: line for number, line in self._painted.items() if first <= number < last}
        return {number: self._line(number) for number in range(first, last)}

    def _go_to(self, row: int) -> None:
        if not self._has_cursor:
            if self._moved:
                self.scroll_to(y=row, animate=False, immediate=True, force=True)
            self.cursor = max(0, min(row, self._count - self.scrollable_content_region.height))
            return
        before, self.cursor = self.cursor, max(0, min(row, self._count - 1))
        height = self.scrollable_content_region.height
        first = self.scroll_offset.y
        if height and not first <= self.cursor < first + height:
            # In the middle: what comes next is of as much interest as what was before.
            self.scroll_to(y=max(0, self.cursor - height // 2), animate=False, immediate=True, force=True)
        if before != self.cursor:
            self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Keep the cursor in sight."""
        self._need_bar()
        self._go_to(self.cursor)

    def _need_bar(self) -> None:
        # Left to itself (auto) a bar that was needed before the first layout stays where there is room for all.
        self.styles.overflow_y = "scroll" if self._count > self.size.height else "hidden"

    def on_click(self, event: events.Click) -> None:
        """Take the cursor to the row that was clicked."""
        if self._has_cursor:
            self._moved = True
            self._go_to(event.y + self.scroll_offset.y)

    def action_by(self, rows: int) -> None:
        """Move the cursor by rows."""
        self._moved = True
        self._go_to(self.cursor + rows)

    def action_by_pages(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.action_by(pages * max(1, self.scrollable_content_region.height - 1))

    def action_to(self, row: int) -> None:
        """Move the cursor to a row; a negative one counts from the end."""
        self._moved = True
        self._go_to(row if row >= 0 else self._count + row)

    def action_choose(self) -> None:
        """Tell that the row under the cursor was chosen."""
        if self._has_cursor:
            self.post_message(self.Chosen(self.cursor))
