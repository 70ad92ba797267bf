"""Help for the screen at hand: what it is for, and its keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from fsconsole.tui.plaintext import lines, plain

_GENERAL = (
    "Keys 1 to 5 change screens; ctrl+p lists everything that can be done; q leaves, and a run goes on."
)


class HelpScreen(ModalScreen[None]):
    """Says what a screen is for, and lists its keys."""

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
        keys = [
            plain(
                f"{self.app.get_key_display(active.binding):<12} {active.binding.description}: {active.tooltip}"
            )
            for active in self._about.active_bindings.values()
            if active.binding.description and not active.binding.system
        ]
        return lines(*purpose, plain(""), plain("Keys", "bold"), *keys, plain(""), plain(_GENERAL))
