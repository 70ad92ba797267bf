"""The log of one cell, over the Run screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from fsconsole.journal.raw import read_tail
from fsconsole.model.state import CellState
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.views.log import OUTPUT_BYTES, log_rows, log_title
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.tui.widgets.rowlist import RowList

_AGAIN_S = 1.0


class LogScreen(Modal[None]):
    """Shows the commands of a cell, their exit codes and their outputs; it grows while the cell goes on."""

    CSS_PATH = "log.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,l,q", "dismiss", "Close", id="log.close", tooltip="Back to the run"),
        Binding("left", "other(-1)", "Cell before", id="log.before", tooltip="The cell before"),
        Binding("right", "other(1)", "Next cell", id="log.next", tooltip="The next cell"),
    ]

    def __init__(self, latest: Callable[[], Snapshot | None], cell: int) -> None:
        super().__init__()
        self._latest = latest
        self._cell = cell
        self._shown: CellState | None = None

    def compose(self) -> ComposeResult:
        """Give the title, and room for the rows."""
        with Vertical(id="log"):
            yield Static(plain(""), id="title")
            yield RowList(id="rows", has_cursor=False)
            yield Static(plain("esc closes; left and right: other cells", "dim"), id="keys")

    def on_mount(self) -> None:
        """Show the cell, and whatever comes to it."""
        self.query_one("#rows").focus()
        self.set_interval(_AGAIN_S, self._look)
        self.call_after_refresh(self._look)

    def action_other(self, by: int) -> None:
        """Show another cell."""
        snapshot = self._latest()
        if snapshot is not None:
            self._cell = max(0, min(self._cell + by, len(snapshot.state.cells) - 1))
            self.query_one("#rows", RowList).follow()
            self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        """Read what is new, in a thread: outputs lie on a disk that may hang."""
        snapshot = self._latest()
        if snapshot is None or snapshot.state.cells[self._cell] is self._shown:
            return
        cell = snapshot.state.cells[self._cell]
        listed = self.query_one("#rows", RowList)
        read = partial(read_tail, snapshot.folder, limit=OUTPUT_BYTES)
        rows = await asyncio.to_thread(log_rows, cell, read, max(20, listed.size.width - 1))
        self._shown = cell
        self.query_one("#title", Static).update(plain(log_title(snapshot.state, snapshot.names, self._cell)))
        listed.show(len(rows), lambda number, _: rows[number])
