"""What is written into files: pieces of memory full of random data, no two of them alike.

A filesystem, a volume or an array may look for blocks that it has seen before, and for data that it can compress. So
every piece begins at another place of a pool, neighbours far apart, and every 4 KiB of it begin with eight bytes of
their own. Pieces that begin on a cache line are copied with a seventh less CPU than those that begin at odd bytes.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.model.workload import DataKind, Workload

POOL_BYTES = 2 * 2**20
"""A power of two: an odd number of steps visits every place before it comes back to the first.

Whoever compresses up to 0.8 MiB at once finds nothing in it twice (btrfs takes 128 KiB)."""
STAMPS = 65_521
"""A prime: a stamp meets a place of the pool again after as many pieces as both numbers multiplied."""
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096
"""What O_DIRECT wants memory aligned to at most (man 2 open, NOTES), what is stamped, and what a share of zeros is kept in."""
_WORD_BYTES = 8
_PAGE_WORDS = PAGE_BYTES // _WORD_BYTES
_STEP = 40_521 / 65_536
"""Near the golden ratio, and of a fraction without large partial quotients: however many pieces, none lie close."""
_MOST_OWN_BYTES = 2**20
"""Workers that write in larger blocks share one pool: one of their own each might be more memory than there is."""
_MOST_DIRECT_BYTES = 2**28
_DIRECT_POOL_BYTES = 16 * 2**20
"""Shared out among the threads."""


Stamp = Callable[[int, int], None]
"""Writes eight bytes of their own at the begin of every 4 KiB of a piece: of its start, a multiple of eight, and size."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Where one thread takes its pieces from: they begin at first, then each time stride further, under a mask."""

    memory: memoryview
    first: int
    stride: int
    mask: int
    stamp: Stamp | None
    """To be called before a piece is written; None where pieces are not stamped."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a load writes, made once, before workers are forked."""

    workload: Workload
    data: bytes
    """POOL_BYTES of it; empty where it is all zeros."""
    shared: memoryview
    """The pool that workers share, which nobody stamps; empty where each has its own."""

    @property
    def alignment_bytes(self) -> int:
        """What pieces begin at multiples of; the zeros of compressible data must not be stamped one by one."""
        is_random = self.workload.data is DataKind.RANDOM
        return CACHE_LINE_BYTES if is_random and not self.workload.direct else PAGE_BYTES

    def pool(self) -> memoryview:
        """Return the pool of one worker."""
        if self.shared or not self.data or self.workload.direct:
            return self.shared
        return filled(self.data, POOL_BYTES, self.workload.block_size_bytes)

    def pieces(self, pool: memoryview, thread: int) -> Pieces:
        """Return where a thread takes its pieces from, so that threads don't write the same bytes."""
        if self.shared or not self.data:
            first, stride = walk(POOL_BYTES, PAGE_BYTES if self.workload.direct else 1, thread)
            return Pieces(pool, first, stride, POOL_BYTES - 1, None)
        size_bytes = POOL_BYTES
        if self.workload.direct:
            # The device reads it when it likes: memory that no other thread stamps meanwhile.
            size_bytes = own_bytes(self.workload.threads)
            pool = filled(self.data, size_bytes, self.workload.block_size_bytes)
        first, stride = walk(size_bytes, self.alignment_bytes, thread)
        return Pieces(pool, first, stride, size_bytes - 1, stamper(pool, self.data, thread))


def content_of(workload: Workload) -> Content:
    """Return what a load writes."""
    if not workload.writes:
        return Content(workload, b"", memoryview(b""))
    block = workload.block_size_bytes
    if workload.data is DataKind.ZERO:
        return Content(workload, b"", memoryview(anonymous_memory(POOL_BYTES + block)))
    data = os.urandom(POOL_BYTES)
    if workload.data is DataKind.COMPRESSIBLE:
        data = _with_zeros(data, round(workload.zero_share * PAGE_BYTES))
    together = block * workload.threads
    is_shared = together > _MOST_DIRECT_BYTES if workload.direct else block > _MOST_OWN_BYTES
    return Content(workload, data, filled(data, POOL_BYTES, block) if is_shared else memoryview(b""))


def walk(pool_bytes: int, alignment_bytes: int, thread: int) -> tuple[int, int]:
    """Return where a thread begins in a pool, and its step: an odd number of alignments."""
    places = pool_bytes // alignment_bytes
    step = int(places * _STEP) | 1
    return (thread * 7_368_787 + 1) % places * alignment_bytes, step * alignment_bytes


def own_bytes(threads: int) -> int:
    """Return the size of the pool of one of so many threads that write past the cache: a power of two."""
    share = max(PAGE_BYTES, min(POOL_BYTES, _DIRECT_POOL_BYTES // threads))
    return int(2 ** (share.bit_length() - 1))


def stamper(memory: memoryview, data: bytes, thread: int) -> Stamp:
    """Return what stamps the pieces of one thread in memory; a function of its own, which is called for every write."""
    words, stamps = memory[: len(memory) & -_WORD_BYTES].cast("Q"), memoryview(data).cast("Q")
    following = thread * 7_919 % STAMPS

    def stamp(start: int, size_bytes: int) -> None:
        nonlocal following
        at = start >> 3
        if size_bytes <= PAGE_BYTES:
            words[at] = stamps[following]
        else:
            pages = (size_bytes + PAGE_BYTES - 1) // PAGE_BYTES
            words[at : at + pages * _PAGE_WORDS : _PAGE_WORDS] = stamps[following : following + pages]
        following = following + 1 if following < STAMPS - 1 else 0

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


def anonymous_memory(size_bytes: int) -> mmap.mmap:
    """Return zeroed memory of this process and its forks that begins on a page."""
    return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _with_zeros(data: bytes, zeros: int) -> bytes:
    kept, gap = PAGE_BYTES - zeros, bytes(zeros)
    return b"".join(data[start : start + kept] + gap for start in range(0, len(data), PAGE_BYTES))
