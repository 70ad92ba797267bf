"""Creating files and writing them full, and writing on at their ends: the inner loop of most loads."""

from __future__ import annotations

import os
import time

from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SUB_BITS, Timed
from fsconsole.workloads.content import OFFSET_MASK
from fsconsole.workloads.draws import size_of_file
from fsconsole.workloads.ops.base import STOP, FileRef, Means, Stopwatch, Syncs

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE = 0o644


class Create:
    """Creates a file and writes it full."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._opening = means.stopwatch(Timed.CREATE)
        self._writer = Writer(means, means.stopwatch(Timed.WRITE))
        self._flags = _NEW | means.direct_flag

    def run(self, file: FileRef) -> bool:
        """Write one new file. Raises OSError; what was written until then stands in the counters."""
        began_ns = time.monotonic_ns()
        fd = os.open(file.name, self._flags, _MODE, dir_fd=file.directory_fd)
        self._opening.lap(began_ns)
        return self._writer.fill_and_close(fd, size_of_file(self._means.workload, file.number))


class Append:
    """Writes on at the end of a file."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._writer = Writer(means, means.stopwatch(Timed.APPEND))
        self._flags = _APPEND | means.direct_flag

    def run(self, file: FileRef) -> bool:
        """Make one file longer. Raises OSError."""
        fd = os.open(file.name, self._flags, dir_fd=file.directory_fd)
        return self._writer.fill_and_close(fd, size_of_file(self._means.workload, file.number))


class Writer:
    """Writes pieces of the pool one after the other."""

    def __init__(self, means: Means, stopwatch: Stopwatch) -> None:
        self._means = means
        self._stopwatch = stopwatch
        self._syncs = Syncs(means)
        self._start = means.places.first

    def fill_and_close(self, fd: int, size_bytes: int) -> bool:
        """Write so many bytes at the descriptor's place; False where not all of them were written."""
        try:
            allowed = self._means.allowed(size_bytes)
            return self._fill(fd, allowed) == 0 and allowed == size_bytes
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            os.close(fd)

    def _fill(self, fd: int, left: int) -> int:
        """Write left bytes; return what a stop or the deadline left unwritten.

        All names are local: a call costs little more than a microsecond beside the write itself.
        """
        means, watch, syncs = self._means, self._stopwatch, self._syncs
        words, pool, block, stride = (
            means.words,
            means.pool,
            means.workload.block_size_bytes,
            means.places.stride,
        )
        bytes_word, operations_word, base = means.bytes_word, means.operations_word, watch.base
        write, clock, deadline_ns = os.write, time.monotonic_ns, means.deadline_ns
        bytes_done, operations = words[bytes_word], words[operations_word]
        before, total, notable, sync_due = operations, 0, watch.notable, syncs.due
        piece_start = start = self._start
        wanted = block if left >= block else left
        try:
            began_ns = clock()
            while left and not words[STOP]:
                written = write(fd, pool[piece_start : piece_start + wanted])
                now_ns = clock()
                left -= written
                bytes_done += written
                words[bytes_word] = bytes_done
                if written != wanted:
                    # A short write: the rest of the piece is the same operation.
                    piece_start += written
                    wanted -= written
                    continue
                latency = now_ns - began_ns + OFFSET_NS
                shift = latency.bit_length() - SHIFT_LESS
                words[base + (shift << SUB_BITS) + (latency >> shift)] += 1
                total += latency
                if latency > notable:
                    notable = watch.note(latency)
                operations += 1
                words[operations_word] = operations
                if operations >= sync_due:
                    sync_due = syncs.sync(fd, operations)
                if now_ns >= deadline_ns:
                    break
                piece_start = start = (start + stride) & OFFSET_MASK
                wanted = block if left >= block else left
                began_ns = clock()
        finally:
            watch.add(total, operations - before)
            self._start = start
        return left
