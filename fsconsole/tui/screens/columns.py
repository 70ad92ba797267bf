"""Which columns the grid shows, and in which order."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from fsconsole.analysis.grid import Grid
from fsconsole.model.measurement import Metric
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.views.columns import choice_table, moved, toggled
from fsconsole.tui.views.results import column_help
from fsconsole.tui.widgets.footer import Footer
from fsconsole.tui.widgets.table import Table


class ColumnsScreen(Modal["tuple[Metric, ...] | None"]):
    """Ticks and orders columns; ends with them, empty for those shown unasked, or with None: as before."""

    CSS_PATH = "columns.tcss"
    HELP: ClassVar[str] = "Columns of the grid: what is ticked is shown, in the order of its places."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="columns.tick", tooltip="Show this column, or leave it out"),
        Binding("minus", "place(-1)", "Left", id="columns.left", tooltip="Further to the left"),
        Binding("plus", "place(1)", "Right", id="columns.right", tooltip="Further to the right"),
        Binding(
            "d", "unasked", "Default", id="columns.default", tooltip="The columns that are shown unasked"
        ),
        Binding("enter", "done", "Done", id="columns.done", tooltip="Show these", priority=True),
        Binding("escape", "dismiss(None)", "Cancel", id="columns.cancel", tooltip="As before"),
    ]

    def __init__(self, grid: Grid, chosen: tuple[Metric, ...], rule: str) -> None:
        super().__init__()
        self._grid = grid
        self._chosen = chosen
        self._rule = rule

    def compose(self) -> ComposeResult:
        """Give the list and what the column at the cursor means."""
        with Vertical(id="columns"):
            yield Static(plain("Columns of the grid", "bold"))
            yield Table(rule=self._rule, id="choice")
            yield Static(plain(""), id="meaning")
            yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Fill the list."""
        self._show()
        self.query_one(Table).focus()

    def on_table_moved(self) -> None:
        """Say what the column means."""
        self._explain()

    def action_tick(self) -> None:
        """Tick the column at the cursor, or take its tick away."""
        self._chosen = toggled(self._chosen, self._metric())
        self._show()

    def action_place(self, by: int) -> None:
        """Move the column at the cursor among those that are shown."""
        self._chosen = moved(self._chosen, self._metric(), by)
        self._show()

    def action_unasked(self) -> None:
        """Go back to the columns that a grid shows unasked."""
        self.dismiss(())

    def action_done(self) -> None:
        """End with what is ticked."""
        self.dismiss(self._chosen)

    def _metric(self) -> Metric:
        row = self.query_one(Table).row
        return Metric(row.key) if row is not None else Metric.DURABLE

    def _show(self) -> None:
        self.query_one(Table).show(choice_table(self._grid, self._chosen))
        self._explain()

    def _explain(self) -> None:
        self.query_one("#meaning", Static).update(plain(column_help(self._metric())))
