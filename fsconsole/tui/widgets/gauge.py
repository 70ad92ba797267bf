"""A gauge: one line with a label, a bar on a true scale, and the figure in words."""

from __future__ import annotations

from fsconsole.tui.terminal import Glyphs
from fsconsole.tui.widgets.draw_gauge import gauge_line
from fsconsole.tui.widgets.drawing import Line
from fsconsole.tui.widgets.drawn import Drawn
from fsconsole.tui.widgets.values import GaugeValue, Mark, Part

__all__ = ["Gauge", "GaugeValue", "Mark", "Part"]


class Gauge(Drawn):
    """Shows a figure on its scale; it paints only what has changed."""

    def __init__(
        self,
        label_width: int,
        *,
        text_width: int = 14,
        glyphs: Glyphs | None = None,
        id: str | None = None,  # noqa: A002 (Textual's own name)
        classes: str | None = None,
    ) -> None:
        super().__init__(glyphs, id=id, classes=classes)
        self._label_width, self._text_width = label_width, text_width
        self._value: GaugeValue | None = None

    def show(self, value: GaugeValue) -> None:
        """Show a value from now on."""
        if value != self._value:
            self._value = value
            self.changed()

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:  # noqa: ARG002 (it is one line high)
        """Return the line."""
        if self._value is None:
            return ()
        line = gauge_line(
            self._value, width, self.glyphs, label_width=self._label_width, text_width=self._text_width
        )
        return (line,)
