"""The layout of the counter page that generator threads write and the sampler reads without a lock.

A memfd of HEADER_BYTES plus one SLOT_BYTES cache line per thread, and after all of those, thread by thread, a
region of REGION_BYTES for each operation that is timed (model.latency). All words are unsigned 64 bit in the
machine's byte order, each written by one thread only. Times are CLOCK_MONOTONIC nanoseconds (the same clock
in every process and PID namespace, man 7 time_namespaces). A reader may see words of different
operations side by side; each word by itself is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from fsconsole.model.latency import BUCKETS

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


REGION_WORDS = -(-(BUCKETS + len(RegionWord)) // SLOT_WORDS) * SLOT_WORDS
REGION_BYTES = WORD_BYTES * REGION_WORDS
"""Whole cache lines, so that no two threads write into one."""


class ThreadState(IntEnum):
    """Where a thread stands; FAILED goes with an errno in its slot."""

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
