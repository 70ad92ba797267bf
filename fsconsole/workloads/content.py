"""Data that is written into files: pieces of a random buffer at rotating offsets.

Filesystems, volumes and arrays may deduplicate and compress. So each piece starts at another offset of a pool, far from
its neighbours, and each 4 KiB of it start with eight unique bytes; only blocks that take more than 256 MiB over all
threads come unstamped from one pool of 16 MiB. Pieces aligned to cache lines cost a seventh less CPU to copy.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from fsconsole.model.workload import DataKind, Workload
from fsconsole.text import SECTOR_BYTES

POOL_BYTES = 2 * 2**20
"""A power of two, so that an odd step visits every offset. No repetition within 0.8 MiB, nor, with 128 threads or more,
within the 128 KiB that btrfs compresses at once."""
_MOST_STAMPS = 65_535
"""Odd, as all numbers of stamps: pieces of one page come to another place of the pool each time round."""
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096
"""Largest memory alignment of O_DIRECT (man 2 open, NOTES), and the size of a stamped block."""
_PART_BYTES = 512
"""So that blocks and files of less than a page have their share of zeros, too."""
_WORD_BYTES = 8
_PAGE_WORDS = PAGE_BYTES // _WORD_BYTES
_STEP = 40_521 / 65_536
"""Near the golden ratio, as a fraction without large partial quotients: no two pieces are close."""
_MOST_OWN_BYTES = 2**28
"""Blocks of all threads together; beyond that they share one pool, to save memory."""
_SHARED_POOL_BYTES = 16 * 2**20
_OWN_POOLS_BYTES = 16 * 2**20
"""Shared out among the threads."""


Stamp = Callable[[int, int], None]
"""Writes eight unique bytes at the start of each 4 KiB of a piece, given its start (a multiple of eight) and size."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """One thread's pieces: from first, each time stride further, modulo mask + 1."""

    memory: memoryview
    first: int
    stride: int
    mask: int
    stamp: Stamp | None
    """To be called before a piece is written; None where pieces are not stamped."""


@dataclass(frozen=True, slots=True)
class PayloadContent:
    """Content of a load's writes, made once, before workers are forked."""

    workload: Workload
    words: bytes
    """POOL_BYTES of random data, for stamps; empty where everything is zeros."""
    data: bytes
    """Random bytes that fill pools; empty where it is all zeros."""
    shared: memoryview
    """The pool that all share, which nobody stamps; empty where each thread has its own."""

    @property
    def alignment_bytes(self) -> int:
        """Alignment of pieces; the zeros of compressible data must not be stamped one by one."""
        is_random = self.workload.data is DataKind.RANDOM
        return CACHE_LINE_BYTES if is_random and not self.workload.direct else PAGE_BYTES

    def pieces(self, thread: int) -> Pieces:
        """Return where a thread takes its pieces from, so that threads don't write the same bytes."""
        block, threads = self.workload.block_size_bytes, self.workload.threads
        if self.shared or not self.data:
            size_bytes = len(self.data) or POOL_BYTES
            first, stride = walk(size_bytes, PAGE_BYTES if self.workload.direct else 1, thread)
            return Pieces(self.shared, first, stride, size_bytes - 1, None)
        # Memory that no other thread stamps while this one's write is under way, or a device reads it.
        size_bytes = own_bytes(threads)
        pool = filled(self.data, size_bytes, block)
        first, stride = walk(size_bytes, self.alignment_bytes, thread)
        stamp = stamper(pool, self.words, block, threads, thread)
        # Zeros among the two words that are stamped would be lost.
        random_bytes = int(_parts(block)[0] * (1 - self.workload.zero_share))
        is_sparse = self.workload.data is DataKind.COMPRESSIBLE and random_bytes < 2 * _WORD_BYTES
        return Pieces(pool, first, stride, size_bytes - 1, None if is_sparse else stamp)


def content_of(workload: Workload) -> PayloadContent:
    """Return what a load writes."""
    if not workload.writes:
        return PayloadContent(workload, b"", b"", memoryview(b""))
    block = workload.block_size_bytes
    if workload.data is DataKind.ZERO:
        return PayloadContent(workload, b"", b"", memoryview(anonymous_memory(POOL_BYTES + block)))
    is_shared = block * workload.threads > _MOST_OWN_BYTES
    words = os.urandom(_SHARED_POOL_BYTES if is_shared else POOL_BYTES)
    data = words
    if workload.data is DataKind.COMPRESSIBLE:
        data = b"".join(_with_zeros(words, _parts(block), workload.zero_share))
    return PayloadContent(workload, words, data, filled(data, len(data), block) if is_shared else memoryview(b""))


