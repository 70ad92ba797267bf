from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.devices.evidence import Unread
from fsconsole.devices.graph import tree_rows
from fsconsole.devices.snapshot import find_device, take_snapshot
from fsconsole.devices.sysfs import (
    normal_wwn,
    parse_scheduler,
    parse_uevent,
    parse_vpd_serial,
    read_device,
    read_hardware,
)
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind, MdMember, MountUse
from tests.unit.devices.system_tree import GIB, SystemTree

UDEV = Path(__file__).parents[2] / "data" / "udev"


@pytest.fixture
def tree(tmp_path: Path) -> SystemTree:
    return SystemTree(tmp_path)


def test_a_sata_disk_tells_all_that_sysfs_has_of_it(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    assert tree.devices()["sda"] == Device(
        name="sda",
        path="/dev/sda",
        kind=DeviceKind.DISK,
        major=8,
        minor=0,
        size_bytes=8 * GIB,
        rotational=True,
        model="ST8000NM0055-1RM",
        serial="ZC1D9HJQ",
        wwn="0x5000c500a1b2c3d4",
        transport="ata",
        physical_sector_bytes=4096,
        minimum_io_bytes=4096,
        read_ahead_bytes=128 * 1024,
        scheduler="mq-deadline",
        schedulers=("none", "mq-deadline", "kyber"),
        write_cache="write back",
    )


def test_disks_of_other_buses_tell_what_sysfs_has_of_them(tree: SystemTree) -> None:
    bridge = "pci0000:00/0000:00:14.0/usb2/2-1"
    nvme: dict[str, str | bytes] = {
        "device/model": "SAMSUNG MZQL23T8HCLS-00A07              ",
        "device/serial": "S64HNE0R602513      ",
        "wwid": "eui.36344830526025130025384500000001",
        "diskseq": "3",
    }
    # An NVMe namespace is known by its own wwid; a USB disk is USB though it is SCSI too.
    tree.add("pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1", "259:0", GIB, nvme)
    virtio = {"serial": "disk-42", "device/vendor": "0x1af4"}
    tree.add("pci0000:00/0000:00:05.0/virtio2/block/vda", "252:0", GIB, virtio)
    usb = f"{bridge}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdc"
    tree.add(usb, "8:32", GIB, {"device/model": "Elements 25A2"})
    (tree.sys / "devices" / bridge / "serial").write_text("575834314442384B\n")
    found = tree.devices()
    assert {name: (d.model, d.serial, d.wwn, d.transport, d.diskseq) for name, d in found.items()} == {
        "nvme0n1": ("SAMSUNG MZQL23T8HCLS-00A07", "S64HNE0R602513", nvme["wwid"], "nvme", 3),
        "vda": ("", "disk-42", "", "virtio", 0),
        "sdc": ("Elements 25A2", "575834314442384B", "", "usb", 0),
    }
    assert {device.kind for device in found.values()} == {DeviceKind.DISK}
    for index in (10, 9):
        tree.add(f"virtual/block/nvme{index}n1", f"259:{index}", GIB)
    assert [device.name for device in tree.discover()] == ["nvme0n1", "nvme9n1", "nvme10n1", "sdc", "vda"]


def test_a_partition_has_its_disks_hardware_and_its_own_size_and_place(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    tree.partition("sda", "sda1", "8:1")
    partition = tree.devices()["sda1"]
    assert (partition.kind, partition.parent) == (DeviceKind.PARTITION, "sda")
    assert (partition.size_bytes, partition.partition_start_bytes) == (GIB, 2048 * 512)
    assert partition.partition_uuid == "b2d9a1c4-01"
    assert (partition.serial, partition.wwn, partition.scheduler) == (
        "ZC1D9HJQ",
        "0x5000c500a1b2c3d4",
        "mq-deadline",
    )


def test_an_array_has_what_mdstat_says_of_it(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    tree.sata("sdb", "8:16")
    tree.array("md0", "9:0", GIB, "sda", "sdb")
    tree.write_proc(
        "mdstat",
        "Personalities : [raid1] \nmd0 : active raid1 sdb[1] sda[0]\n      1048576 blocks [2/2] [UU]\n",
    )
    devices = tree.devices()
    assert devices["md0"].lower == ("sda", "sdb")
    assert devices["sda"].holders == ("md0",)
    md = devices["md0"].md
    assert md is not None
    assert md.members == (MdMember("sdb", 1), MdMember("sda", 0))


def test_an_inactive_array_is_listed_though_it_has_no_size(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    tree.array("md127", "9:127", 0, "sda")
    tree.array("md5", "9:5", 0)
    tree.write_proc("mdstat", "Personalities : \nmd127 : inactive sda[0](S)\n      8 blocks super 1.2\n")
    devices = tree.devices()
    assert devices["md127"].md is not None
    assert "md5" not in devices
    tree.write_proc("mdstat", "md0 : sleeping sda[0]\n")
    with pytest.raises(KernelUnreadable):
        tree.discover()


def test_a_volume_on_an_array_is_dm(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    tree.array("md0", "9:0", GIB, "sda")
    tree.volume("dm-0", "253:0", "vg-data", "md0")
    volume = tree.devices()["dm-0"]
    assert (volume.kind, volume.dm_name, volume.dm_uuid) == (DeviceKind.DM, "vg-data", "LVM-x1y2z3")
    assert [row.device.name for row in tree_rows(tree.discover())] == ["sda", "md0", "dm-0"]


def test_what_has_no_size_or_no_number_is_left_out_and_what_is_no_disk_is_not_called_one(
    tree: SystemTree,
) -> None:
    tree.add("virtual/block/loop0", "7:0", 0)
    hidden = tree.add("pci0/nvme/nvme0/nvme0c0n1", "259:9", GIB)
    (hidden / "dev").unlink()
    assert tree.discover() == ()
    tree.add("virtual/block/zram0", "253:0", GIB)
    tree.add("pci0/ata2/host1/target1:0:0/1:0:0:0/block/sr0", "11:0", GIB, {"device/model": "DVD"})
    assert {device.kind for device in tree.discover()} == {DeviceKind.OTHER}
    # A name with a slash has it in its path.
    tree.add("pci0/cciss0/block/cciss!c0d0", "104:0", GIB, {"device/model": "LOGICAL VOLUME"})
    assert tree.devices()["cciss!c0d0"].path == "/dev/cciss/c0d0"


def test_a_device_that_vanishes_while_being_read_is_left_out(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    (tree.sys / "class/block/sdz").symlink_to("../../devices/gone/sdz")
    assert list(tree.devices()) == ["sda"]
    with pytest.raises(DeviceMissing):
        read_device("sdz", str(tree.sys))


def test_mounts_are_matched_by_number_and_not_by_name(tree: SystemTree) -> None:
    tree.sata("sda", "8:0")
    tree.write_proc(
        "self/mountinfo", "30 1 8:0 / / rw - ext4 /dev/root rw\n31 1 8:0 /etc /bound rw - ext4 /dev/root rw\n"
    )
    tree.write_proc("1/mountinfo", "30 1 8:0 / / rw - ext4 /dev/root rw\n40 1 8:0 / /host rw - ext4 /dev/sdq rw\n")
    assert tree.devices()["sda"].mounts == (
        MountUse("/", "ext4", "self"),
        MountUse("/host", "ext4", "init"),
        MountUse("/bound", "ext4", "self"),
    )


def test_every_device_of_a_mounted_btrfs_is_in_use_also_out_of_sight_and_none_by_a_network_filesystem(
    tree: SystemTree,
) -> None:
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")):
        tree.sata(name, number)
    for name, number in (("sda", "8:0"), ("sdb", "8:16")):
        tree.mounted_btrfs(name, number)
    (tree.sys / "fs/btrfs/features").mkdir()
    tree.write_proc("self/mountinfo", "31 1 0:50 / /mnt rw - nfs4 server:/dev/sdc rw\n")
    assert tree.devices()["sda"].mounts == (MountUse("", "btrfs", "btrfs"),)
    assert tree.devices()["sdc"].mounts == ()
    tree.write_proc("self/mountinfo", "30 1 0:45 /@ /srv rw - btrfs /dev/sda rw,subvol=/@\n")
    devices = tree.devices()
    assert devices["sda"].mounts == devices["sdb"].mounts == (MountUse("/srv", "btrfs", "self"),)
    assert devices["sdc"].mounts == ()


def test_a_swap_device_that_is_no_node_here_is_not_passed_over(tree: SystemTree) -> None:
    head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    tree.write_proc("swaps", f"{head}/swapfile file 8 0 -2\n/dev/not-there partition 8 0 -3\n")
    (unread,) = take_snapshot(str(tree.sys), str(tree.proc)).unread
    assert unread == Unread("the swap areas", "the swap device /dev/not-there is no device node here")


def test_the_loop_files_of_sysfs_are_enough_without_root(tree: SystemTree) -> None:
    files: dict[str, str | bytes] = {
        "loop/backing_file": b"/srv/images/a b.img \n",
        "loop/dio": "1",
        "loop/autoclear": "0",
        "loop/offset": "4096",
    }
    tree.add("virtual/block/loop3", "7:3", GIB, files)
    loop = tree.devices()["loop3"].loop
    assert loop is not None
    assert loop.path == "/srv/images/a b.img "
    assert (loop.direct_io, loop.autoclear, loop.offset_bytes, loop.scratch_id) == (True, False, 4096, "")


def test_udev_fills_what_sysfs_lacks_and_no_more(tmp_path: Path) -> None:
    udev = {
        "ID_BUS": "ieee1394",
        "ID_SERIAL": "WD_123_long",
        "ID_SERIAL_SHORT": "123",
        "ID_MODEL": "My_Book",
        "ID_WWN": "0x6001",
    }
    found = read_hardware(str(tmp_path), "/devices/pci0/fw0/block/sda", udev)
    assert (found.model, found.serial, found.wwn, found.transport) == ("My Book", "123", "0x6001", "ieee1394")
    (tmp_path / "serial").write_text("S1\n")
    assert read_hardware(str(tmp_path), "/devices/pci0/virtio1/block/vda", udev).serial == "S1"


RECORDED = {
    "sata-disk": ("ST8000NM0055-1RM112", "ZC1D9HJQ", "0x5000c500a1b2c3d4", "ata"),
    "nvme-disk": (
        "SAMSUNG MZQL23T8HCLS-00A07",
        "S64HNE0R602513",
        "eui.36344830526025130025384500000001",
        "nvme",
    ),
    "usb-disk": ("Elements 25A2", "575834314442384B", "", "usb"),
    # Half of a LUN's name is shared by all LUNs of its array: the whole one counts.
    "iscsi-lun": ("lun0", "6001405a1b2c3d4e5f60718293a4b5c6", "0x6001405a1b2c3d4e5f60718293a4b5c6", "iscsi"),
    # The page that sysfs shows as vpd_pg80, not the name that udev makes of page 83h.
    "virtio-scsi-disk": ("QEMU HARDDISK", "S6", "0x5000000000000016", "virtio"),
    "virtio-disk-md-member": ("", "M0", "", "virtio"),
    "qemu-nvme-disk": (
        "QEMU NVMe Ctrl",
        "N8",
        "nvme.1b36-4e38-51454d55204e564d65204374726c-00000001",
        "nvme",
    ),
    "md-inactive": ("", "", "", ""),
}


def test_what_udev_recorded_serves_where_sysfs_is_silent(tmp_path: Path) -> None:
    for recorded, hardware in RECORDED.items():
        udev = parse_uevent((UDEV / f"{recorded}.txt").read_text())
        assert read_hardware(str(tmp_path), udev["DEVPATH"], udev) == hardware, recorded


def test_serial_pages_of_any_length_wwns_and_schedulers_are_read() -> None:
    for page, serial in (
        (b"\x00\x80\x00\x04ABCD", "ABCD"),
        (b"\x00\x80\x00\x06 ABCD ", "ABCD"),
        (b"", ""),
        (b"\x00\x80\xff\xffA\x1b", "A\x1b"),
    ):
        assert parse_vpd_serial(page) == serial
    assert normal_wwn("naa.5000c500a1b2c3d4") == "0x5000c500a1b2c3d4"
    assert normal_wwn("t10.ATA     QEMU HARDDISK    QM00001 ") == "t10.ATA QEMU HARDDISK QM00001"
    for text, names, chosen in (
        ("none [mq-deadline] kyber", ("none", "mq-deadline", "kyber"), "mq-deadline"),
        ("[none]", ("none",), "none"),
        ("none", ("none",), "none"),
        ("", (), ""),
    ):
        assert parse_scheduler(text) == (names, chosen)


def test_a_path_that_is_no_device_is_named_for_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(NotABlockDevice) as refused:
        find_device(str(tmp_path), ())
    assert refused.value.what == "a directory"
    with pytest.raises(NotABlockDevice) as refused:
        find_device(os.devnull, ())
    assert refused.value.what == "a character device"
    with pytest.raises(DeviceMissing):
        find_device(str(tmp_path / "missing"), ())
    with pytest.raises(DeviceMissing):
        find_device("\0", ())
