"""Figures of one row in per cent of another's."""

from __future__ import annotations

from fsconsole.analysis.grid import Row
from fsconsole.model.measurement import Metric


def share_percent(row: Row, baseline: Row, metric: Metric) -> float | None:
    """Return a row's median in per cent of the baseline's; None where one of them is missing, or the latter is zero."""
    own, other = row.figure(metric), baseline.figure(metric)
    if own is None or other is None or other.median == 0:
        return None
    return 100 * own.median / other.median
