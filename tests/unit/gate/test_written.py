from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices import fingerprint
from fsconsole.devices.fingerprint import NOT_COUNTED, sectors_written
from fsconsole.model.device import Device, DeviceKind, LoopBacking

PART = Device("sda1", "/dev/sda1", DeviceKind.PARTITION, 8, 1, 2**30, parent="sda")
DISK = Device("sda", "/dev/sda", DeviceKind.DISK, 8, 0, 2**31)


def stat_of(sectors: int, discarded: int) -> str:
    words = ["7"] * 17
    words[6], words[13] = str(sectors), str(discarded)
    return " ".join(words)


@pytest.fixture
def block(tmp_path: Path) -> Path:
    """A disk with two partitions, as sysfs shows it."""
    block = tmp_path / "class" / "block"
    (block / "sda" / "queue").mkdir(parents=True)
    (block / "sda" / "queue" / "iostats").write_text("1\n")
    (block / "sda" / "stat").write_text(stat_of(1000, 64))
    for name, sectors in (("sda1", 300), ("sda2", 600)):
        part = block / "sda" / name
        part.mkdir()
        (part / "partition").write_text("1\n")
        (part / "stat").write_text(stat_of(sectors, 32))
        (block / name).symlink_to(part)
    return block


def marks(device: Device, block: Path) -> tuple[str, ...]:
    return sectors_written(device, str(block.parent.parent))


def test_a_disk_has_its_count_and_a_partition_also_what_went_past_all_partitions(block: Path) -> None:
    assert marks(DISK, block) == ("1000", "64")
    assert marks(PART, block) == ("300", "32", "100", "0")


def test_where_nobody_counts_that_is_told_rather_than_a_figure(block: Path) -> None:
    (block / "sda" / "queue" / "iostats").write_text("0\n")
    for device in (DISK, PART, replace(DISK, name="gone")):
        assert marks(device, block) == (NOT_COUNTED,)


def test_a_disk_that_never_holds_still_has_no_mark_of_its_own(block: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter(range(10_000))

    def sectors(_block: str, name: str) -> tuple[int, ...]:
        return (300, 32) if name == PART.name else (next(counts), 0)

    monkeypatch.setattr(fingerprint, "_sectors", sectors)
    assert marks(PART, block) == ("300", "32", NOT_COUNTED)


def test_a_path_that_names_another_file_than_the_one_below_is_no_mark(block: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    found = file.stat()
    below = LoopBacking(str(file), found.st_dev, found.st_ino, direct_io=True, autoclear=False)
    disk = replace(DISK, loop=below)
    assert marks(disk, block) == ("1000", "64", str(found.st_ctime_ns), "10")
    for other in (replace(below, inode=1), replace(below, path=str(tmp_path / "none"))):
        assert marks(replace(disk, loop=other), block) == ("1000", "64", NOT_COUNTED)
