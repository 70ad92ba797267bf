"""Curves reduced to one value a column: the highest, so that no peak is lost; missing data stays a gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from fsconsole.tui.widgets.values import Series

_GAP_SPACINGS = 3.0
"""Samples come at a rate; where they are further apart than this many times their usual distance, some are missing."""


def columns_of(series: Series, x_min: float, x_max: float, width: int) -> list[float | None]:
    """Return the highest y of each column, None where nothing is known; y keeps its unit.

    A sample tells of the time since the one before, so the columns between two samples get the later one's value.
    """
    found: list[float | None] = [None] * width
    if width <= 0 or not x_max > x_min:
        return found
    points = sorted((x, y) for x, y in series.points if math.isfinite(x))
    longest = _longest_step([x for x, _ in points])
    before: float | None = None
    for x, y in points:
        if math.isnan(y):
            before = None
            continue
        begin = x if before is None or x - before > longest else before
        if x_min <= x <= x_max:
            _raise(found, _column(max(begin, x_min), x_min, x_max, width), _column(x, x_min, x_max, width), y)
        before = x
    return found


def is_reduced(series: Sequence[Series], x_min: float, x_max: float, width: int) -> bool:
    """Return whether some curve has more points in sight than columns."""
    return any(sum(1 for x, _ in one.points if x_min <= x <= x_max) > width for one in series)


def _longest_step(places: list[float]) -> float:
    steps = [after - before for before, after in pairwise(places) if after > before]
    return median(steps) * _GAP_SPACINGS if steps else 0.0


def _column(x: float, x_min: float, x_max: float, width: int) -> int:
    share = x / (x_max - x_min) - x_min / (
        x_max - x_min
    )  # Apart: the difference may be too small for a float.
    return min(max(int(share * width), 0), width - 1) if math.isfinite(share) else 0


def _raise(found: list[float | None], begin: int, end: int, y: float) -> None:
    first = begin if begin == end or found[begin] is None else begin + 1
    for column in range(first, end + 1):
        there = found[column]
        found[column] = y if there is None else max(there, y)
