"""Resolution of each metric: the smallest difference that its measurement shows, declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fsconsole.model.metrics import OF_MIXES, Metric, Unit
from fsconsole.text import GIB

_LOAD_S = 0.001
"""Of a load's time: writers leave the barrier one after another."""
_COMMAND_S = 0.00025
"""Of a command's time: the start of a program takes 0.7 to 0.95 ms, which is part of it."""
_COMMANDS = frozenset({
    Metric.MKFS, Metric.MOUNT, Metric.MOUNT_FILLED, Metric.UNMOUNT, Metric.CHECK, Metric.CHECK_EMPTY, Metric.QUICK_CHECK, Metric.DELETE,
    Metric.DELETE_DURABLE, Metric.RECOVER, Metric.RECOVER_FSCK,
})  # fmt: skip
_TICK_S = 0.01
_CPU_TIMES = frozenset({
    Metric.MKFS_USER, Metric.MKFS_SYSTEM, Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.DELETE_USER,
    Metric.DELETE_SYSTEM, Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM, Metric.CPU_PER_GIB, Metric.GENERATOR_PER_GIB,
})  # fmt: skip
"""Counted in ticks."""
_BY_UNIT = {
    Unit.SECONDS: _LOAD_S,
    Unit.MILLISECONDS: 0.001,
    Unit.BYTES: 4096.0,
    Unit.PERCENT: 0.1,
    Unit.COUNT: 0.0,
}
"""In the unit itself; 0 is exact. Rates have that of their time."""
_DECLARED = {
    **dict.fromkeys(_COMMANDS, _COMMAND_S),
    **dict.fromkeys(_CPU_TIMES, _TICK_S),
    **dict.fromkeys((Metric.OVERHEAD, Metric.OVER_2_S, Metric.OVER_10_S), 0.0),
}
"""Resolutions that differ from their unit's."""
_PERCENTILES = frozenset(
    metric
    for metric in (
        Metric.LATENCY_P50, Metric.LATENCY_P95, Metric.LATENCY_P99, Metric.FSYNC_P50, Metric.FSYNC_P99, *OF_MIXES,
    )
    if metric.value.endswith(("_p50", "_p95", "_p99"))
)  # fmt: skip
_BUCKET = 1 / 32
"""A percentile is the middle of a bucket whose width is at most a sixteenth of it (model/load.py)."""
_MOVED = {Metric.WRITE: Metric.WRITTEN, Metric.DURABLE: Metric.WRITTEN, Metric.READ: Metric.READ_BYTES}
"""Bytes of a rate: divided by it they are its time."""
_LARGEST = 1e100
"""Larger figures, and ratios of smaller ones, are of no measurement; their powers would leave a float's range."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure of one round, and the smallest difference that its measurement shows; both in the metric's base unit."""

    value: float
    resolution: float = 0.0
    """0: exact."""


def reading(metric: Metric, figures: Callable[[Metric], float | None]) -> Reading | None:
    """Return a cell's figure of that metric, of which figures() returns all; None if it has none that is a number."""
    value = figures(metric)
    if value is None or not abs(value) < _LARGEST:
        return None
    return Reading(value, _resolution(metric, abs(value), figures))


def is_difference(metric: Metric) -> bool:
    """Return True for shares in per cent, which are compared by their difference in points; else ratios are."""
    return metric.unit is Unit.PERCENT


def _resolution(metric: Metric, value: float, figures: Callable[[Metric], float | None]) -> float:
    if metric is Metric.EXTENTS_MEAN:
        # One extent of one file; of an unknown number of files nothing is known.
        return 1 / files if (files := figures(Metric.FILES_MAPPED)) else value
    if metric in _PERCENTILES:
        return max(_BY_UNIT[metric.unit], _BUCKET * value)
    if metric is Metric.CPU_EFFICIENCY:
        return value * value * _TICK_S / GIB
    if metric.unit in _BY_UNIT:
        return _DECLARED.get(metric, _BY_UNIT[metric.unit])
    moved = figures(_MOVED[metric]) if metric in _MOVED else None
    time_s = moved / value if moved and value else figures(Metric.LAST_DONE)
    # A rate whose time is not known is known to no step.
    return value * _LOAD_S / time_s if time_s and 0 < time_s < math.inf else value
