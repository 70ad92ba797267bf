"""Scalars as SQLite keeps them."""

from __future__ import annotations

import math

SqlValue = int | float | str | None


def storable(value: object) -> SqlValue:
    r"""Return a scalar as it is stored; a lone surrogate in a file name becomes its visible escape, \udcff.

    SQLite's integers have 64 bits with a sign, its text is UTF-8, and it turns NaN into NULL
    (sqlite.org/datatype3.html). Raises ValueError for what it can't keep, TypeError for no scalar.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no figure")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} has more than 64 bits")
    if value is None or isinstance(value, (int, float)):
        return value
    raise TypeError(f"{type(value).__name__} is not a scalar")
