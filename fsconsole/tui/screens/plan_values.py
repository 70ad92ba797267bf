"""The values that an option or a setting shall take: ticked, or typed and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.errors import FsconsoleError, PlanBadValue
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.dialog import Dialog, enter_takes
from fsconsole.tui.views.lines import Line, Mark
from fsconsole.tui.widgets.choices import Choices


class ValuesScreen(Dialog[tuple[str, ...]]):
    """Ends with the ticked values in the order of the list; several are compared, none leaves it to the tools."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("values.accept", "Take what is ticked; where nothing is, the line that is looked at"),
        Binding("up", "app.focus_previous", "Up", id="values.up", tooltip="Back to the list", show=False),
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
        self._is_touched = bool(chosen)
        """Whether nothing ticked is what the operator wants, and not where he began."""

    def body(self) -> Iterable[Widget]:
        """Give the list, and a field where values may be typed."""
        yield Static(plain(self._told), classes="told")
        yield Choices(id="values")
        if self._typed is not None:
            yield Input(placeholder="another value; several: with commas", id="typed-value", compact=True)

    def on_mount(self) -> None:
        """Begin with what is ticked now."""
        self._show()
        if not self._values and self._typed is not None:
            self.query_one("#typed-value").focus()

    def on_choices_ticked(self, event: Choices.Ticked) -> None:
        """Tick a value, or untick it."""
        self._chosen ^= {event.key}
        self._is_touched = True
        self._show()

    def on_choices_opened(self, event: Choices.Opened) -> None:
        """Take what is ticked, or this value where there was nothing to untick."""
        if not self._is_touched and self._refused.get(event.key):
            return
        if not self._is_touched:
            self._chosen = {event.key}
        self.action_accept()

    def on_choices_looked(self, event: Choices.Looked) -> None:
        """Say what speaks against the value."""
        self.complain(" ".join(event.line.about))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say at once what is wrong."""
        self._is_touched = self._is_touched or bool(event.value)
        self._typed_values(event.value)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take what is ticked and what is typed."""
        self.action_accept()

    def action_accept(self) -> None:
        """End with what is ticked and typed, where nothing is wrong with it."""
        text = self.query_one("#typed-value", Input).value if self._typed is not None else ""
        found = self._typed_values(text)
        if found is not None:
            wanted = (*(value for value in self._values if value in self._chosen), *found)
            self.dismiss(tuple(dict.fromkeys(wanted)))

    def _typed_values(self, text: str) -> tuple[str, ...] | None:
        """Return the values that a text comes to; None where one is refused, which is said."""
        self.complain("")
        try:
            return tuple(map(self._judged, filter(None, map(str.strip, text.split(",")))))
        except PlanBadValue as error:
            self.complain(f"{error.why}: {error.wanted}")
        except FsconsoleError as error:
            self.complain(str(error))
        return None

    def _judged(self, word: str) -> str:
        return self._typed(word) if self._typed is not None else word

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
