"""Curves of a column over a numeric axis (threads, block size, read-ahead), one per variant or run, with intervals.

Nothing is ranked and no verdict is given: those stand in the grid. curves_text.py and curves_svg.py draw them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsconsole.errors.runs import NoCurves
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.model.statistics import ALPHA, interval
from fsconsole.model.verdicts import LEAST_ROUNDS, has_ratio
from fsconsole.results.axes import numbered, plain
from fsconsole.results.block_tables import block_title
from fsconsole.results.blocks import Block, BlockKind, BlockRow, GridChoice, blocks_of
from fsconsole.results.columns import figures_in
from fsconsole.results.grid import build_grid
from fsconsole.text import printable

LEAST_VALUES = 3
"""Of an axis: a curve through two points is a line."""
MOST_CURVES = 52
"""Each has a letter."""
_NEAREST = 8


@dataclass(frozen=True, slots=True)
class Point:
    """A figure at one value of the axis, both in base units; low and high bound its 95 % interval, None if too few rounds."""

    value: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Figures of one variant, at equal values of all other axes, in the order of x; name is printable."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Curves of one column over one axis; title is printable."""

    title: str
    metric: Metric
    axis: str
    curves: tuple[Curve, ...]
    left_out: int = 0
    """Curves beyond MOST_CURVES."""

    @property
    def points(self) -> tuple[Point, ...]:
        """All points of all curves."""
        return tuple(point for curve in self.curves for point in curve.points)

    @property
    def values(self) -> tuple[tuple[float, str], ...]:
        """Values of the axis, ascending, each with its text."""
        return tuple(sorted({point.x: point.value for point in self.points}.items()))

    @property
    def has_intervals(self) -> bool:
        """Whether any point has an interval."""
        return any(point.low is not None for point in self.points)


@dataclass(frozen=True, slots=True)
class CurveChoice:
    """Which curves are wanted; empty: each block's primary column, its first numeric axis, all variants."""

    metrics: tuple[Metric, ...] = ()
    axis: str = ""
    variant: str = ""


def charts_of(runs: Sequence[tuple[str, RunState]], choice: CurveChoice = CurveChoice()) -> tuple[CurveChart, ...]:
    """Return the charts of a run, or of several with their labels, which then stand in the names of curves.

    Blocks of several runs are one chart where load, column and axis have the same name. Raises NoCurves.
    """
    charts: dict[tuple[str, Metric, str], CurveChart] = {}
    axes: dict[str, None] = {}
    variants: dict[str, None] = {}
    for label, state in runs:
        blocks = blocks_of(state, build_grid(state), GridChoice(columns=choice.metrics))
        for block in blocks:
            variants |= dict.fromkeys(row.name for row in block.rows if block.kind is not BlockKind.RAW)
            axes |= dict.fromkeys(numeric_axes(block))
            for found in _charts(block, choice, label if len(runs) > 1 else ""):
                key = (block.name, found.metric, plain(found.axis))
                known = charts.get(key)
                joined = known.curves + found.curves if known is not None else found.curves
                charts[key] = CurveChart(known.title if known else found.title, found.metric, found.axis, joined)
    if not charts:
        raise NoCurves(why=_why(choice, tuple(axes), tuple(variants)))
    return tuple(_limited(chart) for chart in charts.values())


def numeric_axes(block: Block) -> tuple[str, ...]:
    """Return a block's axes that have at least LEAST_VALUES values, all of them numbers or sizes."""
    if block.kind is BlockKind.RAW:
        return ()
    return tuple(
        axis
        for place, axis in enumerate(block.axes)
        if len(values := {row.axes[place] for row in block.rows}) >= LEAST_VALUES
        and all(numbered(value)[0] == 0 for value in values)
    )


def block_charts(block: Block, choice: CurveChoice = CurveChoice()) -> tuple[CurveChart, ...]:
    """Return the charts of one block; none where no axis or column of it is wanted or can be drawn."""
    return tuple(_limited(chart) for chart in _charts(block, choice, ""))


def _charts(block: Block, choice: CurveChoice, label: str) -> Iterable[CurveChart]:
    axes = [axis for axis in numeric_axes(block) if choice.axis in ("", axis) or plain(choice.axis) == plain(axis)]
    rows = [row for row in block.rows if choice.variant in ("", row.name)]
    if not axes or not rows:
        return
    axis = axes[0]
    present = figures_in(block.load, [row.row for row in rows])
    wanted = choice.metrics or (block.metric,)
    for metric in wanted:
        if metric in present:
            curves = _curves(rows, block.axes.index(axis), metric, label, is_one=bool(choice.variant))
            yield CurveChart(block_title(block), metric, axis, curves)


