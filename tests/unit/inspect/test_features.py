from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.inspect.features import (
    Feature,
    effective_options,
    group_bytes,
    parse_mkfs_features,
    parse_options,
)
from fsconsole.system.mounts import parse_mountinfo

DATA = Path(__file__).parents[2] / "data" / "features"


def text(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def made(filesystem: str, name: str) -> dict[str, str]:
    features = parse_mkfs_features(filesystem, text(name))
    assert {feature.scope for feature in features} == {"mkfs"}
    assert len({feature.name for feature in features}) == len(features)
    return {feature.name: feature.value for feature in features}


def test_ext4_of_today_is_read() -> None:
    found = made("ext4", "dumpe2fs-1.47.0-ext4")
    on = {name for name, value in found.items() if value == "on"}
    assert on == {
        "has_journal", "ext_attr", "resize_inode", "dir_index", "filetype", "extent", "64bit", "flex_bg",
        "sparse_super", "large_file", "huge_file", "dir_nlink", "extra_isize", "metadata_csum",
    }  # fmt: skip
    assert (found["inode_size"], found["flex_bg_size"], found["journal_size"]) == ("256", "16", "8M")
    assert found["default_mount_options"] == "user_xattr acl"


def test_ext2_has_no_journal_and_ext3_no_extents() -> None:
    ext2, ext3 = made("ext2", "dumpe2fs-1.47.0-ext2"), made("ext3", "dumpe2fs-1.47.0-ext3")
    assert not {"has_journal", "journal_size"} & ext2.keys()
    assert ("has_journal" in ext3, "extent" in ext3) == (True, False)


SOME = {
    ("ext3", "dumpe2fs-1.41.12-ext3"): "stride=16 stripe_width=64 journal_size=128M default_mount_options=(none)",
    ("ext4", "dumpe2fs-1.47.0-bigalloc"): "cluster_size=65536 stride=16 stripe_width=64",
    ("xfs", "xfs_info-3.2.1"): "meta-data.crc=0 data.sunit=16 data.swidth=64 naming.ftype=0 log.version=2 "
        "data.bsize=4096 meta-data.isize=256",
    ("xfs", "xfs_info-6.1.0"): "meta-data.reflink=1 meta-data.bigtime=1 log.sunit=16 log.lazy-count=1 "
        "data.bsize=4096 meta-data.isize=512",
    ("xfs", "xfs_info-6.13"): "meta-data.exchange=1 naming.parent=1 realtime.rgcount=0 meta-data.nrext64=1 "
        "data.bsize=4096 meta-data.isize=512",
    ("btrfs", "dump-super-4.20"): "nodesize=16384",
    ("btrfs", "dump-super-6.2"): "nodesize=16384",
    ("btrfs", "dump-super-6.2-no-free-space-tree"): "nodesize=4096",
    ("f2fs", "dump.f2fs-1.15"): "extra_attr=on compression=on segments_per_section=2 sections_per_zone=1",
    ("nilfs2", "nilfs-tune-2.2.9"): "block_count=on block_size=4096 blocks_per_segment=1024 reserved_percent=10",
    ("jfs", "jfs_tune-1.1.15"): "inlinelog=on block_size=4096 format=1",
    ("reiserfs", "debugreiserfs-3.6.27"): "format=3.6 hash=tea journal_size=4096 transaction_size=1024 block_size=4096",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "blocks"), [("xfs_info-3.2.1", 15262400), ("xfs_info-6.1.0", 32752), ("xfs_info-6.13", 6553600)]
)
def test_an_allocation_group_is_agsize_in_blocks_of_bsize_in_bytes(name: str, blocks: int) -> None:
    printed = made("xfs", name)
    assert group_bytes(printed) == blocks * 4096
    # Not the directory's blocks, nor the log's, which may have others.
    assert group_bytes(printed | {"data.bsize": "1024", "naming.bsize": "65536", "log.bsize": "512"}) == blocks * 1024
    assert group_bytes({}) == group_bytes({"data.bsize": "4096"}) == 0


def test_what_each_tool_prints_is_read() -> None:
    for (filesystem, name), words in SOME.items():
        found, wanted = made(filesystem, name), dict(pair.split("=") for pair in words.split())
        assert {key: found.get(key) for key in wanted} == wanted, name


def test_the_flags_of_btrfs_are_read_and_nothing_else_in_brackets() -> None:
    old = {"mixed_backref", "extended_iref", "skinny_metadata"}
    flags = {
        "dump-super-4.20": old | {"big_metadata"},
        "dump-super-6.2": old | {"free_space_tree", "free_space_tree_valid", "no_holes"},
        "dump-super-6.2-no-free-space-tree": old | {"no_holes"},
    }
    for name, wanted in flags.items():
        found = made("btrfs", name)
        assert {flag for flag, value in found.items() if value == "on"} == wanted, name
        assert found["csum_type"] == "0 (crc32c)"


def test_two_equal_mkfs_have_equal_features() -> None:
    first = text("dumpe2fs-1.47.0-ext4")
    second = first.replace("Filesystem UUID:          ", "Filesystem UUID:          f").replace("Nov 21", "Nov 22")
    assert first != second
    assert parse_mkfs_features("ext4", first) == parse_mkfs_features("ext4", second)


@given(st.sampled_from(["ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "raw"]), st.text())
def test_no_text_is_too_odd_to_be_read(filesystem: str, odd: str) -> None:
    assert all(feature.scope == "mkfs" for feature in parse_mkfs_features(filesystem, odd))


def test_all_options_of_ext4_are_read_with_their_values() -> None:
    found = {feature.name: feature.value for feature in parse_options(text("ext4-options-6.18").splitlines())}
    assert (found["data"], found["commit"], found["nodelalloc"]) == ("writeback", "30", "on")
    assert "delalloc" not in found
    assert len(found) == 27


NAMES = st.text(st.characters(codec="ascii", categories=["Ll", "Nd"], include_characters="_-"), min_size=1)


@given(st.dictionaries(NAMES, st.none() | NAMES))
def test_options_come_back_as_they_were_written(options: dict[str, str | None]) -> None:
    words = [name if value is None else f"{name}={value}" for name, value in options.items()]
    assert parse_options(words) == tuple(
        Feature("mount", name, "on" if value is None else value) for name, value in options.items()
    )


MOUNTINFO = "36 25 7:9 / /m rw,nosuid shared:1 - {kind} /dev/loop9 rw,data=ordered\n"


def test_a_filesystem_is_shown_with_the_driver_that_serves_it() -> None:
    (entry,) = parse_mountinfo(MOUNTINFO.format(kind="ext3"))
    found = effective_options(entry, text("ext3-options-6.18"))
    assert found[0] == Feature("mount", "driver", "ext4")
    assert {("nobarrier", "on"), ("nosuid", "on"), ("data", "ordered")} <= {(f.name, f.value) for f in found}
    assert len({feature.name for feature in found}) == len(found)
    (entry,) = parse_mountinfo(MOUNTINFO.format(kind="xfs"))
    assert effective_options(entry, "")[0] == Feature("mount", "driver", "xfs")
