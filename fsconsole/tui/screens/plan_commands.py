"""The exact commands of any cell, as `fsconsole plan` prints them: a cell can be repeated by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.children import Children, answer
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Cell
from fsconsole.tui import planfiles
from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.screens.plan_section import number_in
from fsconsole.tui.views.plan_commands import cell_lines, commands_by_cell
from fsconsole.tui.widgets.choices import Choices
from fsconsole.tui.widgets.sift import Sift

_AT_ONCE = 60
"""Of so many cells all commands are asked for together; those of 10,000 are 70 MB."""
_SETTLE_S = 0.15
"""A cell's commands are asked for when it has been looked at for so long."""


class CommandsScreen(Dialog[None]):
    """Shows cells above and the steps of one below; the plan's text is handed to `fsconsole plan`, which touches nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "find",
            "Find",
            id="commands.find",
            tooltip="Show only cells with some words",
            key_display="/",
        ),
    ]

    def __init__(
        self, cells: Sequence[Cell], text: str, targets: Sequence[str], children: Children, runs_dir: str
    ) -> None:
        super().__init__("Commands of each cell, in the order of the run")
        self._cells = tuple(cells)
        self._text, self._targets = text, tuple(targets)
        self._children, self._runs_dir = children, runs_dir
        self._known: dict[str, tuple[str, ...]] = {}

    def body(self) -> Iterable[Widget]:
        """Give the list of cells and the commands of one."""
        yield Sift(Choices(id="cells", ticks=False), "cells")
        with VerticalScroll(id="commands"):
            yield Static(plain("There is no cell: no variant is ticked."), id="steps")

    def on_mount(self) -> None:
        """Show the cells."""
        self.query_one(Sift).show_lines(cell_lines(self._cells))
        self.query_one("#cells").focus()

    def on_choices_looked(self, event: Choices.Looked) -> None:
        """Show the commands of the cell that is looked at; ask for them where they are not known yet."""
        if event.line.key in self._known:
            self._show(self._known[event.line.key])
        else:
            self._show(("asking `fsconsole plan` ...",))
            self.run_worker(self._ask(event.line.key), exclusive=True)

    def on_choices_opened(self, _event: Choices.Opened) -> None:
        """Go to the commands, which may be longer than the screen."""
        self.query_one("#commands").focus()

    def action_find(self) -> None:
        """Narrow the list of cells."""
        self.query_one(Sift).find()

    async def _ask(self, key: str) -> None:
        is_small = len(self._cells) <= _AT_ONCE
        try:
            if not is_small:
                await asyncio.sleep(_SETTLE_S)
            self._known |= commands_by_cell(
                await self._plan(() if is_small else ("--cell", str(number_in(key))))
            )
        except FsconsoleError as error:
            self._show((f"{error} {error.hint}",))
            return
        line = self.query_one("#cells", Choices).looked_at
        if line is not None and line.key in self._known:
            self._show(self._known[line.key])

    def _show(self, text: Sequence[str]) -> None:
        self.query_one("#steps", Static).update(lines(*map(plain, text)))
        self.query_one("#commands").scroll_home(animate=False)

    async def _plan(self, which: Sequence[str]) -> object:
        path = planfiles.keep_for_run(self._text)
        try:
            devices = [word for target in self._targets for word in ("--device", target)]
            looked_at = (*devices, "--runs", self._runs_dir) if devices else ()
            return await answer(self._children, "plan", path, *which, *looked_at)
        finally:
            planfiles.forget(path)
