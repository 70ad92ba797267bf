"""The files that a load works on: those that a create of the same cell made before it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from fsconsole.model.workload import Directories


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files below directory, a directory of the tree; counts[i] of them were made by thread i of len(counts)."""

    directory: str
    directories: Directories
    counts: tuple[int, ...]

    @property
    def threads(self) -> int:
        """Threads of the create."""
        return len(self.counts)

    @property
    def files(self) -> int:
        """All of them."""
        return sum(self.counts)

    def number_after(self, thread: int) -> int:
        """Return the number of the file that a thread would have made next."""
        return thread + self.counts[thread] * self.threads

    def numbers(self, thread: int, threads: int, *, shared: bool) -> Sequence[int]:
        """Return the numbers of the files that are one thread's of threads to work on.

        As many threads as made them get back what each made. Where there are fewer files than threads, some
        get none, or with shared some get the same.
        """
        if threads == self.threads and all(self.counts):
            return range(thread, self.number_after(thread), self.threads)
        if self._is_without_gap and thread < self.files:
            return range(thread, self.files, threads)
        ends = tuple(accumulate(self.counts))
        if thread >= self.files and shared and self.files:
            return (self._number_at(thread % self.files, ends),)
        return tuple(self._number_at(place, ends) for place in range(thread, self.files, threads))

    @property
    def _is_without_gap(self) -> bool:
        """Whether the numbers are all those below the number of files."""
        return all(
            count == len(range(thread, self.files, self.threads)) for thread, count in enumerate(self.counts)
        )

    def _number_at(self, place: int, ends: Sequence[int]) -> int:
        maker = bisect_right(ends, place)
        return maker + (place - (ends[maker] - self.counts[maker])) * self.threads
