"""The result of a load, and its figures."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fsconsole.model.command import CommandResult
from fsconsole.model.figures import Measurement
from fsconsole.model.load import MOST_PROCESSES, Latencies, ThreadCounters, ThreadState, merged
from fsconsole.model.metrics import Metric
from fsconsole.model.timed import CALLS, SYNCS
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.text import GIB

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_ENDED_WELL = frozenset({ThreadState.DONE, ThreadState.STOPPED})
_OF_A_PROCESS_EACH = frozenset({"mean", "p95", "p99"})
"""Latency figures that only loads have whose writers share no process."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Result of a load, from its writers' counters; times are CLOCK_MONOTONIC, 0 if no writer started."""

    threads: tuple[ThreadCounters, ...]
    written_bytes: int
    files_done: int
    first_started_ns: int
    first_ended_ns: int
    last_ended_ns: int
    user_s: float
    system_s: float
    """CPU time of the writers alone; end() has that of the whole generator."""
    is_whole: bool
    """True if the generator itself reported that all its writers ended."""
    failures: str = ""
    """Why writers ended early; empty if none did."""
    read_bytes: int = 0
    directory: str = ""
    """Directory of the load's new files below the tree; empty if it made none."""
    busiest_s: float = 0.0
    """CPU time of the busiest writer process."""
    was_stopped: bool = False
    """True if a program was killed at the engine's request."""
    counts: tuple[int, ...] = ()
    """Of a program whose files later loads can use: files by thread."""
    told: tuple[Measurement, ...] = ()
    """Figures that a program told itself."""

    @property
    def files_by_thread(self) -> tuple[int, ...]:
        """Files that each thread finished."""
        return tuple(thread.files_done for thread in self.threads) or self.counts

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
        """True if at least one writer ended at the engine's request."""
        return self.was_stopped or any(thread.state is ThreadState.STOPPED for thread in self.threads)

    @property
    def is_failure(self) -> bool:
        """True if a writer was killed or failed, or nothing was done; a full filesystem is a result, no failure."""
        early = [thread for thread in self.threads if thread.state not in _ENDED_WELL]
        if not self.is_whole or any(thread.errno not in _FULL for thread in early):
            return True
        return bool(self.threads) and self.moved_bytes == 0 and len(early) == len(self.threads)


@dataclass(frozen=True, slots=True)
class ProgramFigures:
    """Figures that a program told in its output; counts are the files of each thread, where later loads can use them."""

    written_bytes: int = 0
    read_bytes: int = 0
    files_done: int = 0
    measurements: tuple[Measurement, ...] = ()
    counts: tuple[int, ...] = ()
    failures: str = ""
    """Why it ended early, where its figures count all the same: the filesystem was full."""


class Load(Protocol):
    """A load, from its preparation to its result."""

    workload: Workload

    @property
    def page(self) -> CounterPage | None:
        """The counters of its writers; None where nobody counts."""

    @property
    def pid(self) -> int:
        """Its first process, in this process's PID namespace; all others are below it."""

    def wait_ready(self) -> None:
        """Wait until nothing but go() is missing. Raises GeneratorFailed."""

    def go(self) -> None:
        """Start its clock. Raises GeneratorFailed."""

    def stop(self) -> None:
        """Ask it to end early."""

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for its end; True where it has ended, however."""

    def wait(self) -> LoadResult:
        """Wait for its end and return the result."""

    def latencies(self) -> tuple[Latencies, ...]:
        """Return the latencies of its operations, by kind; before kill()."""

    def end(self) -> CommandResult:
        """Wait until its program is gone, and return the outputs."""

    def kill(self) -> None:
        """End whatever still runs; a second call does nothing."""


def failures_in_words(threads: Sequence[ThreadCounters]) -> str:
    """Return why writers ended early: "3 of 16 writers stopped: No space left on device"; empty where none did."""
    unended = frozenset({ThreadState.STARTING, ThreadState.READY, ThreadState.RUNNING})
    reasons = Counter(
        "killed before they were done" if thread.state in unended else os.strerror(thread.errno)
        for thread in threads
        if thread.state not in _ENDED_WELL
    )
    return "; ".join(f"{count} of {len(threads)} writers stopped: {why}" for why, count in reasons.most_common())


def load_measurements(result: LoadResult) -> tuple[Measurement, ...]:
    """Return the figures at the last writer's end; no rate if no time passed."""
    elapsed_s = result.elapsed_s
    first_done_s = (result.first_ended_ns - result.first_started_ns) / 1e9
    figures = [
        Measurement(Metric.FIRST_DONE, first_done_s),
        Measurement(Metric.LAST_DONE, elapsed_s),
        Measurement(Metric.REAL, elapsed_s),
        Measurement(Metric.USER, result.user_s),
        Measurement(Metric.SYSTEM, result.system_s),
    ]
    return (*figures, *rate_measurements(result))


