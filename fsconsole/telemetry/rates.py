"""Differences of kernel counters, over wraps and restarts, and numbers in kernel files."""

from __future__ import annotations

import os
import sys


class Unreadable(ValueError):
    """A kernel file that doesn't look as its documentation says."""


class Restarted(ValueError):
    """A counter is lower than before without a wrap: its device is another one now."""


INT_WIDTH = 2**32
"""The kernel's unsigned int, in which it keeps milliseconds (Documentation/admin-guide/iostats.rst)."""
LONG_WIDTH = 2**64 if sys.maxsize > INT_WIDTH or "64" in os.uname().machine else INT_WIDTH
"""Its unsigned long, in which it keeps requests and sectors; a 32 bit program may run on a 64 bit kernel."""
MOST = 2**62
"""Larger figures are underflows, and do not fit into a journal."""
_MOST_STEP = 2**48
_NUMBER_ROOM = 40
"""Characters, more than blanks and a number take."""


def counter_delta(before: int, after: int, width: int = LONG_WIDTH) -> int:
    """Return a counter's increase, over a wrap too. Raises Restarted.

    A decrease that would be a wrap by more than half of the counter's range means a new counter, and so does an
    increase that no device could make.
    """
    if before >= width:
        width = 2**64
    delta = after - before if after >= before else after + width - before
    if delta >= (_MOST_STEP if after >= before else min(_MOST_STEP, width // 2)):
        raise Restarted(f"counter went from {before} to {after}")
    return delta


def forward_delta(before: int, after: int) -> int:
    """Return a counter's increase; 0 for one that the kernel corrected downwards (iowait, idle)."""
    return max(0, after - before)


def share_percent(part_s: float, interval_s: float) -> float:
    """Return a part of an interval in percent, at most 100: ticks may add up to more than the interval."""
    return min(100.0, 100 * part_s / interval_s)


def kernel_number(text: str, name: str) -> int | None:
    """Return the decimal number after a name at the start of a line; None without one, or for an absurd one."""
    at = 0 if text.startswith(name) else text.find(f"\n{name}") + 1
    words = text[at : at + len(name) + _NUMBER_ROOM].removeprefix(name).split(None, 1)
    if (at == 0 and not text.startswith(name)) or not words or not is_number(words[0]):
        return None
    number = int(words[0])
    return number if number <= MOST // 1024 else None


def kernel_numbers(text: str, ending: str = "") -> dict[str, int]:
    """Return the numbers in lines of a name (with an ending) and a decimal number; other lines are skipped."""
    words = (line.split() for line in text.splitlines())
    pairs = ((line[0].removesuffix(ending), int(line[1])) for line in words if len(line) > 1 and is_number(line[1]))
    return {name: number for name, number in pairs if number <= MOST // 1024}


def is_number(word: str) -> bool:
    """Return whether a word is a decimal number in ASCII, of a length that the kernel prints."""
    return word.isascii() and word.isdigit() and len(word) <= len(str(2**64))
