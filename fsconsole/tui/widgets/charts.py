"""A widget that paints columns of characters, and of those only what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from fsconsole.show.charts import GaugeValue, HistogramValue, PlotValue
from fsconsole.show.terminal import Glyphs
from fsconsole.tui.widgets.drawing import (
    KINDS,
    Line,
    difference,
    gauge_line,
    histogram_lines,
    plot_lines,
    runs,
)

if TYPE_CHECKING:
    from fsconsole.tui.session import Host


class Drawn(Widget):
    """Paints what drawn() gives for its size; subclasses call changed() when their value is another one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"drawn--{kind}" for kind in KINDS}
    DEFAULT_CSS = """
    Drawn { height: 1; background: transparent; }
    Drawn > .drawn--value, Drawn > .drawn--user, Drawn > .drawn--cpu, Drawn > .drawn--queue { color: $primary; }
    Drawn > .drawn--read { color: $success; }
    Drawn > .drawn--write { color: $primary; }
    Drawn > .drawn--dirty, Drawn > .drawn--system { color: $warning; }
    Drawn > .drawn--writeback { color: $accent; }
    Drawn > .drawn--iowait, Drawn > .drawn--waiting { color: $secondary; }
    Drawn > .drawn--irq, Drawn > .drawn--softirq, Drawn > .drawn--steal, Drawn > .drawn--bad { color: $error; }
    Drawn > .drawn--good, Drawn > .drawn--nice { color: $success; }
    Drawn > .drawn--mark { color: $warning; text-style: bold; }
    """

    def __init__(
        self,
        glyphs: Glyphs | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._given_glyphs = glyphs
        self._painted: tuple[Line, ...] = ()
        self._painted_at = (0, 0)
        self._styles: dict[str, Style] = {}
        """Textual forgets what styles look like with each painting, and works them out for a third of its time."""

    @property
    def glyphs(self) -> Glyphs:
        """What may be drawn with: as given, or the terminal's."""
        return self._given_glyphs or cast("Host", self.app).session.terminal.glyphs

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return height lines of width columns."""
        return ()

    def changed(self) -> None:
        """Paint anew the columns that differ from what was painted."""
        if not self.is_mounted or not self.size:
            # What was painted, in whatever size, was of another value.
            self._painted_at = (0, 0)
            return
        size = (self.size.width, self.size.height)
        before, after = self._painted, self.drawn(*size)
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
            self._painted, self._painted_at = self.drawn(width, height), (width, height)
        if y >= len(self._painted):
            return Strip.blank(width, self.rich_style)
        segments = [Segment(text, self._style(kind)) for text, kind in runs(self._painted[y])]
        return Strip(segments, width)

    def _style(self, kind: str) -> Style:
        known = self._styles.get(kind)
        if known is None:
            name = kind if kind in KINDS else "value"
            known = self._styles[kind] = self.get_component_rich_style(f"drawn--{name}")
        return known

    def notify_style_update(self) -> None:
        """Look styles up anew."""
        self._styles.clear()
        super().notify_style_update()


# A gauge: one line with a label, a bar on a true scale, and the figure in words.


class Gauge(Drawn):
    """Shows a figure on its scale; it paints only what has changed."""

    def __init__(
        self,
        label_width: int,
        *,
        text_width: int = 14,
        glyphs: Glyphs | None = None,
        id: str | None = None,
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

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the line."""
        if self._value is None:
            return ()
        line = gauge_line(
            self._value, width, self.glyphs, label_width=self._label_width, text_width=self._text_width
        )
        return (line,)


# A histogram: horizontal bars with labels and counts, of extents or latencies.


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

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(len(self._value.rows), 1)

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the lines."""
        return histogram_lines(self._value, width, self.glyphs)[:height]


# A plot: curves over one scale, with thresholds and words.


class Plot(Drawn):
    """Shows curves; it paints only what has changed."""

    DEFAULT_CSS = "Plot { height: 1fr; }"

    _value: PlotValue | None = None

    def show(self, value: PlotValue) -> None:
        """Show curves from now on."""
        if value != self._value:
            self._value = value
            self.changed()

    def drawn(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the lines."""
        return plot_lines(self._value, width, height, self.glyphs) if self._value else ()
