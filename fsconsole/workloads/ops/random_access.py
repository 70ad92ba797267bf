"""Reading and writing blocks at drawn places of files that are there."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

from fsconsole.model.counters import SlotWord, slot_word
from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SUB_BITS, Timed
from fsconsole.sizes import SECTOR_BYTES
from fsconsole.workloads.draws import scrambled
from fsconsole.workloads.ops.base import STOP, Means, Syncs
from fsconsole.workloads.ops.reading import READ_FLAGS

_WRITE_FLAGS = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
Transfer = Callable[[int, int, int], int]
"""Moves so many bytes at an offset of a descriptor; returns how many it moved."""


class RandomAccess:
    """Blocks at offsets that are multiples of the block size, drawn with a seed of the thread's own."""

    def __init__(
        self, means: Means, timed: Timed, flags: int, transfer: Transfer, syncs: Syncs | None
    ) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(timed)
        self._flags = flags | means.direct_flag
        self._transfer = transfer
        self._syncs = syncs
        self._counts_as_read = timed is Timed.RANDOM_READ
        seed = scrambled(means.workload.seed, means.thread)
        self._draw = random.Random(seed).random  # noqa: S311 (offsets, no secrets)

    def run(self, directory_fd: int, name: str, _number: int) -> bool:
        """Move as many blocks as the file holds, or as the workload says. Raises OSError."""
        means = self._means
        fd = os.open(name, self._flags, dir_fd=directory_fd)
        try:
            size_bytes = os.fstat(fd).st_size
            block = min(means.workload.block_size_bytes, size_bytes)
            if means.workload.direct:
                # A file that a limit cut short may end in the middle of a sector.
                block -= block % SECTOR_BYTES
            if not block:
                return True
            wanted = max(1, (means.workload.file_size_bytes or size_bytes) // block)
            allowed = min(wanted, means.allowed(wanted * block) // block)
            return self._move(fd, block, size_bytes // block, allowed) and allowed == wanted
        finally:
            os.close(fd)

    def _move(self, fd: int, block: int, blocks: int, left: int) -> bool:
        """Move left blocks of a file of so many; False where it was cut."""
        means, watch, transfer, draw = self._means, self._stopwatch, self._transfer, self._draw
        words, bytes_word, operations_word = means.words, means.bytes_word, means.operations_word
        base, clock, deadline_ns = watch.base, time.monotonic_ns, means.deadline_ns
        bytes_before = bytes_done = words[bytes_word]
        before = operations = words[operations_word]
        total, notable = 0, watch.notable
        try:
            while left and not words[STOP]:
                offset = int(draw() * blocks) * block
                began_ns = clock()
                moved = transfer(fd, block, offset)
                now_ns = clock()
                bytes_done += moved
                words[bytes_word] = bytes_done
                left -= 1
                latency = now_ns - began_ns + OFFSET_NS
                shift = latency.bit_length() - SHIFT_LESS
                words[base + (shift << SUB_BITS) + (latency >> shift)] += 1
                total += latency
                if latency > notable:
                    notable = watch.note(latency)
                operations += 1
                words[operations_word] = operations
                if self._syncs is not None and operations >= self._syncs.due:
                    self._syncs.sync(fd, operations)
                if now_ns >= deadline_ns:
                    break
        finally:
            watch.add(total, operations - before)
            if self._counts_as_read:
                words[slot_word(means.thread, SlotWord.READ_BYTES)] += bytes_done - bytes_before
        return left == 0


def random_read(means: Means) -> RandomAccess:
    """Return the operation that reads blocks at drawn places."""
    whole, buffer, preadv = [means.buffer], means.buffer, os.preadv
    full = len(buffer)

    def transfer(fd: int, block: int, offset: int) -> int:
        return preadv(fd, whole if block == full else [buffer[:block]], offset)

    return RandomAccess(means, Timed.RANDOM_READ, READ_FLAGS, transfer, None)


def random_write(means: Means) -> RandomAccess:
    """Return the operation that overwrites blocks at drawn places."""
    pieces, pwrite = means.pieces, os.pwrite
    pool, stride, mask, stamp = pieces.memory, pieces.stride, pieces.mask, pieces.stamp
    start = pieces.first

    def transfer(fd: int, block: int, offset: int) -> int:
        nonlocal start
        if stamp is not None:
            stamp(start, block)
        moved = pwrite(fd, pool[start : start + block], offset)
        while moved < block:
            # A short write: the rest of the piece is the same operation.
            moved += pwrite(fd, pool[start + moved : start + block], offset + moved)
        start = (start + stride) & mask
        return moved

    return RandomAccess(means, Timed.RANDOM_WRITE, _WRITE_FLAGS, transfer, Syncs(means))
