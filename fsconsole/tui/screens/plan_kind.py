"""Choosing the kind of a workload to be added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fsconsole.tui import draft_parts as parts
from fsconsole.tui.screens.dialog import Dialog, enter_takes
from fsconsole.tui.views.lines import Line
from fsconsole.tui.widgets.choices import Choices


class KindScreen(Dialog[str]):
    """Ends with the kind of a workload to be added."""

    BINDINGS: ClassVar[list[BindingType]] = [enter_takes("kind.accept", "Add a workload of this kind")]

    def body(self) -> Iterable[Widget]:
        """Give the kinds with a line each."""
        yield Choices(id="kinds", ticks=False)

    def on_mount(self) -> None:
        """Show them."""
        shown = [Line(kind.value, kind.value, value=told) for kind, told, _ in parts.STARTS]
        self.query_one("#kinds", Choices).show_lines(shown)

    def on_choices_opened(self, event: Choices.Opened) -> None:
        """Take one."""
        self.dismiss(event.key)

    def action_accept(self) -> None:
        """Take the one that is looked at."""
        line = self.query_one("#kinds", Choices).looked_at
        if line is not None:
            self.dismiss(line.key)
