"""Locks, the proof of O_EXCL, and which tools need it, tried on real devices with the real tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fsconsole.devices.claims import (
    TOOLS_WITH_O_EXCL,
    TOOLS_WITHOUT_O_EXCL,
    held_exclusively,
    lock_whole_disk,
    needs_hold,
)
from fsconsole.devices.snapshot import find_device
from fsconsole.errors.targets import DeviceChanged, DeviceLocked, DeviceRefused
from fsconsole.system.block import open_exclusive
from fsconsole.system.locks import is_locked
from tests.conftest import MakeLoopDevice, run
from tests.loop.gate_cases import MIB, held_by_another_process, loop_over, partitions, unchanged, write

pytestmark = pytest.mark.root

SIZE = 144 * MIB
"""mkfs.nilfs2 makes nothing below 128 MiB and a block."""
XFS_SIZE = 330 * MIB
"""mkfs.xfs makes nothing below 300 MiB."""

OTHER_UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"

REFUSING = {
    "mkfs.ext2": ("-q", "-F"),
    "mkfs.ext3": ("-q", "-F"),
    "mkfs.ext4": ("-q", "-F"),
    "mke2fs": ("-q", "-F"),
    "mkfs.xfs": ("-q", "-f"),
    "mkfs.btrfs": ("-q", "-f"),
    "mkfs.f2fs": ("-q", "-f"),
    "mkfs.jfs": ("-q",),
    "mkreiserfs": ("-q", "-f"),
    "mkswap": ("-f",),
    "mount": (),
}
GOING_AHEAD = {
    "blkdiscard": ("-f", "DEVICE"),
    "wipefs": ("-a", "-f", "DEVICE"),
    "dd": ("if=/dev/zero", "of=DEVICE", "bs=4096", "count=1", "conv=notrunc"),
    "fio": ("--name=x", "--filename=DEVICE", "--rw=write", "--bs=4k", "--size=4k", "--output=/dev/null"),
    "mkfs.nilfs2": ("-f", "DEVICE"),
    "nilfs-tune": ("-U", OTHER_UUID, "DEVICE"),
    "jfs_tune": ("-U", OTHER_UUID, "DEVICE"),
    "fsck.jfs": ("-f", "DEVICE"),
}
MADE_FIRST = {"nilfs-tune": "mkfs.nilfs2", "jfs_tune": "mkfs.jfs", "fsck.jfs": "mkfs.jfs"}
"""What such a tool works on; the others overwrite anything."""


@pytest.fixture
def device(loop_device: MakeLoopDevice) -> str:
    return loop_device(SIZE)


def test_the_tables_hold_what_is_tried_here() -> None:
    assert set(REFUSING) == TOOLS_WITH_O_EXCL
    assert set(GOING_AHEAD) == TOOLS_WITHOUT_O_EXCL


@pytest.mark.parametrize("tool", sorted(REFUSING))
def test_tools_with_o_excl_refuse_a_claimed_device(
    loop_device: MakeLoopDevice, tmp_path: Path, tool: str
) -> None:
    need(tool)
    device = loop_device(XFS_SIZE if tool == "mkfs.xfs" else SIZE)
    run("mkfs.ext4", "-q", device)
    where = [str(tmp_path)] if tool == "mount" else []
    held = open_exclusive(device)
    try:
        with unchanged(device):
            done = subprocess.run([tool, *REFUSING[tool], device, *where], check=False, capture_output=True)
    finally:
        os.close(held)
    assert done.returncode != 0
    assert not needs_hold((tool, *REFUSING[tool], device))


@pytest.mark.parametrize("tool", sorted(GOING_AHEAD))
def test_tools_without_o_excl_overwrite_a_claimed_device(device: str, tool: str) -> None:
    need(tool)
    need(MADE_FIRST.get(tool, tool))
    run(MADE_FIRST.get(tool, "mkswap"), *(["-q"] if tool in MADE_FIRST else []), device)
    argv = [tool, *(word.replace("DEVICE", device) for word in GOING_AHEAD[tool])]
    held = open_exclusive(device)
    try:
        done = subprocess.run(argv, check=False, capture_output=True)
        os.fsync(held)
    finally:
        os.close(held)
    assert done.returncode == 0, done.stderr
    assert head(device)[4086:] != b"SWAPSPACE2"
    assert needs_hold(tuple(argv))


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} IS NOT INSTALLED HERE")


def head(device: str) -> bytes:
    with open(device, "rb") as file:
        return file.read(4096)


def test_a_device_that_is_held_lets_a_tool_work_and_nobody_else_claim_it(device: str, tmp_path: Path) -> None:
    run("mkfs.ext4", "-q", device)
    with held_exclusively(device):
        for argv in (("mount", device, str(tmp_path)), ("mkswap", device), ("mkfs.ext4", "-q", device)):
            assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
        run("blkdiscard", "-f", device)
    assert head(device) == bytes(4096)
    run("mkfs.ext4", "-q", device)


def test_a_claimed_device_is_not_held(device: str) -> None:
    with (
        held_by_another_process(device, "os.O_RDONLY | os.O_EXCL"),
        pytest.raises(DeviceRefused, match="O_EXCL"),
        held_exclusively(device),
    ):
        pass


def test_a_device_that_is_gone_is_not_held(tmp_path: Path) -> None:
    with pytest.raises(DeviceChanged), held_exclusively(str(tmp_path / "gone")):
        pass


def test_one_run_locks_the_whole_disk_and_a_second_is_refused(device: str) -> None:
    with lock_whole_disk(find_device(device)) as locks:
        assert locks.paths == (device,)
        with pytest.raises(DeviceLocked):
            lock_whole_disk(find_device(device))
    assert not is_locked(device)
    lock_whole_disk(find_device(device)).release()


def test_the_lock_lets_the_run_s_own_tools_work(device: str) -> None:
    with lock_whole_disk(find_device(device)):
        run("mkfs.ext4", "-q", device)
        write(device, 0, b"x")


def test_a_partition_locks_its_disk_and_a_loop_the_device_below(tmp_path: Path) -> None:
    file = tmp_path / "disk"
    file.touch()
    os.truncate(file, 64 * MIB)
    with loop_over(str(file), "--partscan") as disk, partitions(disk, (1, 30), (32, 30)) as (one, two):
        with lock_whole_disk(find_device(one)) as locks:
            assert set(locks.paths) == {disk, one}
            with pytest.raises(DeviceLocked):
                lock_whole_disk(find_device(two))
        with loop_over(two) as top, lock_whole_disk(find_device(top)) as locks:
            assert set(locks.paths) == {disk, two, top}


def test_a_lock_that_is_refused_halfway_leaves_none(loop_device: MakeLoopDevice) -> None:
    below = loop_device(64 * MIB)
    with loop_over(below) as top:
        with lock_whole_disk(find_device(below)), pytest.raises(DeviceLocked):
            lock_whole_disk(find_device(top))
        assert not is_locked(top)
        assert not is_locked(below)
