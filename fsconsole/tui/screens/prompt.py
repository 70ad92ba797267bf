"""Asking for one line of text, checked as it is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.dialog import Dialog, enter_takes


class PromptScreen(Dialog[str]):
    """Ends with a text that the check has nothing against, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [enter_takes("prompt.accept", "Take what stands in the field")]

    def __init__(
        self,
        title: str,
        text: str,
        *,
        hint: str = "",
        check: Callable[[str], str] | None = None,
        suggester: Suggester | None = None,
    ) -> None:
        super().__init__(title)
        self._text, self._hint, self._check, self._suggester = text, hint, check, suggester

    def body(self) -> Iterable[Widget]:
        """Give the field and what goes there."""
        yield Input(self._text, id="asked", compact=True, suggester=self._suggester)
        yield Static(plain(self._hint), classes="told")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say at once what is wrong."""
        self.complain(self._wrong(event.value))

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take it."""
        self.action_accept()

    def action_accept(self) -> None:
        """End with the text where nothing is wrong with it."""
        text = self.query_one("#asked", Input).value
        if not self._wrong(text):
            self.dismiss(text)

    def _wrong(self, text: str) -> str:
        return self._check(text) if self._check is not None else ""