def rate_measurements(result: LoadResult) -> tuple[Measurement, ...]:
    """Return what was moved and done, and how fast; no rate if no time passed."""
    elapsed_s, figures = result.elapsed_s, list[Measurement]()
    moved = (
        (result.written_bytes, Metric.WRITTEN, Metric.WRITE_TIME, Metric.WRITE),
        (result.read_bytes, Metric.READ_BYTES, Metric.READ_TIME, Metric.READ),
    )
    for moved_bytes, amount, duration, rate in moved:
        if moved_bytes:
            figures += [Measurement(amount, moved_bytes), Measurement(duration, elapsed_s)]
            if elapsed_s > 0:
                figures.append(Measurement(rate, moved_bytes / elapsed_s))
    if elapsed_s > 0:
        if result.threads or result.files_done:
            figures.append(Measurement(Metric.FILES_PER_S, result.files_done / elapsed_s))
        operations = sum(thread.operations for thread in result.threads)
        if operations:
            figures.append(Measurement(Metric.OPS_PER_S, operations / elapsed_s))
    # What a program told of itself comes first: its own clock starts after its own preparations.
    return tuple({figure.metric: figure for figure in (*figures, *result.told)}.values())


def drain_measurements(result: LoadResult, drain_s: float, drain_done_ns: int) -> tuple[Measurement, ...]:
    """Return the drain's time and the durable rate; drain_done_ns is CLOCK_MONOTONIC."""
    figures = [Measurement(Metric.DRAIN, drain_s)]
    durable_s = (drain_done_ns - result.first_started_ns) / 1e9
    if result.first_started_ns:
        figures.append(Measurement(Metric.REAL_DRAINED, durable_s))
    if result.first_started_ns and durable_s > 0 and result.written_bytes:
        figures.append(Measurement(Metric.DURABLE, result.written_bytes / durable_s))
    return tuple(figures)


def generator_measurements(result: LoadResult, done_ns: int) -> tuple[Measurement, ...]:
    """Return the generator's CPU share until done_ns, the end of the drain if there is one, and its CPU time per GiB.

    The share as FFSB, whose time ends with its own sync() (FFSB main.c).
    """
    elapsed_s, cpu_s = (done_ns - result.first_started_ns) / 1e9, result.user_s + result.system_s
    if not result.first_started_ns or elapsed_s <= 0:
        return ()
    share = Measurement(Metric.CPU_GENERATOR, 100 * cpu_s / elapsed_s)
    if not result.moved_bytes:
        return (share,)
    return (share, Measurement(Metric.GENERATOR_PER_GIB, cpu_s * GIB / result.moved_bytes))


def latency_measurements(
    workload: Workload, result: LoadResult, latencies: tuple[Latencies, ...]
) -> tuple[Measurement, ...]:
    """Return tiobench's latency figures, over all calls that moved data, else over all operations; and those of syncs.

    A mix has them of each kind of operation, since one figure of unlike calls tells nothing.
    """
    timed = [part for part in latencies if part.buckets]
    syncs = [part for part in timed if part.operation in SYNCS]
    operations = [part for part in timed if part.operation not in SYNCS]
    figures: list[Measurement] = []
    if workload.kind is WorkloadKind.MIX:
        for part in operations:
            name = part.operation.value.replace("-", "_")
            if result.elapsed_s > 0:
                figures.append(Measurement(Metric(f"{name}_ops_per_s"), part.count / result.elapsed_s))
            figures += _times_of(name, part)
    elif operations:
        whole = merged([part for part in operations if part.operation in CALLS] or operations)
        figures += _times_of("latency", whole)
        figures += [
            Measurement(Metric.LATENCY_P95, whole.percentile_ns(95) / 1e6),
            Measurement(Metric.OVER_2_S, 100 * whole.over_2_s / whole.count),
            Measurement(Metric.OVER_10_S, 100 * whole.over_10_s / whole.count),
        ]
    figures += _times_of("fsync", merged(syncs)) if syncs else []
    is_whole = workload.threads <= MOST_PROCESSES
    return tuple(one for one in figures if is_whole or one.metric.value.rpartition("_")[2] not in _OF_A_PROCESS_EACH)


def _times_of(name: str, latencies: Latencies) -> list[Measurement]:
    """Return number, mean, percentiles and maximum of one kind of operation, as the metrics of that name."""
    times_ns = {
        "mean": latencies.mean_ns,
        "p50": latencies.percentile_ns(50),
        "p99": latencies.percentile_ns(99),
        "max": latencies.max_ns,
    }
    times = [Measurement(Metric(f"{name}_{which}"), time_ns / 1e6) for which, time_ns in times_ns.items()]
    return [Measurement(Metric(f"{name}_count"), latencies.count), *times]


def cpu_measurements(busy_s: float, available_s: float, moved_bytes: int) -> tuple[Measurement, ...]:
    """Return the machine's CPU figures from the first operation to the end of the load, or of its drain.

    busy_s and available_s (all but stolen time) are CPU seconds over all CPUs, from two readings of /proc/stat.
    """
    figures = []
    if available_s > 0:
        # x / x is 1; 100 * x / x may be above 100.
        figures.append(Measurement(Metric.CPU, 100 * (busy_s / available_s)))
    if moved_bytes > 0:
        figures.append(Measurement(Metric.CPU_PER_GIB, busy_s / (moved_bytes / GIB)))
    return tuple(figures)
