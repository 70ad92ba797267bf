"""One process of the built-in generator: its threads, the barrier that they wait at, and how each ends."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from fsconsole.model.counters import HeaderWord, SlotWord, ThreadState, slot_word
from fsconsole.workloads.job import Job
from fsconsole.workloads.naming import file_name
from fsconsole.workloads.ops.create import CreateWork, create_files

_STACK_BYTES = 512 * 1024
"""A writer needs little; thousands of default stacks of 8 MiB would count against a memory limit."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """Two pipes: every thread writes one byte when it is ready, and reads until the host closes its end."""

    ready_writer: int
    release_reader: int


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What a worker shares with the host that forked it."""

    job: Job
    worker: int
    directory_fd: int
    pool: memoryview
    words: memoryview
    barrier: Barrier


def run_worker(task: WorkerTask) -> None:
    """Run this worker's threads to their ends: thread i belongs to worker i modulo the number of workers."""
    threading.stack_size(_STACK_BYTES)
    threads = [
        threading.Thread(target=_run_thread, args=(task, thread), name=f"writer-{thread}")
        for thread in range(task.worker, task.job.threads, task.job.workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run_thread(task: WorkerTask, thread: int) -> None:
    words, barrier = task.words, task.barrier
    state = slot_word(thread, SlotWord.STATE)
    work = _work(task, thread)
    words[state] = ThreadState.READY
    os.write(barrier.ready_writer, b"r")
    os.read(barrier.release_reader, 1)
    if not words[HeaderWord.GO]:
        # The pipe closed because the host died, not because it gave the word.
        return
    words[slot_word(thread, SlotWord.STARTED_NS)] = time.monotonic_ns()
    words[state] = ThreadState.RUNNING
    try:
        ending = ThreadState.DONE if create_files(work) else ThreadState.STOPPED
    except OSError as error:
        words[slot_word(thread, SlotWord.ERRNO)] = error.errno or errno.EIO
        ending = ThreadState.FAILED
    words[slot_word(thread, SlotWord.ENDED_NS)] = time.monotonic_ns()
    words[state] = ending


def _work(task: WorkerTask, thread: int) -> CreateWork:
    job = task.job
    return CreateWork(
        directory_fd=task.directory_fd,
        names=_names(job, thread),
        file_size_bytes=job.file_size_bytes,
        block_size_bytes=job.block_size_bytes,
        pool=task.pool,
        words=task.words,
        thread=thread,
    )


def _names(job: Job, thread: int) -> Iterable[str]:
    directories, threads = job.directories, job.threads
    for number in range(thread, job.files, threads):
        yield file_name(directories, number, threads=threads)
