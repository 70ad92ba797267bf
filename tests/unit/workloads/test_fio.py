"""fio's JSON as four versions printed it on one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.metrics import Metric
from fsconsole.model.workload import Generator, Workload, WorkloadKind
from fsconsole.text import KIB
from fsconsole.workloads.fio import figures as reported
from fsconsole.workloads.fio import measurements, parse

DATA = Path(__file__).parents[2] / "data" / "fio"
VERSIONS = ("2.16", "3.1", "3.33", "3.42")


def recorded(name: str) -> str:
    return (DATA / f"{name}.json").read_text()


def figures(text: str) -> dict[Metric, float]:
    return {one.metric: one.value for one in measurements(parse(text))}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_that_reads_and_writes_has_both_directions_in_every_version(version: str) -> None:
    # 512 KiB in blocks of 4 KiB, each of them read or written.
    found = figures(recorded(f"{version}-mix"))
    assert found[Metric.READ_BYTES] + found[Metric.WRITTEN] == 512 * KIB
    assert found[Metric("read_count")] + found[Metric("write_count")] == 128
    for side in ("read", "write"):
        ms = [found[Metric(f"{side}_{which}")] for which in ("p50", "p99")]
        # Percentiles are those of buckets, each about 1 % wide.
        assert 0 < ms[0] <= ms[1] <= found[Metric(f"{side}_max")] * 1.02
        assert found[Metric(side)] == pytest.approx(4 * KIB * found[Metric(f"{side}_ops_per_s")])
    assert 0.0001 < found[Metric("write_mean")] < 1, "a write into the page cache takes microseconds"
    tells_more = version not in ("2.16", "3.1")
    assert (Metric.FSYNC_P99 in found, Metric.CPU_FIO in found) == (tells_more, tells_more)


@pytest.mark.parametrize("version", VERSIONS)
def test_several_jobs_are_added_up(version: str) -> None:
    # Two jobs that write 256 KiB each in blocks of 16 KiB, then one that reads as much.
    found = figures(recorded(f"{version}-jobs"))
    assert (found[Metric.WRITTEN], found[Metric.READ_BYTES]) == (512 * KIB, 256 * KIB)
    assert (found[Metric("write_count")], found[Metric("read_count")]) == (32, 16)
    assert Metric("write_p99") not in found, "percentiles of two jobs can't be made into those of both"
    assert Metric("read_p99") in found


GROUPED = {
    "2.16": (136, (0.004, 0.007, 0.022), 25.514, 0.007166412, None),
    "3.1": (113, (0.004640, 0.008160, 0.012608), 4.068996, 0.005720752747, None),
    # 13.302752 % and 74.311927 % of 218 ms; 6.603774 % and 85.849057 % of 212 ms: of both writers together.
    "3.33": (120, (0.004640, 0.007840, 0.013760), 9.115890, 0.005934444214, 0.029 + 0.162),
    "3.42": (112, (0.004832, 0.008032, 0.024448), 1.005756, 0.005785966614, 0.014 + 0.182),
}
"""ms that two writers of a group took, p50, p95 and p99, the longest and the mean in ms, and their CPU seconds, by hand.

Before version 3.8 fio doesn't print the time of which it tells CPU in per cent.
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_of_one_group_have_the_groups_percentiles_and_cpu(version: str) -> None:
    # Two jobs that write 64 MiB each in blocks of 4 KiB, told as one (group_reporting).
    elapsed_ms, percentiles, longest_ms, mean_ms, cpu_s = GROUPED[version]
    found = figures(recorded(f"{version}-grouped"))
    assert (found[Metric.WRITTEN], found[Metric.LATENCY_COUNT]) == (128 * 1024 * KIB, 32768)
    assert found[Metric.WRITE_TIME] == elapsed_ms / 1000
    assert found[Metric.WRITE] == pytest.approx(128 * 1024 * KIB * 1000 / elapsed_ms)
    assert found[Metric.OPS_PER_S] == pytest.approx(32768 * 1000 / elapsed_ms)
    told = (found[Metric.LATENCY_P50], found[Metric.LATENCY_P95], found[Metric.LATENCY_P99])
    assert told == pytest.approx(percentiles)
    assert (found[Metric.LATENCY_MAX], found[Metric.LATENCY_MEAN]) == pytest.approx((longest_ms, mean_ms))
    assert found.get(Metric.CPU_FIO) == (None if cpu_s is None else pytest.approx(cpu_s, abs=1e-6))


