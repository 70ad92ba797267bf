"""The console's one list: it shows tables, choices and texts, and makes only the rows in sight, so that 10,000 open at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from fsconsole.results.table import TableValue
from fsconsole.show.lines import EVERY, OTHER, Line
from fsconsole.text import printable
from fsconsole.tui import keys
from fsconsole.tui.widgets.rows import TONES, LineItems, Rows, TableRows, Texts

_LEAST_WIDTH = 20
MakeRows = Callable[[int], Rows]


@dataclass
class _Told(Message):
    """Message of a list: key of the item, empty for none."""

    list: List
    key: str
    chip: str = ""
    """The value of the chip at the cursor; empty for a line without chips."""

    @property
    def control(self) -> List:
        return self.list


class Toned(Widget):
    """Works out what a tone looks like when it is painted first, and keeps that.

    As COMPONENT_CLASSES all tones would be worked out whenever a widget may look different, after each move of the focus too,
    and each again with each painting: a screen paints a few of the 22.
    """

    TONE_CLASSES: ClassVar[frozenset[str]]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._styles: dict[str, Style] = {}

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def tone_style(self, name: str) -> Style:
        """Return the style of a tone's class, or the widget's own where there is no such class."""
        if name not in self._styles:
            self._styles[name] = self._worked_out(name) if name in self.TONE_CLASSES else self.rich_style
        return self._styles[name]

    def _worked_out(self, name: str) -> Style:
        part = DOMNode(classes=name)
        part._attach(self)
        self.app.stylesheet.apply(part)
        return part.rich_style


class List(Toned, ScrollView, can_focus=True, inherit_bindings=False):
    """Shows rows and posts what the operator asks for: an item opened or ticked."""

    TONE_CLASSES: ClassVar[frozenset[str]] = frozenset(f"list--{tone}" for tone in TONES)
    DEFAULT_CSS = """
    List {
        height: 1fr; color: $foreground; overflow-x: hidden; overflow-y: hidden;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
    }
    List > .list--strong, List > .list--heading { text-style: bold; }
    List > .list--weak { text-style: italic; }
    List > .list--bad, List > .list--error { color: $error; }
    List > .list--warning, List > .list--hazard { color: $warning; }
    List > .list--free, List > .list--good { color: $success; }
    List > .list--map0 { color: $primary; }
    List > .list--map1 { color: $success; }
    List > .list--map2 { color: $warning; }
    List > .list--map3 { color: $error; }
    List > .list--map4 { color: $accent; }
    List > .list--map5 { text-style: bold; }
    List > .list--primary, List > .list--value { color: $primary; }
    List > .list--faint { color: $text-disabled; }
    List:ansi > .list--faint { color: $secondary; }
    List > .list--head { text-style: bold; color: $primary; }
    List > .list--column { text-style: bold reverse; }
    List > .list--cursor {
        color: $block-cursor-blurred-foreground; background: $block-cursor-blurred-background;
        text-style: $block-cursor-blurred-text-style;
    }
    List:focus > .list--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("list")
    opens_on_click = False
    wraps = False
    """True if up on the first item leads to the last one, and down on the last one to the first."""

    class Moved(_Told):
        """The cursor is on another item, or no item is left."""

    class Opened(_Told):
        """Enter was pressed on an item, or it was clicked."""

    class Ticked(_Told):
        """Space was pressed on an item, or its mark was clicked."""

    class Headed(_Told):
        """The head of a column was clicked; where columns have a cursor, it is there by now."""

    class Topped(_Told):
        """The cursor was to go up from the first item."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: MakeRows | None = None
        self.rows: Rows = Texts(())
        self.cursor = 0
        self.was_moved = False
        """True if the operator has moved the cursor or scrolled."""
        self._fitted = -1
        self._sought = ""
        """The key that show() was asked for: rows made before the first layout, for no lines, may lack it."""
        self._painted: list[Strip] = []

    @property
    def key(self) -> str:
        """The key of the item at the cursor; empty where there is none."""
        return self.rows.key(self.cursor) if self.rows.has_cursor and self.cursor < self.rows.count else ""

    @property
    def page(self) -> int:
        return max(1, self.size.height - self.rows.head)

    def show(self, make: MakeRows, *, at: str = "", afresh: bool = False) -> None:
        """Show what make returns for the width, now and after each resize; the cursor stays on its key.

        at: the key to move the cursor to; afresh: from the first item on.
        """
        before, had_cursor = self.key, self.rows.has_cursor
        self._make, self._fitted, self._sought = make, self._width, at
        self.rows = make(self._fitted)
        if had_cursor != self.rows.has_cursor:
            self.refresh_bindings()
        found = None if afresh and not at else self.rows.find(at or before)
        self.cursor = self._nearest(found if found is not None else 0 if afresh else self.cursor, 1)
        if afresh:
            self._go_to_line(0)
        self._settle(centre=bool(at))
        if self.key != before:
            self.post_message(self.Moved(self, self.key))

    def go_to(self, key: str) -> None:
        if (item := self.rows.find(key)) is not None:
            self._move(item, 1)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._fit(max(_LEAST_WIDTH, width - self.styles.scrollbar_size_vertical))
        return self.rows.head + self.rows.height

    def on_resize(self, _event: events.Resize) -> None:
        self._fit(self._width)
        self._settle()

    def render_line(self, y: int) -> Strip:
        width, rows = self.scrollable_content_region.width, self.rows
        line = y - rows.head + self.scroll_offset.y
        tone = ""
        if y < rows.head:
            spans = rows.head_spans(y, self.cursor, self.page)
        elif line < rows.height:
            spans = rows.spans(line)
            is_at = rows.has_cursor and rows.item_at(line) == self.cursor
            if rows.is_pointed:
                spans = [("> " if is_at else "  ", ""), *spans]
            if is_at and not rows.has_spot(self.cursor):
                spans, tone = [(text, "cursor") for text, _ in spans], "cursor"
        else:
            return Strip.blank(width, self.rich_style)
        segments = [Segment(printable(text), self.tone_style(f"list--{tone}")) for text, tone in spans]
        return Strip(segments).adjust_cell_length(width, self.tone_style(f"list--{tone}"))

    def on_focus(self) -> None:
        self._styles.clear()

    def on_blur(self) -> None:
        self._styles.clear()

    def on_click(self, event: events.Click) -> None:
        line = event.y - self.rows.head + self.scroll_offset.y
        if event.y < self.rows.head:
            self.post_message(self.Headed(self, self.key))
            return
        if line >= self.rows.height or not self.rows.has_cursor:
            return
        item = self.rows.item_at(line)
        if self.rows.is_heading(item):
            return
        self._move(item, 1)
        if event.x < self.rows.mark_width:
            self.post_message(self.Ticked(self, self.key))
        elif self.opens_on_click or event.chain > 1:
            self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.can_focus and (action not in ("open", "tick") or self.rows.has_cursor)

    def action_by(self, lines: int) -> None:
        if self.rows.has_cursor:
            before = self.cursor
            self._move(self.cursor + lines, lines)
            if self.cursor == before and self.wraps:
                self.action_to(-1 if lines < 0 else 0)
            elif self.cursor == before and lines < 0:
                self.post_message(self.Topped(self, self.key))
        else:
            self._scroll(self.scroll_offset.y + lines)

    def action_pages(self, pages: int) -> None:
        lines = pages * max(1, self.page - 1)
        if self.rows.has_cursor and self.rows.count:
            line = self.rows.begins[self.cursor] + lines
            self._move(self.rows.item_at(max(0, min(line, self.rows.height - 1))), lines)
        else:
            self._scroll(self.scroll_offset.y + lines)

    def action_to(self, end: int) -> None:
        """Go to the first line (0) or the last one (-1)."""
        if self.rows.has_cursor:
            self._move(end if end >= 0 else self.rows.count - 1, -1 if end else 1)
        else:
            self._scroll(-end * self.max_scroll_y)

    def action_open(self) -> None:
        if self.key:
            self.post_message(self.Opened(self, self.key))

    @property
    def _width(self) -> int:
        # The column of the scrollbar is kept free, whether or not there is one.
        return max(_LEAST_WIDTH, self.size.width - self.styles.scrollbar_size_vertical)

    def _fit(self, width: int) -> None:
        if self._make is not None and width != self._fitted:
            key, self._fitted = self.key, width
            self.rows = self._make(width)
            found = self.rows.find(self._sought) if self._sought else None
            found = self.rows.find(key) if found is None else found
            self.cursor = self.cursor if found is None else found
            if self.key != key:
                self.post_message(self.Moved(self, self.key))

    def _move(self, item: int, step: int) -> None:
        before, self.was_moved, self._sought = self.key, True, ""
        self.cursor = self._nearest(item, step)
        self._settle()
        if self.key != before:
            self.post_message(self.Moved(self, self.key))

    def _nearest(self, item: int, step: int) -> int:
        last = self.rows.count - 1
        item = max(0, min(item, last))
        if last < 0:
            return 0
        ways = (range(item, last + 1), range(item, -1, -1))
        ordered = ways if step > 0 else ways[::-1]
        return next((near for way in ordered for near in way if not self.rows.is_heading(near)), last + 1)

    def _scroll(self, line: int) -> None:
        self.was_moved = True
        self._go_to_line(line)

    def _go_to_line(self, line: int) -> None:
        self.scroll_to(y=line, animate=False, immediate=True, force=True)

    def _settle(self, *, centre: bool = False) -> None:
        rows, height = self.rows, self.size.height
        self.virtual_size = Size(0, rows.head + rows.height)
        # Left to itself (auto) a bar that was needed before the first layout stays where there is room for all.
        self.styles.overflow_y = "scroll" if height and rows.head + rows.height > height else "hidden"
        if height and rows.has_cursor and self.cursor < rows.count:
            first, end = rows.begins[self.cursor], rows.begins[self.cursor + 1]
            if self.cursor and rows.is_heading(self.cursor - 1):
                first = rows.begins[self.cursor - 1]  # The heading above belongs to it.
            top = min(first, max(self.scroll_offset.y, end - self.page))
            if top != self.scroll_offset.y:
                self._go_to_line(max(0, first - self.page // 2) if centre else top)
        painted, self._painted = self._painted, [self.render_line(y) for y in range(height)]
        if len(painted) != height:
            self.refresh()
            return
        width = self.size.width
        changed = [y for y in range(height) if painted[y] != self._painted[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))


class Choices(List):
    """A list of lines that are ticked and opened; a click opens."""

    DEFAULT_CSS = "Choices { height: auto; max-height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("choices")
    opens_on_click = True

    def __init__(self, *, id: str, ticks: bool = True, wraps: bool = False) -> None:
        super().__init__(id=id)
        self._ticks, self.wraps = ticks, wraps
        self._chip, self._chip_of = 0, ""
        """The chip at the cursor, and the key of its line; empty where the cursor has still to come to one."""

    @property
    def lines_shown(self) -> tuple[Line, ...]:
        return self.rows.rows.lines if isinstance(self.rows, LineItems) else ()

    @property
    def looked_at(self) -> Line | None:
        return self.lines_shown[self.cursor] if self.key else None

    def show_lines(self, lines: Sequence[Line], *, at: str = "", afresh: bool = False) -> None:
        """Show these lines; the cursor stays on its key, goes to that of at, or afresh to the first one."""
        if afresh:
            self._chip_of = ""
        self.show(lambda width: LineItems(lines, width), at=at, afresh=afresh)

    @property
    def chip(self) -> int:
        """The number of the chip at the cursor; -1 for a line without chips."""
        chips = self.looked_at.chips if self.looked_at is not None else ()
        return min(self._chip, len(chips) - 1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "left":
            return self.chip > 0
        return super().check_action(action, parameters) and (self._ticks or action not in {"tick", "tick_every"})

    def has_use(self, action: str) -> bool:
        """Return whether an action can ever do something in this list: without ticks it has no values either."""
        return self._ticks or action not in {"tick", "tick_every", "left", "right"}

    def watch_has_focus(self, has_focus: bool) -> None:  # noqa: FBT001 (as Textual has it)
        super().watch_has_focus(has_focus)
        self._chip_of = ""
        self._settle()

    def action_right(self) -> None:
        line = self.looked_at
        if line is None or not line.chips:
            self.action_open()
        else:
            self._go_to_chip(min(self.chip + 1, len(line.chips) - 1))

    def action_left(self) -> None:
        self._go_to_chip(self.chip - 1)

    def action_open(self) -> None:
        """Open the line; where it has chips, tick the one at the cursor."""
        if self.looked_at is not None and self.looked_at.chips:
            self.action_tick()
        else:
            super().action_open()

    def action_tick(self) -> None:
        line = self.looked_at
        if line is None:
            return
        chip = line.chips[self.chip].value if line.chips else ""
        message = self.Opened if chip == OTHER else self.Ticked
        self.post_message(message(self, self.key, chip))

    def action_tick_every(self) -> None:
        if self.chip >= 0:
            self.post_message(self.Ticked(self, self.key, EVERY))

    def on_click(self, event: events.Click) -> None:
        """Tick the chip that was clicked; a line without chips is ticked at its mark, and opened elsewhere."""
        line = event.y + self.scroll_offset.y
        rows = self.rows
        if isinstance(rows, LineItems) and line < rows.height and rows.rows.lines[item := rows.item_at(line)].chips:
            event.prevent_default()
            self._move(item, 1)
            chip = rows.rows.chip_at(item, line - rows.begins[item], event.x)
            if chip is not None:
                self._go_to_chip(chip)
                self.action_tick()

    def go_to_chip(self, value: str) -> None:
        """Go to a value of the line at the cursor."""
        chips = self.looked_at.chips if self.looked_at is not None else ()
        self._go_to_chip(next((place for place, chip in enumerate(chips) if chip.value == value), self.chip))

    def _go_to_chip(self, chip: int) -> None:
        self._chip = chip
        self._settle()

    def _fit(self, width: int) -> None:
        super()._fit(width)
        self._tell_rows()

    def _settle(self, *, centre: bool = False) -> None:
        self._tell_rows()
        super()._settle(centre=centre)

    def _tell_rows(self) -> None:
        if self.key != self._chip_of and self.looked_at is not None:
            self._chip, self._chip_of = self.looked_at.chip_in_effect, self.key
        if isinstance(self.rows, LineItems):
            # Only the list with the focus shows a cursor: keys do nothing in the others.
            self.rows.cursor, self.rows.chip = self.cursor, self.chip if self.has_focus else -1


class Table(List):
    """A list of rows under heads, which have a cursor of their own; no scrollbar, the rule tells the place."""

    DEFAULT_CSS = "Table { scrollbar-size: 0 0; }"
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("table")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.value = TableValue("", (), ())
        self.column = self._first_column = 0

    def show_table(self, value: TableValue) -> None:
        """Show another table; the cursors stay where they were."""
        self.value = value
        self.column = max(0, min(self.column, len(value.columns) - 1))
        self.show(lambda width: TableRows(value, width))

    def on_click(self, event: events.Click) -> None:
        if isinstance(self.rows, TableRows):
            column = self.rows.layout.column_at(event.x, self._first_column)
            self.column = self.column if column is None else column
            self._settle()
            if column is None and event.y < self.rows.head:
                # The head of the names, which have no order of their own.
                event.prevent_default()

    def action_columns(self, by: int) -> None:
        self.column = max(0, min(self.column + by, len(self.value.columns) - 1))
        self._settle()

    def _settle(self, *, centre: bool = False) -> None:
        if isinstance(self.rows, TableRows):
            first = min(self._first_column, self.column)
            self._first_column = self.rows.layout.first_for(self.column, first)
            self.rows.column, self.rows.first_column = self.column, self._first_column
        super()._settle(centre=centre)
