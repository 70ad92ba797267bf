"""The curves of one cell: what was moved, what was dirty, what the CPUs did. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan

from fsconsole.journal.curve import CurvePoint
from fsconsole.model.state import CellState, StepState
from fsconsole.report.cells import cells_of
from fsconsole.tui.widgets.values import Mark, PlotValue, Series
from fsconsole.units import format_bytes, format_guess, format_rate

_LEAST_SHARE = 0.04
"""Steps that take less of a cell are not named."""
_LONG_S = 10.0
"""Below that, tenths of a second tell steps apart."""


def begun_ns(cell: CellState) -> int:
    """Return when a cell began, by CLOCK_MONOTONIC; 0 where it did not."""
    return cell.steps[0].started_monotonic_ns if cell.steps else 0


def curves(cell: CellState, points: Sequence[CurvePoint]) -> tuple[PlotValue, PlotValue, PlotValue]:
    """Return throughput, dirty pages and CPU over a cell's life."""
    length_s = _length_s(cell, points)
    return (
        _throughput(cell, points, length_s),
        _dirty(cell, points, length_s),
        _cpu(cell, points, length_s),
    )


def steps_in_words(cell: CellState, width: int) -> str:
    """Return when the longer steps began and ended, as many as find room: "workload 8-54 s, drain 54-57 s"."""
    length_s = _length_s(cell, ())
    digits = 0 if length_s >= _LONG_S else 1
    long = [step for step in cell.steps if step.elapsed_s and step.elapsed_s >= _LEAST_SHARE * length_s]
    while long:
        said = ", ".join(_span(cell, step, digits) for step in long)
        if cells_of(said) <= width:
            return said
        long.remove(min(long, key=lambda step: step.elapsed_s))
    return ""


def _span(cell: CellState, step: StepState, digits: int) -> str:
    begin_s = (step.started_monotonic_ns - begun_ns(cell)) / 1e9
    return f"{step.kind.value} {begin_s:.{digits}f}-{begin_s + step.elapsed_s:.{digits}f} s"


def _length_s(cell: CellState, points: Sequence[CurvePoint]) -> float:
    ends = [step.started_monotonic_ns + step.elapsed_s * 1e9 for step in cell.steps]
    ends += [point.monotonic_ns for point in points[-1:]]
    return max(0.001, (max(ends, default=0) - begun_ns(cell)) / 1e9)


def _throughput(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    all_series = (
        _series(cell, points, "device write", "write", lambda point: point.write_bytes_s),
        _series(cell, points, "device read", "read", lambda point: point.read_bytes_s),
        _series(cell, points, "application", "value", lambda point: point.load_bytes_s),
    )
    series = tuple(one for one in all_series if not all(isnan(y) for _, y in one.points)) or all_series[:1]
    highest = max((y for one in series for _, y in one.points if not isnan(y)), default=1.0)
    return PlotValue(series, 0.0, length_s, highest, format_rate(highest), format_guess(length_s))


def _dirty(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    series = _series(cell, points, "dirty and under writeback", "dirty", lambda point: point.pending_bytes)
    highest = max((y for _, y in series.points if not isnan(y)), default=0.0)
    thresholds = [
        Mark(value, name)
        for name, value in (
            ("background", _last(points, lambda point: point.background_bytes)),
            ("limit", _last(points, lambda point: point.threshold_bytes)),
        )
        if value
    ]
    # The scale ends at the first threshold that was not reached: how far away it was is what counts.
    above = [mark.value for mark in thresholds if mark.value >= highest]
    top = min(above, default=highest) or 1.0
    return PlotValue(
        (series,), 0.0, length_s, top, format_bytes(top), format_guess(length_s), tuple(thresholds)
    )


def _cpu(cell: CellState, points: Sequence[CurvePoint], length_s: float) -> PlotValue:
    series = (
        _series(cell, points, "CPU busy", "cpu", lambda point: point.busy_percent),
        _series(cell, points, "waiting for I/O", "iowait", lambda point: point.iowait_percent),
    )
    return PlotValue(series, 0.0, length_s, 100.0, "100 %", format_guess(length_s))


def _series(
    cell: CellState,
    points: Sequence[CurvePoint],
    name: str,
    style: str,
    figure: Callable[[CurvePoint], float | None],
) -> Series:
    begun = begun_ns(cell)
    found = tuple(
        # Nothing moved is nothing drawn: the least that a plot draws is a row.
        ((point.monotonic_ns - begun) / 1e9, value or nan)
        for point in points
        if (value := figure(point)) is not None
    )
    return Series(name, found, style)


def _last(points: Sequence[CurvePoint], figure: Callable[[CurvePoint], float | None]) -> float | None:
    return figure(points[-1]) if points else None
