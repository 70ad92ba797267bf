"""CPU, dirty pages, bdi and pressure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.sample import BdiStats, Pressure
from fsconsole.system.mounts import MountEntry
from fsconsole.telemetry.machine import (
    CpuReading,
    CpuTimes,
    all_cpu_shares,
    bdi_name,
    bdi_stats_path,
    busy_between,
    cpu_shares,
    cpu_snapshot,
    parse_bdi,
    parse_cpu,
    parse_stalls,
    parse_writeback,
    pressure_of,
    read_writeback,
    stalled_percent,
    stalled_shares,
)
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.sampler import ShareGauge
from tests.unit.telemetry.made_sys import kernels_with, recorded

ticks = st.integers(min_value=0, max_value=2**40)
steal = st.none() | ticks
times = st.builds(CpuTimes, *(ticks for _ in CpuTimes._fields))
steps = st.builds(CpuTimes, *(st.integers(0, 10_000) for _ in CpuTimes._fields))


def plus(start: CpuTimes, step: CpuTimes) -> CpuTimes:
    return CpuTimes(*((getattr(start, f) or 0) + (getattr(step, f) or 0) for f in CpuTimes._fields))


@pytest.mark.parametrize("kernel", kernels_with("stat"))
def test_every_kernels_stat_gives_the_whole_machine_and_each_cpu(kernel: str) -> None:
    reading = parse_cpu(recorded(kernel, "stat"))
    assert len(reading.per_cpu) >= 2
    total = reading.total.user
    assert abs(total - sum(cpu.user for _, cpu in reading.per_cpu)) <= len(reading.per_cpu)


def test_columns_are_taken_in_the_order_of_the_man_page() -> None:
    reading = parse_cpu("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n")
    assert reading.total == CpuTimes(1, 2, 3, 4, 5, 6, 7, 8)


def test_an_old_kernel_without_steal_has_none() -> None:
    total = parse_cpu("cpu 1 2 3 4 5 6 7\n").total
    assert total == CpuTimes(1, 2, 3, 4, 5, 6, 7, None)
    assert cpu_shares(total, total).steal is None


def test_a_cpu_that_is_offline_is_not_counted() -> None:
    assert [number for number, _ in parse_cpu(recorded("4.4", "stat")).per_cpu] == [0, 1, 3]


@pytest.mark.parametrize(
    "text", ["", "intr 1 2 3\n", "cpu  1 2 3\n", "cpu  1 2 3 x\n", "cpux 1 2 3 4\n", "cpu  1 2 3 4\ncpu0\n"]
)
def test_another_file_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_cpu(text)


def test_guest_time_is_not_counted_twice() -> None:
    # man 5 proc_stat: guest is in user already; 100 ticks of user, all of them guest.
    before = parse_cpu("cpu 0 0 0 0 0 0 0 0 0 0\n").total
    after = parse_cpu("cpu 100 0 0 100 0 0 0 0 100 0\n").total
    assert cpu_shares(before, after).busy == 50.0


def test_stolen_time_is_in_no_share() -> None:
    before, after = CpuTimes(0, 0, 0, 0), CpuTimes(user=50, nice=0, system=0, idle=50, steal=900)
    assert cpu_shares(before, after._replace(steal=None)).user == 50.0
    before = before._replace(steal=0)
    assert (cpu_shares(before, after).user, cpu_shares(before, after).steal) == (50.0, 90.0)


def test_waiting_for_io_is_not_busy() -> None:
    before, after = CpuTimes(0, 0, 0, 0), CpuTimes(user=10, nice=0, system=20, idle=30, iowait=40)
    assert cpu_shares(before, after).busy == pytest.approx(30.0)


@given(times, steps)
def test_shares_add_up_to_the_whole(before: CpuTimes, step: CpuTimes) -> None:
    shares = cpu_shares(before, plus(before, step))
    whole = shares.busy + shares.idle + shares.iowait
    spent = sum(getattr(step, f) for f in CpuTimes._fields) - step.steal
    assert whole == pytest.approx(100.0 if spent else 0.0)


@given(times, times)
def test_no_share_is_below_zero_even_if_the_kernel_corrects_a_counter(
    before: CpuTimes, after: CpuTimes
) -> None:
    shares = cpu_shares(before, after)
    assert min(shares.user, shares.system, shares.iowait, shares.idle) >= 0


def test_each_cpu_has_its_own_share_and_a_new_one_waits_for_its_second_reading() -> None:
    idle, busy = CpuTimes(0, 0, 0, 100), CpuTimes(100, 0, 0, 0)
    before = CpuReading(CpuTimes(0, 0, 0, 0), ((0, CpuTimes(0, 0, 0, 0)), (2, CpuTimes(0, 0, 0, 0))))
    after = CpuReading(CpuTimes(0, 0, 0, 0), ((0, idle), (1, busy), (2, busy)))
    _, shares = all_cpu_shares(before, after, 0.5)
    assert [(cpu.number, cpu.shares.busy) for cpu in shares] == [(0, 0.0), (2, 100.0)]
    assert shares[1].shares.user == 100.0


@given(times, steps)
def test_busy_time_of_a_step_counts_kernel_work_and_no_waiting(before: CpuTimes, step: CpuTimes) -> None:
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    time = busy_between(before, plus(before, step))
    busy = step.user + step.nice + step.system + step.irq + step.softirq
    assert time.busy_s == pytest.approx(busy / ticks_per_s)
    assert time.available_s == pytest.approx((busy + step.idle + step.iowait) / ticks_per_s)
    assert busy_between(before, plus(before, step._replace(steal=0))) == time


def test_this_machine_has_been_busy() -> None:
    before = cpu_snapshot()
    assert before.user > 0
    assert busy_between(before, cpu_snapshot()).busy_s >= 0


def test_a_cpu_that_was_unplugged_is_left_out_and_the_others_keep_their_numbers() -> None:
    idle = CpuTimes(0, 0, 0, 100)
    before = CpuReading(idle, ((0, idle), (1, idle), (2, idle)))
    after = CpuReading(idle, ((0, idle), (2, CpuTimes(50, 0, 0, 150))))
    assert [(cpu.number, cpu.shares.busy) for cpu in all_cpu_shares(before, after, 0.5)[1]] == [
        (0, 0.0),
        (2, 50.0),
    ]


@given(st.text(max_size=120) | st.text("cpu0123456789 \n", max_size=200))
def test_any_text_is_times_or_unreadable(text: str) -> None:
    try:
        parse_cpu(text)
    except Unreadable:
        return


KIB = 1024


@pytest.mark.parametrize("kernel", kernels_with("meminfo"))
def test_every_kernels_dirty_pages_are_read(kernel: str) -> None:
    text = recorded(kernel, "meminfo")
    writeback = parse_writeback(text, recorded(kernel, "vmstat"))
    assert f"Dirty: {writeback.dirty_bytes // KIB} kB" in " ".join(text.split())
    assert f"Writeback: {writeback.writeback_bytes // KIB} kB" in " ".join(text.split())


def test_an_old_kernel_has_no_thresholds_rather_than_zero() -> None:
    writeback = parse_writeback(recorded("2.6.18", "meminfo"), recorded("2.6.18", "vmstat"))
    assert (writeback.threshold_bytes, writeback.background_threshold_bytes) == (None, None)
    assert parse_writeback(recorded("5.10", "meminfo"), "").threshold_bytes is None


def test_thresholds_are_in_pages() -> None:
    writeback = parse_writeback(recorded("5.10", "meminfo"), recorded("5.10", "vmstat"))
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    assert writeback.threshold_bytes == 612044 * page_bytes
    assert writeback.background_threshold_bytes == 305648 * page_bytes


def test_writeback_tmp_is_not_taken_for_writeback() -> None:
    assert parse_writeback(recorded("5.10", "meminfo"), "").writeback_bytes == 131072 * KIB


def test_a_file_without_dirty_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        parse_writeback("MemTotal: 12 kB\n", "")


def test_this_machine_tells_its_dirty_pages() -> None:
    assert read_writeback().dirty_bytes >= 0


def test_bdi_stats_are_in_kb_and_later_lines_are_passed_over() -> None:
    assert parse_bdi(recorded("4.4", "bdi_stats") + "later: 7\n") == BdiStats(
        writeback_bytes=73344 * KIB,
        reclaimable_bytes=568960 * KIB,
        dirty_thresh_bytes=764400 * KIB,
        global_thresh_bytes=764400 * KIB,
        background_thresh_bytes=382200 * KIB,
        dirtied_bytes=41943040 * KIB,
        written_bytes=41300736 * KIB,
        bandwidth_bytes_s=102400 * KIB,
        b_dirty=1,
        b_io=1,
        b_more_io=0,
        b_dirty_time=3,
        bdi_list=1,
        state=1,
    )
    assert parse_bdi(recorded("6.18", "bdi_stats")).state == 5


@pytest.mark.parametrize("kernel", ["2.6.32", "2.6.38"])
def test_what_an_older_kernels_bdi_does_not_tell_is_absent_rather_than_zero(kernel: str) -> None:
    bdi = parse_bdi(recorded(kernel, "bdi_stats"))
    assert (bdi.reclaimable_bytes, bdi.b_dirty, bdi.state) == (568960 * KIB, 1, 8)
    assert (bdi.dirtied_bytes, bdi.written_bytes, bdi.bandwidth_bytes_s, bdi.b_dirty_time) == (None,) * 4


def test_the_state_alone_is_hexadecimal() -> None:
    text = "BdiWriteback: 4 kB\nBdiReclaimable: 4 kB\nb_dirty: 10\nstate: {}\n"
    assert (parse_bdi(text.format("1a")).state, parse_bdi(text.format("10")).b_dirty) == (0x1A, 10)
    assert parse_bdi(text.format("running")).state is None


@pytest.mark.parametrize("text", ["", "BdiWriteback: 4 kB\n", "BdiWriteback: -4 kB\nBdiReclaimable: 1 kB\n"])
def test_a_bdi_without_its_foundations_gives_no_figures(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_bdi(text)


@given(st.text(max_size=100) | st.text("state: BdiWritebackReclaimable0123456789\n", max_size=200))
def test_any_text_is_bdi_figures_or_unreadable(text: str) -> None:
    for parse in (parse_bdi, parse_stalls):
        try:
            parse(text)
        except Unreadable:
            continue


def entry(filesystem: str, number: tuple[int, int], source: str = "/dev/sda1") -> MountEntry:
    return MountEntry(1, os.makedev(*number), "/", "/run/fsconsole/mnt", (), filesystem, source, ())


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    disk = tmp_path / "devices/pci0000:00/block/sda"
    (disk / "sda1").mkdir(parents=True)
    (disk / "bdi").symlink_to("../../../virtual/bdi/8:0")
    numbers = tmp_path / "dev/block"
    numbers.mkdir(parents=True)
    (numbers / "8:0").symlink_to(disk)
    (numbers / "8:1").symlink_to(disk / "sda1")
    for uuid, member, bdi in (("0aaa", "sdb", "btrfs-1"), ("1bbb", "sda1", "btrfs-7")):
        filesystem = tmp_path / "fs/btrfs" / uuid
        (filesystem / "devices" / member).mkdir(parents=True)
        (filesystem / "bdi").symlink_to(f"../../../devices/virtual/bdi/{bdi}")
    (tmp_path / "fs/btrfs/features").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("mount", "name"),
    [
        (entry("ext4", (8, 0)), "8:0"),
        # A partition has its disk's; btrfs one of its own, found by its member.
        (entry("xfs", (8, 1)), "8:0"),
        (entry("btrfs", (0, 44)), "btrfs-7"),
        (entry("ext4", (9, 9)), ""),
        (entry("btrfs", (0, 44), "/dev/sdz"), ""),
    ],
)
def test_a_mounts_bdi_is_found_by_its_number_or_member(sys, mount, name):
    assert bdi_name(mount, str(sys)) == name
    assert bdi_name(entry("btrfs", (0, 44)), str(sys / "none")) == ""


def test_without_debugfs_or_mount_there_is_no_path(tmp_path: Path) -> None:
    assert bdi_stats_path("", "/") is None
    assert bdi_stats_path(str(tmp_path), str(tmp_path)) is None
    assert bdi_stats_path(str(tmp_path), "/") is None


@pytest.mark.parametrize("name", ["pressure_io", "pressure_cpu", "pressure_memory"])
def test_every_kernels_totals_are_read(name: str) -> None:
    for kernel in kernels_with(name):
        text = recorded(kernel, name)
        assert all(
            f"{kind} " in text and f"total={total}" in text for kind, total in parse_stalls(text).items()
        )


@pytest.mark.parametrize(
    ("before", "after", "kind", "percent"),
    [
        # A share of the interval, not of ten seconds; totals come in lumps of 2 s on Linux 4.20.
        ({"some": 1_000_000}, {"some": 1_125_000}, "some", 25.0),
        ({"some": 0}, {"some": 2_000_000}, "some", 100.0),
        ({"some": 5}, {"some": 5}, "some", 0.0),
        # The CPU has no "full" on kernels before 5.13.
        (parse_stalls(recorded("5.4", "pressure_cpu")), {"some": 5, "full": 5}, "full", None),
    ],
)
def test_what_was_waited_is_a_share_of_the_interval(before, after, kind, percent):
    assert stalled_percent(before, after, kind, 0.5) == percent


def test_a_gauge_needs_two_readings(tmp_path: Path) -> None:
    file = tmp_path / "io"
    file.write_text("some avg10=0.00 total=5\nfull avg10=0.00 total=5\n")
    gauge = ShareGauge(str(file), parse_stalls, stalled_shares)
    assert gauge.read() is None
    assert gauge.read() == (0.0, 0.0)
    gauge.close()


def test_what_is_not_offered_is_absent() -> None:
    assert pressure_of(None, None, None) is None
    assert pressure_of(None, (12.5, 0.0), None) == Pressure(cpu_some_percent=12.5)
    assert pressure_of((1.0, 2.0), None, (3.0, 4.0)) == Pressure(1.0, 2.0, None, 3.0, 4.0)


@pytest.mark.parametrize(
    "text", ["", "some avg10=1.0\n", "some total=a\n", "\n", "full total=4\n", "some total=-1\n"]
)
def test_pressure_of_another_shape_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_stalls(text)
