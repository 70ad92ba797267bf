"""Quantities as text: the only place that parses sizes and rounds figures.

MB is 10**6 bytes, MiB is 2**20. Every printed figure carries its unit.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Container, Iterable

from fsconsole.errors.targets import BadQuantity
from fsconsole.text import GIB, KIB, MIB, TIB

_SIZE_FACTORS = {
    "": 1, "B": 1,
    "k": 1000, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "K": KIB, "M": MIB, "G": GIB, "T": TIB,
    "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "PiB": 2**50,
}  # fmt: skip
_SIZE_UNITS = {spelled: unit for unit in _SIZE_FACTORS for spelled in (unit.lower(), unit.upper())}
_SIZE_UNITS |= {unit: unit for unit in _SIZE_FACTORS}
_TIME_FACTORS = {
    "": 1.0,
    "s": 1.0,
    "ms": 0.001,
    "us": 0.000001,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
}
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*)")
_BINARY_STEPS = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))


def parse_bytes(text: str) -> int:
    """Return the bytes that a size such as "64KiB", "1.5GiB" or "4096" means.

    Single letters are binary (4G is 4 GiB), as mkfs and truncate read them, but for k, which is 1000. Case matters for
    that letter alone. Raises BadQuantity.
    """
    number, unit = _split(text, _SIZE_UNITS, "a size", "4096, 64KiB, 1.5GiB, 500MB")
    unit = _SIZE_UNITS[unit]
    whole, _, part = number.partition(".")
    part = part.rstrip("0")
    # In whole numbers: as a float 4.1GB is a little less than 4100000000 bytes. The bound first: none has many digits then.
    if float(number) * _SIZE_FACTORS[unit] < 2**63 and len(part) <= _MOST_DECIMALS:
        value, rest = divmod(int(f"{whole.lstrip('0')}{part}" or "0") * _SIZE_FACTORS[unit], 10 ** len(part))
        if not rest:
            return int(value)
    raise BadQuantity(text=text, wanted="a whole number of bytes below 8 EiB", examples="64KiB")


_MOST_DECIMALS = 60
"""2 ** -60 EiB is 1 byte."""


def parse_seconds(text: str) -> float:
    """Return the seconds that a duration such as "90", "250ms" or "10min" means. Raises BadQuantity."""
    number, unit = _split(text, _TIME_FACTORS, "a duration", "30s, 250ms, 10min, 2h")
    return float(number) * _TIME_FACTORS[unit]


def _split(text: str, units: Container[str], wanted: str, examples: str) -> tuple[str, str]:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or match["unit"] not in units:
        raise BadQuantity(text=text, wanted=wanted, examples=examples)
    return match["number"], match["unit"]


def format_bytes(size_bytes: int | float) -> str:
    """Return a size in the largest binary unit that keeps it at 1 or more: "4.0 GiB", "512 B"."""
    for unit, factor in _BINARY_STEPS:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes:.0f} B"


def brief_bytes(size_bytes: float) -> str:
    """Return a size with three significant digits, as a figure that changes all the time: "593 MiB", "1.21 GiB"."""
    for unit, factor in _BINARY_STEPS:
        if size_bytes >= factor:
            return f"{significant(size_bytes / factor)} {unit}"
    return f"{size_bytes:.0f} B"


def format_bytes_exact(size_bytes: int) -> str:
    """Return a size that parses back to the same bytes: "64KiB", "1000B"."""
    for unit, factor in _BINARY_STEPS:
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return f"{size_bytes}B"


def format_rate(bytes_per_s: float) -> str:
    """Return a throughput in MB/s (10**6): "78.9 MB/s"."""
    return f"{significant(bytes_per_s / 1e6)} MB/s"


def format_seconds(elapsed_s: float) -> str:
    """Return a duration: "0.043 s", "12.3 s", "4 min 02 s", "1 h 05 min"; nothing below a millisecond."""
    if elapsed_s < 1:
        return f"{elapsed_s:.3f} s"
    if elapsed_s < 100:
        return f"{significant(elapsed_s)} s"
    minutes, seconds = divmod(round(elapsed_s), 60)
    if minutes < 100:
        return f"{minutes} min {seconds:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def format_elapsed(elapsed_s: float) -> str:
    """Return what a clock shows that still runs, in tenths, which don't flicker: "0.1 s", "4 min 02 s"."""
    return f"{elapsed_s:.1f} s" if elapsed_s < 100 else format_seconds(elapsed_s)


def format_guess(elapsed_s: float) -> str:
    """Return a duration that was guessed, which has no digits behind the point: "7 s", "4 min 02 s"."""
    return f"{elapsed_s:.0f} s" if elapsed_s < 100 else format_seconds(elapsed_s)


def format_percent(share_percent: float) -> str:
    """Return a share with its sign: "29.6 %"."""
    return f"{share_percent:.1f} %"


def significant(value: float) -> str:
    """Return a figure with three significant digits, never in exponent form: "0.00431", "12.3", "1204"."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    if magnitude >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}" if magnitude >= 0.001 else f"{value:.5f}"


def fixed(value: float, decimals: int) -> str:
    """Return a figure with so many digits behind the point, as its neighbours in a column have."""
    return f"{value:.{decimals}f}"


def shared_decimals(values: Iterable[float]) -> int:
    """Return how many digits behind the point the figures of one column have, so that points stand in line.

    The smallest (but zero) shows three significant digits, or two where the largest would take more than five;
    three behind the point are enough (1 ms), except where the largest would show less than two.
    """
    magnitudes = [abs(value) for value in values if value and math.isfinite(value)]
    if not magnitudes:
        return 0
    smallest, largest = min(magnitudes), max(magnitudes)
    most = min(_MOST_DECIMALS, max(_ENOUGH_DECIMALS, _decimals(largest, 2)))
    roomy = max(_decimals(smallest, 2), min(_decimals(smallest, 3), _decimals(largest, 5)))
    return max(0, min(most, roomy))


_ENOUGH_DECIMALS, _MOST_DECIMALS = 3, 6


def _decimals(magnitude: float, digits: int) -> int:
    """Return how many digits behind the point show so many significant ones; negative: fewer than there are before it."""
    return digits - 1 - math.floor(math.log10(magnitude))


def instant(wall_ns: int) -> str:
    """Return a wall clock time as UTC to the minute: "2026-11-21 08:10 UTC"."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(wall_ns // 10**9))
