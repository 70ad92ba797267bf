from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.devices.evidence import Use, UseKind
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.sysfs import parse_number
from fsconsole.devices.uses import (
    array_uses,
    btrfs_uses,
    export_uses,
    holder_uses,
    loop_uses,
    mounted_numbers,
    table_uses,
)
from fsconsole.model.device import LoopBacking, MdArray, MdMember, MountUse
from fsconsole.system.mounts import parse_mountinfo
from tests.unit.gate.made import (
    LOOP0,
    SDA,
    SDB,
    SDB1,
    device,
    number,
    over,
)

LOOP1 = device("loop1", 7, 1)


def test_mounts_swap_and_members_of_a_btrfs_are_told_and_a_mount_of_pid_1_says_where_it_is_seen() -> None:
    mounts = (MountUse("/srv", "xfs", "self"), MountUse("/b", "xfs", "init"), MountUse("", "btrfs", "btrfs"))
    used = table_uses((replace(SDB1, mounts=mounts), replace(SDA, swap=True), SDB))
    assert list(used) == [
        Use(UseKind.MOUNT, number(SDB1), "is mounted on /srv (xfs)"),
        Use(UseKind.MOUNT, number(SDB1), "is mounted on /b (xfs) in the mount table of PID 1"),
        Use(UseKind.SWAP, number(SDA), "is in use as swap"),
    ]
    members = btrfs_uses({"u-1": frozenset({number(SDA), number(SDB)})})
    assert {use.number for use in members} == {number(SDA), number(SDB)}
    assert parse_number("259:7") == os.makedev(259, 7)


def test_a_mount_stands_on_all_devices_that_it_names() -> None:
    listed = {"/dev/sda": 1, "/dev/sdb": 2, "/dev/log": 3}
    for line, numbers in (
        ("36 35 8:17 / /srv rw - ext4 /dev/root rw", {number(SDB1)}),
        ("36 35 8:17 / /srv rw - xfs /dev/sda rw,logdev=/dev/log", {number(SDB1), 3}),
        ("36 35 0:40 / /srv rw - bcachefs /dev/sda:/dev/sdb rw", {40, 1, 2}),
        ("36 35 0:50 / /mnt rw - nfs4 server:/dev/sda rw", {50}),
    ):
        (mount,) = parse_mountinfo(line)
        assert mounted_numbers(mount, listed) == numbers, line


def test_an_array_uses_its_members_even_where_it_is_inactive_or_a_name_has_a_slash() -> None:
    members = (MdMember("sdb", 0), MdMember("gone", 1, "F"), MdMember("cciss/c0d0", 2))
    arrays = (MdArray("md127", False, False, "", members, 0),)
    disk = replace(SDA, name="cciss!c0d0")
    clause = "is a member of the inactive array /dev/md127"
    assert list(array_uses(arrays, DeviceGraph((disk, SDB)))) == [
        Use(UseKind.ARRAY, number(SDB), clause),
        Use(UseKind.ARRAY, number(disk), clause),
    ]


def test_a_holder_is_told_with_its_name_and_where_it_is_mounted() -> None:
    volume = device("dm-0", 253, 0, dm_name="vg-srv", mounts=(MountUse("/srv", "xfs", "self"),))
    held = replace(SDB1, holders=("dm-0", "bcache0"))
    clauses = [use.clause for use in holder_uses(DeviceGraph((held, volume)))]
    assert clauses == ["is held by /dev/dm-0 (vg-srv), which is mounted on /srv", "is held by /dev/bcache0"]


def test_a_volume_with_a_snapshot_is_told_and_the_layer_below_both_is_held_by_both() -> None:
    origin = device("dm-0", 253, 0, dm_name="vg-srv", dm_uuid="LVM-group1", lower=("dm-1",))
    layer = device("dm-1", 253, 1, dm_name="vg-srv-real", dm_uuid="LVM-group1-real", holders=("dm-0", "dm-2"))
    shot = device("dm-2", 253, 2, dm_name="vg-shot", dm_uuid="LVM-group2", lower=("dm-1",))
    uses = list(holder_uses(DeviceGraph((origin, layer, shot))))
    assert [use.number for use in uses] == [number(layer), number(layer), number(origin)]
    assert uses[-1].clause == "has the snapshot /dev/dm-2 (vg-shot)"


