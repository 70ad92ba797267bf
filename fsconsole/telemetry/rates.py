"""From counters to rates: differences that survive a wrap, and know a counter that began anew."""

from __future__ import annotations


class Unreadable(ValueError):
    """A kernel file that doesn't look as its documentation says."""


class Restarted(ValueError):
    """A counter that stands lower than before without having wrapped: what it counts was made anew."""


_WIDTHS = (2**32, 2**64)
_NARROW, _WIDE = _WIDTHS


def counter_delta(before: int, after: int) -> int:
    """Return how far a counter has gone, over a wrap at 32 or 64 bits too. Raises Restarted.

    The kernel's counters are unsigned long or unsigned int: 32 bits wide on small machines, and for
    milliseconds on all (Documentation/admin-guide/iostats.rst). A step back that no wrap explains by less
    than half the counter's range is taken for a new counter.
    """
    if after >= before:
        return after - before
    width = _NARROW if before < _NARROW else _WIDE
    delta = after + width - before
    if delta >= width // 2:
        raise Restarted(f"counter went back from {before} to {after}")
    return delta


def forward_delta(before: int, after: int) -> int:
    """Return how far a counter has gone that the kernel may correct downwards by a little, as iowait and idle."""
    return max(0, after - before)
