"""The host process of the built-in generator: reads a job, prepares it, forks workers and releases them.

Started as ``python -I -m fsconsole.workloads.host``, confined to its tree. Standard input carries the job and then GO,
a line each; standard output one JSON object a line: READY, then DONE, or REFUSED with a reason. It has one thread, so
that forking is safe.
"""

from __future__ import annotations

import errno
import gc
import mmap
import os
import random
import resource
import signal
import sys
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, count, islice

from fsconsole.model.load import HeaderWord, SlotWord, ThreadState, slot_word, timed_in
from fsconsole.model.wire import Mismatch
from fsconsole.model.workload import Directories, End, Layout, Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.text import error_reason
from fsconsole.workloads import ops
from fsconsole.workloads.content import PayloadContent, anonymous_memory, content_of, scrambled
from fsconsole.workloads.job import GO, HostReport, Job, Stage, job_from_line, tell
from fsconsole.workloads.ops import STOP, Limits, Means, Operation
from fsconsole.workloads.tree import DIRECTORY_FLAGS, SourceFiles, make_unused, namer, subdirectories

Pick = tuple[Operation, int, str, int]
"""An operation, and what it is given: an open directory, a name below it, a number."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Open directories of a load's own files and of its source; -1 for none."""

    workload: Workload
    own_fd: int
    source_fd: int
    source: SourceFiles | None
    origin: bytes = b""
    """Of a crash's load."""


def picks(ground: Ground, operations: dict[WorkloadKind, Operation], thread: int) -> Iterator[Pick]:
    """Yield one thread's operations in order; operations are those of the workload."""
    workload = ground.workload
    if workload.kind is WorkloadKind.MIX:
        return islice(_mixed(ground, operations, thread)(), _share(workload, thread))
    ((kind, operation),) = operations.items()
    if kind is not WorkloadKind.CREATE:
        return _source_files(ground, operation, thread)
    name = namer(workload.directories, threads=workload.threads)
    return ((operation, ground.own_fd, name(number), number) for number in _new_numbers(workload, thread))


def _share(workload: Workload, thread: int) -> int | None:
    """Return one thread's number of operations; None: as many as there are."""
    return len(range(thread, workload.files, workload.threads)) if workload.files else None


def new_names(ground: Ground, thread: int) -> tuple[int, Iterator[str]]:
    """Return an open directory and the names below it of one thread's new files, without end if a limit ends the load.

    A thread with a directory of its own works in it, which saves a lookup for each file. Raises OSError.
    """
    workload, numbers = ground.workload, _new_numbers(ground.workload, thread)
    if workload.directories.layout is Layout.PER_THREAD:
        own = os.path.dirname(namer(workload.directories, threads=workload.threads)(thread))
        return os.open(own, DIRECTORY_FLAGS, dir_fd=ground.own_fd), map(namer(Directories(), threads=1), numbers)
    return ground.own_fd, map(namer(workload.directories, threads=workload.threads), numbers)


def _new_numbers(workload: Workload, thread: int) -> Iterable[int]:
    step = workload.threads
    return range(thread, workload.files, step) if workload.files else count(thread, step)


def _source_files(ground: Ground, operation: Operation, thread: int) -> Iterator[Pick]:
    """Yield a thread's files once, or repeatedly up to a number of operations or a limit."""
    source, workload = ground.source, ground.workload
    if source is None:
        return iter(())
    numbers = source.numbers(thread, workload.threads, shared=not workload.deletes)
    is_limited = workload.files or workload.limit_bytes or workload.duration_s
    repeats = is_limited and not workload.deletes and numbers
    rounds = count() if repeats else range(1)
    name, directory_fd = namer(source.directories, threads=source.threads), ground.source_fd
    # Each round makes its names again: millions of them, kept, would fill the memory.
    files = ((operation, directory_fd, name(number), number) for _ in rounds for number in numbers)
    return islice(files, _share(workload, thread))


