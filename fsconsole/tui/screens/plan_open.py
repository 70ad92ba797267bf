"""Choosing a plan file: a shipped one with a line on it, or one by its path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.planfiles import completed
from fsconsole.tui.screens.dialog import Dialog, enter_takes
from fsconsole.tui.views.lines import Line
from fsconsole.tui.widgets.choices import Choices


class PathSuggester(Suggester):
    """Completes paths of plan files; the right arrow takes what is suggested."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the path as far as it can be completed."""
        whole = completed(value) if value else value
        return whole if whole != value else None


class OpenScreen(Dialog[str]):
    """Ends with a path, or the name of a shipped plan."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("open.accept", "Open what is looked at, or the file that is typed", words="Open")
    ]

    def __init__(self, shipped: Sequence[tuple[str, str]]) -> None:
        """Shipped are names and titles."""
        super().__init__("Open a plan")
        self._shipped = tuple(shipped)

    def body(self) -> Iterable[Widget]:
        """Give the list and the field."""
        yield Choices(id="shipped", ticks=False)
        yield Static(plain("Or a file (right arrow completes, enter opens):"), classes="told")
        yield Input(placeholder="/path/to/plan.toml", id="path", compact=True, suggester=PathSuggester())

    def on_mount(self) -> None:
        """Show what is shipped."""
        shown = [Line(name, name, value=title) for name, title in self._shipped]
        self.query_one("#shipped", Choices).show_lines(shown)

    def on_choices_opened(self, event: Choices.Opened) -> None:
        """Take a shipped plan."""
        self.dismiss(event.key)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take a path."""
        self.action_accept()

    def action_accept(self) -> None:
        """Take the path that is typed; without one what is looked at."""
        path = self.query_one("#path", Input).value.strip()
        line = self.query_one("#shipped", Choices).looked_at
        if path:
            self.dismiss(path)
        elif line is not None:
            self.dismiss(line.key)
