"""Values of gauges, plots and histograms; the console's widgets draw them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold on a scale."""

    value: float
    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar, from the left."""

    value: float
    kind: str
    """A word that maps to a shade and a colour: user, system, iowait, read, write... (drawing.KINDS)."""


RING_SLOTS = 60


@dataclass(frozen=True, slots=True)
class Ring:
    """The last minute of a gauge, a slot a second: the write position moves around, and nothing scrolls."""

    slots: tuple[float | None, ...]
    at: int
    """The slot that was written last; those after it are the oldest."""


@dataclass(frozen=True, slots=True)
class GaugeValue:
    """A figure on its true scale, 0 to maximum, in one unit."""

    label: str
    value: float | None
    """None: not available."""
    maximum: float
    text: str
    """The figure in words, with its unit."""
    marks: tuple[Threshold, ...] = ()
    parts: tuple[Part, ...] = ()
    """Parts of the bar; empty: the value alone."""
    end: str = ""
    """The end of the scale in words, where it isn't fixed."""
    history: Ring | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A curve: points (x, y) in any order; a y that is no number (nan) is a gap."""

    name: str
    points: tuple[tuple[float, float], ...]
    style: str
    """A word that maps to a colour, as Part.kind does."""
    behind: bool = False
    """True if it is drawn faintly, behind the others: the curve of the cell before."""


@dataclass(frozen=True, slots=True)
class PlotValue:
    """Curves over one scale: x_min to x_max, 0 to y_max."""

    series: tuple[Series, ...]
    """The first that isn't behind is an area, the others are lines over it."""
    x_min: float
    x_max: float
    y_max: float
    y_text: str
    """y_max in words, with its unit."""
    x_text: str
    """Width in words."""
    marks: tuple[Threshold, ...] = ()
    gutter: int = 0
    """Least cells of its labels: plots below each other begin in one column."""
    steps: tuple[Threshold, ...] = ()
    """Starts of steps on the axis."""


@dataclass(frozen=True, slots=True)
class Strips:
    """Charts below each other over one axis, with one left edge and width; the first one has the axis."""

    plots: tuple[PlotValue, ...]


@dataclass(frozen=True, slots=True)
class HistogramValue:
    """Rows of (label, count, count in words)."""

    rows: tuple[tuple[str, float, str], ...]
    least_top: float = 0.0
    """Least count of a full bar: histograms side by side share it."""


_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)


def round_above(value: float) -> float:
    """Return the next round number above a value, as the end of a scale that nothing fills; 0 for 0."""
    if not value > 0 or math.isinf(value):
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in _ROUND if step * power > value * _ABOVE)


_ABOVE = 1.02
"""A bar that ends within 2 % of its scale would be drawn full."""