def _parts(block: int) -> tuple[int, ...]:
    """Return the sizes of a page's parts, each with its share of zeros: so has a block, which begins with a page."""
    ends = sorted({*range(0, PAGE_BYTES + 1, _PART_BYTES), block % PAGE_BYTES})
    return tuple(end - begin for begin, end in pairwise(ends))


def _with_zeros(words: bytes, parts: tuple[int, ...], share: float) -> Iterator[bytes]:
    """Yield random data, each part of each page with zeros at its end: so many that all pages together have the share."""
    for page in range(len(words) // PAGE_BYTES):
        at = page * PAGE_BYTES
        for size in parts:
            zeros = int((page + 1) * size * share) - int(page * size * share)
            yield words[at : at + size - zeros]
            yield bytes(zeros)
            at += size


def walk(pool_bytes: int, alignment_bytes: int, thread: int) -> tuple[int, int]:
    """Return where a thread begins in a pool, and its step: an odd number of alignments."""
    places = pool_bytes // alignment_bytes
    step = int(places * _STEP) | 1
    return (thread * 7_368_787 + 1) % places * alignment_bytes, step * alignment_bytes


def own_bytes(threads: int) -> int:
    """Return the size of the pool of one of so many threads: a power of two."""
    share = max(PAGE_BYTES, min(POOL_BYTES, _OWN_POOLS_BYTES // threads))
    return int(2 ** (share.bit_length() - 1))


def stamper(memory: memoryview, stamps: bytes, block_size_bytes: int, threads: int, thread: int) -> Stamp:
    """Return the function that stamps one thread's pieces, with stamps that no other thread has.

    Before its stamps repeat, the second word of every page of the memory changes, so that no page repeats.
    """
    words, following_stamps = memory[: len(memory) & -_WORD_BYTES].cast("Q"), memoryview(stamps).cast("Q")
    most_pages = -(-block_size_bytes // PAGE_BYTES)
    own = max(most_pages, min(_MOST_STAMPS, len(following_stamps) // threads - 1)) | 1
    first = thread * own % (len(following_stamps) - own + 1)
    # The last from which a whole piece can be stamped.
    last = first + own - most_pages
    following = first
    seconds = len(words[1::_PAGE_WORDS])

    def stamp(start: int, size_bytes: int) -> None:
        nonlocal following
        at = start >> 3
        if size_bytes <= PAGE_BYTES:
            words[at] = following_stamps[following]
            following += 1
        else:
            pages = (size_bytes + PAGE_BYTES - 1) // PAGE_BYTES
            words[at : at + pages * _PAGE_WORDS : _PAGE_WORDS] = following_stamps[following : following + pages]
            following += pages
        if following > last:
            following = first
            words[1::_PAGE_WORDS] = memoryview(os.urandom(seconds * _WORD_BYTES)).cast("Q")

    return stamp


def filled(data: bytes, pool_bytes: int, block_size_bytes: int) -> memoryview:
    """Return memory full of the data: a piece of a block may start at any of pool_bytes, and be stamped."""
    memory = anonymous_memory(pool_bytes + block_size_bytes + PAGE_BYTES)
    with suppress(OSError, AttributeError):
        # Fewer faults, and fewer misses of the TLB; a kernel without huge pages refuses.
        memory.madvise(mmap.MADV_HUGEPAGE)
    pool = memoryview(memory)
    for start in range(0, len(pool), len(data)):
        piece = pool[start : start + len(data)]
        piece[:] = data[: len(piece)]
    return pool


def anonymous_memory(size_bytes: int, sharing: int = mmap.MAP_PRIVATE) -> mmap.mmap:
    """Return zeroed memory that begins on a page; forks have a copy, or with MAP_SHARED the same."""
    return mmap.mmap(-1, size_bytes, flags=sharing | mmap.MAP_ANONYMOUS)


_MASK = 2**64 - 1


def scrambled(*words: int) -> int:
    """Return 64 bits that depend on all the words (splitmix64, Steele, Lea and Flood 2014)."""
    state = 0
    for word in words:
        state = (state + word + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def size_of_file(workload: Workload, number: int) -> int:
    """Return the size of file number, drawn evenly from the workload's range; in whole sectors for O_DIRECT."""
    if workload.size_weights:
        place = scrambled(workload.seed, number) % sum(weight for _, weight in workload.size_weights)
        for size, weight in workload.size_weights:
            if place < weight:
                return size
            place -= weight
    smallest, span = workload.file_size_bytes, workload.file_size_max_bytes - workload.file_size_bytes
    if span <= 0:
        return smallest
    size = smallest + scrambled(workload.seed, number) % (span + 1)
    return size - size % SECTOR_BYTES if workload.direct else size
