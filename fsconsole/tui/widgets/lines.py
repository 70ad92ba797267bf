"""Printable lines of any number, scrolled by keys: only those in sight are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fsconsole.tui.widgets.moving import moving

_MARK = 2
"""What says that there is more takes the last column, and one before it stays free."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One printable line, which fits the width that it was made for."""

    text: str
    tone: str = ""
    """"strong", "weak" or nothing."""


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

    def __init__(self, *, marks: str = "^v", id: str | None = None) -> None:  # noqa: A002 (Textual's name for it)
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
        """Draw one line of the part in sight."""
        number = y + round(self.scroll_y)
        if not 0 <= number < len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        return self._strip(self._lines[number], y)

    def _strip(self, line: TextLine, y: int) -> Strip:
        """Return a line as it is drawn in a row of the part in sight."""
        width = self.size.width
        style = self.get_component_rich_style(f"lines--{line.tone}") if line.tone else self.rich_style
        strip = Strip([Segment(line.text, style)]).adjust_cell_length(width - 1, self.rich_style)
        return Strip([*strip, Segment(self._mark(y), self.rich_style)])

    def _mark(self, y: int) -> str:
        """Return what says at the right edge that there is more above, or below."""
        if y == 0 and self.scroll_y > 0:
            return self._marks[0]
        below = y == self.size.height - 1 and round(self.scroll_y) + self.size.height < len(self._lines)
        return self._marks[1] if below else " "

    def action_by(self, lines: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_y + lines, animate=False, immediate=True)

    def action_by_pages(self, pages: int) -> None:
        """Scroll by what is in sight."""
        self.action_by(pages * max(1, self.size.height - 1))

    def action_to_end(self, end: int) -> None:
        """Scroll to the first line, or to the last one."""
        self.scroll_to(y=end * self.max_scroll_y, animate=False, immediate=True)
