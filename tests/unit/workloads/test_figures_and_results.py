from __future__ import annotations

import errno
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model import load
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import OF_MIXES, Metric
from fsconsole.model.timed import SYNCS, Timed
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.text import GIB
from fsconsole.workloads import protocol

S = 10**9


def thread(state: load.ThreadState, error: int = 0) -> load.ThreadCounters:
    return load.ThreadCounters(state, 0, 0, 0, 1, 2, error)


def result(*threads: load.ThreadCounters, written: int = 8 * GIB) -> protocol.LoadResult:
    return protocol.LoadResult(
        threads=threads or (thread(load.ThreadState.DONE),),
        written_bytes=written,
        files_done=128,
        first_started_ns=10 * S,
        first_ended_ns=14 * S,
        last_ended_ns=18 * S,
        user_s=1.0,
        system_s=3.0,
        is_whole=True,
    )


def figures(measurements: tuple[Measurement, ...]) -> dict[Metric, float]:
    return {measurement.metric: measurement.value for measurement in measurements}


def test_figures_of_a_load_count_to_its_last_writer_and_durable_ones_to_the_end_of_its_drain() -> None:
    times = {Metric.FIRST_DONE: 4.0, Metric.LAST_DONE: 8.0, Metric.FILES_PER_S: 16.0}
    times |= {Metric.REAL: 8.0, Metric.USER: 1.0, Metric.SYSTEM: 3.0}
    wrote = {Metric.WRITTEN: 8 * GIB, Metric.WRITE_TIME: 8.0, Metric.WRITE: GIB}
    assert figures(protocol.load_measurements(result())) == wrote | times
    drained = figures(protocol.drain_measurements(result(), 7.5, 26 * S))
    assert drained == {Metric.DRAIN: 7.5, Metric.REAL_DRAINED: 16.0, Metric.DURABLE: GIB / 2}
    # As FFSB prints it.
    used = {Metric.CPU_GENERATOR: 25.0, Metric.GENERATOR_PER_GIB: 0.5}
    assert figures(protocol.generator_measurements(result(), 26 * S)) == used
    only_read = replace(result(), written_bytes=0, read_bytes=4 * GIB)
    read = {Metric.READ_BYTES: 4 * GIB, Metric.READ_TIME: 8.0, Metric.READ: GIB / 2}
    assert figures(protocol.load_measurements(only_read)) == read | times
    assert figures(protocol.drain_measurements(only_read, 7.5, 26 * S)) == {
        Metric.DRAIN: 7.5,
        Metric.REAL_DRAINED: 16.0,
    }
    counted = [replace(thread(load.ThreadState.DONE), operations=number) for number in (10, 30)]
    assert figures(protocol.load_measurements(result(*counted)))[Metric.OPS_PER_S] == 5
    # What took no time has no rates.
    empty = protocol.LoadResult((), 0, 0, 0, 0, 0, 0.0, 0.0, is_whole=True)
    assert Metric.WRITE not in figures(protocol.load_measurements(empty))
    assert figures(protocol.drain_measurements(empty, 0.1, 26 * S)) == {Metric.DRAIN: 0.1}


def latencies(operation: Timed, *values_ns: int) -> load.Latencies:
    counts = Counter(map(load.bucket_of, values_ns))
    return load.Latencies(
        operation,
        sum(values_ns),
        max(values_ns, default=0),
        sum(value > load.SLOW_NS for value in values_ns),
        sum(value > load.VERY_SLOW_NS for value in values_ns),
        tuple(load.LatencyBucket(bucket, counts[bucket]) for bucket in sorted(counts)),
    )


A_CREATE = Workload("w", WorkloadKind.CREATE, 1, 1, 1, 1)


def times(*parts: load.Latencies, workload: Workload = A_CREATE) -> dict[Metric, float]:
    return figures(protocol.latency_measurements(workload, result(), parts))


def test_latency_figures_are_those_of_the_calls_that_moved_data_or_else_of_the_files() -> None:
    moved = (
        latencies(Timed.CREATE, 10**9),
        latencies(Timed.READ, 1_000_000, 3_000_000),
        latencies(Timed.WRITE, 2_500_000_000, 11_000_000_000),
        latencies(Timed.FSYNC, 60 * 10**9),
    )
    seen = times(*moved)
    assert seen[Metric.LATENCY_MEAN] == pytest.approx(13504 / 4)
    assert seen[Metric.LATENCY_P50] == pytest.approx(3, rel=0.06)
    assert seen[Metric.LATENCY_MAX] == 11_000
    assert (seen[Metric.OVER_2_S], seen[Metric.OVER_10_S]) == (50.0, 25.0)
    assert seen[Metric.FSYNC_MAX] == 60_000
    stats = (latencies(Timed.STAT, 2_000), latencies(Timed.READ))
    assert times(*stats)[Metric.LATENCY_MAX] == 0.002
    empty_files = (latencies(Timed.CREATE, 3_000), latencies(Timed.FSYNC, 10**9))
    assert times(*empty_files)[Metric.LATENCY_MAX] == 0.003
    assert times(latencies(Timed.READ)) == {}


