"""The loop of loads that make many files, each of them written in one call.

It does what Create does to one file after the other. But where a file takes 20 microseconds, calls between functions
and objects for each would be a tenth of what is measured; so here all is in one function, and its names are local.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from fsconsole.model.counters import RegionWord, SlotWord, slot_word
from fsconsole.model.latency import OFFSET_NS, SHIFT_LESS, SUB_BITS, Timed
from fsconsole.model.workload import End, Workload, WorkloadKind
from fsconsole.workloads.ops.base import STOP, Limits, Means
from fsconsole.workloads.ops.writing import FILE_MODE, NEW_FILE


def is_one_call_each(workload: Workload) -> bool:
    """Tell whether a load does nothing but make files of one size that are one write each, with nothing in between."""
    size = workload.file_size_bytes
    return (
        workload.kind is WorkloadKind.CREATE
        and 0 < size <= workload.block_size_bytes
        and workload.file_size_max_bytes <= size
        and not workload.fsync_every
        and not (workload.end is End.AT_ONCE and (workload.limit_bytes or workload.duration_s))
    )


def make_files(means: Means, directory_fd: int, names: Iterable[str], limits: Limits) -> bool:
    """Make files of these names in an open directory; False where a stop ended it. Raises OSError.

    What was done until then stands in the counters.
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
