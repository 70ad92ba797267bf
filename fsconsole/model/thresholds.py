"""Thresholds: figures that a plan requires of a workload."""

from __future__ import annotations

import math
import re
from enum import Enum

from fsconsole.errors.targets import BadQuantity
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.timed import SYNCS, Timed
from fsconsole.model.wire import Wire
from fsconsole.units import parse_bytes, parse_seconds

BEYOND = 20
"""Least operations beyond a percentile: with fewer its figure is that of a handful of operations."""
MOST_EDGES = 3
"""Percentiles of one kind of operation that a plan can require: p50, p95 and p99."""
LARGEST, _LARGEST_MS = 1e18, 1e12
"""Of a limit in base units, and of a latency, whose nanoseconds must fit 64 bits."""
_PERCENTILE = re.compile(r"(?P<of>[a-z_]+)_p(?P<percent>[0-9]{2})")
_REQUIREMENT = re.compile(r"(?P<comparator><=|>=)\s*(?P<limit>[0-9].*)")
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>.*)")


class Comparator(str, Enum):
    """Side of its limit on which a figure must lie; the limit itself is allowed."""

    AT_MOST = "<="
    AT_LEAST = ">="


class Requirement(Wire, frozen=True):
    """A limit that a row's figure must keep."""

    metric: Metric
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
        """The whole requirement: "fsync p99 <= 10ms"."""
        return f"{self.metric.column} {self.said}"

    @property
    def percent(self) -> int | None:
        """99 of a p99; None for what is no percentile."""
        found = _PERCENTILE.fullmatch(self.metric.value)
        return int(found["percent"]) if found else None

    @property
    def edge_ns(self) -> int:
        """Largest latency in nanoseconds that a percentile may have, or that is still too short for it."""
        # Rounded first: 0.57 ms times a million is a little less than 570,000.
        return math.floor(round(self.value * 1e6, 3))

    @property
    def count_metric(self) -> Metric | None:
        """The number of operations behind a percentile; None for what is no percentile."""
        found = _PERCENTILE.fullmatch(self.metric.value)
        return Metric(f"{found['of']}_count") if found else None

    def is_about(self, timed: Timed) -> bool:
        """Return whether it limits a percentile of this kind of operation."""
        found = _PERCENTILE.fullmatch(self.metric.value)
        if found is None:
            return False
        if found["of"] == "fsync":
            return timed in SYNCS
        return timed not in SYNCS if found["of"] == "latency" else found["of"] == timed.value.replace("-", "_")


def parse_requirement(metric: Metric, text: str) -> Requirement:
    """Return the requirement that a text such as "<= 10ms" makes of a metric. Raises BadQuantity.

    The limit has a unit, except for counts: "10ms", "1.5s", "800MB/s", "64MiB", "5 %", "2000/s", "3".
    """
    example = _EXAMPLES[metric.unit]
    said = _REQUIREMENT.fullmatch(text.strip())
    if said is None:
        raise BadQuantity(text=text, wanted="a limit with <= or >= before it", examples=f"<= {example}, >= {example}")
    limit = said["limit"]
    value = _value_of(metric.unit, limit, example)
    if value > (_LARGEST_MS if metric.unit is Unit.MILLISECONDS else LARGEST):
        raise BadQuantity(text=text, wanted="a limit that a figure can have", examples=f"<= {example}")
    return Requirement(metric, Comparator(said["comparator"]), value, limit)


_EXAMPLES = {
    Unit.BYTES: "64MiB",
    Unit.BYTES_PER_S: "800MB/s",
    Unit.SECONDS: "1.5s",
    Unit.MILLISECONDS: "10ms",
    Unit.PERCENT: "5%",
    Unit.PER_SECOND: "2000/s",
    Unit.COUNT: "3",
}
_SUFFIXES = {Unit.PERCENT: ("%",), Unit.PER_SECOND: ("/s", "1/s"), Unit.COUNT: ("",)}


def _value_of(unit: Unit, limit: str, example: str) -> float:
    """Return a limit in the base unit. Raises BadQuantity."""
    wrong = BadQuantity(text=limit, wanted=f"a limit with its unit ({unit.value})", examples=example)
    found = _NUMBER.fullmatch(limit)
    # A bare number would be seconds or bytes where the column shows ms or MB/s.
    if found is None or (not found["unit"] and unit is not Unit.COUNT):
        raise wrong
    if unit in _SUFFIXES:
        if found["unit"] not in _SUFFIXES[unit]:
            raise wrong
        return float(found["number"])
    try:
        if unit is Unit.BYTES:
            return float(parse_bytes(limit))
        if unit is Unit.BYTES_PER_S:
            if not limit.endswith("/s"):
                raise wrong
            return float(parse_bytes(limit.removesuffix("/s")))
        seconds = parse_seconds(limit)
    except BadQuantity as error:
        raise wrong from error
    return 1000 * seconds if unit is Unit.MILLISECONDS else seconds
