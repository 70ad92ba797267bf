"""A start that is bound to what was shown: writes that go past the device, or past the kernel's count of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices import scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.preflight.prepare import NOT_COUNTED, write_marks
from tests.conftest import run
from tests.loop.gate_cases import MIB, loop_over, partitions, write
from tests.loop.runs import TINY_PLAN, written
from tests.loop.test_seen import device, refused, shown

__all__ = ["device"]

pytestmark = pytest.mark.root

SIZE = 64 * MIB
UNSAMPLED = 12_345_678


@pytest.fixture
def uncounted(device: str) -> Iterator[str]:
    """A scratch device of which the kernel counts no I/O."""
    setting = Path(f"/sys/class/block/{Path(device).name}/queue/iostats")
    setting.write_text("0")
    yield device
    setting.write_text("1")


def test_a_write_that_the_kernel_does_not_count_is_noticed(tmp_path: Path, uncounted: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, uncounted)["seen"]
    write(uncounted, UNSAMPLED, b"somebody's letters")
    refused(tmp_path, seen, uncounted, names=uncounted)


def test_a_count_that_stands_still_is_not_taken_for_one(uncounted: str) -> None:
    assert write_marks(find_device(uncounted))[0] == NOT_COUNTED


def test_a_write_to_the_file_below_is_noticed(tmp_path: Path, device: str) -> None:
    written(tmp_path, TINY_PLAN)
    seen = shown(tmp_path, device)["seen"]
    with open(scratch.find(device).path, "r+b") as file:
        file.seek(UNSAMPLED)
        file.write(b"somebody's letters")
    refused(tmp_path, seen, device, names=device)


def test_reading_and_attaching_again_are_no_writes(device: str) -> None:
    before = write_marks(find_device(device))
    run("dd", f"if={device}", "of=/dev/null", "bs=1M", "status=none")
    file = scratch.find(device).path
    other = run("losetup", "--find", "--show", file).strip()
    run("losetup", "--detach", other)
    assert write_marks(find_device(device)) == before
    assert NOT_COUNTED not in before


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """A disk, and two partitions of it."""
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, SIZE)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30), (32, 30)) as (one, two):
        yield disk, one, two


def test_a_write_through_the_whole_disk_marks_its_partition(parts: tuple[str, str, str]) -> None:
    disk, one, _ = parts
    before = write_marks(find_device(one))
    assert NOT_COUNTED not in before
    write(disk, UNSAMPLED, b"somebody's letters")
    assert write_marks(find_device(one)) != before


def test_a_write_to_another_partition_is_no_matter(parts: tuple[str, str, str]) -> None:
    _, one, two = parts
    before = write_marks(find_device(one))
    write(two, UNSAMPLED, b"its owner's letters")
    assert write_marks(find_device(one)) == before
    write(one, UNSAMPLED, b"somebody's letters")
    assert write_marks(find_device(one)) != before
