"""Thresholds: limits that a plan requires a workload's figures to keep. Loads no metrics, which the generator has no use for."""

from __future__ import annotations

import math
import re
from enum import Enum

from fsconsole.model.timed import SYNCS, Timed
from fsconsole.model.wire import Wire

BEYOND = 20
"""Least operations beyond a percentile: with fewer its figure is that of a handful of operations."""
MOST_EDGES = 3
"""Percentiles of one kind of operation that a plan can require: p50, p95 and p99."""
LARGEST, LARGEST_MS = 1e18, 1e12
"""Of a limit in base units, and of a latency, whose nanoseconds must fit 64 bits."""
_PERCENTILE = re.compile(r"(?P<of>[a-z_]+)_p(?P<percent>[0-9]{2})")


class Comparator(str, Enum):
    """Side of its limit on which a figure must lie; the limit itself is allowed."""

    AT_MOST = "<="
    AT_LEAST = ">="


class Requirement(Wire, frozen=True):
    """A limit that a row's figure must keep."""

    column: str
    """Stored name of a metric."""
    comparator: Comparator
    value: float
    """In the metric's base unit."""
    limit: str
    """The same as the plan has it: "10ms"."""

    @property
    def said(self) -> str:
        """Comparator and limit: "<= 10ms"."""
        return f"{self.comparator.value} {self.limit}"

    @property
    def words(self) -> str:
        """The whole requirement: "fsync_p99 <= 10ms"."""
        return f"{self.column} {self.said}"

    @property
    def percent(self) -> int | None:
        """99 of a p99; None for what is no percentile."""
        found = _PERCENTILE.fullmatch(self.column)
        return int(found["percent"]) if found else None

    @property
    def edge_ns(self) -> int:
        """Largest latency in nanoseconds that a percentile may have, or that is still too short for it."""
        # Rounded first: 0.1 us comes out as a little less than 100 ns.
        return math.floor(round(self.value * 1e6, 3))

    @property
    def count_column(self) -> str:
        """Stored name of the number of operations behind a percentile; empty for what is no percentile."""
        found = _PERCENTILE.fullmatch(self.column)
        return f"{found['of']}_count" if found else ""

    def is_about(self, timed: Timed) -> bool:
        """Return whether it limits a percentile of this kind of operation."""
        found = _PERCENTILE.fullmatch(self.column)
        if found is None:
            return False
        if found["of"] == "fsync":
            return timed in SYNCS
        return timed not in SYNCS if found["of"] == "latency" else found["of"] == timed.value.replace("-", "_")
