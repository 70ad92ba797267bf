"""The question before a scratch device is removed."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Static

from fsconsole.tui.plaintext import plain


class RemoveScratch(ModalScreen[str]):
    """Ends with the node of the device that shall go, "" where it stays."""

    CSS_PATH = "remove_scratch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "remove", "Remove", id="remove.yes", tooltip="Detach it and delete its file"),
        Binding("escape,n", "keep", "Keep", id="remove.no", tooltip="Leave it as it is"),
    ]

    def __init__(self, path: str, told: str) -> None:
        super().__init__()
        self._path = path
        self._told = told

    def compose(self) -> ComposeResult:
        """Give the question; what is asked first is the harmless answer."""
        with Vertical(id="question"):
            yield Static(plain(f"Remove {self._path}?", "bold"))
            yield Static(plain(self._told))
            with Horizontal():
                yield Button(plain("Keep"), id="no", compact=True)
                yield Button(plain("Remove"), id="yes", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take the answer."""
        self.dismiss(self._path if event.button.id == "yes" else "")

    def action_remove(self) -> None:
        """Let it go."""
        self.dismiss(self._path)

    def action_keep(self) -> None:
        """Leave it."""
        self.dismiss("")
