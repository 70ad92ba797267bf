"""Whose scheduler serves a device: its own disk's, or those of the disks below an array or a volume."""

from __future__ import annotations

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.settings import queues_of
from fsconsole.model.device import Device, DeviceKind


def device(name: str, minor: int, kind: DeviceKind = DeviceKind.DISK, **more: object) -> Device:
    return Device(name, f"/dev/{name}", kind, 8, minor, 2**30, **more)


SDA, SDB, LOOP = device("sda", 0), device("sdb", 16), device("loop0", 32, DeviceKind.LOOP)
SDA1 = device("sda1", 1, DeviceKind.PARTITION, parent="sda")
SDA2 = device("sda2", 2, DeviceKind.PARTITION, parent="sda")
SDB1 = device("sdb1", 17, DeviceKind.PARTITION, parent="sdb")
MD = device("md0", 64, DeviceKind.MD, lower=("sda1", "sdb1"))
MD_OF_ONE = device("md1", 65, DeviceKind.MD, lower=("sda1", "sda2"))
MD_PART = device("md0p1", 66, DeviceKind.PARTITION, parent="md0")
VOLUME = device("dm-0", 80, DeviceKind.DM, lower=("md0", "loop0"))
GRAPH = DeviceGraph((SDA, SDA1, SDA2, SDB, SDB1, LOOP, MD, MD_OF_ONE, MD_PART, VOLUME), {})


def names(of: Device, graph: DeviceGraph = GRAPH) -> list[str]:
    return [queue.name for queue in queues_of(of, graph)]


def test_a_disk_and_a_loop_have_their_own_and_a_partition_its_disks() -> None:
    assert (names(SDA), names(LOOP), names(SDB1)) == (["sda"], ["loop0"], ["sdb"])


def test_an_array_has_its_members_disks_each_once() -> None:
    assert (names(MD), names(MD_OF_ONE), names(MD_PART)) == (["sda", "sdb"], ["sda"], ["sda", "sdb"])


def test_a_volume_has_those_of_all_below() -> None:
    assert names(VOLUME) == ["sda", "sdb", "loop0"]


def test_a_loop_over_a_device_is_scheduled_by_itself() -> None:
    assert names(LOOP, DeviceGraph((SDA, LOOP), {8 << 8 | 32: 8 << 8})) == ["loop0"]


def test_an_array_whose_members_are_not_listed_is_named_itself() -> None:
    assert names(MD, DeviceGraph((MD,), {})) == ["md0"]
