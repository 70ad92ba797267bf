"""Verdicts: a row's figure against its baseline's, round by round, with an interval and a word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

DEFAULT_SAME = 0.10
"""Share of the baseline's figure within which a difference is called the same."""
LEAST_ROUNDS = 3
"""Fewer rounds that both rows finished give no verdict."""
LEAST_STEPS = 20
"""Least figure in a ratio, in multiples of its resolution."""
MOST_MORE = 30
"""More further rounds than these are not worth it."""


class Verdict(str, Enum):
    """One word on a row against its baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    MORE = "more"
    LESS = "less"
    SAME = "same"
    UNDECIDED = "undecided"


class Scale(str, Enum):
    """How two figures are compared."""

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
    low: float
    high: float
    verdict: Verdict | None
    """None: fewer than LEAST_ROUNDS rounds, or both figures below what can be resolved."""
    is_small: bool = False
    """True for a decided difference that lies inside the limit of "same" too."""
    more: int | None = None
    """Of UNDECIDED: further rounds that would decide it with a chance of 80 %; None: more than MOST_MORE."""
    below: float | None = None
    """The limit in base units below which both figures lie; None where at least one is above it."""