def test_syncs_have_mean_percentiles_and_maximum_whichever_call_they_are() -> None:
    for call in SYNCS:
        times_ns = [1_000_000] * 98 + [40_000_000, 100_000_000]
        seen = times(latencies(Timed.WRITE, 5), latencies(call, *times_ns))
        assert seen[Metric.FSYNC_MEAN] == pytest.approx(2.38)
        assert seen[Metric.FSYNC_P50] == pytest.approx(1, rel=0.06)
        assert seen[Metric.FSYNC_P99] == pytest.approx(40, rel=0.06)
        assert seen[Metric.FSYNC_MAX] == 100
        assert seen[Metric.LATENCY_MAX] == 5e-6
        assert times(latencies(call)) == {}


def test_without_a_process_for_each_writer_there_is_no_mean_and_no_high_percentile() -> None:
    parts = (latencies(Timed.WRITE, 5, 9), latencies(Timed.FSYNC, 7))
    for kind, name in ((WorkloadKind.CREATE, "latency"), (WorkloadKind.MIX, "write")):
        few, many = (replace(A_CREATE, kind=kind, threads=threads) for threads in (128, 129))
        lost = {f"{name}_mean", f"{name}_p99", "latency_p95", "fsync_mean", "fsync_p99"}
        lost -= {"latency_p95"} if kind is WorkloadKind.MIX else set()
        left = set(times(*parts, workload=many))
        assert set(times(*parts, workload=few)) - left == {Metric(one) for one in lost}
        assert {Metric(f"{name}_p50"), Metric(f"{name}_max"), Metric.FSYNC_P50, Metric.FSYNC_MAX} <= left


def test_a_mix_has_figures_of_each_kind_of_operation_and_none_of_them_together() -> None:
    mix = replace(A_CREATE, kind=WorkloadKind.MIX)
    parts = (
        latencies(Timed.RANDOM_READ, 1_000_000, 3_000_000),
        latencies(Timed.DELETE, 8_000_000),
        latencies(Timed.STAT),
        latencies(Timed.FSYNC, 9_000_000),
    )
    seen = times(*parts, workload=mix)
    names = ("ops_per_s", "count", "mean", "p50", "p99", "max")
    assert set(seen) == {Metric(f"{of}_{name}") for of in ("random_read", "delete") for name in names} | {
        Metric(f"fsync_{name}") for name in names[1:]
    }
    assert seen[Metric("random_read_mean")] == 2
    assert seen[Metric("random_read_p50")] == pytest.approx(1, rel=0.06)
    assert (seen[Metric("random_read_max")], seen[Metric("delete_max")], seen[Metric.FSYNC_MAX]) == (3, 8, 9)
    assert seen[Metric("random_read_ops_per_s")] == 2 / 8
    assert set(seen) - set(OF_MIXES) == {Metric(f"fsync_{name}") for name in names[1:]}


def test_cpu_is_a_share_of_all_cpus_and_per_gib_moved() -> None:
    assert figures(protocol.cpu_measurements(4.0, 16.0, 8 * GIB)) == {
        Metric.CPU: 25.0,
        Metric.CPU_PER_GIB: 0.5,
    }
    assert protocol.cpu_measurements(0.0, 0.0, 0) == ()


@given(st.integers(1, 2**50), st.integers(0, 10**12))
def test_durable_is_never_above_write(written: int, drain_ns: int) -> None:
    loaded = result(written=written)
    write = figures(protocol.load_measurements(loaded))[Metric.WRITE]
    durable = figures(protocol.drain_measurements(loaded, drain_ns / S, loaded.last_ended_ns + drain_ns))
    assert durable[Metric.DURABLE] <= write


def test_failures_are_counted_by_reason() -> None:
    threads = [thread(load.ThreadState.DONE)] * 13 + [thread(load.ThreadState.FAILED, errno.ENOSPC)] * 3
    assert protocol.failures_in_words(threads) == "3 of 16 writers stopped: No space left on device"
    threads = [
        thread(load.ThreadState.FAILED, errno.EIO),
        thread(load.ThreadState.RUNNING),
        thread(load.ThreadState.RUNNING),
    ]
    assert protocol.failures_in_words(threads) == (
        "2 of 3 writers stopped: killed before they were done; 1 of 3 writers stopped: Input/output error"
    )
    assert protocol.failures_in_words([thread(load.ThreadState.DONE), thread(load.ThreadState.STOPPED)]) == ""


def test_a_full_filesystem_is_a_result_and_a_lost_writer_a_failure() -> None:
    done, running = thread(load.ThreadState.DONE), thread(load.ThreadState.RUNNING)
    full, broken = (thread(load.ThreadState.FAILED, error) for error in (errno.ENOSPC, errno.EIO))
    cases = (
        ((done, full), 5, False),
        ((done, broken), 5, True),
        ((done, running), 5, True),
        ((thread(load.ThreadState.STOPPED),), 0, False),
        ((full, full), 5, False),
        ((full, full), 0, True),
        ((full, broken), 5, True),
        ((running,), 5, True),
    )
    for threads, written, is_failure in cases:
        assert result(*threads, written=written).is_failure is is_failure, threads
    assert result(done, thread(load.ThreadState.STOPPED)).stopped
    assert not result(done).stopped
