"""What is written into files: a buffer from which every write takes a piece at another place."""

from __future__ import annotations

import os

from fsconsole.model.workload import DataKind

POOL_BYTES = 16 * 2**20
"""A power of two, so that an odd stride visits every offset before it comes back to the first."""
OFFSET_MASK = POOL_BYTES - 1
STRIDE_BYTES = 10_368_889
"""Odd, and near POOL_BYTES / golden ratio: pieces of neighbouring writes lie far apart in the pool.

With odd offsets no two writes of a thread start at the same byte before 2**24 of them, so a filesystem
that looks for equal or compressible blocks finds none next to each other."""


def make_pool(kind: DataKind, block_size_bytes: int) -> memoryview:
    """Return POOL_BYTES + block_size_bytes of data: a piece of a block may start at any offset of the pool."""
    size_bytes = POOL_BYTES + block_size_bytes
    if kind is DataKind.ZERO:
        return memoryview(bytes(size_bytes))
    pool = os.urandom(POOL_BYTES)
    repeats = -(-size_bytes // POOL_BYTES)
    return memoryview((pool * repeats)[:size_bytes])


def first_offset(thread: int) -> int:
    """Return where in the pool a thread begins, so that threads don't write the same bytes."""
    return (thread * 7_368_787 + 1) & OFFSET_MASK
