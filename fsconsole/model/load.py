"""The layout of the counter page that generator threads write and the sampler reads without a lock.

A memfd of HEADER_BYTES plus one SLOT_BYTES cache line per thread, and after all of those, thread by thread, a
region of REGION_BYTES for each operation that is timed (model.latency). All words are unsigned 64 bit in the
machine's byte order, each written by one thread only. Times are CLOCK_MONOTONIC nanoseconds (the same clock
in every process and PID namespace, man 7 time_namespaces). A reader may see words of different
operations side by side; each single word is whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from fsconsole.model.thresholds import MOST_EDGES
from fsconsole.model.timed import Timed
from fsconsole.model.wire import Wire
from fsconsole.model.workload import Workload, WorkloadKind

# How long single operations took: counts in buckets that grow with the value, and what is read from them. Pure.
#
# A bucket holds a sixteenth of a power of two of (latency + 16 ns): a percentile read from it is within about 6 % of
# the true one. The 16 keep the index free of a test for tiny values.

SUB_BITS = 4
SHIFT_LESS = SUB_BITS + 1
"""index = (shift << SUB_BITS) + (value >> shift), where shift = value.bit_length() - SHIFT_LESS."""
OFFSET_NS = 1 << SUB_BITS
SLOW_NS, VERY_SLOW_NS = 2_000_000_000, 10_000_000_000
"""Limits above which tiobench counts operations apart: over 2 s and over 10 s."""
_LARGEST_NS = 2**63 - 1
"""No clock of the kernel says more, so that whoever counts need not ask."""


MOST_PROCESSES = 128
"""Writers that have a process each. Threads of one process wait for the interpreter lock before they read the clock, so
with more writers mean, p95 and p99 are too high."""


_TIMED_IN: dict[WorkloadKind, tuple[Timed, ...]] = {
    WorkloadKind.CREATE: (Timed.CREATE, Timed.WRITE),
    WorkloadKind.APPEND: (Timed.APPEND,),
    WorkloadKind.READ: (Timed.READ,),
    WorkloadKind.RANDOM_READ: (Timed.RANDOM_READ,),
    WorkloadKind.RANDOM_WRITE: (Timed.RANDOM_WRITE,),
    WorkloadKind.STAT: (Timed.STAT,),
    WorkloadKind.DELETE: (Timed.DELETE,),
}


class LatencyBucket(Wire, frozen=True, array_like=True):
    """Number of operations in one bucket; on the wire [bucket, count], since a journal holds thousands."""

    bucket: int
    count: int


class Beyond(Wire, frozen=True, array_like=True):
    """Number of operations that took longer than a limit of the plan; on the wire [edge_ns, count]."""

    edge_ns: int
    count: int


class Latencies(Wire, frozen=True):
    """All latencies of one kind of operation; buckets that hold any, rising; sum, maximum and shares are exact."""

    operation: Timed
    sum_ns: int
    max_ns: int
    over_2_s: int
    over_10_s: int
    buckets: tuple[LatencyBucket, ...]
    beyond: tuple[Beyond, ...] = ()
    """Exact counts at the limits that the plan sets for percentiles."""

    @property
    def count(self) -> int:
        """Operations in all."""
        return sum(bucket.count for bucket in self.buckets)

    @property
    def mean_ns(self) -> float:
        """The mean; 0 where there was no operation."""
        return self.sum_ns / self.count if self.buckets else 0.0

    def percentile_ns(self, percent: float) -> float:
        """Return the middle of the bucket that holds the percentile (nearest rank), never above the maximum.

        A limit of the plan is an edge: by the exact count at it, the figure lies on the limit's right side.
        """
        rank = left = math.ceil(percent * self.count / 100)
        figure = float(self.max_ns)
        for bucket in self.buckets:
            left -= bucket.count
            if left <= 0:
                low, high = bucket_bounds_ns(bucket.bucket)
                figure = min((low + high) / 2, figure)
                break
        for edge in self.beyond:
            is_within = self.count - edge.count >= rank
            figure = min(figure, float(edge.edge_ns)) if is_within else max(figure, edge.edge_ns + 1.0)
        return figure


def bucket_of(latency_ns: int) -> int:
    """Return the bucket of a latency."""
    value = latency_ns + OFFSET_NS
    shift = value.bit_length() - SHIFT_LESS
    return (shift << SUB_BITS) + (value >> shift)


def bucket_bounds_ns(bucket: int) -> tuple[int, int]:
    """Return a bucket's least latency and the one above its greatest, in nanoseconds."""
    shift = max(0, (bucket >> SUB_BITS) - 1)
    low = (bucket - (shift << SUB_BITS)) << shift
    return low - OFFSET_NS, low + (1 << shift) - OFFSET_NS


