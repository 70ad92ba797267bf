"""Figures in the unit of their column's head, their points in line; rounding is left to units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fsconsole.model.measurement import DEFINITIONS, Metric, Unit
from fsconsole.units import GIB, KIB, MIB, TIB, fixed, shared_decimals

_SIZES = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_LONGEST_FIGURE = 9


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of one column, how many base units it is, and how many digits stand behind the point."""

    unit: str
    factor: float
    decimals: int = 0

    def text(self, value: float) -> str:
        """Return a value of base units as a figure of this column."""
        scaled = value / self.factor
        for text in (fixed(scaled, self.decimals), fixed(scaled, 0)):
            if len(text) <= _LONGEST_FIGURE:
                return text
        # Nothing that a disk does needs more digits; a run from elsewhere may hold anything.
        return f"{scaled:.1e}"


def scale_for(metric: Metric, values: Iterable[float]) -> Scale:
    """Return the scale for a column with these values, in the metric's base unit."""
    listed = tuple(map(float, values))
    base = DEFINITIONS[metric].unit
    unit, factor = _unit(base, max(listed, default=0.0))
    whole = base in (Unit.COUNT, Unit.BYTES) and factor == 1 and all(value.is_integer() for value in listed)
    if whole:
        return Scale(unit, factor)
    return Scale(unit, factor, shared_decimals(value / factor for value in listed))


def _unit(unit: Unit, largest: float) -> tuple[str, float]:
    """Return the unit of a column's head and its size in base units."""
    if unit is Unit.BYTES_PER_S:
        return "MB/s", 1e6
    if unit is Unit.BYTES:
        return next(((name, float(size)) for name, size in _SIZES if largest >= size), ("B", 1.0))
    return ("" if unit is Unit.COUNT else unit.value), 1.0
