from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.system.mounts import MountEntry
from fsconsole.telemetry.machine import bdi_name, bdi_stats_path


def entry(filesystem: str, number: tuple[int, int], source: str = "/dev/sda1") -> MountEntry:
    return MountEntry(1, 0, os.makedev(*number), "/", "/run/fsconsole/mnt", (), filesystem, source, ())


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


def test_a_disks_bdi_has_its_number(sys: Path) -> None:
    assert bdi_name(entry("ext4", (8, 0)), str(sys)) == "8:0"


def test_a_partitions_bdi_is_that_of_its_disk(sys: Path) -> None:
    assert bdi_name(entry("xfs", (8, 1)), str(sys)) == "8:0"


def test_btrfs_has_a_bdi_of_its_own_found_by_its_member(sys: Path) -> None:
    assert bdi_name(entry("btrfs", (0, 44)), str(sys)) == "btrfs-7"


def test_what_sysfs_does_not_tell_is_empty(sys: Path) -> None:
    assert bdi_name(entry("ext4", (9, 9)), str(sys)) == ""
    assert bdi_name(entry("btrfs", (0, 44), "/dev/sdz"), str(sys)) == ""
    assert bdi_name(entry("btrfs", (0, 44)), str(sys / "none")) == ""


def test_without_debugfs_or_mount_there_is_no_path(tmp_path: Path) -> None:
    assert bdi_stats_path("", "/") is None
    assert bdi_stats_path(str(tmp_path), str(tmp_path)) is None
    assert bdi_stats_path(str(tmp_path), "/") is None
