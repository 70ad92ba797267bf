"""The built-in generator's engine side: starts the host process confined, releases it, reads its counters."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from os.path import dirname, realpath
from typing import NoReturn

import fsconsole
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.command import CommandResult
from fsconsole.model.load import MOST_PROCESSES, Latencies, edges_in, timed_in
from fsconsole.model.wire import Mismatch, decode, encode
from fsconsole.model.workload import Workload
from fsconsole.system.memfd import CounterPage
from fsconsole.system.run import RunningCommand, find_program, spawn
from fsconsole.workloads.cage import caged
from fsconsole.workloads.job import GO, HostReport, Job, Stage
from fsconsole.workloads.protocol import LoadResult, failures_in_words
from fsconsole.workloads.tree import SourceFiles, directory_name

_HOST = (sys.executable, "-I", "-m", "fsconsole.workloads.host")
"""Isolated (-I): imports nothing from the operator's environment or working directory."""


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
        self._last_report: HostReport | None = None
        self._ended_ns = 0

    @property
    def pid(self) -> int:
        """The first process of the cage."""
        return self._running.pid

    def wait_ready(self) -> None:
        """Wait until all writers stand at the barrier. Raises GeneratorFailed."""
        report = self._next_report(None)
        if report.event is not Stage.READY:
            self._fail(report.why)
        self._directory = report.directory

    def go(self) -> None:
        """Release the writers. Raises GeneratorFailed."""
        try:
            self._running.send(GO)
        except BrokenPipeError:
            self._fail("")

    def stop(self) -> None:
        """Ask the writers to end between operations."""
        self.page.request_stop()

    def latencies(self) -> tuple[Latencies, ...]:
        """Return how long operations took, over all threads, one item for each kind of them; before kill()."""
        operations = timed_in(self.workload)
        return self.page.latencies(operations, [edges_in(self.workload, timed) for timed in operations])

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for the load's end; True where it has ended, however."""
        try:
            self._await_end(timeout_s)
        except TimeoutError:
            return False
        return True

    def wait(self) -> LoadResult:
        """Wait for the last writer's end and return what they did."""
        report = self._await_end(None)
        # Its namespaces take a while to go (measured: 12 ms); the drain begins meanwhile.
        died = "" if report.event is Stage.DONE else ending_in_words(self._running.wait())
        threads = self.page.read()
        started = [thread for thread in threads if thread.started_ns]
        # A writer that was killed ended when its generator did.
        ends_ns = [thread.ended_ns or self._ended_ns for thread in started]
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

    def _await_end(self, timeout_s: float | None) -> HostReport:
        if self._last_report is None:
            self._last_report = self._next_report(timeout_s)
            self._ended_ns = time.monotonic_ns()
        return self._last_report

    def _next_report(self, timeout_s: float | None) -> HostReport:
        """Return the host's next report, DIED where it has ended without one."""
        try:
            return decode(HostReport, self._running.receive(timeout_s))
        except (EOFError, Mismatch):
            return HostReport(Stage.DIED)

    def _fail(self, why: str) -> NoReturn:
        # end() still returns its output.
        raise GeneratorFailed(why or ending_in_words(self._running.wait()))


def interpreter_places() -> tuple[str, ...]:
    """Return the directories of this interpreter and this package, without symbolic links."""
    places = (sys.prefix, sys.base_prefix, dirname(realpath(sys.executable)), dirname(fsconsole.__file__))
    return tuple(sorted({realpath(place) for place in places}))


def ending_in_words(command: CommandResult) -> str:
    """Return how a program ended, with the last line of its errors: "it ended with exit code 2: No such file"."""
    said = command.err.strip().splitlines()
    code = command.exit_code
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"it ended with {ending}" + (f": {said[-1]}" if said else "")
