"""One of several things, chosen from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.widgets.footer import Footer


class PickScreen(Modal["int | None"]):
    """Ends with the index of what was chosen, or with None."""

    CSS_PATH = "pick.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="pick.cancel", tooltip="As before"),
    ]

    def __init__(self, title: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._options = tuple(options)

    def compose(self) -> ComposeResult:
        """Give the list."""
        with Vertical(id="pick"):
            yield Static(plain(self._title, "bold"))
            yield OptionList(*(plain(option) for option in self._options), id="options")
            yield Footer(show_command_palette=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """End with what was chosen."""
        self.dismiss(event.option_index)
