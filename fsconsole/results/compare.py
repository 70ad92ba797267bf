"""Comparison of rows with their baseline, round by round: ratios with 95 % intervals that hold together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order
from fsconsole.model.state import OPEN_STATUSES, RunState
from fsconsole.results.figures import CLEAN, CellFigures, row_names
from fsconsole.results.grid import Grid, GridRow

ALPHA = 0.05
"""Chance that any interval of a run's comparisons misses its true ratio, if logarithms scatter normally."""
OF_LIFE = (Metric.CHECK, Metric.DELETE_DURABLE)
"""Compared once for each filesystem, however many loads it had."""
OF_LOADS = (Metric.DURABLE, Metric.READ, Metric.FSYNC_MEAN, Metric.EXTENTS_MEAN)
_LEAST_ROUNDS = 3
_LEAST_STEPS = 20
"""Least figure in a ratio, in multiples of its resolution."""
_COMMAND_S = 0.00025
"""Resolution of a command's time: the start of a program takes 0.7 to 0.95 ms, which is part of it."""
_LOAD_S = 0.001
"""Resolution of a load's time: writers leave the barrier one after another."""
_SYNC_MS = 0.001
_LARGEST_LOG = 700.0
"""math.exp() has no number from 709 on."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row's figure / its baseline's, over the rounds that both finished; low and high bound the ratio."""

    metric: Metric
    load: str
    """Name of the load; empty for figures of a filesystem's life."""
    sync: str
    """Its system call."""
    row: str
    """Name of the row among those of the same load."""
    baseline: str
    own: float
    """Geometric mean of the row's figures, in the metric's base unit."""
    other: float
    """The baseline's."""
    n: int
    ratio: float
    low: float
    high: float


def comparisons_of(state: RunState, grid: Grid) -> tuple[int, tuple[Comparison, ...]]:
    """Return the number of comparisons in a run in rounds, and those with enough rounds and fine enough figures.

    None before the last cell is over: testing at each step finds false differences. The baseline is the plan's first variant,
    with everything else equal. Both figures of a pair are of one round, which cancels what slows all of it; log ratios
    have Student's t interval at 1 - ALPHA / number of comparisons (Bonferroni).
    """
    rows = sorted((row for row in grid.rows if not row.key.variant.is_raw), key=lambda row: min(row.indexes))
    plan = state.request.plan
    if not rows or plan.order is not Order.ROUNDS or any(cell.status in OPEN_STATUSES for cell in state.cells):
        return 0, ()
    # Variants that came out equal are one row, under the name of either.
    named = (row for row in rows if plan.baseline in {plan.cells[index].variant.label for index in row.indexes})
    first = next(named, rows[0]).key.variant
    planned: list[tuple[Metric, GridRow, str, GridRow, str]] = []
    for part in sorted({row.key.workload or 0 for row in rows}):
        block = [row for row in rows if (row.key.workload or 0) == part]
        # Among rows of one load its name says nothing.
        names = row_names([row.key for row in block])
        bases = {row.key: (row, name) for row, name in zip(block, names, strict=True) if row.key.variant == first}
        for metric in (*(OF_LIFE if part == 0 else ()), *OF_LOADS):
            if any(row.figure(metric) is not None for row in block):
                pairs = [
                    (row, name, bases.get(replace(row.key, variant=first)))
                    for row, name in zip(block, names, strict=True)
                ]
                planned += [
                    (metric, row, name, *base) for row, name, base in pairs if base is not None and base[0] is not row
                ]
    found = (_compared(*one, family=len(planned)) for one in planned)
    return len(planned), tuple(pair for pair in found if pair is not None)


def _compared(  # noqa: PLR0913 (each is a fact of its own)
    metric: Metric, row: GridRow, name: str, base: GridRow, base_name: str, *, family: int
) -> Comparison | None:
    own, other = _by_round(row.cells, metric), _by_round(base.cells, metric)
    rounds = sorted(own.keys() & other.keys())
    steps = min((min(own[one][1], other[one][1]) for one in rounds), default=0.0)
    if len(rounds) < _LEAST_ROUNDS or not steps >= _LEAST_STEPS:
        return None
    ratio, half = interval([own[one][0] - other[one][0] for one in rounds], ALPHA / family)
    # Widen by the resolution: equal figures in all rounds have an interval of zero width.
    half += math.log1p(1 / steps)
    mean, other_mean = (_exp(math.fsum(of[one][0] for one in rounds) / len(rounds)) for of in (own, other))
    load = row.key.workloads[row.key.workload or 0] if metric in OF_LOADS else None
    load_name, sync = (load.name, load.sync_call.value) if load is not None else ("", "")
    low, high = _exp(ratio - half), _exp(ratio + half)
    n = len(rounds)
    return Comparison(metric, load_name, sync, name, base_name, mean, other_mean, n, _exp(ratio), low, high)


def _by_round(cells: Sequence[CellFigures], metric: Metric) -> dict[int, tuple[float, float]]:
    """Return the logarithm of each round's figure, and how many steps of its resolution it has."""
    found: dict[int, tuple[float, float]] = {}
    for cell in cells:
        value = cell.value(metric)
        is_sound = cell.counts and (metric is not Metric.CHECK or cell.verdict == CLEAN)
        if is_sound and value is not None and 0 < value < math.inf:
            found[cell.repeat] = math.log(value), _steps(cell, metric, value)
    return found


def _steps(cell: CellFigures, metric: Metric, value: float) -> float:
    if metric in OF_LIFE:
        return value / _COMMAND_S
    if metric is Metric.FSYNC_MEAN:
        return value / _SYNC_MS
    if metric is Metric.EXTENTS_MEAN:
        return value * (cell.value(Metric.FILES_MAPPED) or 0)
    moved = cell.value(Metric.READ_BYTES if metric is Metric.READ else Metric.WRITTEN) or 0
    return moved / value / _LOAD_S


def interval(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """Return the mean of at least two values, and half the width of its interval by Student's t at 1 - alpha."""
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, t_quantile(alpha / 2, n - 1) * deviation / math.sqrt(n)


def _exp(log: float) -> float:
    return math.exp(max(-_LARGEST_LOG, min(log, _LARGEST_LOG)))


@lru_cache(maxsize=256)
def t_quantile(tail: float, freedom: float) -> float:
    """Return the value that Student's t exceeds with this probability (0 < tail <= 0.5)."""
    low, high = 0.0, 1.0
    while _t_tail(high, freedom) > tail:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_tail(middle, freedom) > tail else (low, middle)
    return high


def _t_tail(t: float, freedom: float) -> float:
    """Return the probability of more than t (Abramowitz and Stegun 26.7.1)."""
    return _beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) by its continued fraction (26.5.8)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        # The fraction converges slowly there.
        return 1 - _beta_share(b, a, 1 - x)
    fraction = 0.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = even / (1 + odd / (1 + fraction))
    first = -(a + b) * x / (a + 1)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a / (1 + first / (1 + fraction))
