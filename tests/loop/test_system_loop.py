from __future__ import annotations

import errno
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fsconsole.model.command import Command
from fsconsole.system import block
from fsconsole.system.block import device_size_bytes, diskseq, fsync_device, is_read_only, open_exclusive
from fsconsole.system.run import RealExecutor
from tests.conftest import MakeLoopDevice, Mount

pytestmark = pytest.mark.root
MIB = 2**20


def backing_file(directory: Path, name: str = "disk") -> Path:
    path = directory / name
    with path.open("wb") as file:
        file.truncate(8 * MIB)
    return path


def is_attached(device: str) -> bool:
    try:
        block.status(device)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


def test_what_was_attached_tells_its_file_and_goes_when_detached(tmp_path: Path) -> None:
    path = backing_file(tmp_path)
    device = block.attach(str(path))
    try:
        status, file = block.status(device), path.stat()
        assert (status.device_number_of_file, status.inode) == (file.st_dev, file.st_ino)
        assert device == f"/dev/loop{status.number}"
        assert status.file_name == str(path)[:63]
        assert (status.autoclear, status.read_only, status.offset_bytes) == (False, False, 0)
    finally:
        block.detach(device)
    assert not is_attached(device)
    with pytest.raises(OSError, match="No such device"):
        block.detach(device)


def test_direct_io_is_on_where_the_filesystem_below_has_it_and_off_where_not(
    tmp_path: Path, mounted: Mount
) -> None:
    ram = tmp_path / "ram"
    ram.mkdir()
    executor = RealExecutor()
    assert executor.run(Command(("mount", "-t", "ramfs", "ramfs", str(ram)))).exit_code == 0
    try:
        # ramfs has no direct I/O (fs/ramfs/file-mmu.c).
        device = block.attach(str(backing_file(ram)))
        try:
            assert not block.status(device).direct_io
        finally:
            block.detach(device)
    finally:
        executor.run(Command(("umount", str(ram))))
    for asked in (True, False):
        device = block.attach(str(backing_file(tmp_path)), direct_io=asked)
        try:
            assert block.status(device).direct_io is asked
        finally:
            block.detach(device)


@pytest.mark.parametrize("asked", [True, False])
def test_a_kernel_without_loop_configure_gives_the_same_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    monkeypatch.setattr(block, "_LOOP_CONFIGURE", 0x4CFF)
    path = backing_file(tmp_path)
    device = block.attach(str(path), direct_io=asked)
    try:
        status = block.status(device)
        assert (status.direct_io, status.inode) == (asked, path.stat().st_ino)
    finally:
        block.detach(device)


def test_a_held_device_goes_with_its_holder(tmp_path: Path) -> None:
    with block.attach_held(str(backing_file(tmp_path))) as held:
        assert block.status(held.path).autoclear
        device = held.path
    assert not is_attached(device)
    held.close()


def test_a_read_only_mark_left_on_its_number_does_not_reach_a_new_device(tmp_path: Path) -> None:
    device = block.attach(str(backing_file(tmp_path)))
    subprocess.run(["blockdev", "--setro", device], check=True)
    block.detach(device)
    again = block.attach(str(backing_file(tmp_path, "other")))
    fd = os.open(again, os.O_RDONLY)
    try:
        assert again == device
        assert not is_read_only(fd)
    finally:
        os.close(fd)
        block.detach(again)


def test_many_at_once_get_each_their_own_device(tmp_path: Path) -> None:
    paths = [str(backing_file(tmp_path, f"disk{number}")) for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        devices = list(pool.map(block.attach, paths))
    try:
        inodes = [block.status(device).inode for device in devices]
        assert inodes == [os.stat(path).st_ino for path in paths]
        assert len(set(devices)) == 12
    finally:
        for device in devices:
            block.detach(device)


def test_a_missing_file_is_an_error_and_attaches_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        block.attach(str(tmp_path / "missing"))
    with pytest.raises(OSError, match=r".+"):
        block.attach("/dev/null")


def test_a_loop_over_a_device_names_the_device_below(loop_device: MakeLoopDevice) -> None:
    lower = loop_device(8 * MIB)
    with block.attach_held(lower) as upper:
        assert block.status(upper.path).backing_device_number == os.stat(lower).st_rdev


def test_size_number_and_read_only_state_are_the_devices(loop_device: MakeLoopDevice) -> None:
    first, second = loop_device(8 * MIB), loop_device(16 * MIB, read_only=True)
    fds = [os.open(path, os.O_RDONLY) for path in (first, second)]
    try:
        assert [device_size_bytes(fd) for fd in fds] == [8 * MIB, 16 * MIB]
        assert [is_read_only(fd) for fd in fds] == [False, True]
        assert 0 < diskseq(fds[0]) < diskseq(fds[1])
        sysfs = Path(f"/sys/class/block/{os.path.basename(first)}/diskseq").read_text()
        assert diskseq(fds[0]) == int(sysfs)
        fsync_device(fds[0])
    finally:
        for fd in fds:
            os.close(fd)


def test_what_is_no_block_device_has_no_size(tmp_path: Path) -> None:
    fd = os.open(backing_file(tmp_path), os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="Inappropriate ioctl"):
            device_size_bytes(fd)
    finally:
        os.close(fd)


def test_a_mounted_device_cannot_be_had_exclusively(loop_device: MakeLoopDevice, mounted: Mount) -> None:
    device = loop_device(16 * MIB)
    assert RealExecutor().run(Command(("mkfs.ext4", "-q", device))).exit_code == 0
    os.close(open_exclusive(device))
    mounted(device)
    with pytest.raises(OSError, match="busy"):
        open_exclusive(device)
