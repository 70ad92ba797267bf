"""Verdicts: a row's figure against its baseline's, round by round, with an interval and a word."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.resolution import Reading, is_difference
from fsconsole.model.statistics import ALPHA, Interval, deviation, interval, mean_of, rounds_more, welch

DEFAULT_SAME = 0.10
"""Share of the baseline's figure within which a difference is called the same."""
LEAST_ROUNDS = 3
"""Fewer rounds that both rows finished give no verdict."""
LEAST_STEPS = 20
"""Least figure in a ratio, in multiples of its resolution."""
MOST_MORE = 30
"""More further rounds than these are not worth it."""
MOST_PAIRED = 40
"""Rows of a block of which all pairs are compared; of more no one reads them."""


class Verdict(str, Enum):
    """One word on a row against its baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    MORE = "more"
    LESS = "less"
    SAME = "same"
    UNDECIDED = "undecided"


class Scale(str, Enum):
    """Ways of comparing two figures."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


@dataclass(frozen=True, slots=True)
class Compared:
    """A row against its baseline, over the rounds that both finished.

    change, low and high are shares of the baseline's figure (-0.15: 15 % less) of a RATIO, differences in the metric's base
    unit else; figures are geometric means of a RATIO, means else.
    """

    scale: Scale
    own: float
    other: float
    """The baseline's figure."""
    n: int
    """Rounds that both finished."""
    change: float
    low: float | None
    """Both bounds are None where fewer than LEAST_ROUNDS rounds tell of no scatter."""
    high: float | None
    verdict: Verdict | None
    """None: fewer than LEAST_ROUNDS rounds, or both figures below what can be resolved."""
    is_small: bool = False
    """True for a decided difference that lies inside the limit of "same" too."""
    more: int | None = None
    """Of UNDECIDED: further rounds that would decide it with a chance of 80 %; None: more than MOST_MORE, or not asked for."""
    below: float | None = None
    """The limit in base units below which both figures lie, too coarse for a verdict; None where one is above it.

    Of a rate it tells nothing of its size: the load was too short.
    """


_RATES = frozenset({Unit.BYTES_PER_S, Unit.PER_SECOND})
_TIMES = frozenset({Unit.SECONDS, Unit.MILLISECONDS})
_AMOUNTS = frozenset({
    Metric.CPU_PER_GIB, Metric.GENERATOR_PER_GIB, Metric.STALLS, Metric.MKFS_USER, Metric.MKFS_SYSTEM,
    Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.DELETE_USER, Metric.DELETE_SYSTEM, Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM,
})  # fmt: skip
"""In seconds, but not how long something took."""
_LEAST = 1e-100
"""Ratios of smaller figures are of no measurement; their powers would leave a float's range."""
_LARGEST_LOG = 700.0
"""math.exp() has no number from 709 on."""


def compared(  # noqa: PLR0913 (each is a fact of its own)
    own: Mapping[int, Reading],
    other: Mapping[int, Reading],
    metric: Metric,
    *,
    family: int,
    same: float = DEFAULT_SAME,
    alpha: float = ALPHA,
    with_more: bool = True,
) -> Compared | None:
    """Return a row against its baseline, from readings by round; None if no round has both.

    family is the number of comparisons for which the intervals hold together at 1 - alpha; alpha of a run that ended at a
    look is that look's (statistics.LOOK_ALPHAS); same is the share within which a difference is the same; with_more=False
    leaves out how many further rounds would decide, which takes the longest.
    Method: Student's t of the differences round by round (of logarithms for a RATIO), which cancels what slows a whole
    round; alpha divided by family (Bonferroni), so that no row borrows another's spread; widened by the resolution on both
    sides, since figures that are equal in all rounds would have an interval of zero width.
    """
    rounds = sorted(own.keys() & other.keys())
    if not rounds:
        return None
    sides = [[of[one] for one in rounds] for of in (own, other)]
    values = [one - base for one, base in zip(*_scaled(sides, metric), strict=True)]
    found = interval(values, alpha / family) if len(values) >= LEAST_ROUNDS else None
    spread = deviation(values) if found is not None else 0.0
    of = _Estimate(mean_of(values), found, len(values), spread, alpha / family)
    return _judged(sides, metric, of, same, with_more=with_more)


