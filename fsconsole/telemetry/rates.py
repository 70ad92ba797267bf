"""From counters to rates: differences that survive a wrap, and know a counter that began anew."""

from __future__ import annotations

import os
import sys


class Unreadable(ValueError):
    """A kernel file that doesn't look as its documentation says."""


class Restarted(ValueError):
    """A counter that stands lower than before without having wrapped: what it counts was made anew."""


INT_WIDTH = 2**32
"""The kernel's unsigned int, in which it keeps milliseconds (Documentation/admin-guide/iostats.rst)."""
LONG_WIDTH = 2**64 if sys.maxsize > INT_WIDTH or "64" in os.uname().machine else INT_WIDTH
"""Its unsigned long, in which it keeps requests and sectors; a 32 bit program may run on a 64 bit kernel."""
MOST = 2**62
"""A figure above this is no kernel's (an underflow), and no journal could keep it."""
_MOST_STEP = 2**48
_NUMBER_ROOM = 40
"""Characters, more than blanks and a number take."""


def counter_delta(before: int, after: int, width: int = LONG_WIDTH) -> int:
    """Return how far a counter of a width has gone, over a wrap too. Raises Restarted.

    A step back that no wrap explains by less than half the counter's range is taken for a new counter, and so is
    a step that no device could make.
    """
    if before >= width:
        width = 2**64
    delta = after - before if after >= before else after + width - before
    if delta >= (_MOST_STEP if after >= before else min(_MOST_STEP, width // 2)):
        raise Restarted(f"counter went from {before} to {after}")
    return delta


def forward_delta(before: int, after: int) -> int:
    """Return how far a counter has gone that the kernel may correct downwards by a little, as iowait and idle."""
    return max(0, after - before)


def share_percent(part_s: float, interval_s: float) -> float:
    """Return a part of an interval in percent; the kernel's ticks may make it come out above the whole."""
    return min(100.0, 100 * part_s / interval_s)


def kernel_number(text: str, name: str) -> int | None:
    """Return the decimal number behind a name at the beginning of a line; None where there is none, or an absurd one."""
    at = 0 if text.startswith(name) else text.find(f"\n{name}") + 1
    words = text[at : at + len(name) + _NUMBER_ROOM].removeprefix(name).split(None, 1)
    if (at == 0 and not text.startswith(name)) or not words or not is_number(words[0]):
        return None
    number = int(words[0])
    return number if number <= MOST // 1024 else None


def kernel_numbers(text: str, ending: str = "") -> dict[str, int]:
    """Return what lines of a name (with an ending) and a decimal number say; other lines, and absurd numbers, are left out."""
    words = (line.split() for line in text.splitlines())
    pairs = (
        (line[0].removesuffix(ending), int(line[1])) for line in words if len(line) > 1 and is_number(line[1])
    )
    return {name: number for name, number in pairs if number <= MOST // 1024}


def is_number(word: str) -> bool:
    """Return whether a word is a decimal number in ASCII, of a length that the kernel prints."""
    return word.isascii() and word.isdigit() and len(word) <= len(str(2**64))
