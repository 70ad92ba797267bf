"""The host process of the built-in generator: reads a job, makes ready, forks workers, gives the word.

Started as ``python -I -m fsconsole.workloads.host``, confined to its tree. Standard input carries the job and
then GO, each on a line; standard output carries events, one JSON object a line: READY, then DONE, or REFUSED
with a reason. It has one thread only, so that forking is safe; all that the writers don't do is done before
the clock starts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass

from fsconsole.model.counters import HeaderWord
from fsconsole.model.latency import timed_in
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads.content import content_of
from fsconsole.workloads.job import DONE, GO, READY, REFUSED, BadJob, Job, job_from_line
from fsconsole.workloads.naming import DIRECTORY_FLAGS, file_name, subdirectories
from fsconsole.workloads.picks import Ground
from fsconsole.workloads.source import SourceFiles
from fsconsole.workloads.worker import Barrier, WorkerTask, run_worker


class Refused(Exception):
    """The load can't be made; its text says why."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A forked worker, and the pipe on which its threads say that they are ready."""

    pid: int
    threads: int
    ready_reader: int


def main() -> int:
    """Carry out one job; exit code 0 unless the load could not even begin."""
    try:
        job = job_from_line(sys.stdin.readline())
        _carry_out(job)
    except (BadJob, Refused) as error:
        _tell(REFUSED, why=str(error))
        return 1
    except OSError as error:
        _tell(REFUSED, why=f"{error.filename or 'the generator'}: {error.strerror or error}")
        return 1
    return 0


def _carry_out(job: Job) -> None:
    workload = job.workload
    page = CounterPage.from_fd(job.counters)
    if (page.threads, page.regions) != (workload.threads, len(timed_in(workload))):
        raise Refused(f"the counter page is for {page.threads} threads, the job for {workload.threads}")
    directory, ground = _open_ground(job)
    content = content_of(workload)
    release_reader, release_writer = os.pipe()
    workers: list[Worker] = []
    try:
        for worker in range(job.workers):
            ready = os.pipe()
            barrier = Barrier(ready[1], release_reader)
            task = WorkerTask(ground, job.workers, worker, content, page.words, barrier)
            workers.append(_fork_worker(task, ready, release_writer))
        _await_go(workers, directory)
    except (Refused, OSError):
        _kill(workers)
        raise
    page.words[HeaderWord.GO] = 1
    os.close(release_writer)
    _tell(DONE, **_reap(workers))


def _open_ground(job: Job) -> tuple[str, Ground]:
    """Open where the load's files lie, its own directory made anew; returns its name, empty where it has none."""
    tree_fd = os.open(job.tree, DIRECTORY_FLAGS)
    if os.fstat(tree_fd).st_dev != job.tree_device:
        raise Refused(f"{job.tree} is not on the filesystem that was mounted for it")
    source_fd, source = -1, job.source
    if source is not None:
        source_fd = os.open(source.directory, DIRECTORY_FLAGS, dir_fd=tree_fd)
        source = _with_unfinished(source, source_fd)
    if not job.workload.creates:
        if source is None or not source.files:
            raise Refused("there are no files to work on")
        return "", Ground(job.workload, -1, source_fd, source)
    directory = _make_unused(job.name, tree_fd)
    own_fd = os.open(directory, DIRECTORY_FLAGS, dir_fd=tree_fd)
    workload = job.workload
    for name in subdirectories(workload.directories, threads=workload.threads, files=workload.files):
        os.mkdir(name, 0o755, dir_fd=own_fd)
    return directory, Ground(workload, own_fd, source_fd, source)


def _with_unfinished(source: SourceFiles, source_fd: int) -> SourceFiles:
    """Count the files too that their create did not finish: at most one for each of its threads."""
    counts = tuple(
        count
        + _is_there(
            file_name(source.directories, source.number_after(thread), threads=source.threads), source_fd
        )
        for thread, count in enumerate(source.counts)
    )
    return SourceFiles(source.directory, source.directories, counts)


def _is_there(name: str, directory_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _make_unused(name: str, tree_fd: int) -> str:
    """Make a directory of that name, or of the first of name-2, name-3, ... that isn't there."""
    candidate, number = name, 1
    while True:
        try:
            os.mkdir(candidate, 0o755, dir_fd=tree_fd)
        except FileExistsError:
            number += 1
            candidate = f"{name}-{number}"
        else:
            return candidate


def _fork_worker(task: WorkerTask, ready: tuple[int, int], release_writer: int) -> Worker:
    threads = len(range(task.worker, task.workload.threads, task.workers))
    pid = os.fork()
    if pid:
        os.close(ready[1])
        return Worker(pid, threads, ready[0])
    exit_code = 1
    try:
        # A worker that kept this end open would never be released.
        os.close(release_writer)
        run_worker(task)
        exit_code = 0
    except (OSError, RuntimeError, MemoryError) as error:
        os.write(2, f"worker {task.worker}: {error}\n".encode())
    finally:
        # Never back into the host's own code, and no second flush of its buffers.
        os._exit(exit_code)


def _await_go(workers: list[Worker], directory: str) -> None:
    """Wait until every thread stands at the barrier, say so, and wait for the word."""
    for worker in workers:
        ready = 0
        while ready < worker.threads:
            said = os.read(worker.ready_reader, worker.threads)
            if not said:
                raise Refused("a worker ended before its threads were ready")
            ready += len(said)
        os.close(worker.ready_reader)
    _tell(READY, directory=directory)
    if sys.stdin.readline().strip() != GO:
        raise Refused("the engine did not give the word")


def _reap(workers: list[Worker]) -> dict[str, float | list[int]]:
    """Wait for all workers; returns their exit codes (negative: a signal) and the CPU time that they used."""
    exit_codes, user_s, system_s = [], 0.0, 0.0
    for worker in workers:
        _, status, usage = os.wait4(worker.pid, 0)
        exit_codes.append(os.waitstatus_to_exitcode(status))
        user_s += usage.ru_utime
        system_s += usage.ru_stime
    return {"exit_codes": exit_codes, "user_s": user_s, "system_s": system_s}


def _kill(workers: list[Worker]) -> None:
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    _reap(workers)


def _tell(event: str, **facts: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
