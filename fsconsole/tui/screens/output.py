"""What a command printed, or another text that is too long for a pane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.widgets.footer import Footer
from fsconsole.tui.widgets.lines import Lines, TextLine


class OutputScreen(Modal[None]):
    """Shows lines, which are made for the width at hand."""

    CSS_PATH = "output.tcss"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Back", id="output.back", tooltip="Back", key_display="esc"),
    ]

    def __init__(self, lines_for: Callable[[int], Sequence[TextLine]], marks: str) -> None:
        super().__init__()
        self._lines_for = lines_for
        self._marks = marks

    def compose(self) -> ComposeResult:
        """Give the lines."""
        yield Lines(marks=self._marks)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one(Lines).focus()

    def on_resize(self) -> None:
        """Break the lines for the new width."""
        lines = self.query_one(Lines)
        self.call_after_refresh(lambda: lines.show(self._lines_for(lines.room), keep_place=True))
