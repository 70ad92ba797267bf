"""Verdicts of the real checks on filesystems that are sound, and on filesystems that were damaged on purpose."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from fsconsole.inspect.checks import Verdict, non_contiguous_percent, verdict_of

pytestmark = pytest.mark.root

MIB = 2**20
SIZES = {"ext2": 32 * MIB, "ext3": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 160 * MIB}
CHECKS = {
    "ext2": ("e2fsck", "-f", "-y"),
    "ext3": ("e2fsck", "-f", "-y"),
    "ext4": ("e2fsck", "-f", "-y"),
    "xfs": ("xfs_repair", "-n"),
    "btrfs": ("btrfs", "check", "--readonly"),
}
LOOK_ONLY = ("e2fsck", "-f", "-n")


def check(filesystem: str, device: str, argv: tuple[str, ...] = ()) -> tuple[Verdict, str]:
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        [*(argv or CHECKS[filesystem]), device], check=False, capture_output=True, text=True, env=environment
    )
    output = done.stdout + done.stderr
    return verdict_of(filesystem, done.returncode, output), output


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=SIZES)
def filesystem(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def device(filesystem: str, loop_device, mounted) -> str:
    """A device with a filesystem that was filled a little and unmounted."""
    device = loop_device(SIZES[filesystem])
    run(f"mkfs.{filesystem}", "-q", device)
    point = mounted(device)
    (point / "directory").mkdir()
    for number in range(40):
        (point / "directory" / f"file{number}").write_bytes(os.urandom(4096 * (number % 5)))
    run("umount", str(point))
    return device


def overwrite(device: str, offset: int, data: bytes) -> None:
    fd = os.open(device, os.O_WRONLY)
    os.pwrite(fd, data, offset)
    os.fsync(fd)
    os.close(fd)


def test_a_sound_filesystem_is_clean(filesystem: str, device: str) -> None:
    verdict, output = check(filesystem, device)
    assert verdict is Verdict.CLEAN, output
    assert (non_contiguous_percent(output) is not None) == filesystem.startswith("ext")


@pytest.mark.parametrize("filesystem", ["ext2", "ext3", "ext4"], indirect=True)
def test_a_damaged_ext_filesystem_has_errors_then_is_repaired_then_clean(
    filesystem: str, device: str
) -> None:
    run("debugfs", "-w", "-R", "clri directory/file7", device)
    assert check(filesystem, device, LOOK_ONLY)[0] is Verdict.ERRORS
    assert check(filesystem, device)[0] is Verdict.REPAIRED
    assert check(filesystem, device)[0] is Verdict.CLEAN


@pytest.mark.parametrize("filesystem", ["xfs"], indirect=True)
def test_a_damaged_xfs_has_errors(filesystem: str, device: str) -> None:
    # The free space trees' roots of the first group lie right after its headers (man 5 xfs).
    overwrite(device, 4096, os.urandom(3 * 4096))
    assert check(filesystem, device)[0] is Verdict.ERRORS


@pytest.mark.parametrize("filesystem", ["btrfs"], indirect=True)
def test_one_bad_copy_in_btrfs_is_an_error_though_the_check_exits_0(filesystem: str, device: str) -> None:
    copies = root_copies(device)
    overwrite(device, copies[0] + 200, os.urandom(64))
    assert check(filesystem, device)[0] is Verdict.ERRORS
    for copy in copies[1:]:
        overwrite(device, copy + 200, os.urandom(64))
    assert check(filesystem, device)[0] is Verdict.ERRORS


def root_copies(device: str) -> list[int]:
    superblock = run("btrfs", "inspect-internal", "dump-super", device)
    (root,) = re.findall(r"^root\t+(\d+)$", superblock, re.MULTILINE)
    mapped = run("btrfs-map-logical", "-l", root, device)
    return [int(place) for place in re.findall(r"physical (\d+)", mapped)]


def test_a_mounted_filesystem_can_not_be_checked(filesystem: str, device: str, mounted) -> None:
    mounted(device)
    verdict, output = check(filesystem, device)
    assert verdict is Verdict.FAILED, output


def test_a_device_that_is_not_there_can_not_be_checked(filesystem: str, tmp_path: Path) -> None:
    verdict, output = check(filesystem, str(tmp_path / "none"))
    assert verdict is Verdict.FAILED, output


def test_a_device_that_holds_nothing_is_never_clean(filesystem: str, loop_device) -> None:
    verdict, output = check(filesystem, loop_device(8 * MIB))
    assert verdict in {Verdict.ERRORS, Verdict.FAILED}, output


@pytest.mark.parametrize("filesystem", ["ext4"], indirect=True)
def test_the_share_of_fragmented_files_is_read_from_the_real_check(
    filesystem: str, loop_device, mounted
) -> None:
    device = loop_device(SIZES[filesystem])
    run("mkfs.ext4", "-q", "-b", "4096", device)
    point = mounted(device)
    descriptors = [os.open(point / f"grown{n}", os.O_CREAT | os.O_WRONLY) for n in range(4)]
    for _ in range(30):
        for fd in descriptors:
            os.write(fd, bytes(4096))
            os.fsync(fd)
    for fd in descriptors:
        os.close(fd)
    run("umount", str(point))
    share = non_contiguous_percent(check(filesystem, device)[1])
    assert share is not None
    assert share > 0
