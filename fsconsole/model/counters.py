"""The layout of the counter page that generator threads write and the sampler reads without a lock.

A memfd of HEADER_BYTES plus one SLOT_BYTES cache line per thread; all words are unsigned 64 bit in the
machine's byte order, each written by one thread only. Times are CLOCK_MONOTONIC nanoseconds (the same clock
in every process and PID namespace, man 7 time_namespaces). A reader may see words of different
operations side by side; each word by itself is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

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


class SlotWord(IntEnum):
    """Words of one thread's slot."""

    STATE = 0
    BYTES = 1
    OPERATIONS = 2
    FILES_DONE = 3
    STARTED_NS = 4
    ENDED_NS = 5
    ERRNO = 6


class ThreadState(IntEnum):
    """Where a thread stands; FAILED goes with an errno in its slot."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4
    STOPPED = 5


MAGIC = 0x66736331


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


def page_bytes(threads: int) -> int:
    """Return the size of the counter page for so many threads."""
    return HEADER_BYTES + threads * SLOT_BYTES


def slot_word(thread: int, word: SlotWord) -> int:
    """Return the index, in words from the start of the page, of one word of a thread's slot."""
    return HEADER_WORDS + thread * SLOT_WORDS + word
