"""Block device counters, rates, and devices that vanish, come back or are replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.sample import Role
from fsconsole.telemetry import block
from fsconsole.telemetry.block import (
    DeviceCounters,
    DeviceGauge,
    Watched,
    device_rates,
    parse_inflight,
    parse_stat,
)
from fsconsole.telemetry.rates import INT_WIDTH, Restarted, Unreadable
from tests.unit.telemetry.made_sys import MadeSys, kernels_with, recorded

ZERO = DeviceCounters(*(0 for _ in fields(DeviceCounters)))
counts = st.integers(0, 2**31 - 1)
SDA = Watched("sda", Role.MEMBER, "md0")


def test_every_kernels_stat_is_read_whatever_its_number_of_fields() -> None:
    lengths = set()
    for kernel in kernels_with("block_stat"):
        words = recorded(kernel, "block_stat").split()
        counters = parse_stat(" ".join(words))
        read = [counters.reads, counters.sectors_written, counters.weighted_ms]
        assert read == [int(words[0]), int(words[6]), int(words[10])], kernel
        lengths.add(len(words))
    assert lengths == {11, 15, 17}
    # An old partition's four fields are too few.
    with pytest.raises(Unreadable):
        parse_stat(recorded("2.6.18", "partition_stat"))


def test_reads_and_writes_in_flight_are_added_and_none_is_below_zero() -> None:
    assert parse_inflight("       3       14\n") == 17
    assert parse_inflight("4294967295 2\n") == 2
    assert parse_inflight(recorded("6.18", "block_inflight")) >= 0
    with pytest.raises(Unreadable):
        parse_inflight("3\n")


RATES = [
    # before, after, interval in s, in flight: what the rates show
    ({}, {"reads": 10, "sectors_read": 2048, "writes": 20, "sectors_written": 4096}, 2.0, 5,
     {"read_bytes_s": 1024 * 512, "write_bytes_s": 2048 * 512, "read_iops": 5.0, "write_iops": 10.0, "in_flight": 5}),
    ({}, {"reads": 1, "reading_ms": 10, "writes": 3, "writing_ms": 30}, 1.0, 0, {"latency_ms": 10.0}),
    ({}, {}, 1.0, 0, {"latency_ms": None, "name": "sda", "role": Role.MEMBER, "above": "md0"}),
    ({}, {"busy_ms": 500}, 2.0, 0, {"utilisation_percent": 25.0}),
    ({}, {"busy_ms": 2004}, 2.0, 0, {"utilisation_percent": 100.0}),
    # Milliseconds wrap at 32 bits.
    ({"busy_ms": 2**32 - 100}, {"busy_ms": 150}, 1.0, 0, {"utilisation_percent": 25.0}),
    ({}, {"weighted_ms": 6000}, 0.5, 0, {"queue_depth": 12.0}),
    # A counter of requests below zero.
    ({}, {}, 1.0, 2**32 - 1, {"in_flight": 0}),
]  # fmt: skip


def test_rates_are_over_the_measured_interval_and_of_one_device() -> None:
    for before, after, interval_s, in_flight, shown in RATES:
        rates = device_rates(SDA, replace(ZERO, **before), replace(ZERO, **after), interval_s, in_flight)
        assert {name: getattr(rates, name) for name in shown} == shown
    with pytest.raises(Restarted):
        device_rates(SDA, replace(ZERO, writes=5000), replace(ZERO, writes=3), 1.0, 0)


@given(counts, counts, st.floats(0.01, 100))
def test_rate_times_interval_is_what_was_counted(start: int, step: int, interval_s: float) -> None:
    before = replace(ZERO, sectors_written=start)
    after = replace(ZERO, sectors_written=start + step)
    rate = device_rates(SDA, before, after, interval_s, 0).write_bytes_s
    assert rate * interval_s == pytest.approx(step * 512)


def test_sectors_wrap_at_32_bits_on_an_old_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "LONG_WIDTH", INT_WIDTH)
    before = parse_stat(recorded("2.6.32", "block_stat"))
    after = replace(
        before, sectors_written=before.sectors_written + 2048 - INT_WIDTH, writing_ms=10, busy_ms=154
    )
    rates = device_rates(SDA, before, replace(after, writes=before.writes + 8), 1.0, 0)
    assert rates.write_bytes_s == 2048 * 512
    assert (rates.latency_ms, rates.utilisation_percent) == (2.0, 25.0)


@given(
    st.text(max_size=120) | st.lists(st.integers(-5, 2**70), max_size=18).map(lambda n: " ".join(map(str, n)))
)
def test_any_text_is_counters_or_unreadable(text: str) -> None:
    for parse in (parse_stat, parse_inflight):
        try:
            parse(text)
        except Unreadable:
            continue


@given(st.lists(st.integers(0, 2**64 - 1), min_size=22, max_size=22), st.floats(1e-3, 100))
def test_any_two_readings_are_rates_that_can_be_kept_or_another_device(
    numbers: list[int], interval_s: float
) -> None:
    before, after = DeviceCounters(*numbers[:11]), DeviceCounters(*numbers[11:])
    try:
        rates = device_rates(SDA, before, after, interval_s, after.in_flight)
    except Restarted:
        return
    assert 0 <= rates.write_bytes_s / 512 < 2**62
    assert 0 <= rates.utilisation_percent <= 100


@pytest.fixture
def sys(tmp_path: Path) -> MadeSys:
    return MadeSys(tmp_path)


@pytest.fixture
def gauge_of(sys: MadeSys) -> Iterator[Callable[[str], DeviceGauge]]:
    with ExitStack() as opened:

        def make(name: str) -> DeviceGauge:
            gauge = DeviceGauge(Watched(name), sys.blocks)
            opened.callback(gauge.close)
            return gauge

        yield make


def test_the_second_reading_gives_rates(sys: MadeSys, gauge_of: Callable[[str], DeviceGauge]) -> None:
    sys.add("sda")
    gauge = gauge_of("sda")
    assert gauge.read() is None
    sys.set_writes("sda", 8, 2048)
    rates = gauge.read()
    assert rates is not None
    assert rates.write_bytes_s > 0
    assert rates.write_bytes_s / rates.write_iops == pytest.approx(2048 * 512 / 8)


@pytest.mark.parametrize("has_diskseq", [True, False])
def test_a_device_without_content_is_gone_and_one_that_is_given_some_begins_anew(sys, gauge_of, has_diskseq):
    folder = sys.add("loop7", diskseq=7 * has_diskseq)
    gauge = gauge_of("loop7")
    gauge.read()
    # What losetup --detach leaves: the same folder and counters, a new diskseq, no size.
    (folder / "size").write_text("0\n")
    if has_diskseq:
        (folder / "diskseq").write_text("8\n")
    with pytest.raises(OSError, match="No such device"):
        gauge.read()
    assert gauge.is_gone
    (folder / "size").write_text("8192\n")
    if has_diskseq:
        (folder / "diskseq").write_text("9\n")
    assert gauge.read() is None
    assert not gauge.is_gone
    assert gauge.read() is not None


@pytest.mark.parametrize("name", ["sda", "sda1"])
def test_another_content_under_the_same_name_or_below_a_partition_costs_one_interval(sys, gauge_of, name):
    disk = sys.add("sda")
    sys.add_partition("sda", "sda1")
    gauge = gauge_of(name)
    gauge.read()
    assert gauge.read() is not None
    (disk / "diskseq").write_text("8\n")
    with pytest.raises(Restarted, match="another device"):
        gauge.read()
    assert gauge.read() is not None


def test_a_device_that_was_never_there_is_gone_until_it_comes_whole(
    sys: MadeSys, gauge_of: Callable[[str], DeviceGauge]
) -> None:
    gauge, held = gauge_of("md0"), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            gauge.read()
    assert gauge.is_gone
    (sys.add("md0") / "size").rename(sys.root / "size")
    with pytest.raises(FileNotFoundError):
        gauge.read()
    # No file of it stays open.
    assert len(list(Path("/proc/self/fd").iterdir())) == held
    (sys.root / "size").rename(sys.root / "devices/md0/size")
    assert gauge.read() is None
    assert gauge.read() is not None


@pytest.mark.parametrize("name", ["sda", "sda1"])
def test_a_disk_that_counts_nothing_is_not_shown_as_idle_nor_its_partition(sys, gauge_of, name):
    disk = sys.add("sda")
    sys.add_partition("sda", "sda1")
    (disk / "queue").mkdir()
    (disk / "queue/iostats").write_text("1\n")
    gauge = gauge_of(name)
    assert gauge.read() is None
    sys.set_writes(name, 8, 2048)
    assert gauge.read() is not None
    (disk / "queue/iostats").write_text("0\n")
    for one in (gauge, gauge_of(name)):
        with pytest.raises(Unreadable, match="statistics are disabled: queue/iostats is 0"):
            one.read()
    (disk / "queue/iostats").write_text("1\n")
    assert gauge.read() is not None
