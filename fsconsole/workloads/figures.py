"""The figures of a load, from its writers' own stamps and the end of the drain. Pure."""

from __future__ import annotations

from fsconsole.model.latency import CALLS, Latencies, Timed, merged
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.units import GIB
from fsconsole.workloads.protocol import LoadResult


def load_measurements(result: LoadResult) -> tuple[Measurement, ...]:
    """Return what is known when the last writer has ended; no rate where no time passed."""
    elapsed_s = result.elapsed_s
    first_done_s = (result.first_ended_ns - result.first_started_ns) / 1e9
    figures = [Measurement(Metric.FIRST_DONE, first_done_s), Measurement(Metric.LAST_DONE, elapsed_s)]
    if result.written_bytes:
        figures += [
            Measurement(Metric.WRITTEN, result.written_bytes),
            Measurement(Metric.WRITE_TIME, elapsed_s),
        ]
    if result.read_bytes:
        figures += [
            Measurement(Metric.READ_BYTES, result.read_bytes),
            Measurement(Metric.READ_TIME, elapsed_s),
        ]
    if elapsed_s > 0:
        if result.written_bytes:
            figures.append(Measurement(Metric.WRITE, result.written_bytes / elapsed_s))
        if result.read_bytes:
            figures.append(Measurement(Metric.READ, result.read_bytes / elapsed_s))
        figures.append(Measurement(Metric.FILES_PER_S, result.files_done / elapsed_s))
    return tuple(figures)


def drain_measurements(result: LoadResult, drain_s: float, drain_done_ns: int) -> tuple[Measurement, ...]:
    """Return the drain's own time, and what is counted down to the device; drain_done_ns is CLOCK_MONOTONIC."""
    figures = [Measurement(Metric.DRAIN, drain_s)]
    durable_s = (drain_done_ns - result.first_started_ns) / 1e9
    if result.first_started_ns and durable_s > 0 and result.written_bytes:
        figures.append(Measurement(Metric.DURABLE, result.written_bytes / durable_s))
    return tuple(figures)


def generator_measurements(result: LoadResult, done_ns: int) -> tuple[Measurement, ...]:
    """Return the generator's own CPU time over what passed until done_ns, the end of the drain where there is one.

    FFSB prints its rusage over a time that ends with its own sync() (FFSB main.c).
    """
    elapsed_s = (done_ns - result.first_started_ns) / 1e9
    if not result.first_started_ns or elapsed_s <= 0:
        return ()
    return (Measurement(Metric.CPU_GENERATOR, 100 * (result.user_s + result.system_s) / elapsed_s),)


def latency_measurements(latencies: tuple[Latencies, ...]) -> tuple[Measurement, ...]:
    """Return what tiobench prints of a load: over all calls that moved data, or of one without any over its operations."""
    calls = [part for part in latencies if part.operation in CALLS and part.buckets]
    parts = calls or [part for part in latencies if part.operation is not Timed.FSYNC and part.buckets]
    if not parts:
        return ()
    whole = merged(parts)
    figures = {
        Metric.LATENCY_MEAN: whole.mean_ns / 1e6,
        Metric.LATENCY_P50: whole.percentile_ns(50) / 1e6,
        Metric.LATENCY_P95: whole.percentile_ns(95) / 1e6,
        Metric.LATENCY_P99: whole.percentile_ns(99) / 1e6,
        Metric.LATENCY_MAX: whole.max_ns / 1e6,
        Metric.OVER_2_S: 100 * whole.over_2_s / whole.count,
        Metric.OVER_10_S: 100 * whole.over_10_s / whole.count,
    }
    return tuple(Measurement(metric, value) for metric, value in figures.items())


def cpu_measurements(busy_s: float, available_s: float, moved_bytes: int) -> tuple[Measurement, ...]:
    """Return the machine's CPU figures from the first operation to the end of the load, or of its drain.

    busy_s and available_s are CPU seconds over all CPUs, available being all but stolen time: the difference
    of two readings of /proc/stat.
    """
    figures = []
    if available_s > 0:
        figures.append(Measurement(Metric.CPU, 100 * busy_s / available_s))
    if moved_bytes > 0:
        figures.append(Measurement(Metric.CPU_PER_GIB, busy_s / (moved_bytes / GIB)))
    return tuple(figures)
