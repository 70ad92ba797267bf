"""Block devices: counters and rates, devices that vanish or are replaced, their lower devices, and ended I/O."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.sample import Role
from fsconsole.telemetry import block
from fsconsole.telemetry.rates import INT_WIDTH, Restarted, Unreadable
from fsconsole.telemetry.sampler import DeviceGauges
from tests.unit.telemetry.made_sys import MadeSys, kernels_with, recorded

ZERO = block.DeviceCounters(*(0 for _ in fields(block.DeviceCounters)))
counts = st.integers(0, 2**31 - 1)
SDA = block.Watched("sda", Role.MEMBER, "md0")


def test_every_kernels_stat_is_read_whatever_its_number_of_fields() -> None:
    lengths = set()
    for kernel in kernels_with("block_stat"):
        words = recorded(kernel, "block_stat").split()
        counters = block.parse_stat(" ".join(words))
        read = [counters.reads, counters.sectors_written, counters.weighted_ms]
        assert read == [int(words[0]), int(words[6]), int(words[10])], kernel
        later = [int(words[field]) if field < len(words) else None for field in (13, 15)]
        assert [counters.sectors_discarded, counters.flushes] == later, kernel
        lengths.add(len(words))
    assert lengths == {11, 15, 17}
    # An old partition's four fields are too few.
    with pytest.raises(Unreadable):
        block.parse_stat(recorded("2.6.18", "partition_stat"))


def test_reads_and_writes_in_flight_are_added_and_none_is_below_zero() -> None:
    assert block.parse_inflight("       3       14\n") == 17
    assert block.parse_inflight("4294967295 2\n") == 2
    assert block.parse_inflight(recorded("6.18", "block_inflight")) >= 0
    with pytest.raises(Unreadable):
        block.parse_inflight("3\n")


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
        rates = block.device_rates(SDA, replace(ZERO, **before), replace(ZERO, **after), interval_s, in_flight)
        assert {name: getattr(rates, name) for name in shown} == shown
    with pytest.raises(Restarted):
        block.device_rates(SDA, replace(ZERO, writes=5000), replace(ZERO, writes=3), 1.0, 0)


@given(counts, counts, st.floats(0.01, 100))
def test_rate_times_interval_is_what_was_counted(start: int, step: int, interval_s: float) -> None:
    before = replace(ZERO, sectors_written=start)
    after = replace(ZERO, sectors_written=start + step)
    rate = block.device_rates(SDA, before, after, interval_s, 0).write_bytes_s
    assert rate * interval_s == pytest.approx(step * 512)


def test_sectors_wrap_at_32_bits_on_an_old_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "LONG_WIDTH", INT_WIDTH)
    before = block.parse_stat(recorded("2.6.32", "block_stat"))
    after = replace(before, sectors_written=before.sectors_written + 2048 - INT_WIDTH, writing_ms=10, busy_ms=154)
    rates = block.device_rates(SDA, before, replace(after, writes=before.writes + 8), 1.0, 0)
    assert rates.write_bytes_s == 2048 * 512
    assert (rates.latency_ms, rates.utilisation_percent) == (2.0, 25.0)


@given(st.text(max_size=120) | st.lists(st.integers(-5, 2**70), max_size=18).map(lambda n: " ".join(map(str, n))))
def test_any_text_is_counters_or_unreadable(text: str) -> None:
    for parse in (block.parse_stat, block.parse_inflight):
        try:
            parse(text)
        except Unreadable:
            continue


@given(st.lists(st.integers(0, 2**64 - 1), min_size=22, max_size=22), st.floats(1e-3, 100))
def test_any_two_readings_are_rates_that_can_be_kept_or_another_device(numbers: list[int], interval_s: float) -> None:
    before, after = block.DeviceCounters(*numbers[:11]), block.DeviceCounters(*numbers[11:])
    try:
        rates = block.device_rates(SDA, before, after, interval_s, after.in_flight)
    except Restarted:
        return
    assert 0 <= rates.write_bytes_s / 512 < 2**62
    assert 0 <= rates.utilisation_percent <= 100


@pytest.fixture
def sys(tmp_path: Path) -> MadeSys:
    return MadeSys(tmp_path)


@pytest.fixture
def gauge_of(sys: MadeSys) -> Iterator[Callable[[str], block.DeviceGauge]]:
    with ExitStack() as opened:

        def make(name: str) -> block.DeviceGauge:
            gauge = block.DeviceGauge(block.Watched(name), sys.blocks)
            opened.callback(gauge.close)
            return gauge

        yield make


def test_the_second_reading_gives_rates(sys: MadeSys, gauge_of: Callable[[str], block.DeviceGauge]) -> None:
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
    sys: MadeSys, gauge_of: Callable[[str], block.DeviceGauge]
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


def names(rack: DeviceGauges) -> list[str]:
    return [gauge.device.name for gauge in rack.gauges()]


def test_lower_devices_stand_below_the_first_that_is_made_of_them_each_once(sys: MadeSys) -> None:
    for disk in ("sdb", "sda", "sdc", "sdd"):
        sys.add(disk)
    sys.add("md0", members=("sda", "sdb", "sdc"))
    sys.add("dm-0", members=("md0",))
    for volume in ("dm-1", "dm-2"):
        sys.add(volume, members=("sdd",))
    sys.add("dm-3", members=("dm-1", "dm-2"))
    members = tuple(block.Watched(name, Role.MEMBER, "md0") for name in ("sda", "sdb", "sdc"))
    assert block.watched_tree("md0", str(sys.root)) == (block.Watched("md0"), *members)
    assert block.watched_tree("dm-0", str(sys.root))[1:] == (
        block.Watched("md0", Role.MEMBER, "dm-0"),
        *members,
    )
    tree = [(device.name, device.above) for device in block.watched_tree("dm-3", str(sys.root))]
    assert tree == [("dm-3", ""), ("dm-1", "dm-3"), ("sdd", "dm-1"), ("dm-2", "dm-3")]


def test_a_loop_device_shows_the_whole_disk_below_its_file(sys: MadeSys, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    device = os.stat(file).st_dev
    sys.add("sda")
    sys.add_partition("sda", "sda1", number=f"{os.major(device)}:{os.minor(device)}")
    loop = sys.add("loop7")
    (loop / "loop").mkdir()
    (loop / "loop/backing_file").write_text(f"{file}\n")
    assert block.watched_tree("loop7", str(sys.root)) == (
        block.Watched("loop7"),
        block.Watched("sda", Role.BELOW, "loop7"),
    )
    (loop / "loop/backing_file").write_text(f"{file} (deleted)\n")
    assert block.watched_tree("loop7", str(sys.root)) == (block.Watched("loop7"),)


def test_a_device_that_is_not_there_stands_on_nothing(sys: MadeSys) -> None:
    assert block.watched_tree("sdz", str(sys.root)) == (block.Watched("sdz"),)
    assert (block.disk_name("sdz", str(sys.root)), block.disk_name("", str(sys.root))) == ("", "")
    assert block.block_name(os.makedev(8, 1), str(sys.root)) == ""
    # A path is below its folder and not below one of a similar name.
    paths = (("/mnt/a/b", "/mnt/a"), ("/x", "/"), ("/mnt/ab", "/mnt/a"))
    assert [block.is_below(*pair) for pair in paths] == [True, True, False]


@pytest.fixture
def rack(sys: MadeSys) -> Iterator[DeviceGauges]:
    made = DeviceGauges(str(sys.root), threading.RLock())
    yield made
    made.close()
    assert names(made) == []


def test_gauges_that_stay_are_kept_and_one_that_is_watched_again_starts_anew(sys: MadeSys, rack: DeviceGauges) -> None:
    sys.add("sda")
    sys.add("sdb")
    rack.watch("sda")
    (first,) = rack.gauges()
    first.read()
    rack.watch("sdb")
    assert names(rack) == ["sda", "sdb"]
    assert rack.gauges()[0].read() is not None
    rack.watch("sda")
    assert rack.gauges()[0].read() is None


def test_a_member_that_is_added_later_appears_and_one_that_is_taken_away_goes(
    sys: MadeSys, rack: DeviceGauges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsconsole.telemetry.sampler._LOOK_AGAIN_S", -1.0)
    for disk in ("sda", "sdb", "sdc"):
        sys.add(disk)
    array = sys.add("md0", members=("sda", "sdb"))
    rack.watch("md0")
    assert names(rack) == ["md0", "sda", "sdb"]
    (array / "slaves/sdc").symlink_to(sys.root / "class/block/sdc")
    (array / "slaves/sda").unlink()
    assert names(rack) == ["md0", "sdb", "sdc"]


def test_an_array_that_comes_and_goes_has_its_members_below_it_only_while_it_is_there(
    sys: MadeSys, rack: DeviceGauges
) -> None:
    for disk in ("sda", "sdb", "sdc"):
        sys.add(disk)
        rack.watch(disk)
    sys.add("md400", members=("sda", "sdb"))
    rack.watch("md400")
    assert names(rack) == ["sdc", "md400", "sda", "sdb"]
    # A target that another one stands on is its member, so that nothing counts twice.
    roles = [Role.TARGET, Role.TARGET, Role.MEMBER, Role.MEMBER]
    assert [gauge.device.role for gauge in rack.gauges()] == roles
    assert [gauge.device.above for gauge in rack.gauges()] == ["", "", "md400", "md400"]
    rack.unwatch("md400")
    sys.remove("md400")
    assert names(rack) == ["sda", "sdb", "sdc"]
    assert [gauge.device.above for gauge in rack.gauges()] == ["", "", ""]
    rack.unwatch("md400")


STAT = "1 0 2 5 3 0 4 6 {} 7 8 9 0 10 11 12 13\n"


def answers(sys: MadeSys, moved: str, *names: str) -> bool:
    """Return whether I/O of one device that ends is taken for an answer of those."""
    before, stat = block.ended_io(names, str(sys.root)), sys.root / "class/block" / moved / "stat"
    stat.write_text("9" + STAT.format(0))
    after = block.ended_io(names, str(sys.root))
    stat.write_text(STAT.format(0))
    return after != before


def test_what_has_ended_counts_and_what_only_waits_does_not(sys: MadeSys) -> None:
    stat = sys.add("sda") / "stat"
    stat.write_text(STAT.format(0))
    before = block.ended_io(("sda",), str(sys.root))
    assert before == (("1", "2", "3", "4", "9", "10", "12"),)
    stat.write_text(STAT.format(30))
    assert block.ended_io(("sda",), str(sys.root)) == before
    # An array's members count too; a device that is gone moves no more.
    sys.add("md0", members=("sda",))
    assert len(block.ended_io(("md0",), str(sys.root))) == 2
    assert block.ended_io(("sdz",), str(sys.root)) == ((),)


def test_io_of_a_lower_device_is_progress_only_where_nothing_else_uses_it(
    sys: MadeSys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for disk in ("sda", "sdb", "sdc", "sdd"):
        sys.add(disk)
    stack = {
        "dm-0": "sda", "dm-1": "sda",
        "dm-2": "sdb", "dm-3": "dm-2", "dm-4": "dm-2",
        "dm-5": "sdc",
        "md0": "sdd",
    }  # fmt: skip
    for upper, lower in stack.items():
        sys.add(upper, members=(lower,))
    # A volume's disk is none of its progress while another volume uses it too, or one in the pool below.
    assert not answers(sys, "sda", "dm-0")
    assert answers(sys, "dm-0", "dm-0")
    assert not answers(sys, "sdb", "dm-3")
    assert answers(sys, "sdc", "dm-5")
    assert answers(sys, "sda", "dm-0", "dm-1")
    # A device that was asked for counts, whatever stands on it.
    assert answers(sys, "sdd", "sdd")
    # What a volume is made of below a loop device is no answer of that.
    loop = sys.add("loop7")
    (loop / "loop").mkdir()
    (loop / "loop/backing_file").write_text("/var/lib/image\n")
    monkeypatch.setattr(block, "_disk_of_file", lambda _path, _sys: "dm-5")
    assert not answers(sys, "sdc", "loop7")
    assert answers(sys, "loop7", "loop7")
