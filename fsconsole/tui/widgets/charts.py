"""The console's one chart: it paints columns of characters, and of those only what has changed."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from fsconsole.tui.session import session_of
from fsconsole.tui.widgets.drawing import KINDS, ChartValue, Line, chart_lines, difference, runs
from fsconsole.tui.widgets.lists import Toned


class Chart(Toned):
    """A plot, or gauges below each other."""

    TONE_CLASSES: ClassVar[frozenset[str]] = frozenset(f"chart--{kind}" for kind in KINDS)
    DEFAULT_CSS = """
    Chart { height: 1; background: transparent; }
    Chart > .chart--value, Chart > .chart--user, Chart > .chart--cpu, Chart > .chart--queue { color: $primary; }
    Chart > .chart--read { color: $success; }
    Chart > .chart--write { color: $primary; }
    Chart > .chart--dirty, Chart > .chart--system { color: $warning; }
    Chart > .chart--writeback { color: $accent; }
    Chart > .chart--iowait, Chart > .chart--waiting { color: $secondary; }
    Chart > .chart--irq, Chart > .chart--softirq, Chart > .chart--steal, Chart > .chart--bad { color: $error; }
    Chart > .chart--good, Chart > .chart--nice { color: $success; }
    Chart > .chart--mark { color: $warning; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._value: ChartValue = ()
        self._painted: tuple[Line, ...] = ()
        self._painted_at = (0, 0)

    def show(self, value: ChartValue) -> None:
        """Show curves, or gauges, from now on; paint the columns that differ from what was painted."""
        if value == self._value:
            return
        self._value = value
        if not self.is_mounted or not self.size:
            # What was painted, in whatever size, was of another value.
            self._painted_at = (0, 0)
            return
        size = (self.size.width, self.size.height)
        before, after = self._painted, self._drawn()
        known, self._painted, self._painted_at = self._painted_at == size, after, size
        if not known or len(before) != len(after):
            self.refresh()
            return
        spans = [difference(old, new) for old, new in zip(before, after, strict=True)]
        regions = [Region(column, y, count, 1) for y, (column, count) in enumerate(spans) if count]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._painted_at != (width, height):
            self._painted, self._painted_at = self._drawn(), (width, height)
        if y >= len(self._painted):
            return Strip.blank(width, self.rich_style)
        segments = [
            Segment(text, self.tone_style(f"chart--{kind if kind in KINDS else 'value'}"))
            for text, kind in runs(self._painted[y])
        ]
        return Strip(segments, width)

    def _drawn(self) -> tuple[Line, ...]:
        glyphs = session_of(self).terminal.glyphs
        return chart_lines(self._value, self.size.width, self.size.height, glyphs)
