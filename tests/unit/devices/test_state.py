from __future__ import annotations

from dataclasses import replace

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.state import Claim, DeviceState, device_state, holdings, stands_on, volume_name
from fsconsole.model.device import (
    Device,
    DeviceKind,
    Hazard,
    LoopBacking,
    MdArray,
    MdMember,
    MountUse,
    Signature,
    Usage,
    Verdict,
)
from tests.tui.device_lists import ARRAY as ARRAY_OF_DISKS
from tests.tui.device_lists import FREE, MULTIPATH, SCRATCH, SYSTEM, VOLUMES

DISK = Device("sda", "/dev/sda", DeviceKind.DISK, 8, 0, 2**30)
EXT4 = Signature("ext4", Usage.FILESYSTEM, 1080, "label", "0a1b")
ARRAY = MdArray("md0", active=True, read_only=False, level="raid1", members=(), size_bytes=2**30)


def hazard(reason: str, verdict: Verdict) -> Hazard:
    return Hazard("check", verdict, "/dev/sda", reason, "hint")


def state(device: Device, *others: Device, hazards: tuple[Hazard, ...] | None = ()) -> DeviceState:
    return device_state(device, DeviceGraph((device, *others)), hazards)


def test_a_device_without_use_hazard_or_content_is_free() -> None:
    assert state(DISK) == DeviceState(Claim.FREE, "free")


def test_nothing_is_called_free_unless_the_gate_was_asked() -> None:
    assert state(DISK, hazards=None) == DeviceState(Claim.UNKNOWN, "no use seen")


def test_what_uses_a_device_is_named() -> None:
    many = (MountUse("/a", "xfs", "self"), MountUse("/b", "xfs", "init"))
    for device, text in (
        (replace(DISK, mounts=(MountUse("/", "ext4", "self"),)), "ext4 mounted on /"),
        (replace(DISK, mounts=many), "xfs mounted on /a and 1 more"),
        (replace(DISK, mounts=(MountUse("", "btrfs", "btrfs"),)), "btrfs mounted out of sight"),
        (replace(DISK, swap=True), "swap"),
        (replace(DISK, holders=("md0",)), "member of md0"),
        (replace(DISK, holders=("dm-0", "dm-1")), "held by dm-0; held by dm-1"),
    ):
        assert state(device) == DeviceState(Claim.IN_USE, text)
        assert state(device, hazards=None).claim is Claim.IN_USE


def test_what_a_member_is_in_its_array_is_told() -> None:
    told = {
        "": "member of",
        "W": "member of",
        "S": "spare of",
        "F": "failed member of",
        "WF": "failed member of",
    }
    told |= {"J": "journal of", "R": "replacement in", "inactive": "member of"}
    for flags, words in told.items():
        members = (MdMember("sdb", 0, ""), MdMember("sda", 1, flags.replace("inactive", "S")))
        array = replace(ARRAY, members=members, active=flags != "inactive")
        md0 = Device("md0", "/dev/md0", DeviceKind.MD, 9, 0, 2**30, lower=("sda", "sdb"), md=array)
        assert state(replace(DISK, holders=("md0",)), md0) == DeviceState(Claim.IN_USE, f"{words} md0"), flags


def test_a_disk_is_in_use_when_a_partition_is() -> None:
    partition = replace(
        DISK, name="sda1", path="/dev/sda1", parent="sda", kind=DeviceKind.PARTITION, swap=True
    )
    assert state(DISK, partition) == DeviceState(Claim.IN_USE, "in use: sda1")
    assert state(DISK, replace(partition, swap=False)).claim is Claim.FREE


def test_a_device_below_a_loop_is_held_by_it() -> None:
    backing = LoopBacking("/dev/sda", 5, 7, direct_io=True, autoclear=False)
    loop = Device("loop0", "/dev/loop0", DeviceKind.LOOP, 7, 0, 1, loop=backing)
    assert state(DISK, loop) == DeviceState(Claim.IN_USE, "held by loop0")