def _curves(rows: Sequence[BlockRow], at: int, metric: Metric, label: str, *, is_one: bool) -> tuple[Curve, ...]:
    """Return a curve for each name and values of the other axes, by name: equal letters in all charts, and no ranks."""
    found: dict[tuple[str, ...], list[Point]] = {}
    for row in rows:
        points = found.setdefault((row.name, *row.axes[:at], *row.axes[at + 1 :]), [])
        if (point := _point(row, row.axes[at], metric)) is not None:
            points.append(point)
    named = (
        (", ".join(filter(None, ("" if is_one and label else name, *others, label))), points)
        for (name, *others), points in sorted(found.items(), key=lambda one: tuple(map(numbered, one[0])))
    )
    return tuple(
        Curve(printable(name), tuple(sorted(points, key=lambda one: one.x))) for name, points in named if points
    )


def _point(row: BlockRow, value: str, metric: Metric) -> Point | None:
    y = row.row.estimate(metric)
    if y is None or not math.isfinite(y):
        return None
    readings = list(row.row.readings(metric).values())
    x = numbered(value)[1]
    if len(readings) < LEAST_ROUNDS:
        return Point(value, x, y)
    values = [one.value for one in readings]
    if has_ratio(readings, metric):
        of = interval([math.log(one) for one in values], ALPHA)
        return Point(value, x, y, math.exp(of.low), math.exp(min(of.high, _LARGEST_LOG)))
    of = interval(values, ALPHA)
    return Point(value, x, y, of.low, of.high)


_LARGEST_LOG = 700.0
"""math.exp() has no number from 709 on."""


def _limited(chart: CurveChart) -> CurveChart:
    left_out = max(0, len(chart.curves) - MOST_CURVES)
    return CurveChart(chart.title, chart.metric, chart.axis, chart.curves[:MOST_CURVES], left_out)


def _why(choice: CurveChoice, axes: Sequence[str], variants: Sequence[str]) -> str:
    if choice.variant and choice.variant not in variants:
        return f"there is no variant '{choice.variant}', of {', '.join(variants[:_NEAREST])}"
    if not axes:
        return f"no axis has {LEAST_VALUES} or more numbers or sizes as its values"
    if choice.axis and plain(choice.axis) not in map(plain, axes):
        return f"'{choice.axis}' is none of the axes {', '.join(axes[:_NEAREST])}"
    return "no load that varies along an axis has figures of these columns"


def positions(chart: CurveChart) -> dict[float, float]:
    """Return where each value of the axis stands, from 0 to 1: its logarithm, with 0 one step before the lowest."""
    known = [x for x, _ in chart.values]
    logs = {x: math.log2(x) for x in known if x > 0}
    below = min(logs.values(), default=0.0) - 1
    places = {x: logs.get(x, below) for x in known}
    least, most = min(places.values()), max(places.values())
    return {x: (place - least) / (most - least) if most > least else 0.5 for x, place in places.items()}


_TOPS = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
"""Each has four whole parts of a round number."""
_INTERVALS_TO = 1.5
"""Times the largest figure: wider intervals are cut at the top."""


def top_of(chart: CurveChart, factor: float) -> float:
    """Return the top of the scale in base units: a round number of units of that factor; the bottom is 0."""
    largest = max((point.y for point in chart.points), default=0.0)
    highest = max((point.high or 0.0 for point in chart.points), default=0.0)
    wanted = max(largest, min(highest, largest * _INTERVALS_TO)) / factor
    if not 0 < wanted < math.inf:
        return factor
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((top * power for top in _TOPS if top * power >= wanted * (1 - 1e-9)), 10 * power) * factor


def is_cut(point: Point, top: float) -> bool:
    """Return whether a point's interval ends above the top of the scale."""
    return point.high is not None and point.high > top * (1 + 1e-9)


def notes_of(chart: CurveChart, top: float, *, mark: str, cut: str) -> tuple[str, ...]:
    """Return sentences for below a chart; mark is what an interval is drawn as, cut one that ends above the top."""
    notes = [f"{mark} 95 % interval of each figure over its rounds."] if chart.has_intervals else []
    if any(is_cut(point, top) for point in chart.points):
        notes.append(f"{cut} it ends above the scale.")
    if any(point.low is None for point in chart.points):
        notes.append(f"Intervals need {LEAST_ROUNDS} rounds.")
    if chart.left_out:
        notes.append(f"{chart.left_out} more curves are not drawn: choose a variant.")
    return tuple(notes)
