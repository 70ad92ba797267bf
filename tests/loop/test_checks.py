"""Verdicts of file system checks, and filesystems whose tools alone are tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import filled, make_commands
from fsconsole.devices.content import probe_signatures
from fsconsole.inspect.checks import CheckVerdict, non_contiguous_percent, verdict_of
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.model.plan import Variant
from fsconsole.plan.expand import cell_uuid
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import run

SIZES = {"ext2": 32 * MIB, "ext3": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 160 * MIB}
CHECKS = {
    "ext2": ("e2fsck", "-f", "-y"),
    "ext3": ("e2fsck", "-f", "-y"),
    "ext4": ("e2fsck", "-f", "-y"),
    "xfs": ("xfs_repair", "-n"),
    "btrfs": ("btrfs", "check", "--readonly"),
}


def check(filesystem: str, device: str, argv: tuple[str, ...] = ()) -> tuple[CheckVerdict, str]:
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        [*(argv or CHECKS[filesystem]), device], check=False, capture_output=True, text=True, env=environment
    )
    output = done.stdout + done.stderr
    return verdict_of(filesystem, done.returncode, output), output


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


@pytest.mark.parametrize("filesystem", ["btrfs"], indirect=True)
def test_one_bad_copy_in_btrfs_is_an_error_though_the_check_exits_0(filesystem: str, device: str) -> None:
    copies = root_copies(device)
    overwrite(device, copies[0] + 200, os.urandom(64))
    assert check(filesystem, device)[0] is CheckVerdict.ERRORS
    for copy in copies[1:]:
        overwrite(device, copy + 200, os.urandom(64))
    assert check(filesystem, device)[0] is CheckVerdict.ERRORS


def root_copies(device: str) -> list[int]:
    superblock = run("btrfs", "inspect-internal", "dump-super", device)
    (root,) = re.findall(r"^root\t+(\d+)$", superblock, re.MULTILINE)
    mapped = run("btrfs-map-logical", "-l", root, device)
    return [int(place) for place in re.findall(r"physical (\d+)", mapped)]


def test_a_mounted_filesystem_can_not_be_checked(filesystem: str, device: str, mounted) -> None:
    mounted(device)
    verdict, output = check(filesystem, device)
    assert verdict is CheckVerdict.FAILED, output


def test_a_device_that_is_not_there_can_not_be_checked(filesystem: str, tmp_path: Path) -> None:
    verdict, output = check(filesystem, str(tmp_path / "none"))
    assert verdict is CheckVerdict.FAILED, output


def test_a_device_that_holds_nothing_is_never_clean(filesystem: str, loop_device) -> None:
    verdict, output = check(filesystem, loop_device(8 * MIB))
    assert verdict in {CheckVerdict.ERRORS, CheckVerdict.FAILED}, output


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


UUID = cell_uuid("20261121-081000-k7qf", 3)
MADE_WITH = {
    "f2fs": (("-s", "2", "-O", "extra_attr,compression"), {"compression": "on", "segments_per_section": "2"}),
    "nilfs2": (("-B", "1024"), {"blocks_per_segment": "1024"}),
    "jfs": (("-s", "4"), {"block_size": "4096"}),
    "reiserfs": (("-h", "tea"), {"hash": "tea"}),
}


@pytest.fixture(params=MADE_WITH)
def made(request, loop_device):
    """One of them, made on a loop device as a cell makes it over another filesystem."""
    filesystem = load_catalog().get(request.param)
    missing = [tool for tool in filesystem.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"NOT INSTALLED HERE: {', '.join(missing)} (package {filesystem.package})")
    device = loop_device(filesystem.trial_bytes)
    run("mkfs.ext4", "-q", device)
    variant = Variant("", filesystem.name, (*filesystem.base_mkfs.split(), *MADE_WITH[filesystem.name][0]))
    for argv in make_commands(filesystem, variant, device, UUID):
        run(*argv)
    return filesystem, device


def test_the_gate_would_know_it_by_the_runs_uuid(made):
    filesystem, device = made
    found = probe_signatures(RealExecutor(), device)
    assert {(signature.type, signature.uuid) for signature in found} == {(filesystem.name, UUID)}


def test_what_mkfs_was_told_is_read_back(made):
    filesystem, device = made
    text = run(*filled(filesystem.commands.features, device=device))
    found = {feature.name: feature.value for feature in parse_mkfs_features(filesystem.name, text)}
    assert MADE_WITH[filesystem.name][1].items() <= found.items()


def test_its_check_finds_it_clean(made):
    filesystem, device = made
    if not filesystem.commands.check:
        assert filesystem.name == "nilfs2"
        return
    done = subprocess.run(
        filled(filesystem.commands.check, device=device), check=False, capture_output=True, text=True
    )
    assert verdict_of(filesystem.name, done.returncode, done.stdout + done.stderr) is CheckVerdict.CLEAN


def test_the_smallest_that_is_declared_can_be_made_and_nothing_much_smaller(made, loop_device):
    filesystem, _ = made
    variant = Variant("", filesystem.name, tuple(filesystem.base_mkfs.split()))
    smaller = loop_device(filesystem.min_bytes - 4 * MIB)
    argv = make_commands(filesystem, variant, smaller, UUID)[0]
    assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
