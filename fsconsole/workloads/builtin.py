"""The built-in generator's engine side: starts the host process confined, releases it, reads its counters."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from os.path import dirname, realpath

import fsconsole
from fsconsole.model.command import CommandResult
from fsconsole.model.load import MOST_PROCESSES, Latencies, edges_in, timed_in
from fsconsole.model.wire import encode
from fsconsole.model.workload import Workload
from fsconsole.system.isolation import python_argv
from fsconsole.system.memfd import CounterPage
from fsconsole.system.run import RunningCommand, find_program, spawn
from fsconsole.workloads.cage import caged
from fsconsole.workloads.job import HostReport, Job, Stage
from fsconsole.workloads.protocol import LoadResult, failures_in_words
from fsconsole.workloads.reports import Reports, ending_in_words
from fsconsole.workloads.tree import SourceFiles, directory_name

_HOST = python_argv("-m", "fsconsole.workloads.host")


def prepare_load(  # noqa: PLR0913 (the last two are seldom given)
    workload: Workload,
    *,
    tree: str,
    tree_device: int,
    hidden: Sequence[str],
    source: SourceFiles | None = None,
    origin: bytes = b"",
    tree_inode: int = 0,
) -> BuiltInLoad:
    """Start the host process, confined to tree, and send it its job; origin is given for a crash's. Raises ToolMissing."""
    find_program("bwrap")
    page = CounterPage.create(workload.threads, len(timed_in(workload)))
    places, out_of_sight = interpreter_places(), [realpath(path) for path in hidden]
    try:
        with caged(_HOST, tree=tree, readable=places, hidden=out_of_sight, fds=(page.fd,)) as command:
            running = spawn(command)
    except BaseException:
        page.close()
        raise
    job = Job(
        tree=tree,
        tree_device=tree_device,
        name=directory_name(workload.name),
        workers=min(workload.threads, MOST_PROCESSES),
        counters=page.fd,
        workload=workload,
        source=source,
        origin=origin.hex(),
        tree_inode=tree_inode,
    )
    # wait_ready() reports a host that has exited.
    with suppress(BrokenPipeError):
        running.send(encode(job))
    return BuiltInLoad(running, page, workload)


class BuiltInLoad:
    """A load of the built-in generator, from its barrier to its result."""

    def __init__(self, running: RunningCommand, page: CounterPage, workload: Workload) -> None:
        self.page = page
        self._running = running
        self.workload = workload
        self._directory = ""
        self._reports = Reports(running, HostReport)

    @property
    def pid(self) -> int:
        """The first process of the cage."""
        return self._running.pid

    def wait_ready(self) -> None:
        """Wait until all writers stand at the barrier. Raises GeneratorFailed."""
        self._directory = self._reports.wait_ready().directory

    def go(self) -> None:
        """Release the writers. Raises GeneratorFailed."""
        self._reports.go()

    def stop(self) -> None:
        """Ask the writers to end between operations."""
        self.page.request_stop()

    def latencies(self) -> tuple[Latencies, ...]:
        """Return how long operations took, over all threads, one item for each kind of them; before kill()."""
        operations = timed_in(self.workload)
        return self.page.latencies(operations, [edges_in(self.workload, timed) for timed in operations])

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for the load's end; True where it has ended, however."""
        return self._reports.finished(timeout_s)

    def wait(self) -> LoadResult:
        """Wait for the last writer's end and return what they did."""
        report = self._reports.wait_end()
        # Its namespaces take a while to go (measured: 12 ms); the drain begins meanwhile.
        died = "" if report.event is Stage.DONE else ending_in_words(self._running.wait())
        threads = self.page.read()
        started = [thread for thread in threads if thread.started_ns]
        # A writer that was killed ended when its generator did.
        ends_ns = [thread.ended_ns or self._reports.ended_ns for thread in started]
        read_bytes = sum(thread.read_bytes for thread in threads)
        return LoadResult(
            threads=threads,
            written_bytes=sum(thread.bytes_done for thread in threads) - read_bytes,
            files_done=sum(thread.files_done for thread in threads),
            first_started_ns=min((thread.started_ns for thread in started), default=0),
            first_ended_ns=min(ends_ns, default=0),
            last_ended_ns=max(ends_ns, default=0),
            user_s=report.user_s,
            system_s=report.system_s,
            is_whole=not died,
            failures="; ".join(filter(None, (failures_in_words(threads), died))),
            read_bytes=read_bytes,
            busiest_s=report.busiest_s,
            directory=self._directory,
        )

    def end(self) -> CommandResult:
        """Wait until the generator is gone as a program too; its exit code is negative where it was killed."""
        return self._running.wait()

    def kill(self) -> None:
        """End whatever still runs and unmap the counters; a second call does nothing."""
        self._running.kill()
        self._running.wait()
        self.page.close()


def interpreter_places() -> tuple[str, ...]:
    """Return the directories of this interpreter and this package, without symbolic links."""
    places = (sys.prefix, sys.base_prefix, dirname(realpath(sys.executable)), dirname(fsconsole.__file__))
    return tuple(sorted({realpath(place) for place in places}))