def test_the_troubles_of_an_array_are_told() -> None:
    for changes, text in (
        ({"action": "resync", "progress_percent": 41.3}, "resync 41 %"),
        ({"action": "PENDING"}, "resync pending"),
        ({"degraded": 1, "slots": "U_"}, "degraded U_"),
        ({"active": False}, "inactive array"),
    ):
        array = replace(ARRAY, **changes)  # type: ignore[arg-type]
        device = replace(DISK, name="md0", kind=DeviceKind.MD, md=array)
        assert state(device) == DeviceState(Claim.HAZARDOUS, text)


def test_read_only_is_a_hazard_and_told_once() -> None:
    refused = hazard("is read-only", Verdict.REFUSED)
    assert state(replace(DISK, read_only=True), hazards=(refused,)) == DeviceState(
        Claim.HAZARDOUS, "read-only"
    )


def test_what_a_device_holds_is_told_with_its_label() -> None:
    device = replace(DISK, signatures=(EXT4,))
    found = state(device, hazards=(hazard("holds ext4 and so on", Verdict.ASKED),))
    assert found == DeviceState(Claim.HAZARDOUS, "holds ext4 'label'")


def test_the_gates_own_reasons_are_told_where_nothing_else_is() -> None:
    refused = hazard("is open in process 7 (qemu)", Verdict.REFUSED)
    asked = hazard("holds data without a signature", Verdict.ASKED)
    assert state(DISK, hazards=(refused, asked)).text == "is open in process 7 (qemu)"
    assert state(DISK, hazards=(asked,)).text == "holds data without a signature"


def test_copies_of_a_partition_table_are_one() -> None:
    table = Signature("gpt", Usage.PARTITION_TABLE, 512)
    backup, guard = replace(table, offset_bytes=2**30), Signature("PMBR", Usage.PARTITION_TABLE, 510)
    assert holdings((table, backup, guard)) == "a gpt partition table"
    assert holdings(()) == ""


def test_a_hostile_label_is_visible_and_does_nothing() -> None:
    device = replace(DISK, signatures=(replace(EXT4, label="[/x]\x1b[31m\n"),))
    assert state(device).text == r"holds ext4 '[/x]\x1b[31m\n'"


def test_what_a_scratch_device_holds_makes_it_no_less_free() -> None:
    backing = LoopBacking("/scratch.img", 5, 7, direct_io=True, autoclear=False, scratch_id="0a1b2c3d")
    scratch = replace(DISK, kind=DeviceKind.LOOP, loop=backing, signatures=(EXT4,))
    assert state(scratch) == DeviceState(Claim.FREE, "free; holds ext4 'label'")
    refused = hazard("is locked by another run or tool", Verdict.REFUSED)
    assert state(scratch, hazards=(refused,)).claim is Claim.HAZARDOUS
    assert state(scratch, hazards=None).claim is not Claim.FREE


def test_a_device_is_called_what_its_owner_calls_it() -> None:
    for device, words in (
        (SCRATCH, "loop over /var/lib/fsconsole/scratch/scratch-0a1b2c3d.img"),
        (VOLUMES[0], "LV vg/home"),
        (MULTIPATH, "multipath mpatha"),
        (replace(MULTIPATH, dm_uuid="CRYPT-LUKS2-1234", dm_name="safe"), "encrypted volume safe"),
        (replace(MULTIPATH, dm_uuid="", dm_name="made by hand"), "dm made by hand"),
        (ARRAY_OF_DISKS, "md raid5 of"),
        (SYSTEM[1], "partition of sda"),
        (FREE, ""),
        (Device("ram0", "/dev/ram0", DeviceKind.OTHER, 1, 0, 4096), ""),
    ):
        assert stands_on(device).startswith(words)
        assert bool(stands_on(device)) is bool(words)


def test_doubled_dashes_of_a_volume_are_dashes() -> None:
    names = ("vg-lv", "my--vg-lv--old", "vg---lv", "alone")
    assert [volume_name(name) for name in names] == ["vg/lv", "my-vg/lv-old", "vg-/lv", "alone"]
