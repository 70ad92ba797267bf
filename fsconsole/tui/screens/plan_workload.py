"""The form of one workload; every keystroke is judged by the plan reader itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fsconsole.tui.screens.form import FormScreen
from fsconsole.tui.views.plan_form import complaints, form_fields, table_of

Table = dict[str, object]


class WorkloadScreen(FormScreen[Table]):
    """Ends with the workload's table as a plan file would have it; with nothing that the plan reader refuses."""

    def __init__(self, tables: Sequence[Mapping[str, object]], number: int) -> None:
        """Tables are all workloads of the plan, number the place of this one among them."""
        super().__init__(f"Workload {number + 1}: {tables[number]['kind']}", form_fields(tables[number]))
        self._tables, self._number = tuple(tables), number

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return what the plan reader would say, and of which field."""
        before, after = self._tables[: self._number], self._tables[self._number + 1 :]
        return complaints((*before, self.result(texts), *after), self._number, tuple(texts))

    def result(self, texts: Mapping[str, str]) -> Table:
        """Return the workload's table."""
        return table_of(str(self._tables[self._number]["kind"]), texts)
