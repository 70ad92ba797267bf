"""Help for the screen at hand: what it is for, and its keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.modal import Modal

_KEY = 10
"""Columns that the names of keys take."""
_GENERAL = (
    "Keys 1 to 5 change screens; ctrl+p lists everything that can be done; q leaves, and a run goes on."
)


class HelpScreen(Modal[None]):
    """Says what a screen is for, and lists its keys."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", id="help.close", tooltip="Back to the screen"),
    ]

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self._about = screen

    def compose(self) -> ComposeResult:
        """Give the text."""
        with VerticalScroll(id="help"):
            yield Static(self._text())

    def _text(self) -> Content:
        purpose = [plain(line) for line in getattr(self._about, "HELP", "").strip().splitlines()]
        keys = [plain(f"{key:<{_KEY}} {words}") for key, words in self._keys()]
        return lines(*purpose, plain(""), plain("Keys", "bold"), *keys, plain(""), plain(_GENERAL))

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Yield keys and what each does, without those that move a cursor and change screens as everywhere."""
        told = set()
        for active in self._about.active_bindings.values():
            binding = active.binding
            if binding.id and binding.show and binding.id not in told:
                told.add(binding.id)
                yield self.app.get_key_display(binding), f"{binding.description}: {binding.tooltip}"
