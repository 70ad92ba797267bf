"""One process of the built-in generator: its threads, the barrier that they wait at, and how each ends."""

from __future__ import annotations

import errno
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from fsconsole.model.counters import HeaderWord, SlotWord, ThreadState, slot_word
from fsconsole.model.workload import End, Workload
from fsconsole.workloads.content import Content, anonymous_memory
from fsconsole.workloads.ops import MAKERS
from fsconsole.workloads.ops.base import NEVER_NS, NO_BUDGET, STOP, Limits, Means
from fsconsole.workloads.ops.one_block import is_one_call_each, make_files
from fsconsole.workloads.picks import Ground, Pick, new_names, picks

_STACK_BYTES = 512 * 1024
"""A writer needs little; thousands of default stacks of 8 MiB would count against a memory limit."""
_OWN_BUFFER_BYTES = 2**20
"""Threads that read in larger blocks share one buffer: nobody looks at what is in it."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """Two pipes: every thread writes one byte when it is ready, and reads until the host closes its end."""

    ready_writer: int
    release_reader: int


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What a worker shares with the host that forked it."""

    ground: Ground
    workers: int
    worker: int
    content: Content
    words: memoryview
    barrier: Barrier

    @property
    def workload(self) -> Workload:
        """The load."""
        return self.ground.workload


def run_worker(task: WorkerTask) -> None:
    """Run this worker's threads to their ends: thread i belongs to worker i modulo the number of workers."""
    threading.stack_size(_STACK_BYTES)
    block = task.workload.block_size_bytes
    shared = memoryview(anonymous_memory(block)) if block > _OWN_BUFFER_BYTES else None
    # Cycles are not made here, and a collection would stand in somebody's latency.
    gc.disable()
    threads = [
        threading.Thread(target=_run_thread, args=(task, thread, shared), name=f"writer-{thread}")
        for thread in range(task.worker, task.workload.threads, task.workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def prepared(ground: Ground, means: Means) -> Callable[[Limits], bool]:
    """Return what does all that one thread has to do, up to its limits; False where the engine asked for a stop.

    It raises OSError. What can be made ready is made ready here, before any clock starts.
    """
    workload = ground.workload
    if is_one_call_each(workload):
        return partial(make_files, means, *new_names(ground, means.thread))
    operations = {kind: MAKERS[kind](means) for kind, _ in workload.operations}
    return partial(carry_out, means, picks(ground, operations, means.thread))


def carry_out(means: Means, todo: Iterator[Pick], limits: Limits) -> bool:
    """Carry out operations until there are no more or a limit is reached; False where the engine asked for a stop.

    Raises OSError; what was done until then stands in the counters.
    """
    words, files_word = means.words, slot_word(means.thread, SlotWord.FILES_DONE)
    is_limited = limits != Limits()
    for files_done, (operation, directory_fd, name, number) in enumerate(todo, start=1):
        if words[STOP]:
            return False
        if is_limited and limits.reached(means):
            return True
        if not operation.run(directory_fd, name, number):
            return not words[STOP]
        words[files_word] = files_done
    return True


def limits_of(workload: Workload, thread: int, started_ns: int) -> Limits:
    """Return the limits of one thread whose clock started at that instant."""
    budget, deadline_ns = NO_BUDGET, NEVER_NS
    if workload.limit_bytes:
        share, rest = divmod(workload.limit_bytes, workload.threads)
        budget = share + (thread < rest)
    if workload.duration_s:
        deadline_ns = started_ns + int(workload.duration_s * 1e9)
    return Limits(deadline_ns, budget)


def _run_thread(task: WorkerTask, thread: int, shared: memoryview | None) -> None:
    words, barrier = task.words, task.barrier
    state = slot_word(thread, SlotWord.STATE)
    means = _means(task, thread, shared)
    work = prepared(task.ground, means)
    words[state] = ThreadState.READY
    os.write(barrier.ready_writer, b"r")
    os.read(barrier.release_reader, 1)
    if not words[HeaderWord.GO]:
        # The pipe closed because the host died, not because it gave the word.
        return
    started_ns = time.monotonic_ns()
    words[slot_word(thread, SlotWord.STARTED_NS)] = started_ns
    words[state] = ThreadState.RUNNING
    limits = limits_of(task.workload, thread, started_ns)
    if task.workload.end is End.AT_ONCE:
        means.deadline_ns, means.budget_bytes = limits.deadline_ns, limits.budget_bytes
    try:
        ending = ThreadState.DONE if work(limits) else ThreadState.STOPPED
    except OSError as error:
        words[slot_word(thread, SlotWord.ERRNO)] = error.errno or errno.EIO
        ending = ThreadState.FAILED
    words[slot_word(thread, SlotWord.ENDED_NS)] = time.monotonic_ns()
    words[state] = ending


def _means(task: WorkerTask, thread: int, shared: memoryview | None) -> Means:
    workload = task.workload
    if shared is not None or not workload.reads:
        buffer = shared if shared is not None else memoryview(b"")
    else:
        buffer = memoryview(anonymous_memory(workload.block_size_bytes))
    return Means(
        workload=workload,
        thread=thread,
        words=task.words,
        pieces=task.content.pieces(thread),
        buffer=buffer,
    )