def test_a_loop_uses_the_device_it_stands_on_or_the_one_that_holds_its_file() -> None:
    backing = LoopBacking("/srv/f", number(SDB1), 12, direct_io=True, autoclear=False)
    uses = list(loop_uses((SDB, over(LOOP0, SDB), replace(LOOP1, loop=backing))))
    assert [(use.kind, use.number, use.by) for use in uses] == [
        (UseKind.LOOP, number(SDB), number(LOOP0)),
        (UseKind.LOOP, number(SDB1), number(LOOP1)),
    ]


def test_two_loops_over_one_file_are_told_of_each_other_unless_nobody_may_ask_them() -> None:
    twin = replace(LOOP1, loop=LOOP0.loop)
    shared = [use for use in loop_uses((LOOP0, twin)) if use.kind is UseKind.SAME_FILE]
    assert {(use.number, use.by) for use in shared} == {
        (number(LOOP0), number(LOOP1)),
        (number(LOOP1), number(LOOP0)),
    }
    unknown = LoopBacking("/srv/disk", 0, 0, direct_io=True, autoclear=False)
    assert list(loop_uses((replace(LOOP0, loop=unknown), replace(LOOP1, loop=unknown)))) == []


def served(sys_root: Path, attribute: str, path: str) -> None:
    file = sys_root / attribute
    file.parent.mkdir(parents=True)
    file.write_text(f"{path}\n")


DISK_HERE = "/not/a/disk here"
EXPORTS = [
    ("kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path", "NVMe target"),
    ("kernel/config/target/core/fileio_0/disk/udev_path", "LIO target"),
    ("kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file", "USB gadget"),
]


def test_a_loop_whose_file_is_exported_is_in_use_and_what_is_not_to_be_found_is_not_passed_over(
    tmp_path: Path,
) -> None:
    image = tmp_path / "image"
    image.touch()
    found = image.stat()
    backing = LoopBacking(str(image), found.st_dev, found.st_ino, direct_io=False, autoclear=False)
    for attribute, name in EXPORTS:
        here, gone = tmp_path / name / "here", tmp_path / name / "gone"
        served(here, attribute, str(image))
        (use,) = export_uses((replace(LOOP0, loop=backing),), str(here))
        assert (use.kind, use.number) == (UseKind.EXPORT, number(LOOP0))
        assert use.clause.startswith(f"is exported by the {name}")
        served(gone, attribute, "/not/there")
        with pytest.raises(LookupError):
            list(export_uses((), str(gone)))


def test_a_device_that_lio_serves_as_a_file_is_told_though_nobody_named_it_to_udev(tmp_path: Path) -> None:
    served(tmp_path / "sys", "kernel/config/target/core/fileio_0/disk/udev_path", "")
    said = (
        f"Status: ACTIVATED\n        TCM FILEIO ID: 0        File: {DISK_HERE}  Size: 33554432  Mode: O_DSYNC Async: 0"
    )
    (tmp_path / "sys/kernel/config/target/core/fileio_0/disk/info").write_text(said)
    with pytest.raises(LookupError, match=f"{DISK_HERE} is exported"):
        list(export_uses((), str(tmp_path / "sys")))


def test_an_export_without_a_device_yet_is_none_and_one_that_is_hidden_or_cant_be_read_is_not_passed_over(
    tmp_path: Path,
) -> None:
    for attribute, path in zip((row[0] for row in EXPORTS), ("", "(null)", ""), strict=True):
        served(tmp_path / "sys", attribute, path)
    assert list(export_uses((), str(tmp_path / "sys"))) == []
    for module in ("nvmet", "target_core_mod", "usb_f_mass_storage"):
        assert list(export_uses((), str(tmp_path / module))) == []
        (tmp_path / module / "module" / module).mkdir(parents=True)
        with pytest.raises(LookupError, match="mount configfs"):
            list(export_uses((), str(tmp_path / module)))
    (tmp_path / "unreadable" / EXPORTS[0][0]).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        list(export_uses((), str(tmp_path / "unreadable")))
