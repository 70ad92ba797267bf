"""What every generator of a load offers to the engine, and what came of a load."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fsconsole.model.command import CommandResult
from fsconsole.model.counters import ThreadCounters, ThreadState
from fsconsole.model.latency import Latencies
from fsconsole.model.workload import Workload
from fsconsole.system.memfd import CounterPage
from fsconsole.workloads.source import SourceFiles

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_ENDED_WELL = frozenset({ThreadState.DONE, ThreadState.STOPPED})


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a load did, from its writers' own counters; times are CLOCK_MONOTONIC, 0 where no writer started."""

    threads: tuple[ThreadCounters, ...]
    written_bytes: int
    files_done: int
    first_started_ns: int
    first_ended_ns: int
    last_ended_ns: int
    user_s: float
    system_s: float
    """CPU time of the writers alone; that of the whole generator, from its start, is in end()'s usage."""
    is_whole: bool
    """True where the generator itself said that all its writers had ended."""
    failures: str = ""
    """Why writers ended early, in words; empty where none did."""
    read_bytes: int = 0
    directory: str = ""
    """Where below the tree the load made files; empty where it made none."""

    @property
    def moved_bytes(self) -> int:
        """Bytes that were written or read."""
        return self.written_bytes + self.read_bytes

    @property
    def elapsed_s(self) -> float:
        """Last writer done - first writer started."""
        return (self.last_ended_ns - self.first_started_ns) / 1e9

    @property
    def stopped(self) -> bool:
        """True where at least one writer ended because the engine asked for it."""
        return any(thread.state is ThreadState.STOPPED for thread in self.threads)

    @property
    def is_failure(self) -> bool:
        """True where the figures are no measurement: a writer was killed or met an error, or nothing was done.

        Writers that filled the filesystem are a result, with a reason.
        """
        early = [thread for thread in self.threads if thread.state not in _ENDED_WELL]
        if not self.is_whole or any(thread.errno not in _FULL for thread in early):
            return True
        return self.moved_bytes == 0 and len(early) == len(self.threads)


class LoadHandle(Protocol):
    """A prepared load; kill() must be called in the end, whatever happened before."""

    @property
    def page(self) -> CounterPage:
        """The counters that the writers keep; closed by kill()."""
        ...

    def wait_ready(self) -> None:
        """Wait until all writers stand at the barrier. Raises GeneratorFailed."""
        ...

    def go(self) -> None:
        """Release the writers. Raises GeneratorFailed."""
        ...

    def counters(self) -> tuple[ThreadCounters, ...]:
        """Return where every writer stands now."""
        ...

    def latencies(self) -> tuple[Latencies, ...]:
        """Return how long operations took, over all threads, one item for each kind of them; before kill()."""
        ...

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for the load's end; True where it has ended, however."""
        ...

    def request_stop(self) -> None:
        """Ask the writers to end before their next operation; returns at once."""
        ...

    def wait(self) -> LoadResult:
        """Wait for the last writer's end and return what they did; a second call returns the same."""
        ...

    def end(self) -> CommandResult:
        """Wait until the generator is gone as a program too; its exit code is negative where it was killed."""
        ...

    def kill(self) -> None:
        """End whatever still runs and give everything back; a second call does nothing."""
        ...


class Generator(Protocol):
    """Something that makes a load."""

    def prepare(
        self,
        workload: Workload,
        *,
        tree: str,
        tree_device: int,
        hidden: Sequence[str],
        source: SourceFiles | None = None,
    ) -> LoadHandle:
        """Start the generator, confined to tree, up to its barrier.

        tree_device is the st_dev that tree must have; hidden directories are not to be seen by the
        generator; source is what it works on. Raises ToolMissing.
        """
        ...


def failures_in_words(threads: Sequence[ThreadCounters]) -> str:
    """Return why writers ended early: "3 of 16 writers stopped: No space left on device"; empty where none did."""
    unended = frozenset({ThreadState.STARTING, ThreadState.READY, ThreadState.RUNNING})
    reasons = Counter(
        "killed before they were done" if thread.state in unended else os.strerror(thread.errno)
        for thread in threads
        if thread.state not in _ENDED_WELL
    )
    return "; ".join(
        f"{count} of {len(threads)} writers stopped: {why}" for why, count in reasons.most_common()
    )
