"""What was just said: as many lines as it takes, broken at any character; where there is no room, it scrolls."""

from __future__ import annotations

from typing import ClassVar

from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip

from fsconsole.plaintext import printable
from fsconsole.report.cells import shorten_middle, wrap
from fsconsole.tui.widgets.lines import Lines, TextLine

_ANY_LINES = 10_000
_EDGE = 2
"""The last column is for the mark of more, and one before it stays free."""
_MORE = "(there is more: the tab key leads here, then up and down)"


class Sentence(Lines):
    """One text, with a tone for all of it; takes the keys only where it doesn't fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--error", "lines--warning"}
    DEFAULT_CSS = """
    Sentence { height: auto; min-height: 1; max-height: 60%; }
    Sentence > .lines--error { color: $error; }
    Sentence > .lines--warning { color: $warning; }
    """

    def __init__(self, *, marks: str = "^v", id: str | None = None) -> None:  # noqa: A002 (Textual's name for it)
        super().__init__(marks=marks, id=id)
        self.can_focus = False
        self._text = ""
        self._tone = ""

    @property
    def text(self) -> str:
        """What is said. Printable."""
        return self._text

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 (given by Textual)
        """Offer to scroll only where there is something to scroll."""
        return self.can_focus

    def say(self, text: str, tone: str = "") -> None:
        """Say something else; the tone is "error", "warning", "strong" or nothing."""
        if (printable(text), tone) == (self._text, self._tone):
            return
        self._text, self._tone = printable(text), tone
        self._break(self.size.width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 (given by Textual)
        """Return how many lines the text takes in so many columns."""
        return len(self._broken(width))

    def on_resize(self, event: Resize) -> None:
        """Break the text anew."""
        self._break(event.size.width)

    def render_line(self, y: int) -> Strip:
        """Draw one line; the last one says where the rest is, unless all is in sight."""
        is_last = y == self.size.height - 1
        if is_last and self.can_focus and not self.has_focus and self.scroll_y < self.max_scroll_y:
            return self._strip(TextLine(shorten_middle(_MORE, self.room), "weak"), y)
        return super().render_line(y)

    def _break(self, width: int) -> None:
        lines = self._broken(width)
        self.can_focus = 0 < self.size.height < len(lines)
        if self.has_focus and not self.can_focus:
            self.screen.focus_next()
        self.show([TextLine(line, self._tone) for line in lines])

    def _broken(self, width: int) -> list[str]:
        return wrap(self._text, max(2, width - _EDGE), max_lines=_ANY_LINES) if self._text else []
