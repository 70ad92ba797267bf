"""What is written into files: a buffer from which every write takes a piece at another place."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

from fsconsole.model.workload import DataKind

POOL_BYTES = 16 * 2**20
"""A power of two, so that an odd stride visits every offset before it comes back to the first."""
OFFSET_MASK = POOL_BYTES - 1
STRIDE_BYTES = 10_368_889
"""Odd, and near POOL_BYTES / golden ratio: pieces of neighbouring writes lie far apart in the pool.

With odd offsets no two writes of a thread start at the same byte before 2**24 of them, so a filesystem
that looks for equal or compressible blocks finds none next to each other."""
_PAGE_BYTES = 4096
"""What O_DIRECT wants memory aligned to at most (man 2 open, NOTES), and the share of zeros is kept in."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where in the pool the pieces of one thread begin: first, then each time stride further, modulo its size."""

    first: int
    stride: int


def make_pool(kind: DataKind, block_size_bytes: int, zero_share: float = 0.0) -> memoryview:
    """Return POOL_BYTES + block_size_bytes of data: a piece of a block may start at any offset of the pool.

    It begins on a page. Of COMPRESSIBLE data every 4 KiB, wherever they begin, hold zero_share zeros.
    """
    size_bytes = POOL_BYTES + block_size_bytes
    pool = memoryview(anonymous_memory(size_bytes))
    if kind is DataKind.ZERO:
        return pool
    data = os.urandom(POOL_BYTES)
    if kind is DataKind.COMPRESSIBLE:
        data = _with_zeros(data, round(zero_share * _PAGE_BYTES))
    for start in range(0, size_bytes, POOL_BYTES):
        piece = pool[start : start + POOL_BYTES]
        piece[:] = data[: len(piece)]
    return pool


def places(thread: int, *, direct: bool) -> Places:
    """Return where a thread takes its pieces from, so that threads don't write the same bytes."""
    first = (thread * 7_368_787 + 1) & OFFSET_MASK
    if not direct:
        return Places(first, STRIDE_BYTES)
    # An odd number of pages: every page comes before one comes again.
    return Places(first & -_PAGE_BYTES, STRIDE_BYTES & -_PAGE_BYTES)


def anonymous_memory(size_bytes: int) -> mmap.mmap:
    """Return zeroed memory of this process and its forks that begins on a page."""
    return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _with_zeros(data: bytes, zeros: int) -> bytes:
    kept, gap = _PAGE_BYTES - zeros, bytes(zeros)
    return b"".join(data[start : start + kept] + gap for start in range(0, len(data), _PAGE_BYTES))
