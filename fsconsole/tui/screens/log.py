"""Log dialog: the commands of a cell with their outputs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.runs import list_outputs
from fsconsole.journal.folder import read_tail
from fsconsole.model.state import CellState
from fsconsole.show import run as view
from fsconsole.show.history import RunSnapshot
from fsconsole.tui import keys
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.lists import List
from fsconsole.tui.widgets.rows import Texts

_AGAIN_S = 1.0


class LogScreen(Dialog[None]):
    """Shows the commands of a cell, their exit codes and outputs; updated while the cell runs."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("log")

    def __init__(self, latest: Callable[[], RunSnapshot | None], cell: int) -> None:
        super().__init__()
        self._latest, self._cell = latest, cell
        self._shown: CellState | None = None

    def body(self) -> Iterable[Widget]:
        yield List(id="rows")

    def on_mount(self) -> None:
        self.query_one("#rows").focus()
        self.set_interval(_AGAIN_S, self._look)
        self.call_after_refresh(self._look)

    def action_other(self, by: int) -> None:
        snapshot = self._latest()
        if snapshot is not None:
            self._cell = max(0, min(self._cell + by, len(snapshot.state.cells) - 1))
            self.query_one("#rows", List).action_to(0)
            self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        """Read what is new, in a thread: outputs lie on a disk that may hang."""
        snapshot = self._latest()
        if snapshot is None or snapshot.state.cells[self._cell] is self._shown:
            return
        cell, folder = snapshot.state.cells[self._cell], snapshot.folder
        listed = self.query_one("#rows", List)
        width, is_imported = max(20, listed.size.width - 1), snapshot.is_imported

        def made() -> tuple[Texts, bool]:
            is_bare = is_imported and not list_outputs(folder)
            read = _no_output if is_bare else partial(read_tail, folder, limit=view.OUTPUT_BYTES)
            return Texts(view.log_rows(cell, read, width)), is_bare

        rows, is_bare = await asyncio.to_thread(made)
        if not self.is_active:
            # It is closed by now, or below the help: then it is looked at again.
            return
        self._shown = cell
        title = f"Cell {self._cell + 1} of {len(snapshot.state.cells)}: {snapshot.names.texts[self._cell]}"
        title += " (imported without outputs)" if is_bare else ""
        self.query_one("#dialog-title", Static).update(plain(title, "bold"))
        listed.show(lambda _width: rows)


def _no_output(_output: str) -> tuple[bytes, int]:
    return b"", 0