def test_percentiles_of_several_jobs_are_those_of_their_calls_where_buckets_tell() -> None:
    document = json.loads(recorded("3.33-mix"))
    (job,) = document["jobs"]
    once = figures(json.dumps(document, indent=1))
    document["jobs"] = [job, job]
    twice = figures(json.dumps(document, indent=1))
    assert twice[Metric("read_p99")] == once[Metric("read_p99")]
    assert twice[Metric.FSYNC_P50] == once[Metric.FSYNC_P50]
    assert twice[Metric("read_count")] == 2 * once[Metric("read_count")]
    assert twice[Metric.READ] == 2 * once[Metric.READ], "of one group: they ran at once"


def test_buckets_of_version_2_are_those_at_numbers() -> None:
    # Recorded, but for the empty buckets, of which version 2 prints a thousand.
    found = figures(recorded("2.16-plus"))
    assert (found[Metric.WRITTEN], found[Metric.LATENCY_COUNT]) == (1024 * KIB, 256)
    assert 0.0005 <= found[Metric.LATENCY_P50] <= found[Metric.LATENCY_P99] <= found[Metric.LATENCY_MAX] < 50


def test_a_load_of_one_direction_has_the_latency_columns_of_every_load() -> None:
    found = figures(recorded("3.33-full"))
    assert found[Metric.WRITTEN] == 256 * KIB
    assert found[Metric.LATENCY_P95] == pytest.approx(0.024192)
    assert found[Metric.OVER_2_S] == found[Metric.OVER_10_S] == 0


def test_a_jobs_error_is_told_in_words_and_a_full_filesystem_apart() -> None:
    full = parse(recorded("3.33-full"))
    assert (full.failures, full.is_full) == ("job full: No space left on device", True)
    failed = parse(recorded("3.33-full").replace('"error" : 28', '"error" : 5'))
    assert (failed.failures, failed.is_full) == ("job full: Input/output error", False)


def test_notes_around_the_json_do_no_harm() -> None:
    text = recorded("3.33-mix")
    assert parse(f"fio: this platform {{does}} not\n{text}\nnote: done\n") == parse(text)


@pytest.mark.parametrize(
    "text", ["", "fio: failed parsing bs=x\n", "{\n}\n", '{\n"jobs": []\n}\n', '{\n"jobs": [1]\n}\n']
)
def test_what_is_no_report_is_a_failure_of_the_generator(text: str) -> None:
    with pytest.raises(GeneratorFailed):
        parse(text)


def test_what_fio_says_of_a_job_that_it_does_not_take_is_told() -> None:
    load = Workload("x", WorkloadKind.FIO, 1, 0, 0, 4 * KIB, job="[wrong]\nbs=nonsense\n")
    with pytest.raises(GeneratorFailed, match="failed parsing bs=nonsense"):
        reported(load, "", "fio: failed parsing bs=nonsense\n")
    with pytest.raises(GeneratorFailed, match="Input/output error"):
        reported(load, recorded("3.33-full").replace('"error" : 28', '"error" : 5'), "")


def test_a_full_filesystem_ends_a_job_as_a_failure_and_a_load_of_a_built_in_kind_as_a_result() -> None:
    job = Workload("x", WorkloadKind.FIO, 1, 0, 0, 4 * KIB, job="[full]\nsize=1g\n")
    with pytest.raises(GeneratorFailed, match="job full: No space left on device"):
        reported(job, recorded("3.33-full"), "")
    create = Workload("x", WorkloadKind.CREATE, 1, 1, 4 * KIB, 4 * KIB, generator=Generator.FIO)
    assert "No space left" in reported(create, recorded("3.33-full"), "").failures


def test_output_that_was_cut_is_told_from_no_output() -> None:
    with pytest.raises(GeneratorFailed, match="group_reporting"):
        parse(recorded("3.33-jobs")[:-100])


def test_fios_last_words_are_told_where_it_printed_no_report() -> None:
    with pytest.raises(GeneratorFailed, match="Bad option <x=1>"):
        parse("fio: Bad option <x=1>\n")


_MIXED: Any = json.loads(recorded("3.33-mix"))["jobs"][0]
_VALUES = st.one_of(
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.none(),
    st.just({}),
    st.just({"1.0": -1}),
    st.just({"x": 1}),
    st.just({"50.000000": 0, "1e999": 2}),
)


@given(st.sampled_from(sorted(_MIXED)), st.sampled_from(sorted(_MIXED["read"])), _VALUES)
def test_a_damaged_report_is_a_failure_or_has_figures(outer: str, inner: str, value: object) -> None:
    job = {**_MIXED, "read": {**_MIXED["read"], inner: value}} if outer == "read" else {**_MIXED, outer: value}
    try:
        found = measurements(parse(json.dumps({"jobs": [job]}, indent=1)))
    except GeneratorFailed:
        return
    assert all(one.value == one.value for one in found)
