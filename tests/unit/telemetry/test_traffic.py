"""What a target did, and what of its disks' I/O was others', from trees as sysfs shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.model.metrics import Metric
from fsconsole.telemetry.traffic import (
    ForeignIo,
    SharedDisk,
    Traffic,
    TrafficWindow,
    device_measurements,
    shared_disks,
)

STAT = "{reads} 0 {sectors_read} 5 {writes} 0 {sectors_written} 9 0 14 14 {discards} 0 {discarded} 0 {flushes} 3"


def put(sys: Path, name: str, *, reads: int = 0, read: int = 0, writes: int = 0, written: int = 0, flushes: int = 0,
        discarded: int = 0, disk: str = "", files: dict[str, str] | None = None) -> Path:  # fmt: skip
    """Add a device, or its new counters (in sectors); a partition is below its disk."""
    folder = sys / "devices" / (f"{disk}/{name}" if disk else name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT.format(
        reads=reads, sectors_read=read, writes=writes, sectors_written=written, discards=1, discarded=discarded,
        flushes=flushes,
    ))  # fmt: skip
    (folder / "size").write_text("2048\n")
    if disk:
        (folder / "partition").write_text("1\n")
    else:
        (folder / "mq").mkdir(exist_ok=True)
    for path, text in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{text}\n")
    link = sys / "class/block" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(folder)
    return folder


def test_of_a_partition_s_disk_all_else_is_foreign_and_its_flushes_are_counted_on_the_disk(tmp_path: Path) -> None:
    put(tmp_path, "sda", reads=10, read=100, flushes=4)
    put(tmp_path, "sda2", disk="sda")
    window = TrafficWindow("sda2", str(tmp_path))
    put(tmp_path, "sda", reads=310, read=4196, writes=20, written=2048, flushes=7)
    put(tmp_path, "sda2", disk="sda", writes=20, written=2048, discarded=8)
    window.close()
    following = window.following()
    following.close()
    assert following.foreign() == (ForeignIo("sda", 0, 0, 0, 0, 0),)
    assert window.foreign() == (ForeignIo("sda", 4096 * 512, 0, 300, 2048 * 512, 20),)
    moved = window.of_target()
    assert moved is not None
    figures = {one.metric: one.value for one in device_measurements(moved, 2**20 - 2**18)}
    assert figures == {
        Metric.DEVICE_READ: 0, Metric.DEVICE_READS: 0, Metric.DEVICE_WRITTEN: 2**20, Metric.DEVICE_WRITES: 20,
        Metric.DEVICE_DISCARDED: 4096, Metric.DEVICE_FLUSHES: 3, Metric.WRITE_AMPLIFICATION: pytest.approx(4 / 3),
    }  # fmt: skip


def test_volumes_of_the_same_disk_are_foreign_and_one_that_lies_on_another_disk_too_is_not_told(tmp_path: Path) -> None:
    for name in ("sda", "sdb", "dm-0", "dm-1", "dm-2"):
        put(tmp_path, name)
    put(tmp_path, "sda3", disk="sda")
    for holder, slaves in (("dm-0", ["sda3"]), ("dm-1", ["sda3"]), ("dm-2", ["sda3", "sdb"])):
        for slave in slaves:
            for folder, name in ((f"{slave}/holders", holder), (f"{holder}/slaves", slave)):
                (tmp_path / "class/block" / folder / name).mkdir(parents=True)
    assert shared_disks(("dm-0",), str(tmp_path)) == (SharedDisk("sda", ("sda3",)), SharedDisk("dm-1"))


def test_below_a_loop_device_what_its_writes_may_need_is_not_foreign_and_without_direct_io_nothing_is_told(
    tmp_path: Path,
) -> None:
    backing = tmp_path / "file"
    backing.touch()
    number = backing.stat().st_dev
    below = put(tmp_path, "vdz")
    put(tmp_path, "loop7", files={"loop/backing_file": str(backing), "loop/dio": "1"})
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / f"dev/block/{number >> 8 & 0xFFF}:{number & 0xFF}").symlink_to(below)
    window = TrafficWindow("loop7", str(tmp_path))
    put(tmp_path, "loop7", reads=5, read=1000, writes=100, written=8000)
    put(tmp_path, "vdz", reads=50, read=1024, writes=700, written=8000 + 100 * 32 + 11)
    window.close()
    assert window.foreign() == (ForeignIo("vdz", 24 * 512, 11 * 512, 0, 9000 * 512, 105),)
    put(tmp_path, "loop7", files={"loop/dio": "0"})
    assert shared_disks(("loop7",), str(tmp_path)) == ()


def test_a_linear_array_whose_kernel_counts_nothing_has_the_traffic_of_its_members(tmp_path: Path) -> None:
    for name in ("sda", "sdb"):
        put(tmp_path, name, reads=5, read=50)
        (tmp_path / "devices/md0/slaves" / name).mkdir(parents=True)
    put(tmp_path, "md0", files={"md/level": "linear"})
    window = TrafficWindow("md0", str(tmp_path))
    put(tmp_path, "sda", reads=15, read=150, writes=2, written=16, discarded=4)
    put(tmp_path, "sdb", reads=6, read=58)
    assert window.bytes_read_so_far() == 108 * 512
    window.close()
    assert window.of_target() == Traffic(11, 108 * 512, 2, 16 * 512, 4 * 512, 0)
    # A newer kernel counts it there.
    put(tmp_path, "md0", reads=3, read=108, files={"md/level": "linear"})
    window.close()
    assert window.of_target() == Traffic(3, 108 * 512, 0, 0, 0, 0)
    # Of any other level the members read, and write, more than the array.
    put(tmp_path, "md0", files={"md/level": "raid5"})
    other = TrafficWindow("md0", str(tmp_path))
    put(tmp_path, "sda", reads=16, read=158)
    assert other.bytes_read_so_far() == 0


def test_a_device_that_is_another_one_now_or_is_not_counted_has_no_traffic(tmp_path: Path) -> None:
    put(tmp_path, "sda", reads=9, read=900)
    gone, again, uncounted = (TrafficWindow(name, str(tmp_path)) for name in ("sdz", "sda", "sda"))
    put(tmp_path, "sda", reads=1, read=8)
    again.close()
    put(tmp_path, "sda", reads=10, read=908, files={"queue/iostats": "0"})
    gone.close()
    uncounted.close()
    assert (gone.of_target(), again.of_target(), uncounted.of_target()) == (None, None, None)
