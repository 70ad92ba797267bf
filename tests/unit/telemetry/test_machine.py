"""CPU, dirty pages, bdi and pressure."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.sample import BdiStats, Pressure
from fsconsole.system.mounts import MountEntry
from fsconsole.telemetry import machine
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.sampler import ShareGauge
from tests.unit.telemetry.made_sys import kernels_with, recorded, refuses

ticks = st.integers(min_value=0, max_value=2**40)
times = st.builds(machine.CpuTimes, *(ticks for _ in machine.CpuTimes._fields))
steps = st.builds(machine.CpuTimes, *(st.integers(0, 10_000) for _ in machine.CpuTimes._fields))


def plus(start: machine.CpuTimes, step: machine.CpuTimes) -> machine.CpuTimes:
    return machine.CpuTimes(*((getattr(start, f) or 0) + (getattr(step, f) or 0) for f in machine.CpuTimes._fields))


def test_every_kernels_stat_gives_the_whole_machine_and_each_cpu_that_is_online() -> None:
    for kernel in kernels_with("stat"):
        reading = machine.parse_cpu(recorded(kernel, "stat"))
        assert len(reading.per_cpu) >= 2
        total = reading.total.user
        assert abs(total - sum(cpu.user for _, cpu in reading.per_cpu)) <= len(reading.per_cpu), kernel
    assert [number for number, _ in machine.parse_cpu(recorded("4.4", "stat")).per_cpu] == [0, 1, 3]


def test_columns_are_taken_in_the_order_of_the_man_page_and_an_old_kernel_has_no_steal() -> None:
    reading = machine.parse_cpu("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n")
    assert reading.total == machine.CpuTimes(1, 2, 3, 4, 5, 6, 7, 8)
    total = machine.parse_cpu("cpu 1 2 3 4 5 6 7\n").total
    assert total == machine.CpuTimes(1, 2, 3, 4, 5, 6, 7, None)
    assert machine.cpu_shares(total, total).steal is None


UNREADABLE = {
    machine.parse_cpu: ["", "intr 1 2 3\n", "cpu  1 2 3\n", "cpu  1 2 3 x\n", "cpux 1 2 3 4\n", "cpu  1 2 3 4\ncpu0\n"],
    machine.parse_bdi: ["", "BdiWriteback: 4 kB\n", "BdiWriteback: -4 kB\nBdiReclaimable: 1 kB\n"],
    machine.parse_stalls: ["", "some avg10=1.0\n", "some total=a\n", "\n", "full total=4\n", "some total=-1\n"],
    lambda text: machine.parse_writeback(text, ""): ["MemTotal: 12 kB\n"],
}  # fmt: skip


def test_a_file_of_another_shape_is_unreadable() -> None:
    cases = [(parse, text) for parse, texts in UNREADABLE.items() for text in texts]
    assert [case for case in cases if not refuses(*case, error=Unreadable)] == []


@given(st.text(max_size=120) | st.text("cpu0123456789 \n", max_size=200)
       | st.text("state: BdiWritebackReclaimable0123456789\n", max_size=200))  # fmt: skip
def test_any_text_is_figures_or_unreadable(text: str) -> None:
    for parse in (machine.parse_cpu, machine.parse_bdi, machine.parse_stalls):
        with suppress(Unreadable):
            parse(text)


def test_shares_are_of_the_time_that_was_the_machines_own() -> None:
    # man 5 proc_stat: guest is in user already; 100 ticks of user, all of them guest.
    before = machine.parse_cpu("cpu 0 0 0 0 0 0 0 0 0 0\n").total
    after = machine.parse_cpu("cpu 100 0 0 100 0 0 0 0 100 0\n").total
    assert machine.cpu_shares(before, after).busy == 50.0
    # Stolen time is in no share.
    before, after = (
        machine.CpuTimes(0, 0, 0, 0),
        machine.CpuTimes(user=50, nice=0, system=0, idle=50, steal=900),
    )
    assert machine.cpu_shares(before, after._replace(steal=None)).user == 50.0
    shares = machine.cpu_shares(before._replace(steal=0), after)
    assert (shares.user, shares.steal) == (50.0, 90.0)
    # Waiting for I/O is not busy.
    after = machine.CpuTimes(user=10, nice=0, system=20, idle=30, iowait=40)
    assert machine.cpu_shares(before, after).busy == pytest.approx(30.0)


@given(times, steps)
def test_shares_add_up_to_the_whole(before: machine.CpuTimes, step: machine.CpuTimes) -> None:
    shares = machine.cpu_shares(before, plus(before, step))
    whole = shares.busy + shares.idle + shares.iowait
    spent = sum(getattr(step, f) for f in machine.CpuTimes._fields) - step.steal
    assert whole == pytest.approx(100.0 if spent else 0.0)


@given(times, times)
def test_no_share_is_below_zero_even_if_the_kernel_corrects_a_counter(
    before: machine.CpuTimes, after: machine.CpuTimes
) -> None:
    shares = machine.cpu_shares(before, after)
    assert min(shares.user, shares.system, shares.iowait, shares.idle) >= 0


def test_each_cpu_has_its_own_share_and_one_that_came_or_went_between_two_readings_none() -> None:
    none, idle, busy = (
        machine.CpuTimes(0, 0, 0, 0),
        machine.CpuTimes(0, 0, 0, 100),
        machine.CpuTimes(100, 0, 0, 0),
    )
    before = machine.CpuReading(none, ((0, none), (2, none), (3, none)))
    after = machine.CpuReading(none, ((0, idle), (1, busy), (2, busy)))
    _, shares = machine.all_cpu_shares(before, after, 0.5)
    assert [(cpu.number, cpu.shares.busy) for cpu in shares] == [(0, 0.0), (2, 100.0)]
    assert shares[1].shares.user == 100.0


@given(times, steps)
def test_busy_time_of_a_step_counts_kernel_work_and_no_waiting(
    before: machine.CpuTimes, step: machine.CpuTimes
) -> None:
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    seconds = machine.busy_between(before, plus(before, step), 0.0)
    busy = step.user + step.nice + step.system + step.irq + step.softirq
    available = busy + step.idle + step.iowait
    assert seconds == pytest.approx((busy / ticks_per_s, available / ticks_per_s))
    assert machine.busy_between(before, plus(before, step._replace(steal=0)), 0.0) == seconds


def test_what_the_ticks_of_a_second_lack_was_busy_if_it_was_neither_idle_nor_stolen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    before = machine.CpuTimes(0, 0, 0, 0, steal=0)
    # Of two CPU seconds 5 % are seen busy, 70 % idle or waiting, 10 % stolen: 20 % were busy.
    after = machine.CpuTimes(ticks_per_s // 10, 0, 0, ticks_per_s, 2 * ticks_per_s // 5, steal=ticks_per_s // 5)
    assert machine.busy_between(before, after, 1.0) == pytest.approx((0.4, 1.8))


KIB = 1024


def test_every_kernels_dirty_pages_are_read() -> None:
    for kernel in kernels_with("meminfo"):
        text = recorded(kernel, "meminfo")
        writeback = machine.parse_writeback(text, recorded(kernel, "vmstat"))
        assert f"Dirty: {writeback.dirty_bytes // KIB} kB" in " ".join(text.split()), kernel
        assert f"Writeback: {writeback.writeback_bytes // KIB} kB" in " ".join(text.split()), kernel
    # WritebackTmp is not taken for it.
    assert machine.parse_writeback(recorded("5.10", "meminfo"), "").writeback_bytes == 131072 * KIB


def test_thresholds_are_in_pages_and_an_old_kernel_has_none_rather_than_zero() -> None:
    writeback = machine.parse_writeback(recorded("5.10", "meminfo"), recorded("5.10", "vmstat"))
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    assert writeback.threshold_bytes == 612044 * page_bytes
    assert writeback.background_threshold_bytes == 305648 * page_bytes
    writeback = machine.parse_writeback(recorded("2.6.18", "meminfo"), recorded("2.6.18", "vmstat"))
    assert (writeback.threshold_bytes, writeback.background_threshold_bytes) == (None, None)
    assert machine.parse_writeback(recorded("5.10", "meminfo"), "").threshold_bytes is None


def test_this_machine_tells_its_dirty_pages_and_has_been_busy() -> None:
    assert machine.read_writeback().dirty_bytes >= 0
    before = machine.cpu_snapshot()
    assert before.user > 0
    assert machine.busy_between(before, machine.cpu_snapshot(), 0.0)[0] >= 0


def test_bdi_stats_are_in_kb_and_later_lines_are_passed_over() -> None:
    assert machine.parse_bdi(recorded("4.4", "bdi_stats") + "later: 7\n") == BdiStats(
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
    assert machine.parse_bdi(recorded("6.18", "bdi_stats")).state == 5


def test_what_an_older_kernels_bdi_does_not_tell_is_absent_rather_than_zero() -> None:
    for kernel in ("2.6.32", "2.6.38"):
        bdi = machine.parse_bdi(recorded(kernel, "bdi_stats"))
        assert (bdi.reclaimable_bytes, bdi.b_dirty, bdi.state) == (568960 * KIB, 1, 8)
        assert (bdi.dirtied_bytes, bdi.written_bytes, bdi.bandwidth_bytes_s, bdi.b_dirty_time) == (None,) * 4


def test_the_state_alone_is_hexadecimal() -> None:
    text = "BdiWriteback: 4 kB\nBdiReclaimable: 4 kB\nb_dirty: 10\nstate: {}\n"
    assert (machine.parse_bdi(text.format("1a")).state, machine.parse_bdi(text.format("10")).b_dirty) == (
        0x1A,
        10,
    )
    assert machine.parse_bdi(text.format("running")).state is None


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


def test_a_mounts_bdi_is_found_by_its_number_or_member(sys: Path) -> None:
    named = (
        (entry("ext4", (8, 0)), "8:0"),
        # A partition has its disk's; btrfs one of its own, found by its member.
        (entry("xfs", (8, 1)), "8:0"),
        (entry("btrfs", (0, 44)), "btrfs-7"),
        (entry("ext4", (9, 9)), ""),
        (entry("btrfs", (0, 44), "/dev/sdz"), ""),
    )
    assert [machine.bdi_name(mount, str(sys)) for mount, _ in named] == [name for _, name in named]
    assert machine.bdi_name(entry("btrfs", (0, 44)), str(sys / "none")) == ""


def test_without_debugfs_or_mount_there_is_no_path(tmp_path: Path) -> None:
    assert machine.bdi_stats_path("", "/") is None
    assert machine.bdi_stats_path(str(tmp_path), str(tmp_path)) is None
    assert machine.bdi_stats_path(str(tmp_path), "/") is None


def test_every_kernels_totals_are_read() -> None:
    for name in ("pressure_io", "pressure_cpu", "pressure_memory"):
        for kernel in kernels_with(name):
            text = recorded(kernel, name)
            for kind, total in machine.parse_stalls(text).items():
                assert f"{kind} " in text
                assert f"total={total}" in text


def test_what_was_waited_is_a_share_of_the_interval() -> None:
    # A share of the interval, not of ten seconds; totals come in lumps of 2 s on Linux 4.20.
    assert machine.stalled_shares({"some": 1_000_000}, {"some": 1_125_000}, 0.5) == (25.0, None)
    assert machine.stalled_shares({"some": 0, "full": 5}, {"some": 2_000_000, "full": 5}, 0.5) == (100.0, 0.0)
    # The CPU has no "full" on kernels before 5.13.
    old = machine.parse_stalls(recorded("5.4", "pressure_cpu"))
    assert machine.stalled_shares(old, {"some": 5, "full": 5}, 0.5)[1] is None


def test_a_gauge_needs_two_readings(tmp_path: Path) -> None:
    file = tmp_path / "io"
    file.write_text("some avg10=0.00 total=5\nfull avg10=0.00 total=5\n")
    gauge = ShareGauge(str(file), machine.parse_stalls, machine.stalled_shares)
    assert gauge.read() is None
    assert gauge.read() == (0.0, 0.0)
    gauge.close()


def test_what_is_not_offered_is_absent() -> None:
    assert machine.pressure_of(None, None, None) is None
    assert machine.pressure_of(None, (12.5, 0.0), None) == Pressure(cpu_some_percent=12.5)
    assert machine.pressure_of((1.0, 2.0), None, (3.0, 4.0)) == Pressure(1.0, 2.0, None, 3.0, 4.0)
