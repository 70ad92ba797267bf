"""A histogram: horizontal bars with labels and counts, of extents or latencies."""

from __future__ import annotations

from fsconsole.tui.widgets.draw_histogram import histogram_lines
from fsconsole.tui.widgets.drawing import Line
from fsconsole.tui.widgets.drawn import Drawn
from fsconsole.tui.widgets.values import HistogramValue

__all__ = ["Histogram", "HistogramValue"]


class Histogram(Drawn):
    """Shows bars, as many lines high as there are rows."""

    DEFAULT_CSS = "Histogram { height: auto; }"

    _value: HistogramValue = HistogramValue(())

    def show(self, value: HistogramValue) -> None:
        """Show bars from now on."""
        taller = len(value.rows) != len(self._value.rows)
        self._value = value
        if taller:
            self.refresh(layout=True)
        self.changed()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:  # noqa: ARG002
        """Return a line for each row."""
        return max(len(self._value.rows), 1)

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the lines."""
        return histogram_lines(self._value, width, self.glyphs)[:height]
