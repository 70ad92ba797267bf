"""Creating files and writing them full, and writing on at their ends: the inner loop of most loads."""

from __future__ import annotations

import os
import time

from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SUB_BITS, Timed
from fsconsole.workloads.draws import size_of_file
from fsconsole.workloads.ops.base import NO_BUDGET, STOP, Means, Stopwatch, Syncs

NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
FILE_MODE = 0o644


class Create:
    """Creates a file and writes it full."""

    def __init__(self, means: Means) -> None:
        self._workload = means.workload
        self._opening = means.stopwatch(Timed.CREATE)
        self._writer = Writer(means, means.stopwatch(Timed.WRITE))
        self._flags = NEW_FILE | means.direct_flag

    def run(self, directory_fd: int, name: str, number: int) -> bool:
        """Write one new file. Raises OSError; what was written until then stands in the counters."""
        began_ns = time.monotonic_ns()
        fd = os.open(name, self._flags, FILE_MODE, dir_fd=directory_fd)
        self._opening.lap(began_ns)
        return self._writer.fill_and_close(fd, size_of_file(self._workload, number))


class Append:
    """Writes on at the end of a file."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._writer = Writer(means, means.stopwatch(Timed.APPEND))
        self._flags = _APPEND | means.direct_flag

    def run(self, directory_fd: int, name: str, number: int) -> bool:
        """Make one file longer. Raises OSError."""
        fd = os.open(name, self._flags, dir_fd=directory_fd)
        return self._writer.fill_and_close(fd, size_of_file(self._means.workload, number))


class Writer:
    """Writes pieces one after the other."""

    def __init__(self, means: Means, stopwatch: Stopwatch) -> None:
        self._means = means
        self._stopwatch = stopwatch
        self._syncs = Syncs(means)
        self._start = means.pieces.first
        self._most_at_once = 0 if means.workload.fsync_every else means.workload.block_size_bytes
        """A file up to this size is one call, with nothing to be looked at in between."""

    def fill_and_close(self, fd: int, size_bytes: int) -> bool:
        """Write so many bytes at the descriptor's place; False where not all of them were written."""
        means = self._means
        try:
            if 0 < size_bytes <= self._most_at_once and means.budget_bytes == NO_BUDGET:
                return self._write_whole(fd, size_bytes)
            allowed = means.allowed(size_bytes)
            return self._fill(fd, allowed) == 0 and allowed == size_bytes
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            os.close(fd)

    def _write_whole(self, fd: int, size_bytes: int) -> bool:
        """Write all in one call: what _fill does, without its preparations, for many small files."""
        means, pieces, start = self._means, self._means.pieces, self._start
        if pieces.stamp is not None:
            pieces.stamp(start, size_bytes)
        piece = pieces.memory[start : start + size_bytes]
        began_ns = time.monotonic_ns()
        written = os.write(fd, piece)
        self._start = (start + pieces.stride) & pieces.mask
        means.words[means.bytes_word] += written
        if written != size_bytes:
            return self._fill(fd, size_bytes - written) == 0
        self._stopwatch.lap(began_ns)
        means.words[means.operations_word] += 1
        return True

    def _fill(self, fd: int, left: int) -> int:
        """Write left bytes; return what a stop or the deadline left unwritten.

        All names are local: a call costs little more than a microsecond beside the write itself.
        """
        means, watch, syncs = self._means, self._stopwatch, self._syncs
        words, block, pieces = means.words, means.workload.block_size_bytes, means.pieces
        pool, stride, mask, stamp = pieces.memory, pieces.stride, pieces.mask, pieces.stamp
        bytes_word, operations_word, base = means.bytes_word, means.operations_word, watch.base
        write, clock, deadline_ns = os.write, time.monotonic_ns, means.deadline_ns
        bytes_done, operations = words[bytes_word], words[operations_word]
        before, total, notable, sync_due = operations, 0, watch.notable, syncs.due
        piece_start = start = self._start
        wanted = block if left >= block else left
        if stamp is not None and wanted:
            stamp(start, wanted)
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
                piece_start = start = (start + stride) & mask
                wanted = block if left >= block else left
                if stamp is not None:
                    stamp(start, wanted)
                began_ns = clock()
        finally:
            watch.add(total, operations - before)
            self._start = start
        return left
