"""What a fingerprint tells of: every change of a device, and nothing but changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.fingerprint import NOT_COUNTED, changes
from fsconsole.model.device import Fingerprint, Identity, PlacedSignature, Signature, Usage

EXT4 = PlacedSignature(0, Signature("ext4", Usage.FILESYSTEM, 0x438, uuid="8f3c"), ("last write 17", "mount count 2"))
SWAP = PlacedSignature(2**20, Signature("swap", Usage.OTHER, 4086, label="spare"))
KNOWN = Fingerprint(
    Identity("sdb", "boot 1", 2064, 2**30, diskseq=9, wwn="0x5000"),
    ((2**20, 2**29),),
    (EXT4, SWAP),
    "c0ffee",
    ("1000", "64"),
)
AFTER_A_REBOOT = replace(
    KNOWN, identity=replace(KNOWN.identity, name="sdc", boot_id="boot 2", diskseq=3), written=("7", "0")
)


def test_a_device_that_nobody_touched_is_the_same_after_a_reboot_and_under_another_name_too() -> None:
    assert changes(KNOWN, KNOWN) == ()
    assert changes(KNOWN, AFTER_A_REBOOT) == ()


CHANGED = {
    "another disk": (replace(KNOWN, identity=replace(KNOWN.identity, wwn="0x5001")), "WWN: 0x5000, now 0x5001"),
    "another medium": (replace(KNOWN, identity=replace(KNOWN.identity, diskseq=10)), "sequence number (diskseq): 9, now 10"),
    "mounted and written": (
        replace(KNOWN, signatures=(replace(EXT4, marks=("last write 18", "mount count 3")), SWAP)),
        "ext4 UUID 8f3c was written: last write 17, mount count 2, now last write 18, mount count 3",
    ),
    "made anew": (
        replace(KNOWN, signatures=(replace(EXT4, signature=replace(EXT4.signature, uuid="77aa")), SWAP)),
        "ext4 UUID 77aa is new on it; ext4 UUID 8f3c is gone from it",
    ),
    "a signature gone": (replace(KNOWN, signatures=(EXT4,)), "swap 'spare' in the partition at byte 1048576 is gone from it"),
    "a partition more": (
        replace(KNOWN, partitions=(*KNOWN.partitions, (2**29, 2**20))),
        "a partition of 1MiB at byte 536870912 is new on it",
    ),
    "no partition": (replace(KNOWN, partitions=()), "a partition of 512MiB at byte 1048576 is gone from it"),
    "other blocks": (replace(KNOWN, content="decaf"), "sampled blocks changed"),
    "a write anywhere": (
        replace(KNOWN, written=("1008", "64")),
        "somebody wrote to it (sectors written and discarded, or its file's time)",
    ),
    "a discard anywhere": (
        replace(KNOWN, written=("1000", "72")),
        "somebody wrote to it (sectors written and discarded, or its file's time)",
    ),
    "not counted for a time": (
        replace(KNOWN, written=(NOT_COUNTED, "1700000000", "65536")),
        "its writes were not counted all the time (queue/iostats was changed)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("now", "said"), CHANGED.values(), ids=CHANGED)
def test_every_change_is_told(now: Fingerprint, said: str) -> None:
    assert "; ".join(changes(KNOWN, now)) == said


def test_a_disk_without_anything_that_lasts_is_not_known_again_after_a_reboot() -> None:
    bare, later = (replace(one, identity=replace(one.identity, wwn="")) for one in (KNOWN, AFTER_A_REBOOT))
    assert changes(bare, bare) == ()
    assert changes(bare, later) == ("it has no WWN, serial number or marker that lasts across a reboot",)


def test_what_went_past_a_partition_is_not_compared_where_its_disk_was_too_busy_at_one_of_two_looks() -> None:
    quiet, busy = (replace(KNOWN, written=("300", "32", *beside)) for beside in (("100", "0"), (NOT_COUNTED,)))
    assert changes(quiet, busy) == changes(busy, quiet) == ()


def test_each_filesystem_of_the_catalog_has_a_mark_within_the_bytes_that_are_read() -> None:
    for filesystem in load_catalog().filesystems:
        assert filesystem.marks, filesystem.name
        assert all(mark.offset + mark.bytes <= 128 * 1024 for mark in filesystem.marks), filesystem.name