def _mixed(ground: Ground, operations: dict[WorkloadKind, Operation], thread: int) -> Callable[[], Iterator[Pick]]:
    """Prepare whole operations drawn by weight, as FFSB's threadgroups, each on a file of the thread's own share.

    They end when there is no file left to work on, and none can be made.
    """
    workload, source = ground.workload, ground.source
    kinds = [kind for kind, _ in workload.weights]
    bounds = list(accumulate(weight for _, weight in workload.weights))
    new = count(thread, workload.threads)
    own_name = source_name = namer(workload.directories, threads=workload.threads)
    # Numbers of files of the source; -1 - number of those that this thread has made.
    files = array("q")
    if source is not None:
        if workload.picks_all:
            files.extend(source.numbers(0, 1, shared=True))
        else:
            files.extend(source.numbers(thread, workload.threads, shared=not workload.deletes))
        source_name = namer(source.directories, threads=source.threads)
    draw = random.Random(scrambled(workload.seed, thread, 1)).random  # noqa: S311 (a mix, no secret)

    def drawn() -> Iterator[Pick]:
        while True:
            kind = kinds[bisect_right(bounds, draw() * bounds[-1])]
            if kind is not WorkloadKind.CREATE and not files:
                if WorkloadKind.CREATE not in operations:
                    return
                kind = WorkloadKind.CREATE
            if kind is WorkloadKind.CREATE:
                number = -1 - next(new)
            else:
                place = int(draw() * len(files))
                number = files[place]
                if kind is WorkloadKind.DELETE:
                    files[place] = files[-1]
                    files.pop()
            if number < 0:
                yield operations[kind], ground.own_fd, own_name(-1 - number), -1 - number
            else:
                yield operations[kind], ground.source_fd, source_name(number), number
            if kind is WorkloadKind.CREATE:
                files.append(number)

    return drawn


_STACK_BYTES = 512 * 1024
"""Enough for a writer; thousands of default stacks (8 MiB) would count against a memory limit."""
_OWN_BUFFER_BYTES = 2**20
"""All that read larger blocks share one buffer, whose content is not used."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """State that a worker shares with the host that forked it."""

    ground: Ground
    workers: int
    worker: int
    content: PayloadContent
    words: memoryview
    ready_writer: int
    """A pipe into which each thread writes a byte when it is ready."""
    release_reader: int
    """A pipe from which each thread reads until the host closes its end."""
    buffer: memoryview | None
    """Buffer that all threads read into; None where each has its own."""


def prepared(ground: Ground, means: Means) -> Callable[[Limits], bool]:
    """Prepare one thread's work before its clock starts; the returned function is as run_operations()."""
    workload = ground.workload
    if ground.origin:
        from fsconsole.workloads.stamps import write_acts  # noqa: PLC0415 - other loads start sooner without

        directory_fd, _ = new_names(ground, means.thread)
        return lambda _limits: write_acts(means, ground.origin, directory_fd)
    if ops.is_one_call_each(workload):
        return partial(ops.make_files, means, *new_names(ground, means.thread))
    operations = {kind: ops.MAKERS[kind](means) for kind, _ in workload.operations}
    return partial(run_operations, means, picks(ground, operations, means.thread))


def run_operations(means: Means, todo: Iterator[Pick], limits: Limits) -> bool:
    """Run all operations, up to the limits, then the syncs at the end; False if the engine asked for a stop. Raises OSError."""
    return _run_all(means, todo, limits) and means.syncs.finish()


def _run_all(means: Means, todo: Iterator[Pick], limits: Limits) -> bool:
    words, files_word = means.words, slot_word(means.thread, SlotWord.FILES_DONE)
    is_limited = limits != Limits()
    for files_done, (operation, directory_fd, name, number) in enumerate(todo, start=1):
        if words[STOP]:
            return False
        if is_limited and limits.reached(means):
            return True
        if not operation(directory_fd, name, number):
            return not words[STOP]
        words[files_word] = files_done
    return True


