"""The history of a run as one plot: throughput, dirty memory or CPU, of the whole cell or of the last minute."""

from __future__ import annotations

import math
from enum import Enum

from fsconsole.model.sample import Sample
from fsconsole.tui.views.gauges import read_limit, write_limit
from fsconsole.tui.views.history import MINUTE_S, Figures, Trace
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.tui.widgets.values import Mark, PlotValue, Series
from fsconsole.units import format_bytes, format_elapsed, format_rate


class Shown(str, Enum):
    """What is plotted; the values are shown."""

    THROUGHPUT = "throughput"
    DIRTY = "dirty memory"
    CPU = "CPU"

    @property
    def following(self) -> Shown:
        """What comes after it."""
        every = tuple(Shown)
        return every[(every.index(self) + 1) % len(every)]


_WRITE, _READ, _PENDING, _CPU = range(4)
_CURVES = {
    Shown.THROUGHPUT: ((_WRITE, "write", "write"), (_READ, "read", "read")),
    Shown.DIRTY: ((_PENDING, "dirty + writeback", "dirty"),),
    Shown.CPU: ((_CPU, "CPU busy", "cpu"),),
}
_LEAST_S = 10.0
_NAN = math.nan

Points = tuple[tuple[float, Figures], ...]


def plot(snapshot: Snapshot, shown: Shown, *, last_minute: bool) -> PlotValue:
    """Return the plot; behind the cell's curve lies that of the cell before it."""
    return _of_minute(snapshot, shown) if last_minute else _of_cell(snapshot, shown)


def _of_cell(snapshot: Snapshot, shown: Shown) -> PlotValue:
    history = snapshot.history
    current, previous = history.current, history.previous
    longest_s = max(_LEAST_S, *(_end_s(trace) for trace in (current, previous)))
    series = (
        [_series(shown, number, current.points) for number in range(len(_CURVES[shown]))] if current else []
    )
    if previous is not None:
        series.append(_behind(shown, previous))
    cell = "" if current is None else f"cell {current.cell + 1}, "
    return _value(snapshot, shown, tuple(series), (0.0, longest_s), f"{cell}{format_elapsed(longest_s)}")


def _of_minute(snapshot: Snapshot, shown: Shown) -> PlotValue:
    recent = snapshot.history.recent
    newest_ns = recent[-1][0] if recent else 0
    points: Points = tuple(((at_ns - newest_ns) / 1e9, figures) for at_ns, figures in recent)
    series = tuple(_series(shown, number, points) for number in range(len(_CURVES[shown])))
    return _value(snapshot, shown, series, (-MINUTE_S, 0.0), "the last minute")


def _value(
    snapshot: Snapshot, shown: Shown, series: tuple[Series, ...], span: tuple[float, float], x_text: str
) -> PlotValue:
    marks = _marks(snapshot.sample) if shown is Shown.DIRTY else ()
    y_max, y_text = _scale(snapshot, shown, series, marks)
    return PlotValue(series, span[0], span[1], y_max, y_text, x_text, marks)


def _scale(
    snapshot: Snapshot, shown: Shown, series: tuple[Series, ...], marks: tuple[Mark, ...]
) -> tuple[float, str]:
    if shown is Shown.CPU:
        return 100.0, "100 %"
    if shown is Shown.THROUGHPUT:
        highest = max(write_limit(snapshot)[0], read_limit(snapshot)[0], 1e6)
        return highest, format_rate(highest)
    known = [y for curve in series for _, y in curve.points if not math.isnan(y)]
    highest = max([*known, *(mark.value for mark in marks), 2.0**20])
    return highest, format_bytes(highest)


def _marks(sample: Sample | None) -> tuple[Mark, ...]:
    if sample is None:
        return ()
    writeback = sample.writeback
    named = ((writeback.background_threshold_bytes, "background"), (writeback.threshold_bytes, "limit"))
    return tuple(Mark(float(value), name) for value, name in named if value)


def _series(shown: Shown, number: int, points: Points) -> Series:
    figure, name, style = _CURVES[shown][number]
    return Series(name, _curve(points, figure), style)


def _behind(shown: Shown, trace: Trace) -> Series:
    figure, name, style = _CURVES[shown][0]
    return Series(f"{name}, cell {trace.cell + 1}", _curve(trace.points, figure), style, behind=True)


def _curve(points: Points, figure: int) -> tuple[tuple[float, float], ...]:
    return tuple((at_s, _NAN if (y := figures[figure]) is None else y) for at_s, figures in points)


def _end_s(trace: Trace | None) -> float:
    return trace.points[-1][0] + trace.slot_s if trace is not None and trace.points else 0.0