def compared_apart(
    own: Sequence[Reading], other: Sequence[Reading], metric: Metric, *, family: int, same: float = DEFAULT_SAME
) -> Compared | None:
    """Return the same of two samples that share no rounds, by Welch's interval; None if one of them is empty.

    n is that of the smaller sample; of UNDECIDED, more is how many each of both would need.
    """
    if not own or not other:
        return None
    (values, bases), n = _scaled((own, other), metric), min(len(own), len(other))
    found = welch(values, bases, ALPHA / family) if n >= LEAST_ROUNDS else None
    spread = math.hypot(deviation(values), deviation(bases)) if found is not None else 0.0
    mean = mean_of(values) - mean_of(bases)
    return _judged((own, other), metric, _Estimate(mean, found, n, spread, ALPHA / family), same)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A difference on its scale, with its interval at 1 - alpha (None: of too few rounds), and one round's deviation."""

    mean: float
    found: Interval | None
    n: int
    spread: float
    alpha: float


def _scaled(sides: Sequence[Sequence[Reading]], metric: Metric) -> list[list[float]]:
    """Return both sides' values, or their logarithms where ratios are compared."""
    is_ratio = has_ratio([*sides[0], *sides[1]], metric)
    return [[math.log(one.value) if is_ratio else one.value for one in side] for side in sides]


def _judged(
    sides: Sequence[Sequence[Reading]], metric: Metric, of: _Estimate, same: float, *, with_more: bool = True
) -> Compared:
    """Return an estimate with its verdict."""
    both = [*sides[0], *sides[1]]
    is_ratio = has_ratio(both, metric)
    figures = [_mean(side, is_ratio=is_ratio) for side in sides]
    if is_ratio:
        slack = math.log1p(max(one.resolution / one.value for one in both))
    else:
        slack = max(one.resolution for one in both)
    least = LEAST_STEPS * slack
    is_below = not is_ratio and max(map(abs, figures)) < least
    low: float | None = None
    high: float | None = None
    verdict, more, is_inside = None, None, False
    if of.found is not None:
        low, high = of.found.low - slack, of.found.high + slack
        low, high = (_share(low), _share(high)) if is_ratio else (low, high)
        limit = same * (1 if is_ratio else abs(figures[1]))
        is_inside = -limit <= low and high <= limit
        if not is_below:
            verdict = _word(metric, low, high, is_inside=is_inside)
        if verdict is Verdict.UNDECIDED and with_more:
            limit = math.log1p(limit) if is_ratio else limit
            more = rounds_more(of.mean, of.spread, of.n, of.alpha, most=MOST_MORE, limit=limit, slack=slack)
    return Compared(
        scale=Scale.RATIO if is_ratio else Scale.DIFFERENCE,
        own=figures[0],
        other=figures[1],
        n=of.n,
        change=_share(of.mean) if is_ratio else of.mean,
        low=low,
        high=high,
        verdict=verdict,
        is_small=is_inside and verdict not in (None, Verdict.SAME),
        more=more,
        below=least if is_below else None,
    )


def figure_of(readings: Iterable[Reading], metric: Metric) -> float:
    """Return the figure of a row alone, of at least one reading: geometric mean where it can be in a ratio, else the mean."""
    known = list(readings)
    return _mean(known, is_ratio=has_ratio(known, metric))


def has_ratio(readings: Iterable[Reading], metric: Metric) -> bool:
    """Return whether each reading is at least LEAST_STEPS times its resolution, and the metric no share in per cent."""
    return not is_difference(metric) and all(one.value >= max(LEAST_STEPS * one.resolution, _LEAST) for one in readings)


def is_rate(metric: Metric) -> bool:
    """Return whether more of a metric is faster."""
    return metric.unit in _RATES


def _mean(readings: Sequence[Reading], *, is_ratio: bool) -> float:
    if len({one.value for one in readings}) == 1:
        # Without the rounding of a logarithm.
        return readings[0].value
    if is_ratio:
        return math.exp(mean_of([math.log(one.value) for one in readings]))
    return mean_of([one.value for one in readings])


def _share(log: float) -> float:
    return math.expm1(min(log, _LARGEST_LOG))


def _word(metric: Metric, low: float, high: float, *, is_inside: bool) -> Verdict:
    if low <= 0 <= high:
        return Verdict.SAME if is_inside else Verdict.UNDECIDED
    is_more = low > 0
    if is_rate(metric):
        return Verdict.FASTER if is_more else Verdict.SLOWER
    if metric.unit in _TIMES and metric not in _AMOUNTS:
        return Verdict.SLOWER if is_more else Verdict.FASTER
    return Verdict.MORE if is_more else Verdict.LESS
