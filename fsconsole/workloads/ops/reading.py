"""Reading files from their beginnings to their ends."""

from __future__ import annotations

import os
import time

from fsconsole.model.counters import SlotWord, slot_word
from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SUB_BITS, Timed
from fsconsole.workloads.ops.base import STOP, Means

READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class Read:
    """Reads a file in blocks, one after the other, into the same buffer."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(Timed.READ)
        self._flags = READ_FLAGS | means.direct_flag

    def run(self, directory_fd: int, name: str, _number: int) -> bool:
        """Read one file, or as much of it as the workload says. Raises OSError."""
        means = self._means
        fd = os.open(name, self._flags, dir_fd=directory_fd)
        try:
            wanted = means.workload.file_size_bytes or os.fstat(fd).st_size
            allowed = means.allowed(wanted)
            return self._drain(fd, allowed) and allowed == wanted
        finally:
            os.close(fd)

    def _drain(self, fd: int, left: int) -> bool:
        """Read left bytes, or to the end of the file where that comes first; False where it was cut."""
        means, watch = self._means, self._stopwatch
        words, block, buffers = means.words, means.workload.block_size_bytes, [means.buffer]
        bytes_word, operations_word, base = means.bytes_word, means.operations_word, watch.base
        readv, clock, deadline_ns = os.readv, time.monotonic_ns, means.deadline_ns
        bytes_before = bytes_done = words[bytes_word]
        before = operations = words[operations_word]
        total, notable = 0, watch.notable
        try:
            while left > 0 and not words[STOP]:
                if left < block and not means.workload.direct:
                    buffers = [means.buffer[:left]]
                began_ns = clock()
                got = readv(fd, buffers)
                now_ns = clock()
                if not got:
                    return True
                left -= got
                bytes_done += got
                words[bytes_word] = bytes_done
                latency = now_ns - began_ns + OFFSET_NS
                shift = latency.bit_length() - SHIFT_LESS
                words[base + (shift << SUB_BITS) + (latency >> shift)] += 1
                total += latency
                if latency > notable:
                    notable = watch.note(latency)
                operations += 1
                words[operations_word] = operations
                if now_ns >= deadline_ns:
                    break
        finally:
            watch.add(total, operations - before)
            words[slot_word(means.thread, SlotWord.READ_BYTES)] += bytes_done - bytes_before
        return left <= 0
