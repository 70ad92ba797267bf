"""Numbers that look random and come out the same each time: sizes, seeds of threads."""

from __future__ import annotations

from fsconsole.model.workload import Workload
from fsconsole.sizes import SECTOR_BYTES

_MASK = 2**64 - 1


def scrambled(*words: int) -> int:
    """Return 64 bits that depend on all the words (splitmix64, Steele, Lea and Flood 2014)."""
    state = 0
    for word in words:
        state = (state + word + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


def size_of_file(workload: Workload, number: int) -> int:
    """Return the size of file number, drawn evenly from the workload's range; in whole sectors for O_DIRECT."""
    smallest, span = workload.file_size_bytes, workload.file_size_max_bytes - workload.file_size_bytes
    if span <= 0:
        return smallest
    size = smallest + scrambled(workload.seed, number) % (span + 1)
    return size - size % SECTOR_BYTES if workload.direct else size
