from __future__ import annotations

from dataclasses import replace

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.hazards import SCRATCH_KEPT
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


TABLE = Signature("gpt", Usage.PARTITION_TABLE, 512)
GUARD = Signature("PMBR", Usage.PARTITION_TABLE, 510)
PART = replace(DISK, name="sda1", path="/dev/sda1", parent="sda", kind=DeviceKind.PARTITION, swap=True)
MANY = (MountUse("/a", "xfs", "self"), MountUse("/b", "xfs", "init"))
BACKING = LoopBacking("/dev/sda", 5, 7, direct_io=True, autoclear=False)
LOOP = Device("loop0", "/dev/loop0", DeviceKind.LOOP, 7, 0, 1, loop=BACKING)
OPEN, DATA = hazard("is open in process 7 (qemu)", Verdict.REFUSED), hazard("holds data", Verdict.ASKED)


def array(**facts: object) -> Device:
    return replace(DISK, name="md0", kind=DeviceKind.MD, md=replace(ARRAY, **facts))  # type: ignore[arg-type]


USED: tuple[tuple[tuple[Device, ...], str], ...] = (
    ((replace(DISK, mounts=(MountUse("/", "ext4", "self"),)),), "ext4 mounted on /"),
    ((replace(DISK, mounts=MANY),), "xfs mounted on /a and 1 more"),
    ((replace(DISK, mounts=(MountUse("", "btrfs", "btrfs"),)),), "btrfs mounted out of sight"),
    ((replace(DISK, swap=True),), "swap"),
    ((replace(DISK, holders=("md0",)),), "member of md0"),
    ((replace(DISK, holders=("dm-0", "dm-1")),), "held by dm-0; held by dm-1"),
    ((DISK, PART), "in use: sda1"),
    ((DISK, LOOP), "held by loop0"),
)
NOT_USED: tuple[tuple[Device, tuple[Hazard, ...] | None, Claim, str], ...] = (
    (DISK, (), Claim.FREE, "free"),
    # Nothing is called free unless the gate was asked.
    (DISK, None, Claim.UNKNOWN, "no use seen"),
    (array(action="resync", progress_percent=41.3), (), Claim.HAZARDOUS, "resync 41 %"),
    (array(action="PENDING"), (), Claim.HAZARDOUS, "resync pending"),
    (array(degraded=1, slots="U_"), (), Claim.HAZARDOUS, "degraded U_"),
    (array(active=False), (), Claim.HAZARDOUS, "inactive array"),
    # What is told of the device itself is not told once more in the gate's words.
    (replace(DISK, read_only=True), (hazard("is read-only", Verdict.REFUSED),), Claim.HAZARDOUS, "read-only"),
    (replace(DISK, signatures=(EXT4,)), (DATA,), Claim.HAZARDOUS, "holds ext4 'label'"),
    (DISK, (OPEN, DATA), Claim.HAZARDOUS, OPEN.reason),
    (DISK, (DATA,), Claim.HAZARDOUS, DATA.reason),
    (
        replace(DISK, signatures=(replace(EXT4, label="[/x]\x1b[31m\n"),)),
        (),
        Claim.HAZARDOUS,
        r"holds ext4 '[/x]\x1b[31m\n'",
    ),
)


def test_what_uses_a_device_is_named_and_else_its_hazards_contents_and_troubles() -> None:
    for devices, text in USED:
        assert state(*devices) == DeviceState(Claim.IN_USE, text)
        assert state(*devices, hazards=None).claim is Claim.IN_USE
    for device, hazards, claim, text in NOT_USED:
        assert state(device, hazards=hazards) == DeviceState(claim, text)
    assert state(DISK, replace(PART, swap=False)).claim is Claim.FREE


def test_what_a_member_is_in_its_array_is_told() -> None:
    for flags, words in (
        ("", "member of"),
        ("W", "member of"),
        ("S", "spare of"),
        ("F", "failed member of"),
        ("WF", "failed member of"),
        ("J", "journal of"),
        ("R", "replacement in"),
        ("inactive", "member of"),
    ):
        members = (MdMember("sdb", 0, ""), MdMember("sda", 1, flags.replace("inactive", "S")))
        array = replace(ARRAY, members=members, active=flags != "inactive")
        md0 = Device("md0", "/dev/md0", DeviceKind.MD, 9, 0, 2**30, lower=("sda", "sdb"), md=array)
        assert state(replace(DISK, holders=("md0",)), md0) == DeviceState(Claim.IN_USE, f"{words} md0"), flags


def test_copies_of_a_partition_table_are_one() -> None:
    assert holdings((TABLE, replace(TABLE, offset_bytes=2**30), GUARD)) == "a gpt partition table"
    assert holdings(()) == ""


def test_what_a_scratch_device_holds_makes_it_no_less_free() -> None:
    backing = LoopBacking("/scratch.img", 5, 7, direct_io=True, autoclear=False, scratch_id="0a1b2c3d")
    scratch = replace(DISK, kind=DeviceKind.LOOP, loop=backing, signatures=(EXT4,))
    assert state(scratch) == DeviceState(Claim.FREE, "free; holds ext4 'label'")
    refused = hazard("is locked by another run or tool", Verdict.REFUSED)
    assert state(scratch, hazards=(refused,)).claim is Claim.HAZARDOUS
    assert state(scratch, hazards=None).claim is not Claim.FREE
    kept = replace(hazard("is a scratch device, but its file was renamed", Verdict.ASKED), check=SCRATCH_KEPT)
    told = "holds ext4 'label'; is a scratch device, but its file was renamed"
    assert state(scratch, hazards=(kept,)) == DeviceState(Claim.HAZARDOUS, told)


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
    # Doubled dashes of a volume are dashes.
    names = ("vg-lv", "my--vg-lv--old", "vg---lv", "alone")
    assert [volume_name(name) for name in names] == ["vg/lv", "my-vg/lv-old", "vg-/lv", "alone"]
