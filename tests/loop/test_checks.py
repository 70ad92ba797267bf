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
from fsconsole.devices.content import probe_all
from fsconsole.inspect.checks import CheckVerdict, non_contiguous_percent, verdict_of
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.model.plan import Variant
from fsconsole.plan.expand import cell_uuid
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import run, unmount
from tests.loop.gate_cases import write

SIZES = {"ext2": 32 * MIB, "ext3": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 160 * MIB}
CHECKS = {
    "ext2": ("e2fsck", "-f", "-y"),
    "ext3": ("e2fsck", "-f", "-y"),
    "ext4": ("e2fsck", "-f", "-y"),
    "xfs": ("xfs_repair", "-n"),
    "btrfs": ("btrfs", "check", "--readonly"),
}
UUID = cell_uuid("20261121-081000-k7qf", 3)
MADE_WITH = {
    "f2fs": (("-s", "2", "-O", "extra_attr,compression"), {"compression": "on", "segments_per_section": "2"}),
    "nilfs2": (("-B", "1024"), {"blocks_per_segment": "1024"}),
    "jfs": (("-s", "4"), {"block_size": "4096"}),
    "reiserfs": (("-h", "tea"), {"hash": "tea"}),
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
    unmount(point)
    return device


@pytest.mark.parametrize("filesystem", ["btrfs"], indirect=True)
def test_one_bad_copy_in_btrfs_is_an_error_though_the_check_exits_0(filesystem: str, device: str) -> None:
    copies = root_copies(device)
    write(device, copies[0] + 200, os.urandom(64))
    assert check(filesystem, device)[0] is CheckVerdict.ERRORS
    for copy in copies[1:]:
        write(device, copy + 200, os.urandom(64))
    assert check(filesystem, device)[0] is CheckVerdict.ERRORS


def root_copies(device: str) -> list[int]:
    superblock = run("btrfs", "inspect-internal", "dump-super", device)
    (root,) = re.findall(r"^root\t+(\d+)$", superblock, re.MULTILINE)
    mapped = run("btrfs-map-logical", "-l", root, device)
    return [int(place) for place in re.findall(r"physical (\d+)", mapped)]


@pytest.mark.parametrize("filesystem", ["ext4"], indirect=True)
def test_the_share_of_fragmented_files_is_read_from_the_real_check(filesystem: str, loop_device, mounted) -> None:
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
    unmount(point)
    share = non_contiguous_percent(check(filesystem, device)[1])
    assert share is not None
    assert share > 0


def test_what_is_mounted_or_missing_or_holds_nothing_is_never_clean(
    filesystem: str, device: str, loop_device, mounted, tmp_path: Path
) -> None:
    for strange in (loop_device(8 * MIB), str(tmp_path / "none")):
        verdict, output = check(filesystem, strange)
        assert verdict in {CheckVerdict.ERRORS, CheckVerdict.FAILED}, output
    assert verdict is CheckVerdict.FAILED, output
    mounted(device)
    verdict, output = check(filesystem, device)
    assert verdict is CheckVerdict.FAILED, output


@pytest.mark.parametrize("name", MADE_WITH)
def test_a_rarer_filesystem_has_the_runs_uuid_shows_what_it_was_made_with_and_is_clean(name: str, loop_device) -> None:
    filesystem = load_catalog().get(name)
    missing = [tool for tool in filesystem.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"NOT INSTALLED HERE: {', '.join(missing)} (package {filesystem.package})")
    words, shown = MADE_WITH[name]
    device = loop_device(filesystem.trial_bytes)
    # As a cell makes it over another filesystem.
    run("mkfs.ext4", "-q", device)
    variant = Variant("", name, (*filesystem.base_mkfs.split(), *words))
    for argv in make_commands(filesystem, variant, device, UUID):
        run(*argv)
    found = probe_all(RealExecutor(), [device])[device]
    assert isinstance(found, tuple)
    assert {(signature.type, signature.uuid) for signature in found} == {(name, UUID)}
    text = run(*filled(filesystem.commands.features, device=device))
    features = {feature.name: feature.value for feature in parse_mkfs_features(name, text)}
    assert shown.items() <= features.items()
    if filesystem.commands.check:
        argv = filled(filesystem.commands.check, device=device)
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        assert verdict_of(name, done.returncode, done.stdout + done.stderr) is CheckVerdict.CLEAN
    else:
        assert name == "nilfs2"
    smaller = loop_device(filesystem.min_bytes - 4 * MIB)
    plain = Variant("", name, tuple(filesystem.base_mkfs.split()))
    argv = make_commands(filesystem, plain, smaller, UUID)[0]
    assert subprocess.run(argv, check=False, capture_output=True).returncode != 0
