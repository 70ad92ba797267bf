"""Figures in the unit of their column's head; rounding is left to units.significant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fsconsole.model.measurement import DEFINITIONS, Metric, Unit
from fsconsole.units import GIB, KIB, MIB, TIB, significant

_SIZES = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_LONGEST_FIGURE = 9


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of one column, and how many base units it is."""

    unit: str
    factor: float
    whole: bool = False
    """True for a column of counts that are all whole numbers."""

    def text(self, value: float) -> str:
        """Return a value of base units as a figure of this column."""
        scaled = value / self.factor
        text = f"{scaled:.0f}" if self.whole else significant(scaled)
        # Nothing that a disk does needs more digits; a run from elsewhere may hold anything.
        return text if len(text) <= _LONGEST_FIGURE else f"{scaled:.1e}"


def scale_for(metric: Metric, values: Iterable[float]) -> Scale:
    """Return the scale for a column with these values, in the metric's base unit."""
    unit = DEFINITIONS[metric].unit
    listed = tuple(values)
    if unit is Unit.BYTES_PER_S:
        return Scale("MB/s", 1e6)
    if unit is Unit.BYTES:
        return _size_scale(max(listed, default=0.0))
    if unit is Unit.COUNT:
        return Scale("", 1.0, whole=all(value.is_integer() for value in map(float, listed)))
    return Scale(unit.value, 1.0)


def _size_scale(largest: float) -> Scale:
    for unit, factor in _SIZES:
        if largest >= factor:
            return Scale(unit, factor)
    return Scale("B", 1.0, whole=True)
