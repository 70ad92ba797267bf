"""Creating files and writing them full: the inner loop of the generator."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from fsconsole.model.counters import HeaderWord, SlotWord, slot_word
from fsconsole.workloads.content import OFFSET_MASK, STRIDE_BYTES, first_offset

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class CreateWork:
    """What one thread writes: files by name below directory_fd, and the slot that it counts in."""

    directory_fd: int
    names: Iterable[str]
    file_size_bytes: int
    block_size_bytes: int
    pool: memoryview
    words: memoryview
    thread: int


def create_files(work: CreateWork) -> bool:
    """Create the files one after the other; False where the engine asked for a stop before all were written.

    Raises OSError; what was written until then stands in the counters.
    """
    words, file_size, directory_fd = work.words, work.file_size_bytes, work.directory_fd
    files_word = slot_word(work.thread, SlotWord.FILES_DONE)
    start = first_offset(work.thread)
    for files_done, name in enumerate(work.names, start=1):
        if words[HeaderWord.STOP]:
            return False
        fd = os.open(name, _FLAGS, _MODE, dir_fd=directory_fd)
        try:
            left, start = _fill(fd, work, file_size, start)
        finally:
            # Some filesystems report here what they could not write (man 2 close).
            os.close(fd)
        if left:
            return False
        words[files_word] = files_done
    return True


def _fill(fd: int, work: CreateWork, left: int, start: int) -> tuple[int, int]:
    """Write left bytes; return what a stop left unwritten, and the pool offset to go on from.

    All names are local: a call costs about a microsecond beside the write itself.
    """
    words, pool, block = work.words, work.pool, work.block_size_bytes
    bytes_word = slot_word(work.thread, SlotWord.BYTES)
    operations_word = slot_word(work.thread, SlotWord.OPERATIONS)
    stop_word, mask, stride, write = int(HeaderWord.STOP), OFFSET_MASK, STRIDE_BYTES, os.write
    bytes_done, operations = words[bytes_word], words[operations_word]
    wanted = block if left >= block else left
    piece_start = start
    while left and not words[stop_word]:
        written = write(fd, pool[piece_start : piece_start + wanted])
        left -= written
        bytes_done += written
        words[bytes_word] = bytes_done
        if written != wanted:
            # A short write: the rest of the piece is the same operation.
            piece_start += written
            wanted -= written
            continue
        operations += 1
        words[operations_word] = operations
        piece_start = start = (start + stride) & mask
        wanted = block if left >= block else left
    return left, start
