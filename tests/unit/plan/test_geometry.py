"""An array's stripes, from what mdstat says of it, and what is said of them before a device is formatted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.devices.md import parse_mdstat
from fsconsole.model.device import Device, DeviceKind
from fsconsole.plan.arrays import geometry, geometry_of, stripes_of
from fsconsole.text import KIB, MIB

MDSTAT = """Personalities : [raid6] [raid5] [raid4]
md0 : active raid5 sdd1[4](S) sdc1[3](J) sdb1[1] sda1[0] sde1[2]
      1225728 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]
"""
(RAID5,) = parse_mdstat(MDSTAT)
DISK = Device("sda", "/dev/sda", DeviceKind.DISK, 8, 0, 2000 * MIB, physical_sector_bytes=4096)
MEMBER = Device(
    "sda1", "/dev/sda1", DeviceKind.PARTITION, 8, 1, 600 * MIB, parent="sda", partition_start_bytes=MIB
)
ARRAY = Device(
    "md0", "/dev/md0", DeviceKind.MD, 9, 0, RAID5.size_bytes, lower=("sda1",), md=RAID5,
    minimum_io_bytes=64 * KIB, optimal_io_bytes=128 * KIB,
)  # fmt: skip
PART = Device(
    "md0p1", "/dev/md0p1", DeviceKind.PARTITION, 259, 0, 100 * MIB, parent="md0", partition_start_bytes=128 * KIB,
    minimum_io_bytes=64 * KIB, optimal_io_bytes=128 * KIB,
)  # fmt: skip
VOLUME = Device("dm-0", "/dev/dm-0", DeviceKind.DM, 253, 0, 50 * MIB, lower=("md0p1",))


@pytest.mark.parametrize(
    ("level", "disks", "near_copies", "data_disks"),
    [
        ("raid0", 4, 0, 4), ("raid4", 4, 0, 3), ("raid5", 4, 0, 3), ("raid6", 4, 0, 2), ("raid10", 4, 2, 2),
        # An odd number of disks, and copies that are far away: md counts all disks (drivers/md/raid10.c).
        ("raid10", 5, 2, 5), ("raid10", 4, 0, 4), ("raid10", 6, 3, 2), ("raid5", 2, 0, 1),
    ],
)  # fmt: skip
def test_each_level_spreads_a_stripe_over_its_data_disks(
    level: str, disks: int, near_copies: int, data_disks: int
) -> None:
    shape = geometry(level, 64 * KIB, disks, near_copies)
    assert shape is not None
    assert (shape.data_disks, shape.stripe_bytes) == (data_disks, data_disks * 64 * KIB)
    assert shape.ext4_words == f"-E stride=16,stripe_width={16 * data_disks}"
    assert shape.xfs_words == f"-d su=64k,sw={data_disks}"


@pytest.mark.parametrize(
    ("level", "chunk_bytes", "disks"),
    [
        ("linear", 64 * KIB, 4),
        ("raid1", 0, 4),
        ("", 0, 1),
        ("raid6", 64 * KIB, 2),
        ("raid0", 512, 2),
        ("faulty", 0, 1),
    ],
)
def test_what_has_no_stripes_has_no_geometry(level: str, chunk_bytes: int, disks: int) -> None:
    assert geometry(level, chunk_bytes, disks) is None


def test_spares_and_a_journal_hold_no_part_of_a_stripe() -> None:
    shape = geometry_of(RAID5)
    assert shape is not None
    assert shape.data_disks == 2
    striped = replace(RAID5, level="raid0", slots="")
    assert geometry_of(striped) == geometry("raid0", 64 * KIB, 3)


def test_an_array_that_is_reshaped_has_no_geometry_yet() -> None:
    assert geometry_of(replace(RAID5, action="reshape")) is None


def test_of_an_array_the_words_for_mkfs_are_told_and_that_mkfs_sees_them_itself() -> None:
    told = stripes_of(ARRAY, (DISK, MEMBER, ARRAY))
    assert told.sentences == (
        "/dev/md0 holds 64KiB on each of 2 data disks, 128KiB in all: "
        "ext4 -E stride=16,stripe_width=32; xfs -d su=64k,sw=2; mkfs sees that itself",
    )


def test_of_a_small_array_mkfs_xfs_is_said_to_take_no_stripes_by_itself() -> None:
    told = stripes_of(replace(ARRAY, size_bytes=1023 * MIB), (DISK, MEMBER, ARRAY))
    assert told.words.endswith("; mkfs.ext4 sees that itself, mkfs.xfs only from 1 GiB on")


def test_a_volume_on_an_array_has_its_stripes_and_is_told_that_mkfs_cannot_see_them() -> None:
    told = stripes_of(VOLUME, (DISK, MEMBER, ARRAY, PART, VOLUME))
    assert told.words == (
        "ext4 -E stride=16,stripe_width=32; xfs -d su=64k,sw=2; the kernel tells mkfs otherwise, so name it"
    )


def test_a_volume_over_two_arrays_and_a_plain_disk_have_no_stripes_told() -> None:
    over_two = replace(VOLUME, lower=("md0", "md1"))
    assert stripes_of(over_two, (DISK, MEMBER, ARRAY, replace(ARRAY, name="md1"), over_two)).sentences == ()
    assert stripes_of(DISK, (DISK, MEMBER, ARRAY)).sentences == ()


@pytest.mark.parametrize(
    ("start_bytes", "why"),
    [
        (31 * 512, "begins at byte 15872, no multiple of 4096: each block lies on two sectors"),
        (4 * KIB, "begins at byte 4096, inside a chunk of /dev/md0"),
        (64 * KIB, "begins at byte 65536, inside a stripe of /dev/md0"),
        (128 * KIB, ""),
    ],
)
def test_a_partition_of_an_array_is_cautioned_about_where_it_begins(start_bytes: int, why: str) -> None:
    part = replace(PART, partition_start_bytes=start_bytes)
    # Whoever looks at the volume on it is told too.
    for device in (part, VOLUME):
        cautions = stripes_of(device, (DISK, MEMBER, ARRAY, part, VOLUME)).cautions
        assert [why in caution for caution in cautions] == ([True] if why else []), cautions


def test_without_parity_a_stripe_may_be_written_in_part() -> None:
    striped = replace(ARRAY, md=replace(RAID5, level="raid0", slots="UU"))
    part = replace(PART, partition_start_bytes=64 * KIB)
    assert stripes_of(part, (striped, part)).cautions == ()


def test_a_member_that_begins_inside_a_sector_is_told_of_the_array() -> None:
    member = replace(MEMBER, partition_start_bytes=63 * 512)
    told = stripes_of(ARRAY, (DISK, member, ARRAY))
    assert told.cautions == (
        "/dev/sda1 begins at byte 32256, no multiple of 4096: each block lies on two sectors",
    )
