"""Strip: where a row's interval lies against its baseline, in 11 cells of ASCII: "[=*=]|", with the baseline in the middle."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fsconsole.model.verdicts import Compared, Scale

CELLS = 11
_MIDDLE = CELLS // 2
LINEAR = 0.20
"""Share of the baseline at both ends of a linear strip; beyond it strips are logarithmic."""
_FACTORS = (2, 5, 10, 20, 50, 100)
"""Ends of logarithmic strips; what lies beyond the last one is clipped."""


@dataclass(frozen=True, slots=True)
class StripScale:
    """The scale of a block's strips: linear, or logarithmic up to a factor."""

    factor: int = 0
    """0: linear within LINEAR."""

    @property
    def head(self) -> str:
        """Axis above the strips: both ends, and the baseline in the middle."""
        left, middle, right = f"-{100 * LINEAR:.0f}", "0", f"+{100 * LINEAR:.0f}"
        if self.factor:
            left, middle, right = f"/{self.factor}", "1", f"x{self.factor}"
        return f"{left:<{_MIDDLE}}{middle}{right:>{_MIDDLE}}"

    @property
    def unit(self) -> str:
        """Unit of the axis's figures, no wider than it."""
        return "of baseline" if self.factor else "% of base"

    def place(self, share: float) -> float:
        """Return the cells between the middle and a difference, a share of the baseline; negative: to the left."""
        if not self.factor:
            return share / LINEAR * _MIDDLE
        return math.log1p(share) / math.log(self.factor) * _MIDDLE if share > -1 else -math.inf


def strip_scale(rows: Iterable[Compared]) -> StripScale:
    """Return the scale that shows the estimates of all rows, the smallest one."""
    shares = [_shares(row)[1] for row in rows if row.low is not None]
    if all(abs(share) <= LINEAR for share in shares):
        return StripScale()
    ends = (max(1 + share, 1 / (1 + share)) if -1 < share < math.inf else math.inf for share in shares)
    widest = max(ends)
    return StripScale(next((factor for factor in _FACTORS if widest <= factor), _FACTORS[-1]))


def strip_of(compared: Compared | None, scale: StripScale) -> str:
    """Return the strip of a row: interval in brackets (< and > where it is clipped), estimate *, baseline |.

    No interval, or figures that are too coarse for a verdict: the baseline alone. An interval beyond the baseline lies in
    other cells than it, however small the difference is.
    """
    cells = [" "] * CELLS
    cells[_MIDDLE] = "|"
    if compared is None or compared.verdict is None or compared.low is None:
        return "".join(cells)
    low, estimate, high = map(scale.place, _shares(compared))
    first, last = _cell(low), _cell(high)
    if low > 0:
        first, last = max(first, _MIDDLE + 1), max(last, _MIDDLE + 1)
    elif high < 0:
        first, last = min(first, _MIDDLE - 1), min(last, _MIDDLE - 1)
    for place in range(first, last + 1):
        cells[place] = "|" if place == _MIDDLE else "="
    cells[first] = "<" if low < -_MIDDLE - 0.5 else "["
    cells[last] = ">" if high > _MIDDLE + 0.5 else "]"
    if abs(estimate) <= _MIDDLE + 0.5:
        cells[min(max(_cell(estimate), first), last)] = "*"
    return "".join(cells)


def _cell(place: float) -> int:
    return _MIDDLE + round(max(-_MIDDLE, min(place, _MIDDLE)))


def _shares(compared: Compared) -> tuple[float, float, float]:
    """Return lower bound, estimate and upper bound as shares of the baseline's figure."""
    low, high = compared.low, compared.high
    values = (-math.inf if low is None else low, compared.change, math.inf if high is None else high)
    if compared.scale is Scale.RATIO:
        return values
    # A difference from nothing is infinite, on its side.
    low_share, share, high_share = (
        value / compared.other if compared.other > 0 else math.copysign(math.inf, value) if value else 0.0
        for value in values
    )
    return low_share, share, high_share
