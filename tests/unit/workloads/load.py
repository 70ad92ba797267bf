"""One thread of a load in a directory of the test's own, without processes or a barrier."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fsconsole.model.load import Latencies, ThreadCounters, Timed, timed_in
from fsconsole.model.workload import End, Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads import ops
from fsconsole.workloads.content import anonymous_memory, content_of
from fsconsole.workloads.host import Ground, carry_out, limits_of, new_names, picks
from fsconsole.workloads.ops import MAKERS, Means
from fsconsole.workloads.tree import SourceFiles, subdirectories


def a_load(kind: WorkloadKind, files: int = 0, size: int = 0, block: int = 65536, **more: object) -> Workload:
    return Workload("load", kind, 1, files, size, block, **more)  # type: ignore[arg-type]


@dataclass
class Thread:
    """What one thread did; its page is closed with the context that gave it."""

    page: CounterPage
    means: Means
    todo: Iterator[object] = field(default_factory=lambda: iter(()))
    whole: bool = False
    own_fd: int = -1
    quickly: bool = False
    """Whether it is done by the loop for files of one call each."""

    @property
    def counters(self) -> ThreadCounters:
        return self.page.read()[0]

    def latencies(self, operation: Timed) -> Latencies:
        operations = timed_in(self.means.workload)
        return self.page.latencies(operations)[operations.index(operation)]


@contextmanager
def thread_of(
    workload: Workload, own: Path, source: Path | None = None, counts: tuple[int, ...] = ()
) -> Iterator[Thread]:
    """Give a thread that is ready to begin; own is where it makes files, source where others made some."""
    with CounterPage.create(workload.threads, len(timed_in(workload))) as page:
        own_fd = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
        source_fd = os.open(source or own, os.O_RDONLY | os.O_DIRECTORY)
        for name in subdirectories(workload.directories, threads=workload.threads, files=workload.files):
            (own / name).mkdir(exist_ok=True)
        files = SourceFiles("source", workload.directories, counts) if counts else None
        content = content_of(workload)
        means = Means(
            workload=workload,
            thread=0,
            words=page.words,
            pieces=content.pieces(0),
            buffer=memoryview(anonymous_memory(workload.block_size_bytes)),
        )
        operations = {kind: MAKERS[kind](means) for kind, _ in workload.operations}
        ground = Ground(workload, own_fd, source_fd, files)
        try:
            yield Thread(page, means, picks(ground, operations, 0), own_fd=own_fd)
        finally:
            os.close(own_fd)
            os.close(source_fd)


def carried_out(thread: Thread) -> Thread:
    """Carry a thread's load out to its end."""
    limits = limits_of(thread.means.workload, 0, time.monotonic_ns())
    if thread.means.workload.end is End.AT_ONCE:
        thread.means.deadline_ns, thread.means.budget_bytes = limits.deadline_ns, limits.budget_bytes
    if thread.quickly:
        ground = Ground(thread.means.workload, thread.own_fd, -1, None)
        thread.whole = ops.make_files(thread.means, *new_names(ground, 0), limits)
    else:
        thread.whole = carry_out(thread.means, thread.todo, limits)  # type: ignore[arg-type]
    return thread


def make_files(directory: Path, files: int, size: int) -> None:
    """Make the files that a create of one thread would have made."""
    with thread_of(a_load(WorkloadKind.CREATE, files, size, min(size, 65536)), directory) as thread:
        carried_out(thread)
