"""The pane that tells of the line at the cursor of a list, in as many rows as it needs and has room for."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from fsconsole.show.lines import Line, told_rows
from fsconsole.tui.terminal import lines, plain


class Told(Static):
    """It takes more rows only for what needs them, so that the list above it mostly stays as it is."""

    _line = Line("", "")
    _least = _most = 1

    def tell(self, line: Line, least: int, most: int) -> None:
        """Show what is told of a line, in so many rows at least, and at most."""
        self._line, self._least, self._most = line, least, max(least, most)
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        if not self.size.width:  # It has no place yet.
            return
        rows = told_rows(self._line, self.size.width, self._most)
        told = lines(*(plain(row.text, f"${row.tone}" if row.tone else "") for row in rows))
        if not (isinstance(self.content, Content) and self.content.is_same(told)):
            self.update(told, layout=False)
        # The same height again is no reason to lay the screen out.
        self.styles.height = max(self._least, len(rows))
