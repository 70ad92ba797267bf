"""The form of one workload; every keystroke is judged by the plan reader itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.views.plan_form import complaints, form_fields, table_of

Table = dict[str, object]


class WorkloadScreen(Dialog[Table]):
    """Ends with the workload's table as a plan file would have it; with nothing that the plan reader refuses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f10",
            "accept",
            "Take it",
            id="workload.accept",
            tooltip="Take the workload as it stands; enter too",
        ),
        Binding("up", "app.focus_previous", "Up", id="workload.up", tooltip="The field above", show=False),
        Binding("down", "app.focus_next", "Down", id="workload.down", tooltip="The field below", show=False),
    ]

    def __init__(self, tables: Sequence[Mapping[str, object]], number: int) -> None:
        """Tables are all workloads of the plan, number the place of this one among them."""
        super().__init__(f"Workload {number + 1}: {tables[number]['kind']}")
        self._tables, self._number = tuple(tables), number
        self._fields = form_fields(tables[number])

    def body(self) -> Iterable[Widget]:
        """Give a line for each field, with room for a sentence under it."""
        with VerticalScroll(id="form", can_focus=False):
            for field in self._fields:
                with Horizontal(classes="field"):
                    yield Label(plain(field.key))
                    yield Input(field.text, id=f"field-{field.key}", compact=True, select_on_focus=False)
                    yield Static(plain(field.hint), classes="hint")
                yield Static(plain(""), id=f"wrong-{field.key}", classes="wrong")

    def on_input_changed(self, _event: Input.Changed) -> None:
        """Show under its field what the plan reader would say."""
        self._judge()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Take it."""
        self.action_accept()

    def action_accept(self) -> None:
        """End with the table where nothing is wrong with it; else go to the field."""
        wrong = self._judge()
        if wrong:
            self.query_one(f"#field-{wrong}").focus()
        else:
            self.dismiss(self._table())

    def _judge(self) -> str:
        keys = [field.key for field in self._fields]
        before, after = self._tables[: self._number], self._tables[self._number + 1 :]
        wrong, words = complaints((*before, self._table(), *after), self._number, keys)
        for key in keys:
            below = self.query_one(f"#wrong-{key}", Static)
            below.update(plain(words if key == wrong else ""))
            below.display = key == wrong
        return wrong

    def _table(self) -> Table:
        texts = {field.key: self.query_one(f"#field-{field.key}", Input).value for field in self._fields}
        return table_of(str(self._tables[self._number]["kind"]), texts)
