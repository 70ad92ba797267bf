from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.telemetry.blockstat import DeviceCounters, device_rates, parse_inflight, parse_stat
from fsconsole.telemetry.rates import Restarted, Unreadable
from tests.unit.telemetry.data import kernels_with, recorded

ZERO = DeviceCounters(*(0 for _ in fields(DeviceCounters)))
counts = st.integers(0, 2**31 - 1)


@pytest.mark.parametrize("kernel", kernels_with("block_stat"))
def test_every_kernels_stat_is_read_whatever_its_number_of_fields(kernel: str) -> None:
    text = recorded(kernel, "block_stat")
    counters = parse_stat(text)
    words = text.split()
    assert (counters.reads, counters.sectors_written, counters.weighted_ms) == (
        int(words[0]),
        int(words[6]),
        int(words[10]),
    )


def test_recorded_kernels_have_eleven_fifteen_and_seventeen_fields() -> None:
    counts_of = {len(recorded(kernel, "block_stat").split()) for kernel in kernels_with("block_stat")}
    assert counts_of == {11, 15, 17}


def test_an_old_partitions_four_fields_are_too_few() -> None:
    with pytest.raises(Unreadable):
        parse_stat(recorded("2.6.18", "partition_stat"))


def test_reads_and_writes_in_flight_are_added() -> None:
    assert parse_inflight("       3       14\n") == 17
    assert parse_inflight(recorded("6.18", "block_inflight")) >= 0
    with pytest.raises(Unreadable):
        parse_inflight("3\n")


def test_sectors_are_of_512_bytes() -> None:
    after = replace(ZERO, reads=10, sectors_read=2048, writes=20, sectors_written=4096)
    rates = device_rates("sda", ZERO, after, 2.0, in_flight=5)
    assert (rates.read_bytes_s, rates.write_bytes_s) == (1024 * 512, 2048 * 512)
    assert (rates.read_iops, rates.write_iops, rates.in_flight) == (5.0, 10.0, 5)


def test_latency_is_the_mean_wait_and_absent_without_requests() -> None:
    after = replace(ZERO, reads=1, reading_ms=10, writes=3, writing_ms=30)
    assert device_rates("sda", ZERO, after, 1.0, in_flight=0).latency_ms == 10.0
    assert device_rates("sda", ZERO, ZERO, 1.0, in_flight=0).latency_ms is None


def test_utilisation_is_busy_time_over_the_interval_and_never_above_all_of_it() -> None:
    assert device_rates("sda", ZERO, replace(ZERO, busy_ms=500), 2.0, 0).utilisation_percent == 25.0
    assert device_rates("sda", ZERO, replace(ZERO, busy_ms=2004), 2.0, 0).utilisation_percent == 100.0


def test_milliseconds_that_wrapped_at_32_bits_are_a_small_step() -> None:
    before, after = replace(ZERO, busy_ms=2**32 - 100), replace(ZERO, busy_ms=150)
    assert device_rates("sda", before, after, 1.0, 0).utilisation_percent == 25.0


def test_another_device_of_the_same_name_gives_no_rates() -> None:
    with pytest.raises(Restarted):
        device_rates("loop0", replace(ZERO, writes=5000), replace(ZERO, writes=3), 1.0, 0)


@given(counts, counts, st.floats(0.01, 100))
def test_rate_times_interval_is_what_was_counted(start: int, step: int, interval_s: float) -> None:
    before = replace(ZERO, sectors_written=start)
    after = replace(ZERO, sectors_written=start + step)
    rate = device_rates("sda", before, after, interval_s, 0).write_bytes_s
    assert rate * interval_s == pytest.approx(step * 512)
