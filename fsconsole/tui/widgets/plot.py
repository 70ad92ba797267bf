"""A plot: curves over one scale, with thresholds and words."""

from __future__ import annotations

from fsconsole.tui.widgets.draw_plot import plot_lines
from fsconsole.tui.widgets.drawing import Line
from fsconsole.tui.widgets.drawn import Drawn
from fsconsole.tui.widgets.values import Mark, PlotValue, Series

__all__ = ["Mark", "Plot", "PlotValue", "Series"]


class Plot(Drawn):
    """Shows curves; it paints only what has changed."""

    DEFAULT_CSS = "Plot { height: 1fr; }"

    _value: PlotValue | None = None

    def show(self, value: PlotValue) -> None:
        """Show curves from now on."""
        self._value = value
        self.changed()

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the lines."""
        return plot_lines(self._value, width, height, self.glyphs) if self._value else ()
