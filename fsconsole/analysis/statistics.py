"""The few statistics of the grid: median, number and spread of repeated figures."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """Repeated figures of one kind, in their base unit, with the raw values in the order they were taken."""

    values: tuple[float, ...]
    median: float
    spread_percent: float | None
    """None where spread_percent() has none."""

    @property
    def n(self) -> int:
        """How many figures there are."""
        return len(self.values)


def summarise(values: tuple[float, ...]) -> Summary:
    """Return median, n and spread of at least one value. Raises ValueError for none."""
    if not values:
        raise ValueError("no values to summarise")
    return Summary(values, median_of(values), spread_percent(values))


def median_of(values: tuple[float, ...]) -> float:
    """Return the middle value, or what lies between the middle two, of at least one value."""
    ordered = sorted(values)
    upper = len(ordered) // 2
    # Halves first: the sum of two figures of a run from elsewhere may be no finite number.
    return ordered[upper] if len(ordered) % 2 else ordered[upper - 1] / 2 + ordered[upper] / 2


def spread_percent(values: tuple[float, ...]) -> float | None:
    """Return (max - min) / median in per cent; None for fewer than two values or a median of zero.

    The full range, not a trimmed one or a deviation: with the three to five repeats of a plan, every
    estimator that leaves values out hides just the one that should make a reader doubt.
    """
    if len(values) < 2:
        return None
    median = median_of(values)
    if median == 0:
        return None
    spread = 100 * ((max(values) - min(values)) / abs(median))
    return spread if math.isfinite(spread) else None
