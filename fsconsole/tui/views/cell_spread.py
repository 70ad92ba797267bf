"""How figures of one cell are spread: extents over files, and latencies over calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.latency import LatencyBucket, bucket_bounds_ns
from fsconsole.model.measurement import DEFINITIONS
from fsconsole.model.observation import LatencySeen
from fsconsole.model.state import CellState
from fsconsole.model.step import StepKind
from fsconsole.tui.views.cell import figure_words
from fsconsole.tui.views.results import hanging
from fsconsole.tui.widgets.values import HistogramValue
from fsconsole.units import significant

_STEPS_NS = tuple(digit * 10**power for power in range(2, 12) for digit in (1, 3))
"""Bounds of the rows: a half of a power of ten each."""


def extent_words(cell: CellState, width: int) -> tuple[str, ...]:
    """Return the figures of each survey of extents; the journal keeps these, not each file's own."""
    found: list[str] = []
    for step in cell.steps:
        if step.kind is StepKind.EXTENTS and step.measurements:
            found.append(step.title)
            for one in step.measurements:
                definition = DEFINITIONS[one.metric]
                lead = f"  {definition.column:<14} {figure_words(one):>12}  "
                found += hanging(lead, definition.help, width)
    return tuple(found)


def latency_title(seen: LatencySeen, cell: CellState) -> str:
    """Return what was timed, how often, and the extremes."""
    count = sum(bucket.count for bucket in seen.buckets)
    title = next((step.title for step in cell.steps if step.number == seen.step), "")
    named = f" of '{title.partition(':')[0]}'" if title else ""
    slow = f", {seen.over_2_s} over 2 s" if seen.over_2_s else ""
    return f"{seen.operation.value}{named}: {count} calls, the longest took {_time(seen.max_ns)}{slow}"


def latency_histogram(buckets: Sequence[LatencyBucket]) -> HistogramValue:
    """Return how many calls took how long, in rows of half a power of ten; rows at the ends that hold none are left out."""
    counts = [0] * (len(_STEPS_NS) + 1)
    for bucket in buckets:
        low, high = bucket_bounds_ns(bucket.bucket)
        middle = (low + high) / 2
        counts[sum(middle >= bound for bound in _STEPS_NS)] += bucket.count
    held = [index for index, count in enumerate(counts) if count]
    if not held:
        return HistogramValue(())
    rows = range(held[0], held[-1] + 1)
    return HistogramValue(tuple((_label(index), float(counts[index]), str(counts[index])) for index in rows))


def _label(index: int) -> str:
    if index == len(_STEPS_NS):
        return f"from {_time(_STEPS_NS[-1])}"
    return f"below {_time(_STEPS_NS[index])}"


def _time(elapsed_ns: float) -> str:
    """Return a time in the unit that fits it."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if elapsed_ns >= factor:
            return f"{_short(elapsed_ns / factor)} {unit}"
    return f"{elapsed_ns:.0f} ns"


def _short(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else significant(value)
