"""The values that an option or a setting shall take: ticked, or typed and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.errors import FsconsoleError, PlanBadValue
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.views.lines import Line, Mark
from fsconsole.tui.widgets.choices import Choices


class ValuesScreen(Dialog[tuple[str, ...]]):
    """Ends with the ticked values in the order of the list; several are compared, none leaves it to the tools."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f10", "accept", "Take these", id="values.accept", tooltip="Take what is ticked"),
    ]

    def __init__(
        self,
        title: str,
        told: str,
        known: Sequence[tuple[str, str]],
        chosen: Sequence[str],
        typed: Callable[[str], str] | None,
    ) -> None:
        """Known are (value, why it is refused here); typed gives a typed value as it goes into the plan, or raises."""
        super().__init__(title)
        self._told, self._typed = told, typed
        self._refused = dict(known)
        self._values = list(dict.fromkeys((*self._refused, *chosen)))
        self._chosen = set(chosen)

    def body(self) -> Iterable[Widget]:
        """Give the list, and a field where values may be typed."""
        yield Static(plain(self._told), classes="told")
        yield Choices(id="values")
        if self._typed is not None:
            yield Input(placeholder="another value, then enter", id="typed-value", compact=True)

    def on_mount(self) -> None:
        """Begin with what is ticked now."""
        self._show()
        if not self._values and self._typed is not None:
            self.query_one("#typed-value").focus()

    def on_choices_ticked(self, event: Choices.Ticked) -> None:
        """Tick a value, or untick it."""
        self._chosen ^= {event.key}
        self._show()

    def on_choices_opened(self, _event: Choices.Opened) -> None:
        """Take what is ticked."""
        self.action_accept()

    def on_choices_looked(self, event: Choices.Looked) -> None:
        """Say what speaks against the value."""
        self.complain(" ".join(event.line.about))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say at once what is wrong."""
        self._checked(event.value) if event.value else self.complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Add a typed value, ticked; without one take what is ticked."""
        if not event.value:
            self.action_accept()
            return
        for value in self._checked(event.value):
            self._values = list(dict.fromkeys((*self._values, value)))
            self._chosen.add(value)
            event.input.clear()
            self._show()

    def action_accept(self) -> None:
        """End with what is ticked."""
        self.dismiss(tuple(value for value in self._values if value in self._chosen))

    def _checked(self, text: str) -> tuple[str, ...]:
        """Return the value that a text comes to; nothing where it is refused, which is said."""
        if self._typed is None:
            return ()
        try:
            value = self._typed(text.strip())
        except PlanBadValue as error:
            self.complain(f"{error.why}: {error.wanted}")
            return ()
        except FsconsoleError as error:
            self.complain(str(error))
            return ()
        self.complain("")
        return (value,)

    def _show(self) -> None:
        self.query_one("#values", Choices).show_lines(
            [
                Line(
                    value,
                    value,
                    Mark.ON if value in self._chosen else Mark.OFF,
                    "refused" if self._refused.get(value) else "",
                    (f"{value}: {self._refused[value]}.",) if self._refused.get(value) else (),
                )
                for value in self._values
            ]
        )
