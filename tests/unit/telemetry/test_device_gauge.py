"""Devices that vanish, come back, or are others by the same name: no interval over two of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.telemetry.block import DeviceGauge, Watched
from fsconsole.telemetry.rates import Restarted, Unreadable
from tests.unit.telemetry.made_sys import MadeSys


@pytest.fixture
def sys(tmp_path: Path) -> MadeSys:
    return MadeSys(tmp_path)


def test_the_second_reading_gives_rates(sys: MadeSys) -> None:
    sys.add("sda")
    gauge = DeviceGauge(Watched("sda"), sys.blocks)
    assert gauge.read() is None
    sys.set_writes("sda", 8, 2048)
    rates = gauge.read()
    assert rates is not None
    assert rates.write_bytes_s > 0
    assert rates.write_bytes_s / rates.write_iops == pytest.approx(2048 * 512 / 8)
    gauge.close()


def test_a_device_without_content_is_gone_and_one_that_is_given_some_begins_anew(sys: MadeSys) -> None:
    folder = sys.add("loop7")
    gauge = DeviceGauge(Watched("loop7"), sys.blocks)
    gauge.read()
    # What losetup --detach leaves: the same folder and counters, a new diskseq, no size.
    (folder / "size").write_text("0\n")
    (folder / "diskseq").write_text("8\n")
    with pytest.raises(OSError, match="No such device"):
        gauge.read()
    assert gauge.is_gone
    (folder / "size").write_text("8192\n")
    (folder / "diskseq").write_text("9\n")
    assert gauge.read() is None
    assert not gauge.is_gone
    assert gauge.read() is not None
    gauge.close()


def test_another_content_under_the_same_name_costs_one_interval(sys: MadeSys) -> None:
    folder = sys.add("loop7")
    gauge = DeviceGauge(Watched("loop7"), sys.blocks)
    gauge.read()
    (folder / "diskseq").write_text("8\n")
    with pytest.raises(Restarted, match="another device"):
        gauge.read()
    assert gauge.read() is not None
    gauge.close()


def test_without_diskseq_a_device_without_size_is_gone_all_the_same(sys: MadeSys) -> None:
    folder = sys.add("loop7", diskseq=0)
    gauge = DeviceGauge(Watched("loop7"), sys.blocks)
    gauge.read()
    (folder / "size").write_text("0\n")
    with pytest.raises(OSError, match="No such device"):
        gauge.read()
    gauge.close()


def test_a_partition_has_its_disks_diskseq(sys: MadeSys) -> None:
    disk = sys.add("sda")
    sys.add_partition("sda", "sda1")
    gauge = DeviceGauge(Watched("sda1"), sys.blocks)
    gauge.read()
    assert gauge.read() is not None
    (disk / "diskseq").write_text("8\n")
    with pytest.raises(Restarted):
        gauge.read()
    gauge.close()


def test_a_device_that_was_never_there_is_gone_until_it_comes(sys: MadeSys) -> None:
    gauge = DeviceGauge(Watched("md0"), sys.blocks)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            gauge.read()
    assert gauge.is_gone
    sys.add("md0")
    assert gauge.read() is None
    assert gauge.read() is not None
    gauge.close()


def test_no_file_stays_open_of_a_device_that_lacks_one(sys: MadeSys) -> None:
    folder = sys.add("sda")
    (folder / "size").unlink()
    gauge = DeviceGauge(Watched("sda"), sys.blocks)
    held = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        gauge.read()
    assert len(list(Path("/proc/self/fd").iterdir())) == held


def test_a_disk_that_counts_nothing_is_not_shown_as_idle(sys: MadeSys) -> None:
    folder = sys.add("sda")
    (folder / "queue").mkdir()
    (folder / "queue/iostats").write_text("1\n")
    gauge = DeviceGauge(Watched("sda"), sys.blocks)
    assert gauge.read() is None
    sys.set_writes("sda", 8, 2048)
    assert gauge.read() is not None
    (folder / "queue/iostats").write_text("0\n")
    with pytest.raises(Unreadable, match="statistics are disabled"):
        gauge.read()
    other = DeviceGauge(Watched("sda"), sys.blocks)
    with pytest.raises(Unreadable, match="iostats is 0"):
        other.read()
    (folder / "queue/iostats").write_text("1\n")
    assert gauge.read() is not None
    gauge.close()
    other.close()


def test_a_partition_is_counted_where_its_disk_is(sys: MadeSys) -> None:
    disk = sys.add("sda")
    sys.add_partition("sda", "sda1")
    (disk / "queue").mkdir()
    (disk / "queue/iostats").write_text("0\n")
    gauge = DeviceGauge(Watched("sda1"), sys.blocks)
    with pytest.raises(Unreadable):
        gauge.read()
    gauge.close()
