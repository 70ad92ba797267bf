"""What all dialogs over a screen have: a title, a body, a line for what is wrong, the keys at the bottom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.widgets.keys import Keys

T = TypeVar("T")


def enter_takes(binding_id: str, tooltip: str, *, words: str = "Take") -> Binding:
    """Return the key that ends a dialog with what it asked for: F10 from anywhere, shown as the Enter of its widgets."""
    return Binding("f10", "accept", words, id=binding_id, tooltip=f"{tooltip}; F10 too", key_display="enter")


class Dialog(Modal[T | None]):
    """A dialog; it ends with what was asked for, or with None."""

    CSS_PATH = str(Path(__file__).with_suffix(".tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="dialog.cancel", tooltip="Back, with nothing changed"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._heading = title

    def compose(self) -> ComposeResult:
        """Give the frame with the body in it."""
        with Vertical(id="dialog"):
            yield Static(plain(self._heading, "bold"), id="dialog-title")
            yield from self.body()
            yield Static(plain(""), id="dialog-wrong")
        yield Keys()

    def body(self) -> Iterable[Widget]:
        """Give what is between the title and the keys."""
        return ()

    def complain(self, words: str) -> None:
        """Show what is wrong, or take it back with nothing."""
        wrong = self.query_one("#dialog-wrong", Static)
        wrong.update(plain(words, "$error"))
        if words:
            # A long sentence makes the dialog higher than the screen: it, and not the list, must be in sight.
            self.call_after_refresh(wrong.scroll_visible, animate=False)

    def action_give_up(self) -> None:
        """End with None."""
        self.dismiss(None)
