"""The figures of a load, from its writers' own stamps and the end of the drain. Pure."""

from __future__ import annotations

from fsconsole.model.measurement import Measurement, Metric
from fsconsole.units import GIB
from fsconsole.workloads.protocol import LoadResult


def load_measurements(result: LoadResult) -> tuple[Measurement, ...]:
    """Return what is known when the last writer has ended; no rate where no time passed."""
    elapsed_s = result.elapsed_s
    first_done_s = (result.first_ended_ns - result.first_started_ns) / 1e9
    figures = [
        Measurement(Metric.WRITTEN, result.written_bytes),
        Measurement(Metric.WRITE_TIME, elapsed_s),
        Measurement(Metric.FIRST_DONE, first_done_s),
        Measurement(Metric.LAST_DONE, elapsed_s),
    ]
    if elapsed_s > 0:
        figures += [
            Measurement(Metric.WRITE, result.written_bytes / elapsed_s),
            Measurement(Metric.FILES_PER_S, result.files_done / elapsed_s),
        ]
    return tuple(figures)


def drain_measurements(result: LoadResult, drain_s: float, drain_done_ns: int) -> tuple[Measurement, ...]:
    """Return the drain's own time, and what is counted down to the device; drain_done_ns is CLOCK_MONOTONIC.

    FFSB prints its rusage over a time that ends with its own sync() (FFSB main.c).
    """
    figures = [Measurement(Metric.DRAIN, drain_s)]
    durable_s = (drain_done_ns - result.first_started_ns) / 1e9
    if result.first_started_ns and durable_s > 0:
        figures += [
            Measurement(Metric.DURABLE, result.written_bytes / durable_s),
            Measurement(Metric.CPU_GENERATOR, 100 * (result.user_s + result.system_s) / durable_s),
        ]
    return tuple(figures)


def cpu_measurements(busy_s: float, available_s: float, written_bytes: int) -> tuple[Measurement, ...]:
    """Return the machine's CPU figures from the first write to the end of the drain.

    busy_s and available_s are CPU seconds over all CPUs, available being all but stolen time: the difference
    of two readings of /proc/stat.
    """
    figures = []
    if available_s > 0:
        figures.append(Measurement(Metric.CPU, 100 * busy_s / available_s))
    if written_bytes > 0:
        figures.append(Measurement(Metric.CPU_PER_GIB, busy_s / (written_bytes / GIB)))
    return tuple(figures)
