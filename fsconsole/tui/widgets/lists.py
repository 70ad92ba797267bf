"""Rows of any number with a cursor, of which only those in sight are made: ten thousand open as quickly as ten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip

from fsconsole.show.lines import TextLine
from fsconsole.text import pad_right, printable, shorten_middle

# The keys by which all lists and texts are moved in.

KEYS = ("up,k", "down,j", "pageup", "pagedown", "home", "end")
_NAMES = ("up", "down", "pageup", "pagedown", "home", "end")
_LABELS = ("Up", "Down", "Page up", "Page down", "First", "Last")


def moving(
    widget: str, thing: str, actions: Sequence[str], *, keys: Sequence[str] = KEYS
) -> list[BindingType]:
    """Return bindings for one thing up, one down, a page up, a page down, the first and the last, in this order."""
    tooltips = (
        f"A {thing} up", f"A {thing} down", "A page up", "A page down", f"The first {thing}", f"The last {thing}",
    )  # fmt: skip
    return [
        Binding(key, action, label, id=f"{widget}.{name}", tooltip=tooltip, show=False)
        for key, action, label, name, tooltip in zip(keys, actions, _LABELS, _NAMES, tooltips, strict=True)
    ]


# Printable lines of any number, scrolled by keys: only those in sight are drawn.

_MARK = 2
"""What says that there is more takes the last column, and one before it stays free."""


class Lines(ScrollView, can_focus=True):
    """Lines one below the other; whoever gives them has broken them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--strong", "lines--weak"}
    DEFAULT_CSS = """
    Lines { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 0; }
    Lines > .lines--strong { text-style: bold; }
    Lines > .lines--weak { text-style: italic; }
    """
    BINDINGS: ClassVar[list[BindingType]] = moving(
        "lines",
        "line",
        ("by(-1)", "by(1)", "by_pages(-1)", "by_pages(1)", "to_end(0)", "to_end(1)"),
        keys=("up,k", "down,j", "pageup", "pagedown,space", "home", "end"),
    )

    def __init__(self, *, marks: str = "^v", id: str | None = None) -> None:
        super().__init__(id=id)
        self._marks = marks
        self._lines: tuple[TextLine, ...] = ()

    def show(self, lines: Sequence[TextLine], *, keep_place: bool = False) -> None:
        """Show other lines, from the first one on, or from where one was."""
        self._lines = tuple(lines)
        self.virtual_size = Size(self.room, len(self._lines))
        if not keep_place:
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.refresh()

    @property
    def room(self) -> int:
        """How many cells a line may take."""
        return max(20, self.size.width - _MARK)

    def render_line(self, y: int) -> Strip:
        number = y + round(self.scroll_y)
        if not 0 <= number < len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        return self._strip(self._lines[number], y)

    def _strip(self, line: TextLine, y: int) -> Strip:
        width = self.size.width
        style = self.get_component_rich_style(f"lines--{line.tone}") if line.tone else self.rich_style
        strip = Strip([Segment(line.text, style)]).adjust_cell_length(width - 1, self.rich_style)
        return Strip([*strip, Segment(self._mark(y), self.rich_style)])

    def _mark(self, y: int) -> str:
        if y == 0 and self.scroll_y > 0:
            return self._marks[0]
        below = y == self.size.height - 1 and round(self.scroll_y) + self.size.height < len(self._lines)
        return self._marks[1] if below else " "

    def action_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_y + lines, animate=False, immediate=True)

    def action_by_pages(self, pages: int) -> None:
        self.action_by(pages * max(1, self.size.height - 1))

    def action_to_end(self, end: int) -> None:
        self.scroll_to(y=end * self.max_scroll_y, animate=False, immediate=True)


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

    def __init__(self, *, id: str | None = None, has_cursor: bool = True) -> None:
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
        self._need_bar()
        self._go_to(self.cursor)

    def _need_bar(self) -> None:
        # Left to itself (auto) a bar that was needed before the first layout stays where there is room for all.
        self.styles.overflow_y = "scroll" if self._count > self.size.height else "hidden"

    def on_click(self, event: events.Click) -> None:
        if self._has_cursor:
            self._moved = True
            self._go_to(event.y + self.scroll_offset.y)

    def action_by(self, rows: int) -> None:
        self._moved = True
        self._go_to(self.cursor + rows)

    def action_by_pages(self, pages: int) -> None:
        self.action_by(pages * max(1, self.scrollable_content_region.height - 1))

    def action_to(self, row: int) -> None:
        """Move the cursor to a row; a negative one counts from the end."""
        self._moved = True
        self._go_to(row if row >= 0 else self._count + row)

    def action_choose(self) -> None:
        if self._has_cursor:
            self.post_message(self.Chosen(self.cursor))


# Scroll bars of glyphs that every terminal has, and that show without colours.

_THUMB, _TRACK = "█", "░"


class BlockScrollBar(ScrollBarRender):
    """Draws whole blocks, no eighths."""

    @classmethod
    def render_bar(  # noqa: PLR0913, PLR0917 (Textual's own signature)
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,  # noqa: FBT002
        back_color: Color = Color.parse("default"),  # noqa: B008
        bar_color: Color = Color.parse("default"),  # noqa: B008
    ) -> Segments:
        """Return the bar's cells from its beginning to its end."""
        begin, end = thumb(size, virtual_size, window_size, position)

        def piece(glyph: str, count: int, action: str) -> list[Segment]:
            style = Style(color=bar_color, bgcolor=back_color, meta={"@mouse.down": action})
            # A line of its own for each cell, or one text: a style takes bytes.
            return (
                [Segment(glyph * thickness, style)] * count if vertical else [Segment(glyph * count, style)]
            )

        bar = [
            *piece(_TRACK, begin, "scroll_up"),
            *piece(_THUMB, end - begin, "grab"),
            *piece(_TRACK, size - end, "scroll_down"),
        ]
        if vertical:
            return Segments(bar, new_lines=True)
        return Segments([*bar, Segment.line()] * thickness, new_lines=False)


def thumb(size: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int]:
    """Return the first cell of the thumb and the one after its last; at the ends only where the text is at its ends."""
    if not (window_size and size and virtual_size > window_size):
        return 0, size
    length = min(max(round(size * window_size / virtual_size), 1), size)
    room = size - length
    share = min(max(position / (virtual_size - window_size), 0.0), 1.0)
    begin = round(share * room)
    if room > 1 and 0 < share < 1:
        begin = min(max(begin, 1), room - 1)
    return begin, begin + length