def limits_of(workload: Workload, thread: int, started_ns: int) -> Limits:
    """Return the limits of a thread that started at started_ns."""
    budget, deadline_ns = ops.NO_BUDGET, ops.NEVER_NS
    if workload.limit_bytes:
        share, rest = divmod(workload.limit_bytes, workload.threads)
        budget = share + (thread < rest)
    if workload.duration_s:
        deadline_ns = started_ns + int(workload.duration_s * 1e9)
    return Limits(deadline_ns, budget)


def _run_thread(task: WorkerTask, thread: int) -> None:
    words, workload = task.words, task.ground.workload
    state = slot_word(thread, SlotWord.STATE)
    buffer = task.buffer
    if buffer is None:
        buffer = memoryview(anonymous_memory(workload.block_size_bytes) if workload.reads else b"")
    means = Means(workload, thread, words, task.content.pieces(thread), buffer)
    work = prepared(task.ground, means)
    words[state] = ThreadState.READY
    os.write(task.ready_writer, b"r")
    os.read(task.release_reader, 1)
    if not words[HeaderWord.GO]:
        # The pipe was closed by the host's death.
        return
    started_ns = time.monotonic_ns()
    words[slot_word(thread, SlotWord.STARTED_NS)] = started_ns
    words[state] = ThreadState.RUNNING
    limits = limits_of(workload, thread, started_ns)
    if workload.end is End.AT_ONCE:
        means.deadline_ns, means.budget_bytes = limits.deadline_ns, limits.budget_bytes
    try:
        ending = ThreadState.DONE if work(limits) else ThreadState.STOPPED
    except OSError as error:
        words[slot_word(thread, SlotWord.ERRNO)] = error.errno or errno.EIO
        ending = ThreadState.FAILED
    words[slot_word(thread, SlotWord.ENDED_NS)] = time.monotonic_ns()
    words[state] = ending


class Refused(Exception):
    """The load can't be set up; its text says why."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A forked worker, and the pipe for its threads' readiness."""

    pid: int
    threads: int
    ready_reader: int


def main() -> int:
    """Run one job; exit code 0 unless the load could not start."""
    try:
        job = job_from_line(sys.stdin.readline())
        _run_job(job)
    except (Mismatch, Refused, OSError) as error:
        why = str(error)
        if isinstance(error, OSError):
            why = f"{error.filename or 'the generator'}: {error_reason(error)}"
        tell(HostReport(Stage.REFUSED, why=why))
        return 1
    return 0


def _run_job(job: Job) -> None:
    workload = job.workload
    page = CounterPage.from_fd(job.counters)
    if (page.threads, page.regions) != (workload.threads, len(timed_in(workload))):
        raise Refused(f"the counter page is for {page.threads} threads, the job for {workload.threads}")
    directory, ground = _open_ground(job)
    content, block = content_of(workload), workload.block_size_bytes
    is_shared = workload.reads and block > _OWN_BUFFER_BYTES
    buffer = memoryview(anonymous_memory(block, mmap.MAP_SHARED)) if is_shared else None
    release_reader, release_writer = os.pipe()
    workers: list[Worker] = []
    try:
        for worker in range(job.workers):
            ready = os.pipe()
            task = WorkerTask(ground, job.workers, worker, content, page.words, ready[1], release_reader, buffer)
            workers.append(_fork_worker(task, ready, release_writer))
        _await_go(workers, directory)
    except (Refused, OSError):
        for forked in workers:
            os.kill(forked.pid, signal.SIGKILL)
        _reap(workers)
        raise
    # The clock of a process's CPU time (man 3 clock_getcpuclockid; CPUCLOCK_SCHED, include/linux/posix-timers.h).
    prepared_s = [time.clock_gettime(~worker.pid << 3 | 2) for worker in workers]
    page.words[HeaderWord.GO] = 1
    os.close(release_writer)
    used_s = _reap(workers)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    total_s = usage.ru_utime + usage.ru_stime
    share = max(0.0, 1 - sum(prepared_s) / total_s) if total_s else 0.0
    busiest_s = max(used - prepared for used, prepared in zip(used_s, prepared_s, strict=True))
    tell(HostReport(Stage.DONE, "", "", share * usage.ru_utime, share * usage.ru_stime, max(0.0, busiest_s)))