BUCKETS = bucket_of(_LARGEST_NS) + 1


def timed_in(workload: Workload) -> tuple[Timed, ...]:
    """Return what is timed in a workload, in the order of its regions in the counter page."""
    kinds = [timed for kind, _ in workload.operations for timed in _TIMED_IN.get(kind, ())]
    return tuple(dict.fromkeys(kinds + ([Timed(workload.sync_call.value)] if workload.syncs else [])))


def edges_in(workload: Workload, timed: Timed) -> tuple[int, ...]:
    """Return the limits in nanoseconds that the plan sets for percentiles of these operations, rising, at most MOST_EDGES."""
    return tuple(sorted({one.edge_ns for one in workload.require if one.is_about(timed)}))[:MOST_EDGES]


def merged(parts: Sequence[Latencies]) -> Latencies:
    """Return several operations' latencies, of one load, as one; the first names it. Raises IndexError for none."""
    counts: dict[int, int] = {}
    beyond: dict[int, int] = {}
    for part in parts:
        for bucket in part.buckets:
            counts[bucket.bucket] = counts.get(bucket.bucket, 0) + bucket.count
        for edge in part.beyond:
            beyond[edge.edge_ns] = beyond.get(edge.edge_ns, 0) + edge.count
    return Latencies(
        operation=parts[0].operation,
        sum_ns=sum(part.sum_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        over_2_s=sum(part.over_2_s for part in parts),
        over_10_s=sum(part.over_10_s for part in parts),
        buckets=tuple(LatencyBucket(bucket, counts[bucket]) for bucket in sorted(counts)),
        beyond=tuple(Beyond(edge_ns, beyond[edge_ns]) for edge_ns in sorted(beyond)),
    )


WORD_BYTES = 8
SLOT_WORDS = 8
SLOT_BYTES = WORD_BYTES * SLOT_WORDS
HEADER_BYTES = SLOT_BYTES
HEADER_WORDS = HEADER_BYTES // WORD_BYTES


class HeaderWord(IntEnum):
    """Words of the header.

    STOP is written by the engine and read by the threads between operations. GO is written by the generator's
    host before it opens the barrier: a barrier that opens without it means that the host has died.
    """

    MAGIC = 0
    THREADS = 1
    STOP = 2
    GO = 3
    REGIONS = 4


class SlotWord(IntEnum):
    """Words of one thread's slot."""

    STATE = 0
    BYTES = 1
    OPERATIONS = 2
    FILES_DONE = 3
    STARTED_NS = 4
    ENDED_NS = 5
    ERRNO = 6
    READ_BYTES = 7


class RegionWord(IntEnum):
    """Words of a region behind its BUCKETS counts; they are brought up to date after each file."""

    SUM_NS = BUCKETS
    MAX_NS = BUCKETS + 1
    OVER_2_S = BUCKETS + 2
    OVER_10_S = BUCKETS + 3
    BEYOND = BUCKETS + 4
    """First of MOST_EDGES words: operations that took longer than the limits of edges_in()."""


REGION_WORDS = -(-(RegionWord.BEYOND + MOST_EDGES) // SLOT_WORDS) * SLOT_WORDS
REGION_BYTES = WORD_BYTES * REGION_WORDS
"""Whole cache lines, so that no two threads write into one."""


class ThreadState(IntEnum):
    """Status of a thread; FAILED goes with an errno in its slot."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4
    STOPPED = 5


MAGIC = 0x66736332


@dataclass(frozen=True, slots=True)
class ThreadCounters:
    """One slot, read at one instant."""

    state: ThreadState
    bytes_done: int
    operations: int
    files_done: int
    started_ns: int
    ended_ns: int
    errno: int
    read_bytes: int = 0
    """Of bytes_done, those that were read."""


def page_bytes(threads: int, regions: int = 0) -> int:
    """Return the size of the counter page for so many threads, each with so many timed operations."""
    return HEADER_BYTES + threads * (SLOT_BYTES + regions * REGION_BYTES)


def slot_word(thread: int, word: SlotWord) -> int:
    """Return the index, in words from the start of the page, of one word of a thread's slot."""
    return HEADER_WORDS + thread * SLOT_WORDS + word


def region_word(threads: int, regions: int, thread: int, region: int) -> int:
    """Return the index, in words from the start of the page, of the first word of a thread's region."""
    return HEADER_WORDS + threads * SLOT_WORDS + (thread * regions + region) * REGION_WORDS
