"""Features and options read back from real filesystems, and the room that they leave."""

from __future__ import annotations

import os
import subprocess

import pytest

from fsconsole.inspect.extents import space_measurements
from fsconsole.inspect.features import parse_mkfs_features, read_mount_options
from fsconsole.model.metrics import Metric

pytestmark = pytest.mark.root

MIB = 2**20


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


TOOLS = {
    "ext4": ("dumpe2fs", "-h"),
    "xfs": ("xfs_info",),
    "btrfs": ("btrfs", "inspect-internal", "dump-super"),
}


def made(filesystem: str, device: str) -> dict[str, str]:
    text = run(*TOOLS[filesystem], device)
    return {feature.name: feature.value for feature in parse_mkfs_features(filesystem, text)}


@pytest.mark.parametrize(
    ("filesystem", "words", "has", "lacks"),
    [
        (
            "ext4",
            ("-O", "^has_journal,^flex_bg"),
            {"extent": "on"},
            {"has_journal", "flex_bg", "flex_bg_size"},
        ),
        ("ext4", ("-I", "512", "-G", "64"), {"inode_size": "512", "flex_bg_size": "64"}, set()),
        ("xfs", ("-d", "su=64k,sw=4,agcount=4"), {"data.sunit": "16", "data.swidth": "64"}, set()),
        ("xfs", ("-m", "reflink=0"), {"meta-data.reflink": "0", "meta-data.crc": "1"}, set()),
        ("btrfs", ("-R", "^free-space-tree"), {"no_holes": "on"}, {"free_space_tree"}),
        ("btrfs", ("-n", "8k"), {"nodesize": "8192", "free_space_tree": "on"}, set()),
    ],
)
def test_what_mkfs_was_told_is_what_is_read_back(filesystem, words, has, lacks, loop_device) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", *words, device)
    found = made(filesystem, device)
    assert has.items() <= found.items()
    assert not lacks & set(found)


@pytest.mark.parametrize("filesystem", TOOLS)
def test_two_equal_mkfs_read_back_equal(filesystem: str, loop_device) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", device)
    first = made(filesystem, device)
    run("wipefs", "--all", device)
    run(f"mkfs.{filesystem}", "-q", device)
    assert made(filesystem, device) == first


@pytest.mark.parametrize(
    ("filesystem", "options", "has"),
    [
        ("ext2", "", {"driver": "ext4"}),
        ("ext3", "barrier=0", {"driver": "ext4", "nobarrier": "on", "data": "ordered"}),
        (
            "ext4",
            "data=writeback,nodelalloc",
            {"data": "writeback", "nodelalloc": "on", "block_validity": "on"},
        ),
        ("ext4", "", {"delalloc": "on", "barrier": "on", "dioread_nolock": "on", "commit": "5"}),
        ("xfs", "logbsize=256k", {"driver": "xfs", "logbsize": "256k"}),
        ("btrfs", "compress=zstd:3", {"driver": "btrfs", "compress": "zstd:3"}),
    ],
)
def test_what_is_in_effect_is_read_defaults_too_where_the_kernel_lists_them(
    filesystem, options, has, loop_device, mounted
) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", device)
    point = mounted(device, filesystem=filesystem, options=",".join(filter(None, ("nosuid,nodev", options))))
    features = read_mount_options(device, str(point))
    found = {feature.name: feature.value for feature in features}
    assert {feature.scope for feature in features} == {"mount"}
    assert has.items() <= found.items()
    assert found["nosuid"] == found["nodev"] == "on"


def test_where_nothing_is_mounted_nothing_is_in_effect(tmp_path) -> None:
    assert read_mount_options("/dev/loop0", str(tmp_path)) == ()


@pytest.mark.parametrize("filesystem", ["ext2", "ext4", "xfs", "btrfs"])
def test_usable_and_overhead_make_up_the_device(filesystem: str, loop_device, mounted) -> None:
    device = loop_device(320 * MIB)
    run(f"mkfs.{filesystem}", "-q", device)
    point = mounted(device)
    usable, overhead = space_measurements(str(point), device)
    assert (usable.metric, overhead.metric) == (Metric.USABLE, Metric.OVERHEAD)
    assert usable.value == os.statvfs(point).f_bfree * os.statvfs(point).f_frsize
    assert usable.value / (320 * MIB) + overhead.value / 100 == pytest.approx(1)
    assert 0 < overhead.value < 40
