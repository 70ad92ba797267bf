"""A pane of text that is made for its width, and scrolls where it is longer than high."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.views.device_details import Line
from fsconsole.tui.widgets.moving import moving

MakeContent = Callable[[int], Content]


class Pane(VerticalScroll, inherit_bindings=False):
    """Text that was wrapped by who made it, to the width there is."""

    BINDINGS: ClassVar[list[BindingType]] = moving(
        "pane", "line", ("scroll_up", "scroll_down", "page_up", "page_down", "scroll_home", "scroll_end")
    )

    def __init__(self, *, id: str) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id)
        self._make: MakeContent | None = None
        self._about = ""

    def compose(self) -> ComposeResult:
        """Give the text."""
        yield Static(plain(""))

    def show(self, about: str, make: MakeContent) -> None:
        """Show what make gives for a width, now and after each resize; a new subject is shown from its beginning."""
        self._make = make
        if about != self._about:
            self._about = about
            self.scroll_home(animate=False)
        self._fill()

    def on_resize(self) -> None:
        """Make the text anew."""
        self._fill()

    def _fill(self) -> None:
        if self._make is not None and self.size.width > 0:
            self.query_one(Static).update(self._make(self.scrollable_content_region.width))


def labelled(told: Iterable[Line]) -> Content:
    """Return lines with their labels in a colour of their own."""
    return lines(*(plain(line.label, "$primary") + plain(line.text, line.style) for line in told))
