"""Which operation one thread carries out next, and on which file."""

from __future__ import annotations

import os
import random
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, islice

from fsconsole.model.workload import Directories, Layout, Workload, WorkloadKind
from fsconsole.workloads.draws import scrambled
from fsconsole.workloads.naming import DIRECTORY_FLAGS, file_name, namer
from fsconsole.workloads.ops.base import Operation
from fsconsole.workloads.source import SourceFiles

Pick = tuple[Operation, int, str, int]
"""An operation, and what its run() is given: an open directory, a name below it, a number."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a load's files lie, as open directories: its own, and that of its source; -1 for one it has not."""

    workload: Workload
    own_fd: int
    source_fd: int
    source: SourceFiles | None

    @property
    def is_limited(self) -> bool:
        """Whether bytes or time end the load."""
        return bool(self.workload.limit_bytes or self.workload.duration_s)


def picks(ground: Ground, operations: dict[WorkloadKind, Operation], thread: int) -> Iterator[Pick]:
    """Yield what one thread does, in order; operations are those of the workload."""
    workload = ground.workload
    if workload.kind is WorkloadKind.MIX:
        return islice(_Mix(ground, operations, thread).picks(), _share(workload, thread))
    ((kind, operation),) = operations.items()
    if kind is WorkloadKind.CREATE:
        return _new_files(ground, operation, thread)
    return _source_files(ground, operation, thread)


def _share(workload: Workload, thread: int) -> int | None:
    """Return how many operations are one thread's; None: as many as there are."""
    return len(range(thread, workload.files, workload.threads)) if workload.files else None


def new_names(ground: Ground, thread: int) -> tuple[int, Iterator[str]]:
    """Return an open directory, and the names below it of the files that one thread makes.

    They have no end where nothing but a limit ends the load. A thread that has a directory for itself works in it: the
    way there is not looked up for each file. Raises OSError.
    """
    workload, numbers = ground.workload, _new_numbers(ground.workload, thread)
    if workload.directories.layout is Layout.PER_THREAD:
        own = os.path.dirname(file_name(workload.directories, thread, threads=workload.threads))
        return os.open(own, DIRECTORY_FLAGS, dir_fd=ground.own_fd), map(
            namer(Directories(), threads=1), numbers
        )
    return ground.own_fd, map(namer(workload.directories, threads=workload.threads), numbers)


def _new_numbers(workload: Workload, thread: int) -> Iterable[int]:
    step = workload.threads
    return range(thread, workload.files, step) if workload.files else count(thread, step)


def _new_files(ground: Ground, operation: Operation, thread: int) -> Iterator[Pick]:
    name = namer(ground.workload.directories, threads=ground.workload.threads)
    directory_fd = ground.own_fd
    return (
        (operation, directory_fd, name(number), number) for number in _new_numbers(ground.workload, thread)
    )


def _source_files(ground: Ground, operation: Operation, thread: int) -> Iterator[Pick]:
    """Yield the files of a thread once, or over and over where a number of operations or a limit asks for it."""
    source, workload = ground.source, ground.workload
    if source is None:
        return iter(())
    numbers = _own_of_source(ground, thread)
    repeats = (workload.files or ground.is_limited) and not workload.deletes and numbers
    rounds = count() if repeats else range(1)
    name, directory_fd = namer(source.directories, threads=source.threads), ground.source_fd
    # Each round makes its names anew: millions of them, kept, would fill the memory.
    files = ((operation, directory_fd, name(number), number) for _ in rounds for number in numbers)
    return islice(files, _share(workload, thread))


def _own_of_source(ground: Ground, thread: int) -> Sequence[int]:
    source, workload = ground.source, ground.workload
    if source is None:
        return ()
    return source.numbers(thread, workload.threads, shared=not workload.deletes)


class _Mix:
    """Whole operations drawn by weight, each on a drawn file: the thread's share of the source, and its own.

    As FFSB does (its threadgroups), but that a thread works on files of its own, so that none waits for another.
    """

    def __init__(self, ground: Ground, operations: dict[WorkloadKind, Operation], thread: int) -> None:
        workload = ground.workload
        self._ground = ground
        self._operations = operations
        self._kinds: Sequence[WorkloadKind] = [kind for kind, _ in workload.weights]
        self._bounds = list(accumulate(weight for _, weight in workload.weights))
        self._files = array("q", _own_of_source(ground, thread))
        """Numbers of files of the source; -1 - number of those that this thread has made."""
        self._new = count(thread, workload.threads)
        self._own_name = namer(workload.directories, threads=workload.threads)
        source = ground.source
        self._source_name = namer(source.directories, threads=source.threads) if source else self._own_name
        seed = scrambled(workload.seed, thread, 1)
        self._draw = random.Random(seed).random  # noqa: S311 (a mix, no secret)

    def picks(self) -> Iterator[Pick]:
        """Yield operations until there is no file left to work on, and none can be made."""
        while True:
            kind = self._kinds[bisect_right(self._bounds, self._draw() * self._bounds[-1])]
            if kind is not WorkloadKind.CREATE and not self._files:
                if WorkloadKind.CREATE not in self._operations:
                    return
                kind = WorkloadKind.CREATE
            number = -1 - next(self._new) if kind is WorkloadKind.CREATE else self._drawn(kind)
            yield self._picked(self._operations[kind], number)
            if kind is WorkloadKind.CREATE:
                self._files.append(number)

    def _drawn(self, kind: WorkloadKind) -> int:
        place = int(self._draw() * len(self._files))
        number = self._files[place]
        if kind is WorkloadKind.DELETE:
            self._files[place] = self._files[-1]
            self._files.pop()
        return number

    def _picked(self, operation: Operation, number: int) -> Pick:
        if number < 0:
            return operation, self._ground.own_fd, self._own_name(-1 - number), -1 - number
        return operation, self._ground.source_fd, self._source_name(number), number
