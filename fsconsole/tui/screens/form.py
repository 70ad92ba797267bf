"""A form of several fields, judged as it is typed by who will read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.dialog import Dialog, enter_takes
from fsconsole.tui.views.plan_form import FormField

T = TypeVar("T")


class FormScreen(Dialog[T]):
    """Ends with what the fields come to, with nothing in it that judged() has something against."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("form.accept", "Take it as it stands"),
        Binding("up", "app.focus_previous", "Up", id="form.up", tooltip="The field above", show=False),
        Binding("down", "app.focus_next", "Down", id="form.down", tooltip="The field below", show=False),
    ]

    def __init__(self, title: str, fields: Sequence[FormField]) -> None:
        super().__init__(title)
        self._fields = tuple(fields)

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return the key of the field with which something is wrong, and what; both empty where nothing is."""
        raise NotImplementedError

    def result(self, texts: Mapping[str, str]) -> T:
        """Return what faultless texts come to."""
        raise NotImplementedError

    def body(self) -> Iterable[Widget]:
        """Give a line for each field, with room for a sentence under it."""
        with VerticalScroll(id="form", can_focus=False):
            for field in self._fields:
                with Horizontal(classes="field -wide" if field.is_wide else "field"):
                    yield Label(plain(field.key))
                    yield Input(field.text, id=f"field-{field.key}", compact=True, select_on_focus=False)
                    if not field.is_wide:
                        yield Static(plain(field.hint), classes="hint")
                if field.is_wide:
                    yield Static(plain(field.hint), classes="below")
                yield Static(plain(""), id=f"wrong-{field.key}", classes="wrong")

    def on_input_changed(self, _event: Input.Changed) -> None:
        """Show under its field what is wrong."""
        self._judge()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take it."""
        self.action_accept()

    def action_accept(self) -> None:
        """End with it where nothing is wrong; else go to the field."""
        wrong = self._judge()
        if wrong:
            self.query_one(f"#field-{wrong}").focus()
        else:
            self.dismiss(self.result(self._texts()))

    def _judge(self) -> str:
        wrong, words = self.judged(self._texts())
        for field in self._fields:
            below = self.query_one(f"#wrong-{field.key}", Static)
            below.update(plain(words if field.key == wrong else ""))
            below.display = field.key == wrong
        return wrong

    def _texts(self) -> dict[str, str]:
        return {field.key: self.query_one(f"#field-{field.key}", Input).value for field in self._fields}
