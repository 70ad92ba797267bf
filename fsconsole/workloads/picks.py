"""Which operation one thread carries out next, and on which file."""

from __future__ import annotations

import random
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, islice

from fsconsole.model.workload import Directories, Workload, WorkloadKind
from fsconsole.workloads.draws import scrambled
from fsconsole.workloads.naming import file_name
from fsconsole.workloads.ops.base import FileRef, Operation
from fsconsole.workloads.source import SourceFiles

Pick = tuple[Operation, FileRef]


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
    files = _new_files(ground, thread) if kind is WorkloadKind.CREATE else _source_files(ground, thread)
    return ((operation, file) for file in files)


def _share(workload: Workload, thread: int) -> int | None:
    """Return how many operations are one thread's; None: as many as there are."""
    return len(range(thread, workload.files, workload.threads)) if workload.files else None


def _new_files(ground: Ground, thread: int) -> Iterator[FileRef]:
    workload = ground.workload
    step = workload.threads
    numbers: Iterable[int] = range(thread, workload.files, step) if workload.files else count(thread, step)
    return _refs(ground.own_fd, workload.directories, workload.threads, numbers)


def _source_files(ground: Ground, thread: int) -> Iterator[FileRef]:
    """Yield the files of a thread once, or over and over where a number of operations or a limit asks for it."""
    source, workload = ground.source, ground.workload
    if source is None:
        return iter(())
    numbers = _own_of_source(ground, thread)
    repeats = (workload.files or ground.is_limited) and not workload.deletes and numbers
    rounds = count() if repeats else range(1)
    # Each round makes its names anew: millions of them, kept, would fill the memory.
    files = (
        file for _ in rounds for file in _refs(ground.source_fd, source.directories, source.threads, numbers)
    )
    return islice(files, _share(workload, thread))


def _own_of_source(ground: Ground, thread: int) -> Sequence[int]:
    source, workload = ground.source, ground.workload
    if source is None:
        return ()
    return source.numbers(thread, workload.threads, shared=not workload.deletes)


def _refs(
    directory_fd: int, directories: Directories, threads: int, numbers: Iterable[int]
) -> Iterator[FileRef]:
    return (_ref(directory_fd, directories, threads, number) for number in numbers)


def _ref(directory_fd: int, directories: Directories, threads: int, number: int) -> FileRef:
    return FileRef(directory_fd, file_name(directories, number, threads=threads), number)


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
            file = self._new_file() if kind is WorkloadKind.CREATE else self._drawn_file(kind)
            yield self._operations[kind], file
            if kind is WorkloadKind.CREATE:
                self._files.append(-1 - file.number)

    def _new_file(self) -> FileRef:
        workload, number = self._ground.workload, next(self._new)
        return _ref(self._ground.own_fd, workload.directories, workload.threads, number)

    def _drawn_file(self, kind: WorkloadKind) -> FileRef:
        place = int(self._draw() * len(self._files))
        number = self._files[place]
        if kind is WorkloadKind.DELETE:
            self._files[place] = self._files[-1]
            self._files.pop()
        ground, source = self._ground, self._ground.source
        if number < 0 or source is None:
            return _ref(ground.own_fd, ground.workload.directories, ground.workload.threads, -1 - number)
        return _ref(ground.source_fd, source.directories, source.threads, number)