def _open_ground(job: Job) -> tuple[str, Ground]:
    """Open the source's directory and a new one for the load; returns its name, empty without new files."""
    tree_fd = os.open(job.tree, DIRECTORY_FLAGS)
    if os.fstat(tree_fd).st_dev != job.tree_device:
        raise Refused(f"{job.tree} is not on the filesystem that was mounted for it")
    if job.tree_inode and os.fstat(tree_fd).st_ino != job.tree_inode:
        raise Refused(f"{job.tree} is not the directory that was made for it")
    source_fd, source = -1, job.source
    if source is not None:
        source_fd = os.open(source.directory, DIRECTORY_FLAGS, dir_fd=tree_fd)
        source = _with_unfinished(source, source_fd)
    if not job.workload.creates:
        if source is None or not source.files:
            raise Refused("there are no files to work on")
        return "", Ground(job.workload, -1, source_fd, source)
    directory = make_unused(job.name, tree_fd)
    own_fd = os.open(directory, DIRECTORY_FLAGS, dir_fd=tree_fd)
    workload = job.workload
    for name in subdirectories(workload.directories, threads=workload.threads, files=workload.files):
        os.mkdir(name, 0o755, dir_fd=own_fd)
    return directory, Ground(workload, own_fd, source_fd, source, bytes.fromhex(job.origin))


def _with_unfinished(source: SourceFiles, source_fd: int) -> SourceFiles:
    """Count unfinished files too: at most one for each thread of the create."""
    counts, name = list(source.counts), namer(source.directories, threads=source.threads)
    for thread in range(source.threads):
        with suppress(FileNotFoundError):
            os.stat(name(source.number_after(thread)), dir_fd=source_fd, follow_symlinks=False)
            counts[thread] += 1
    return SourceFiles(source.directory, source.directories, tuple(counts))


def _fork_worker(task: WorkerTask, ready: tuple[int, int], release_writer: int) -> Worker:
    """Fork a worker that runs its threads: thread i belongs to worker i modulo the number of workers."""
    numbers = range(task.worker, task.ground.workload.threads, task.workers)
    pid = os.fork()
    if pid:
        os.close(ready[1])
        return Worker(pid, len(numbers), ready[0])
    exit_code = 1
    try:
        # A worker that kept this end open would never be released.
        os.close(release_writer)
        threading.stack_size(_STACK_BYTES)
        # Cycles are not made here, and a collection would stand in somebody's latency.
        gc.disable()
        writers = [
            threading.Thread(target=_run_thread, args=(task, thread), name=f"writer-{thread}") for thread in numbers
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        exit_code = 0
    except (OSError, RuntimeError, MemoryError) as error:
        os.write(2, f"worker {task.worker}: {error}\n".encode())
    finally:
        # Never back into the host's own code, and no second flush of its buffers.
        os._exit(exit_code)


def _await_go(workers: list[Worker], directory: str) -> None:
    """Wait until all threads are at the barrier, report it, and wait for GO."""
    for worker in workers:
        ready = 0
        while ready < worker.threads:
            said = os.read(worker.ready_reader, worker.threads)
            if not said:
                raise Refused("a worker ended before its threads were ready")
            ready += len(said)
        os.close(worker.ready_reader)
    tell(HostReport(Stage.READY, directory=directory))
    if sys.stdin.readline().strip() != GO:
        raise Refused("the engine did not give the word")


def _reap(workers: list[Worker]) -> list[float]:
    """Wait for all workers and return the CPU seconds of each."""
    usages = [os.wait4(worker.pid, 0)[2] for worker in workers]
    return [usage.ru_utime + usage.ru_stime for usage in usages]


if __name__ == "__main__":
    sys.exit(main())
