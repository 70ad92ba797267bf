"""Sentences on one row: what reached the disk against what the application saw, and counters that set it apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import LEAST_ROUNDS, Verdict
from fsconsole.results.blocks import BlockRow
from fsconsole.results.content import scale_for

_COUNTERS = (
    (Metric.EXTENTS_MEAN, "extents per file"),
    (Metric.DEVICE_FLUSHES, "flushes of the device"),
    (Metric.WRITE_AMPLIFICATION, "write amplification"),
    (Metric.CPU_PER_GIB, "CPU seconds per GiB"),
)
_LEAST_TIMES = 1.2
"""Factor between two figures below which a counter explains nothing."""
_MOST = 3
_UNDECIDED = (None, Verdict.SAME, Verdict.UNDECIDED)


class Tells(Enum):
    """What a counter tells of the difference between two rows."""

    APART = "apart"
    OVERLAPS = "its rounds overlap"
    NEAR = f"within {_LEAST_TIMES:g} times"
    FEW_ROUNDS = "too few rounds"
    NOT_KEPT = "not kept"
    OTHER_WAY = "points the other way"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of a row beside that of its baseline."""

    name: str
    tells: Tells
    times: float = 1.0
    """Its value divided by the baseline's; only where it is APART."""
    figures: str = ""
    """Both in words, "159.20 against 9.87"; only where it is APART."""


def reached_words(row: BlockRow) -> str:
    """Return "xfs: 1345 MB/s reached the disk; the app saw 1416."; empty for a row that wrote nothing."""
    durable, write = row.row.estimate(Metric.DURABLE), row.row.estimate(Metric.WRITE)
    if durable is None or write is None:
        return ""
    scale = scale_for(Metric.DURABLE, (durable, write))
    return f"{row.title}: {scale.text(durable)} {scale.unit} reached the disk; the app saw {scale.text(write)}."


def why_words(row: BlockRow, other: BlockRow | None) -> str:
    """Return the counters that set a decided row apart, the largest factor first, or that none does.

    Empty where the verdict is open, and for a baseline.
    """
    if not is_decided(row) or other is None:
        return ""
    apart = causes(row, other)
    if apart:
        return f"Why: {', '.join(f'{one.name} {one.figures}' for one in apart[:_MOST])} (of {other.name})."
    kept = [f"{one.name} ({one.tells.value})" for one in _counters_for(row, other) if one.tells is not Tells.NOT_KEPT]
    return f"Why: not told by {', '.join(kept)}." if kept else "Why: no counters were kept."


def is_decided(row: BlockRow) -> bool:
    """Return whether a row's verdict says that it differs."""
    return row.compared is not None and row.compared.verdict not in _UNDECIDED


def causes(row: BlockRow, other: BlockRow) -> list[Counter]:
    """Return the counters that set a decided row apart from its baseline, the largest factor first."""
    apart = (one for one in _counters_for(row, other) if one.tells is Tells.APART)
    return sorted(apart, key=lambda one: -max(one.times, 1 / one.times))


def _counters_for(row: BlockRow, other: BlockRow) -> list[Counter]:
    verdict = row.compared.verdict if row.compared is not None else None
    return [_for(verdict, one) for one in counters_of(row, other)]


def _for(verdict: Verdict | None, counter: Counter) -> Counter:
    """Return a counter, of which less explains no slower row, and more no faster one: each of them costs time."""
    other_way = {Verdict.SLOWER: counter.times < 1, Verdict.FASTER: counter.times > 1}
    if verdict is not None and counter.tells is Tells.APART and other_way.get(verdict, False):
        return replace(counter, tells=Tells.OTHER_WAY)
    return counter


def counters_of(row: BlockRow, other: BlockRow) -> tuple[Counter, ...]:
    """Return each counter with what it tells of a row against another one."""
    return tuple(_counter(row, other, metric, name) for metric, name in _COUNTERS)


def _counter(row: BlockRow, other: BlockRow, metric: Metric, name: str) -> Counter:
    """Return a counter: APART where the rounds of both rows lie beyond each other, and the figures by a factor."""
    summaries = row.row.figure(metric), other.row.figure(metric)
    # As the table has them.
    mine, theirs = row.row.estimate(metric), other.row.estimate(metric)
    if summaries[0] is None or summaries[1] is None or mine is None or theirs is None:
        return Counter(name, Tells.NOT_KEPT)
    own, base = summaries[0].values, summaries[1].values
    if min(len(own), len(base)) < LEAST_ROUNDS:
        return Counter(name, Tells.FEW_ROUNDS)
    if min(own) <= max(base) and min(base) <= max(own):
        return Counter(name, Tells.OVERLAPS)
    least, most = sorted((mine, theirs))
    if least <= 0 or most < _LEAST_TIMES * least:
        return Counter(name, Tells.NEAR)
    scale = scale_for(metric, (mine, theirs))
    return Counter(name, Tells.APART, mine / theirs, f"{scale.text(mine)} against {scale.text(theirs)}")
