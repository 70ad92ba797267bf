"""Statistics of rounds: Student's t, intervals, power, and the looks of `repeats = "auto"`.

Pure, in the standard library alone. Which method and which numbers: tests/simulate/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

ALPHA = 0.05
"""Chance that any interval of a block misses its true value."""
POWER = 0.80
"""Chance with which a difference shall be found."""
LOOKS = (5, 8, 12)
"""Rounds after which `repeats = "auto"` decides whether to go on; no other moment, or the error grows."""
LOOK_ALPHAS = (0.001, 0.004, 0.045)
"""ALPHA shared out over LOOKS, nearly all of it to the last: a run that ended at a look has intervals at 1 - its share."""
_NODES = 24
"""Intervals of Simpson's rule over the scatter of a deviation: from four rounds on power is right to 0.005."""
_FAR = 6.0
"""Errors of a mean beyond which the tail on the other side is nothing."""


def alpha_at(after_round: int) -> float:
    """Return the share of ALPHA for verdicts of a look after that round."""
    return next((alpha for last, alpha in zip(LOOKS, LOOK_ALPHAS, strict=True) if after_round <= last), LOOK_ALPHAS[-1])


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the bounds between which the true one lies."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2


def interval(values: Sequence[float], alpha: float) -> Interval:
    """Return the mean of at least two finite values with its interval by Student's t at 1 - alpha, two-sided."""
    n = len(values)
    mean = mean_of(values)
    half = t_quantile(alpha / 2, n - 1) * deviation(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def welch(own: Sequence[float], other: Sequence[float], alpha: float) -> Interval:
    """Return the difference own - other of two samples that share no rounds, of at least two values each (Welch 1947)."""
    errors = [deviation(values) / math.sqrt(len(values)) for values in (own, other)]
    mean, error = mean_of(own) - mean_of(other), math.hypot(*errors)
    if not error:
        return Interval(mean, mean, mean)
    shares = ((each / error) ** 4 / (len(of) - 1) for each, of in zip(errors, (own, other), strict=True))
    half = t_quantile(alpha / 2, 1 / sum(shares)) * error
    return Interval(mean, mean - half, mean + half)


def lower_bound(values: Sequence[float], alpha: float = ALPHA) -> float:
    """Return what the true mean of at least two values exceeds with a chance of 1 - alpha, one-sided."""
    return interval(values, 2 * alpha).low


def upper_bound(values: Sequence[float], alpha: float = ALPHA) -> float:
    """Return what the true mean of at least two values stays below with a chance of 1 - alpha, one-sided."""
    return interval(values, 2 * alpha).high


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of at least two values, of a sample."""
    mean = mean_of(values)
    # As hypot() scales, no square is too large for a float.
    return math.hypot(*(value - mean for value in values)) / math.sqrt(len(values) - 1)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one value; none is so large that their sum is no number."""
    return math.fsum(value / len(values) for value in values)


# Power: what n rounds find.


def chance(  # noqa: PLR0913 (each is a fact of its own)
    mean: float, spread: float, n: int, alpha: float, *, limit: float = 0.0, slack: float = 0.0
) -> float:
    """Return the chance that n rounds decide: an interval at 1 - alpha beyond 0, or within -limit to limit.

    mean and spread (deviation) are the true ones of a round's difference; slack widens each interval on both sides.
    The sample's mean is normal, its deviation the root of chi squared / freedom, independent of it.
    """
    error, mean = spread / math.sqrt(n), abs(mean)
    if not error:
        return float(mean > slack or mean + slack <= limit)
    found, wide, root = 0.0, t_quantile(alpha / 2, n - 1) * error, error * math.sqrt(2)
    is_near = mean < _FAR * error
    for scale, weight in _scatter(n - 1):
        half = wide * scale + slack
        decided = math.erfc((half - mean) / root)
        # Within the limit, but not beyond 0, which is counted already.
        edge = limit - half if limit < 2 * half else half
        if edge > 0:
            decided += math.erfc((mean - edge) / root)
        if is_near:
            # The other tails.
            decided += math.erfc((half + mean) / root) - (math.erfc((mean + edge) / root) if edge > 0 else 0.0)
        found += weight * decided
    return found / 2


def rounds_more(  # noqa: PLR0913 (each is a fact of its own)
    mean: float, spread: float, n: int, alpha: float, *, most: int, limit: float = 0.0, slack: float = 0.0
) -> int | None:
    """Return how many further rounds after n would decide with a chance of POWER; None: more than most."""

    def decide(more: int) -> bool:
        return chance(mean, spread, n + more, alpha, limit=limit, slack=slack) >= POWER

    if not decide(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decide(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def detectable(n: int, family: int, spread: float, alpha: float = ALPHA) -> float:
    """Return the least difference that n rounds find with a chance of POWER, as a share: 0.24 for 24 % more.

    family is the number of comparisons (rows - baseline), spread the deviation of each row's figures as a share of them:
    two rows' difference scatters by its root of two. n is at least 2.
    """
    of_pair, low, high = spread * math.sqrt(2), 0.0, spread
    while high < _LARGEST_LOG and chance(high, of_pair, n, alpha / family) < POWER:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle, of_pair, n, alpha / family) >= POWER else (middle, high)
    return math.expm1(min(high, _LARGEST_LOG))


_LARGEST_LOG = 700.0
"""math.exp() has no number from 709 on."""


@lru_cache(maxsize=256)
def _scatter(freedom: int) -> tuple[tuple[float, float], ...]:
    """Return values of sqrt(chi squared / freedom) with their weights, which sum to 1."""
    spread = 1 / math.sqrt(2 * freedom)
    low, high = max(1e-9, 1 - 6 * spread), 1 + 8 * spread
    step = (high - low) / _NODES
    nodes = []
    for place in range(_NODES + 1):
        value = low + place * step
        log = (freedom - 1) * math.log(value) - freedom * (value * value - 1) / 2
        nodes.append((value, math.exp(log) * (1 if place in (0, _NODES) else 4 if place % 2 else 2)))
    whole = math.fsum(weight for _, weight in nodes)
    return tuple((value, weight / whole) for value, weight in nodes)


# Quantiles of Student's t, held against SciPy's in tests/simulate.


@lru_cache(maxsize=1024)
def t_quantile(tail: float, freedom: float) -> float:
    """Return the value that Student's t exceeds with this probability (0 < tail <= 0.5)."""
    t = 0.5
    while _t_tail(2 * t, freedom) > tail:
        t *= 2
    # Newton's steps: from the left none goes too far, since the tail is convex.
    t = t if _t_tail(t, freedom) > tail else 0.0
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for _ in range(60):
        density = math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (_t_tail(t, freedom) - tail) / density
        t += step
        if abs(step) <= _STEP * t:
            break
    return t


_STEP = 1e-14
"""Relative size of a step after which no digit changes."""


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
    # It converges after about the root of the larger parameter.
    for m in range(30 + int(4 * math.sqrt(max(a, b))), 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = even / (1 + odd / (1 + fraction))
    first = -(a + b) * x / (a + 1)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a / (1 + first / (1 + fraction))
