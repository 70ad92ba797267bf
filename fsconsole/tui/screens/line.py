"""A line of text that is asked for."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from fsconsole.tui.plaintext import plain


class LineScreen(ModalScreen["str | None"]):
    """Ends with the line that was typed, or with None."""

    CSS_PATH = "line.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="line.cancel", tooltip="As before"),
    ]

    def __init__(self, title: str, value: str) -> None:
        super().__init__()
        self._title, self._value = title, value

    def compose(self) -> ComposeResult:
        """Give the line."""
        with Vertical(id="line"):
            yield Static(plain(self._title, "bold"))
            yield Input(self._value, compact=True, max_length=200)
            yield Static(plain("Enter takes it, escape leaves it as it was."))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End with the line."""
        self.dismiss(event.value.strip())
