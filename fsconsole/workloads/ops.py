"""Operations of the built-in generator on one file: create, append, read, random access, stat, delete."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from fsconsole.model.load import (
    OFFSET_NS,
    SHIFT_LESS,
    SLOW_NS,
    SUB_BITS,
    VERY_SLOW_NS,
    HeaderWord,
    RegionWord,
    SlotWord,
    edges_in,
    region_word,
    slot_word,
    timed_in,
)
from fsconsole.model.timed import Timed
from fsconsole.model.workload import WHOLE_FILE, End, SyncAt, SyncCall, Workload, WorkloadKind
from fsconsole.text import SECTOR_BYTES
from fsconsole.workloads.content import Pieces, scrambled, size_of_file

NEVER_NS = NEVER = NO_BUDGET = 2**63
STOP = int(HeaderWord.STOP)
_SUM_NS = int(RegionWord.SUM_NS)


Operation = Callable[[int, str, int], bool]
"""Work of one thread on one file after the other; False if a stop, or a limit at once, ended it in the middle.

A file is an open directory, a name below it and a number: creating an object costs a hundredth of a small file.
Raises OSError."""


@dataclass(slots=True)
class Means:
    """One thread's buffers and counters; deadline_ns, set when its clock starts, and budget_bytes end it in a file."""

    workload: Workload
    thread: int
    words: memoryview
    pieces: Pieces
    buffer: memoryview
    deadline_ns: int = NEVER_NS
    budget_bytes: int = NO_BUDGET
    bytes_word: int = field(init=False)
    """Index of this thread's count of bytes."""
    operations_word: int = field(init=False)
    """Index of this thread's count of calls and file operations."""
    syncs: Syncs = field(init=False)

    def __post_init__(self) -> None:
        # Once: for a small file, computing them costs a tenth of its creation.
        self.bytes_word = slot_word(self.thread, SlotWord.BYTES)
        self.operations_word = slot_word(self.thread, SlotWord.OPERATIONS)
        self.syncs = Syncs(self)

    @property
    def moved_bytes(self) -> int:
        """Bytes to move in a file that is there; 0: all."""
        wanted = self.workload.operation_bytes
        return 0 if wanted == WHOLE_FILE else wanted or self.workload.file_size_bytes

    @property
    def direct_flag(self) -> int:
        """O_DIRECT, if the workload has it."""
        return os.O_DIRECT if self.workload.direct else 0

    def allowed(self, wanted_bytes: int) -> int:
        """Return how many of the wanted bytes the budget leaves."""
        if self.budget_bytes == NO_BUDGET:
            return wanted_bytes
        return max(0, min(wanted_bytes, self.budget_bytes - int(self.words[self.bytes_word])))

    def stopwatch(self, timed: Timed) -> Stopwatch:
        """Return the stopwatch of one kind of operation."""
        regions = timed_in(self.workload)
        return Stopwatch(
            self.words,
            region_word(self.words[HeaderWord.THREADS], len(regions), self.thread, regions.index(timed)),
            edges_in(self.workload, timed),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one thread between its operations; bytes are divided evenly."""

    deadline_ns: int = NEVER_NS
    budget_bytes: int = NO_BUDGET

    def reached(self, means: Means) -> bool:
        """Tell whether the thread has done its bytes, or its time is over."""
        return means.words[means.bytes_word] >= self.budget_bytes or time.monotonic_ns() >= self.deadline_ns


class Stopwatch:
    """Counts latencies in a region of the counter page; loops that can't afford a call inline lap()."""

    __slots__ = ("_beyond", "_least", "base", "notable", "words")

    def __init__(self, words: memoryview, base: int, edges_ns: tuple[int, ...] = ()) -> None:
        self.words = words
        self.base = base
        self._beyond = tuple(enumerate(edges_ns, start=base + RegionWord.BEYOND))
        self._least = min((SLOW_NS, *edges_ns))
        self.notable = min(self._least, words[base + RegionWord.MAX_NS]) + OFFSET_NS
        """A latency (plus OFFSET_NS) above this must be told to note()."""

    def lap(self, began_ns: int) -> None:
        """Count one operation that began at that instant and has just ended."""
        latency = time.monotonic_ns() - began_ns + OFFSET_NS
        shift = latency.bit_length() - SHIFT_LESS
        words, base = self.words, self.base
        words[base + (shift << SUB_BITS) + (latency >> shift)] += 1
        words[base + _SUM_NS] += latency - OFFSET_NS
        if latency > self.notable:
            self.note(latency)

    def note(self, latency: int) -> int:
        """Take in a latency (plus OFFSET_NS) that is the longest so far, or beyond a limit; returns the new notable."""
        words, base, latency_ns = self.words, self.base, latency - OFFSET_NS
        words[base + RegionWord.MAX_NS] = max(words[base + RegionWord.MAX_NS], latency_ns)
        if latency_ns > SLOW_NS:
            words[base + RegionWord.OVER_2_S] += 1
        if latency_ns > VERY_SLOW_NS:
            words[base + RegionWord.OVER_10_S] += 1
        for word, edge_ns in self._beyond:
            if latency_ns > edge_ns:
                words[word] += 1
        self.notable = min(self._least, words[base + RegionWord.MAX_NS]) + OFFSET_NS
        return self.notable

    def add(self, total: int, count: int) -> None:
        """Add up count latencies (plus OFFSET_NS each) that a loop has put into their buckets."""
        self.words[self.base + _SUM_NS] += total - count * OFFSET_NS


class Syncs:
    """Schedules one thread's syncs of the files that it writes."""

    __slots__ = ("_call", "_is_at_end", "_stopwatch", "_unsynced", "_words", "every", "is_each_file", "left")

    def __init__(self, means: Means) -> None:
        load = means.workload
        self._call = os.fsync if load.sync_call is SyncCall.FSYNC else os.fdatasync
        self._stopwatch = means.stopwatch(Timed(load.sync_call.value)) if load.syncs else None
        self._words = means.words
        self.every = self.left = load.fsync_every or NEVER
        """Writes between two syncs, and those before the next one, over all files."""
        self.is_each_file = load.sync_at is SyncAt.EACH_FILE
        self._is_at_end = load.sync_at is SyncAt.END
        self._unsynced: dict[tuple[int, str], None] = {}

    def after(self, writes: int) -> int:
        """Return after how many writes the next sync is due; writes is the number that the current file takes."""
        return writes if self.is_each_file else self.left

    def sync(self, fd: int) -> int:
        """Bring a file to the device; returns the instant after it. Raises OSError."""
        began_ns = time.monotonic_ns()
        self._call(fd)
        if self._stopwatch is not None:
            self._stopwatch.lap(began_ns)
        return time.monotonic_ns()

    def wrote(self, directory_fd: int, name: str) -> None:
        """Remember a file to be synced at the end."""
        if self._is_at_end:
            self._unsynced[directory_fd, name] = None

    def finish(self) -> bool:
        """Sync what is left to the end, in the order of the first writes; False if a stop ended it. Raises OSError."""
        for directory_fd, name in self._unsynced:
            if self._words[STOP]:
                return False
            # Not all files are there still: a mix may delete what it wrote.
            with suppress(FileNotFoundError):
                fd = os.open(name, READ_FLAGS, dir_fd=directory_fd)
                try:
                    self.sync(fd)
                finally:
                    os.close(fd)
        return True


def by_name(means: Means, timed: Timed, call: Callable[..., object]) -> Operation:
    """Return the operation that makes one system call on the file's name."""
    words, word, watch = means.words, means.operations_word, means.stopwatch(timed)

    def run(directory_fd: int, name: str, _number: int) -> bool:
        began_ns = time.monotonic_ns()
        call(name, dir_fd=directory_fd)
        watch.lap(began_ns)
        words[word] += 1
        return True

    return run


READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class SequentialRead:
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
            wanted = means.moved_bytes or os.fstat(fd).st_size
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


_WRITE_FLAGS = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
Transfer = Callable[[int, int, int], int]
"""Moves so many bytes at an offset of a descriptor; returns how many it moved."""


class RandomAccess:
    """Blocks at offsets that are multiples of the block size, drawn with a seed of the thread's own."""

    def __init__(self, means: Means, timed: Timed, flags: int, transfer: Transfer) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(timed)
        self._flags = flags | means.direct_flag
        self._transfer = transfer
        self._counts_as_read = timed is Timed.RANDOM_READ
        seed = scrambled(means.workload.seed, means.thread)
        self._draw = random.Random(seed).random  # noqa: S311 (offsets, no secrets)

    def run(self, directory_fd: int, name: str, _number: int) -> bool:
        """Move as many blocks as the file holds, or as the workload says. Raises OSError."""
        means = self._means
        fd = os.open(name, self._flags, dir_fd=directory_fd)
        if not self._counts_as_read:
            means.syncs.wrote(directory_fd, name)
        try:
            size_bytes = os.fstat(fd).st_size
            block = min(means.workload.block_size_bytes, size_bytes)
            if means.workload.direct:
                # A file that a limit cut short may end in the middle of a sector.
                block -= block % SECTOR_BYTES
            if not block:
                return True
            wanted = max(1, (means.moved_bytes or size_bytes) // block)
            allowed = min(wanted, means.allowed(wanted * block) // block)
            return self._move(fd, block, size_bytes // block, allowed) and allowed == wanted
        finally:
            os.close(fd)

    def _move(self, fd: int, block: int, blocks: int, left: int) -> bool:
        """Move left blocks of a file of so many; False where it was cut."""
        means, watch, transfer, draw = self._means, self._stopwatch, self._transfer, self._draw
        syncs, is_read = means.syncs, self._counts_as_read
        words, bytes_word, operations_word = means.words, means.bytes_word, means.operations_word
        base, clock, deadline_ns = watch.base, time.monotonic_ns, means.deadline_ns
        bytes_before = bytes_done = words[bytes_word]
        before = operations = words[operations_word]
        total, notable = 0, watch.notable
        # The number of operations before the one that is followed by a sync.
        sync_at = NEVER if is_read else operations + syncs.after(left) - 1
        try:
            while left and not words[STOP]:
                offset = int(draw() * blocks) * block
                began_ns = clock()
                moved = transfer(fd, block, offset)
                now_ns = clock()
                bytes_done += moved
                words[bytes_word] = bytes_done
                left -= 1
                if operations >= sync_at:
                    now_ns = syncs.sync(fd)
                    sync_at = operations + syncs.every
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
            if is_read:
                words[slot_word(means.thread, SlotWord.READ_BYTES)] += bytes_done - bytes_before
            else:
                syncs.left = sync_at + 1 - operations
        return left == 0


def random_read(means: Means) -> Operation:
    """Return the operation that reads blocks at drawn places."""
    whole, buffer, preadv = [means.buffer], means.buffer, os.preadv
    full = len(buffer)

    def transfer(fd: int, block: int, offset: int) -> int:
        return preadv(fd, whole if block == full else [buffer[:block]], offset)

    return RandomAccess(means, Timed.RANDOM_READ, READ_FLAGS, transfer).run


def random_write(means: Means) -> Operation:
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

    return RandomAccess(means, Timed.RANDOM_WRITE, _WRITE_FLAGS, transfer).run


NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
FILE_MODE = 0o644


def create(means: Means) -> Operation:
    """Return the operation that creates a file and writes it full; what was written before an error is counted."""
    opening, writer = means.stopwatch(Timed.CREATE), Writer(means, means.stopwatch(Timed.WRITE))
    workload, flags, syncs = means.workload, NEW_FILE | means.direct_flag, means.syncs

    def run(directory_fd: int, name: str, number: int) -> bool:
        size_bytes = size_of_file(workload, number)
        began_ns = time.monotonic_ns()
        fd = os.open(name, flags, FILE_MODE, dir_fd=directory_fd)
        try:
            if not size_bytes and syncs.is_each_file:
                # An empty file has no write after which it would be synced.
                syncs.sync(fd)
            if workload.ftruncate:
                os.ftruncate(fd, size_bytes)
            opening.lap(began_ns)
            syncs.wrote(directory_fd, name)
            return writer.fill(fd, size_bytes)
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            os.close(fd)

    return run


def append(means: Means) -> Operation:
    """Return the operation that writes on at the end of a file."""
    writer = Writer(means, means.stopwatch(Timed.APPEND))
    workload, flags, syncs = means.workload, _APPEND | means.direct_flag, means.syncs

    def run(directory_fd: int, name: str, number: int) -> bool:
        fd = os.open(name, flags, dir_fd=directory_fd)
        try:
            syncs.wrote(directory_fd, name)
            return writer.fill(fd, workload.operation_bytes or size_of_file(workload, number))
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            os.close(fd)

    return run


class Writer:
    """Writes pieces one after the other."""

    def __init__(self, means: Means, stopwatch: Stopwatch) -> None:
        self._means = means
        self._stopwatch = stopwatch
        self._start = means.pieces.first
        self._most_at_once = 0 if means.workload.syncs else means.workload.block_size_bytes
        """A file up to this size is one call, with nothing to be looked at in between."""

    def fill(self, fd: int, size_bytes: int) -> bool:
        """Write so many bytes at the descriptor's place; False where not all of them were written."""
        means = self._means
        if 0 < size_bytes <= self._most_at_once and means.budget_bytes == NO_BUDGET:
            return self._write_whole(fd, size_bytes)
        allowed = means.allowed(size_bytes)
        return self._fill(fd, allowed) == 0 and allowed == size_bytes

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
        means, watch, syncs = self._means, self._stopwatch, self._means.syncs
        words, block, pieces = means.words, means.workload.block_size_bytes, means.pieces
        pool, stride, mask, stamp = pieces.memory, pieces.stride, pieces.mask, pieces.stamp
        bytes_word, operations_word, base = means.bytes_word, means.operations_word, watch.base
        write, clock, deadline_ns = os.write, time.monotonic_ns, means.deadline_ns
        bytes_done, operations = words[bytes_word], words[operations_word]
        before, total, notable = operations, 0, watch.notable
        # The number of operations before the one that is followed by a sync.
        sync_at = operations + syncs.after(-(-left // block)) - 1
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
                if operations >= sync_at:
                    now_ns = syncs.sync(fd)
                    sync_at = operations + syncs.every
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
                piece_start = start = (start + stride) & mask
                wanted = block if left >= block else left
                if stamp is not None:
                    stamp(start, wanted)
                began_ns = clock()
        finally:
            watch.add(total, operations - before)
            self._start = start
            syncs.left = sync_at + 1 - operations
        return left


MAKERS: Mapping[WorkloadKind, Callable[[Means], Operation]] = {
    WorkloadKind.CREATE: create,
    WorkloadKind.APPEND: append,
    WorkloadKind.READ: lambda means: SequentialRead(means).run,
    WorkloadKind.RANDOM_READ: random_read,
    WorkloadKind.RANDOM_WRITE: random_write,
    WorkloadKind.STAT: lambda means: by_name(means, Timed.STAT, os.lstat),
    WorkloadKind.DELETE: lambda means: by_name(means, Timed.DELETE, os.unlink),
}


def is_one_call_each(workload: Workload) -> bool:
    """Tell whether a load does nothing but make files of one size that are one write each, with nothing in between."""
    size = workload.file_size_bytes
    return (
        workload.kind is WorkloadKind.CREATE
        and 0 < size <= workload.block_size_bytes
        and workload.file_size_max_bytes <= size
        and not workload.size_weights
        and not workload.syncs
        and not workload.ftruncate
        and not (workload.end is End.AT_ONCE and (workload.limit_bytes or workload.duration_s))
    )


def make_files(means: Means, directory_fd: int, names: Iterable[str], limits: Limits) -> bool:
    """Make files of these names in an open directory; False if a stop ended it. Raises OSError.

    As create(), inlined with local names: a file takes 20 microseconds, of which calls and objects would be a tenth.
    """
    words, size, pieces = means.words, means.workload.file_size_bytes, means.pieces
    memory, start, stride, mask, stamp = pieces.memory, pieces.first, pieces.stride, pieces.mask, pieces.stamp
    flags, mode = NEW_FILE | means.direct_flag, FILE_MODE
    bytes_word, operations_word = means.bytes_word, means.operations_word
    files_word = slot_word(means.thread, SlotWord.FILES_DONE)
    creating, writing = means.stopwatch(Timed.CREATE), means.stopwatch(Timed.WRITE)
    create_base, write_base = creating.base, writing.base
    create_sum, write_sum = create_base + RegionWord.SUM_NS, write_base + RegionWord.SUM_NS
    create_notable, write_notable = creating.notable, writing.notable
    clock, create, write, close = time.monotonic_ns, os.open, os.write, os.close
    is_limited = limits != Limits()
    for done, name in enumerate(names, start=1):
        if words[STOP]:
            return False
        if is_limited and limits.reached(means):
            return True
        if stamp is not None:
            stamp(start, size)
        piece, written = memory[start : start + size], 0
        start = (start + stride) & mask
        began_ns = clock()
        fd = create(name, flags, mode, dir_fd=directory_fd)
        created_ns = clock()
        try:
            written = write(fd, piece)
            while written < size:
                # A short write: the rest of the piece is the same operation.
                written += write(fd, piece[written:])
            ended_ns = clock()
        except OSError:
            words[bytes_word] += written
            raise
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            close(fd)
        words[bytes_word] = done * size
        words[operations_word] = words[files_word] = done
        latency = created_ns - began_ns
        words[create_sum] += latency
        latency += OFFSET_NS
        shift = latency.bit_length() - SHIFT_LESS
        words[create_base + (shift << SUB_BITS) + (latency >> shift)] += 1
        if latency > create_notable:
            create_notable = creating.note(latency)
        latency = ended_ns - created_ns
        words[write_sum] += latency
        latency += OFFSET_NS
        shift = latency.bit_length() - SHIFT_LESS
        words[write_base + (shift << SUB_BITS) + (latency >> shift)] += 1
        if latency > write_notable:
            write_notable = writing.note(latency)
    return True
