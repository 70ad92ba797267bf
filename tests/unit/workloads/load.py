"""One thread of a load in a directory of the test's own, without processes or a barrier."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fsconsole.model.load import Latencies, ThreadCounters, edges_in, timed_in
from fsconsole.model.timed import Timed
from fsconsole.model.workload import End, Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads import ops
from fsconsole.workloads.content import anonymous_memory, content_of
from fsconsole.workloads.host import Ground, Pick, limits_of, new_names, picks, run_operations
from fsconsole.workloads.ops import MAKERS, Means
from fsconsole.workloads.tree import SourceFiles, subdirectories


def a_load(kind: WorkloadKind, files: int = 0, size: int = 0, block: int = 65536, **more: object) -> Workload:
    return Workload("load", kind, 1, files, size, block, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Done:
    """What a thread did; whole unless it was stopped."""

    whole: bool
    counters: ThreadCounters
    latencies: dict[Timed, Latencies]


@dataclass
class Thread:
    """A thread that is ready to begin; its page is closed with the context that gave it."""

    page: CounterPage
    means: Means
    ground: Ground
    todo: Iterator[Pick]
    quickly: bool = False
    """Whether it is done by the loop for files of one call each."""

    @property
    def counters(self) -> ThreadCounters:
        return self.page.read()[0]

    def done(self) -> Done:
        """Run the load to its end."""
        workload = self.means.workload
        limits = limits_of(workload, 0, time.monotonic_ns())
        if workload.end is End.AT_ONCE:
            self.means.deadline_ns, self.means.budget_bytes = limits.deadline_ns, limits.budget_bytes
        if self.quickly:
            whole = ops.make_files(self.means, *new_names(self.ground, 0), limits)
        else:
            whole = run_operations(self.means, self.todo, limits)
        operations = timed_in(workload)
        edges = [edges_in(workload, timed) for timed in operations]
        latencies = dict(zip(operations, self.page.latencies(operations, edges), strict=True))
        return Done(whole, self.counters, latencies)


@contextmanager
def thread_of(
    workload: Workload, own: Path, source: Path | None = None, counts: tuple[int, ...] = ()
) -> Iterator[Thread]:
    """Give a thread that is ready to begin; own is where it makes files, source where others made some."""
    own.mkdir(exist_ok=True)
    for name in subdirectories(workload.directories, threads=workload.threads, files=workload.files):
        (own / name).mkdir(exist_ok=True)
    with CounterPage.create(workload.threads, len(timed_in(workload))) as page, ExitStack() as opened:
        fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (own, source or own)]
        for fd in fds:
            opened.callback(os.close, fd)
        ground = Ground(workload, *fds, SourceFiles("source", workload.directories, counts) if counts else None)
        buffer = memoryview(anonymous_memory(workload.block_size_bytes))
        means = Means(workload, 0, page.words, content_of(workload).pieces(0), buffer)
        operations = {kind: MAKERS[kind](means) for kind, _ in workload.operations}
        yield Thread(page, means, ground, picks(ground, operations, 0))


def done(workload: Workload, own: Path, source: Path | None = None, counts: tuple[int, ...] = ()) -> Done:
    with thread_of(workload, own, source, counts) as thread:
        return thread.done()


def make_files(directory: Path, files: int, size: int) -> None:
    """Make the files that a create of one thread would have made."""
    done(a_load(WorkloadKind.CREATE, files, size, min(size, 65536)), directory)
