"""What operations on files have in common: the thread's own means, its clock, and the protocol."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Protocol

from fsconsole.model.counters import HeaderWord, RegionWord, SlotWord, region_word, slot_word
from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SLOW_NS, SUB_BITS, VERY_SLOW_NS, Timed, timed_in
from fsconsole.model.workload import Workload
from fsconsole.workloads.content import Pieces

NEVER_NS = 2**63
NO_BUDGET = 2**63
STOP = int(HeaderWord.STOP)
_SUM_NS = int(RegionWord.SUM_NS)


class Operation(Protocol):
    """One thing that is done to one file after the other, by one thread.

    A file is given by an open directory, its name below it, and its number there: three words and no object, whose
    making would cost a hundredth of a small file's.
    """

    def run(self, directory_fd: int, name: str, number: int) -> bool:
        """Carry it out; False where a stop, or a limit at once, ended it in the middle. Raises OSError."""
        ...


@dataclass(slots=True)
class Means:
    """What one thread works with; deadline_ns, set when its clock starts, and budget_bytes end it in a file."""

    workload: Workload
    thread: int
    words: memoryview
    pieces: Pieces
    buffer: memoryview
    deadline_ns: int = NEVER_NS
    budget_bytes: int = NO_BUDGET
    bytes_word: int = field(init=False)
    """Index of this thread's count of bytes."""
    operations_word: int = field(init=False)
    """Index of this thread's count of calls and file operations."""

    def __post_init__(self) -> None:
        # Once: for a small file, working them out costs as much as a tenth of making it.
        self.bytes_word = slot_word(self.thread, SlotWord.BYTES)
        self.operations_word = slot_word(self.thread, SlotWord.OPERATIONS)

    @property
    def direct_flag(self) -> int:
        """What O_DIRECT adds to the flags of open."""
        return os.O_DIRECT if self.workload.direct else 0

    def allowed(self, wanted_bytes: int) -> int:
        """Return how many of the wanted bytes the budget leaves."""
        if self.budget_bytes == NO_BUDGET:
            return wanted_bytes
        return max(0, min(wanted_bytes, self.budget_bytes - int(self.words[self.bytes_word])))

    def stopwatch(self, timed: Timed) -> Stopwatch:
        """Return the stopwatch of one kind of operation."""
        regions = timed_in(self.workload)
        return Stopwatch(
            self.words,
            region_word(self.words[HeaderWord.THREADS], len(regions), self.thread, regions.index(timed)),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends one thread, between its operations; bytes are shared out evenly."""

    deadline_ns: int = NEVER_NS
    budget_bytes: int = NO_BUDGET

    def reached(self, means: Means) -> bool:
        """Tell whether the thread has done its bytes, or its time is over."""
        return means.words[means.bytes_word] >= self.budget_bytes or time.monotonic_ns() >= self.deadline_ns


class Stopwatch:
    """Counts latencies in a region of the counter page.

    Loops that can't afford a call do what lap() does by themselves, with the names that are public here.
    """

    __slots__ = ("base", "notable", "words")

    def __init__(self, words: memoryview, base: int) -> None:
        self.words = words
        self.base = base
        self.notable = min(SLOW_NS, words[base + RegionWord.MAX_NS]) + OFFSET_NS
        """A latency (plus OFFSET_NS) above this must be told to note()."""

    def lap(self, began_ns: int) -> None:
        """Count one operation that began at that instant and has just ended."""
        latency = time.monotonic_ns() - began_ns + OFFSET_NS
        shift = latency.bit_length() - SHIFT_LESS
        words, base = self.words, self.base
        words[base + (shift << SUB_BITS) + (latency >> shift)] += 1
        words[base + _SUM_NS] += latency - OFFSET_NS
        if latency > self.notable:
            self.note(latency)

    def note(self, latency: int) -> int:
        """Take in a latency (plus OFFSET_NS) that is the longest so far, or a slow one; returns the new notable."""
        words, base, latency_ns = self.words, self.base, latency - OFFSET_NS
        words[base + RegionWord.MAX_NS] = max(words[base + RegionWord.MAX_NS], latency_ns)
        if latency_ns > SLOW_NS:
            words[base + RegionWord.OVER_2_S] += 1
        if latency_ns > VERY_SLOW_NS:
            words[base + RegionWord.OVER_10_S] += 1
        self.notable = min(SLOW_NS, words[base + RegionWord.MAX_NS]) + OFFSET_NS
        return self.notable

    def add(self, total: int, count: int) -> None:
        """Add up count latencies (plus OFFSET_NS each) that a loop has put into their buckets by itself."""
        self.words[self.base + _SUM_NS] += total - count * OFFSET_NS


class Syncs:
    """An fsync after every so many writes of a thread, over all its files."""

    __slots__ = ("_every", "_stopwatch", "due")

    def __init__(self, means: Means) -> None:
        self._every = means.workload.fsync_every
        self._stopwatch = means.stopwatch(Timed.FSYNC) if self._every else None
        self.due = self._every or NEVER_NS
        """The count of operations at which the next one is due."""

    def sync(self, fd: int, operations: int) -> int:
        """Bring a file to the device; returns the count at which the next one is due. Raises OSError."""
        if self._stopwatch is not None:
            began_ns = time.monotonic_ns()
            os.fsync(fd)
            self._stopwatch.lap(began_ns)
            self.due = operations + self._every
        return self.due
