"""Percentiles read from buckets, against the sorted list of what was put into them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import (
    BUCKETS,
    OFFSET_NS,
    Beyond,
    Latencies,
    LatencyBucket,
    bucket_bounds_ns,
    bucket_of,
    merged,
    timed_in,
)
from fsconsole.model.timed import Timed
from fsconsole.model.workload import OPERATIONS, SyncAt, SyncCall, Workload, WorkloadKind

TIMES = st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 63).flatmap(lambda bits: st.integers(0, 2**bits - 1)))


def made(values_ns: list[int]) -> Latencies:
    counts = Counter(map(bucket_of, values_ns))
    buckets = tuple(LatencyBucket(bucket, counts[bucket]) for bucket in sorted(counts))
    return Latencies(Timed.WRITE, sum(values_ns), max(values_ns, default=0), 0, 0, buckets)


@given(TIMES)
def test_every_time_that_a_clock_can_say_lies_within_its_bucket(latency_ns: int) -> None:
    bucket = bucket_of(latency_ns)
    low, high = bucket_bounds_ns(bucket)
    assert 0 <= bucket < BUCKETS
    assert low <= latency_ns < high
    assert high - low <= max(1, (latency_ns + OFFSET_NS) / 16)


@given(st.integers(OFFSET_NS, BUCKETS - 2))
def test_buckets_leave_no_gap(bucket: int) -> None:
    assert bucket_bounds_ns(bucket)[1] == bucket_bounds_ns(bucket + 1)[0]


@given(st.lists(TIMES, min_size=1, max_size=200), st.sampled_from([50, 95, 99, 100]))
def test_a_percentile_is_within_six_per_cent_of_the_true_one(values_ns: list[int], percent: int) -> None:
    true_ns = sorted(values_ns)[math.ceil(percent / 100 * len(values_ns)) - 1]
    seen_ns = made(values_ns).percentile_ns(percent)
    assert abs(seen_ns - true_ns) <= 0.0625 * true_ns + 1
    assert seen_ns <= float(max(values_ns))


@given(
    st.lists(TIMES, min_size=1, max_size=200), st.lists(TIMES, max_size=3, unique=True), st.sampled_from([50, 95, 99])
)
def test_a_percentile_lies_on_the_right_side_of_each_limit_of_the_plan(
    values_ns: list[int], edges: list[int], percent: int
) -> None:
    # Among the values too: at its limit a percentile is allowed.
    edges += values_ns[: 3 - len(edges)]
    true_ns = sorted(values_ns)[math.ceil(percent * len(values_ns) / 100) - 1]
    beyond = tuple(Beyond(edge_ns, sum(value > edge_ns for value in values_ns)) for edge_ns in sorted(set(edges)))
    seen_ns = replace(made(values_ns), beyond=beyond).percentile_ns(percent)
    assert all((seen_ns <= float(edge)) == (true_ns <= edge) or float(edge) == float(edge + 1) for edge in edges)
    assert abs(seen_ns - true_ns) <= 0.0625 * true_ns + 1


@given(st.lists(st.lists(TIMES, max_size=20), min_size=1, max_size=5))
def test_latencies_put_together_are_those_of_all_values(parts: list[list[int]]) -> None:
    assert merged([made(part) for part in parts]) == made([value for part in parts for value in part])


def test_without_operations_there_is_nothing_to_say() -> None:
    assert (made([]).count, made([]).mean_ns, made([]).percentile_ns(99)) == (0, 0.0, 0.0)


@pytest.mark.parametrize("kind", OPERATIONS)
def test_every_operation_is_timed(kind: WorkloadKind) -> None:
    assert timed_in(Workload("w", kind, 1, 1, 1, 1))
    mix = Workload("w", WorkloadKind.MIX, 1, 1, 1, 1, weights=((kind, 1), (WorkloadKind.STAT, 2)))
    assert set(timed_in(mix)) >= {*timed_in(Workload("w", kind, 1, 1, 1, 1)), Timed.STAT}


def test_syncs_are_timed_where_there_are_any() -> None:
    load = Workload("w", WorkloadKind.APPEND, 1, 1, 1, 1)
    assert timed_in(load) == (Timed.APPEND,)
    assert timed_in(replace(load, fsync_every=3)) == (Timed.APPEND, Timed.FSYNC)
    for at in (SyncAt.EACH_FILE, SyncAt.END):
        synced = replace(load, sync_at=at, sync_call=SyncCall.FDATASYNC)
        assert timed_in(synced) == (Timed.APPEND, Timed.FDATASYNC)
