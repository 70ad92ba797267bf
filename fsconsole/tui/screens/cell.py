"""One cell of a run: to come."""

from __future__ import annotations

from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens.base import ConsoleScreen


class CellScreen(ConsoleScreen):
    """To come."""

    def __init__(self, folder: RunFolder, cells: tuple[int, ...], name: str) -> None:
        super().__init__()
        self._folder, self._cells, self._row = folder, cells, name
