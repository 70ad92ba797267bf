"""Where an export of the grid goes, and in which form."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.views.export import EXPORTS, Export, path_for, proposed_path
from fsconsole.tui.widgets.footer import Footer


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export, whereto, and whether the operator has agreed to a file being replaced."""

    export: Export
    path: str
    overwrite: bool


class ExportScreen(Modal["Wanted | None"]):
    """Asks for form and path, and once more before a file is replaced; ends with None where nothing is wanted."""

    CSS_PATH = "export.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="export.cancel", tooltip="Write nothing"),
    ]

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run
        self._export = EXPORTS[0]
        self._agreed = ""
        self._directory = _directory()

    def compose(self) -> ComposeResult:
        """Give the forms and the path."""
        with Vertical(id="export"):
            yield Static(plain(f"Export the figures of run {self._run}", "bold"))
            yield OptionList(*(plain(export.label) for export in EXPORTS), id="forms")
            yield Static(plain("Path (Enter writes it):"))
            yield Input(proposed_path(self._run, self._export, self._directory), id="path", compact=True)
            yield Static(plain(""), id="asked")
            yield Footer(show_command_palette=False, compact=True)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Let the path end as the form does."""
        self._export = EXPORTS[event.option_index]
        path = self.query_one("#path", Input)
        path.value = path_for(path.value, self._export)

    def on_option_list_option_selected(self) -> None:
        """Go on with the path."""
        self.query_one("#path", Input).focus()

    def on_input_changed(self) -> None:
        """Take back what was agreed for another path."""
        self._agreed = ""
        self.query_one("#asked", Static).update(plain(""))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End with the path; where there is a file already, the second time."""
        path = os.path.normpath(os.path.join(self._directory, os.path.expanduser(event.value.strip())))
        if not event.value.strip() or os.path.isdir(path):
            self.query_one("#asked", Static).update(plain("Give the path of a file."))
            return
        if os.path.lexists(path) and self._agreed != path:
            self._agreed = path
            said = f"{path} is there already. Enter again replaces it."
            self.query_one("#asked", Static).update(plain(said, "bold"))
            return
        self.dismiss(Wanted(self._export, path, overwrite=self._agreed == path))


def _directory() -> str:
    """Return the console's directory; the root where that has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return "/"
