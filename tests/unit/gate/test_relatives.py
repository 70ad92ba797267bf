from __future__ import annotations

from dataclasses import replace

from fsconsole.devices.evidence import Relation
from fsconsole.devices.graph import DeviceGraph, relatives, same_disk
from fsconsole.model.device import Device
from tests.unit.gate.made import LOOP0, SDA, SDA1, SDB, SDB1, SDB2, SDC, SDC1, device, over

LOOP1, LOOP2 = device("loop1", 7, 1), device("loop2", 7, 2)
MD0 = device("md0", 9, 0, lower=("sda1", "sdb1"))
LV = device("dm-0", 253, 0, lower=("md0",), dm_uuid="LVM-x")
MPATH = device("dm-1", 253, 1, lower=("sdb", "sdc"))
ALL = (SDA, SDA1, SDB, SDB1, SDB2, LOOP0, LOOP1, LOOP2, MD0, LV)


def roles(of: Device, *others: Device) -> dict[str, Relation]:
    found = relatives(of, DeviceGraph((of, *(others or ALL))))
    return {relative.path.removeprefix("/dev/"): relative.role for relative in found}


def test_a_device_has_all_as_relatives_that_share_its_bytes() -> None:
    same, inside, disk, under = Relation.SELF, Relation.INSIDE, Relation.DISK, Relation.UNDER
    below = dict.fromkeys(("md0", "sda1", "sdb1", "sda", "sdb"), Relation.BELOW)
    partitions = {"sdb1": inside, "sdb2": inside}
    assert roles(SDB) == {"sdb": same, **partitions}
    assert roles(SDB2) == {"sdb2": same, "sdb": disk}
    assert roles(LV) == {"dm-0": same, **below}
    # A loop over a file is a disk of its own; a chain of loops reaches the disk, and a circle of them ends.
    assert roles(LOOP0) == {"loop0": same}
    chain = roles(over(LOOP2, LOOP1), over(LOOP1, SDB), SDB, SDB1, SDB2)
    assert chain == {"loop2": same, "loop1": under, "sdb": under, **partitions}
    assert roles(over(LOOP1, SDB2), SDB, SDB2) == {"loop1": same, "sdb2": under, "sdb": disk}
    assert roles(over(LOOP1, LOOP2), over(LOOP2, LOOP1)) == {"loop1": same, "loop2": under}


def test_a_disk_of_the_same_wwn_is_a_twin_with_its_partitions() -> None:
    for of in (SDB, SDB1):
        found = roles(of, SDA, SDB, SDB1, SDC, SDC1)
        assert (found["sdc"], found["sdc1"]) == (Relation.TWIN, Relation.TWIN)
        assert "sda" not in found


def test_the_paths_that_a_multipath_map_is_made_of_are_no_twins() -> None:
    third = device("sdd", minor=48, wwn=SDB.wwn)
    found = roles(MPATH, SDB, SDC, third)
    assert found == {
        "dm-1": Relation.SELF,
        "sdb": Relation.BELOW,
        "sdc": Relation.BELOW,
        "sdd": Relation.TWIN,
    }


def test_wwn_decides_where_both_have_one_and_the_serial_otherwise() -> None:
    for one, other, same in (
        (("w1", "s1"), ("w1", "s2"), True),
        (("w1", "s1"), ("w2", "s1"), False),
        (("w1", "s1"), ("", "s1"), True),
        (("", "s1"), ("", "s2"), False),
        (("", ""), ("", ""), False),
    ):
        first, second = (replace(SDA, wwn=wwn, serial=serial) for wwn, serial in (one, other))
        assert same_disk(first, second) is same


def test_what_is_missing_in_the_listing_is_told() -> None:
    loop = over(LOOP1, LOOP2)
    graph = DeviceGraph((MD0, SDA1, SDB2, SDB, loop))
    assert graph.gaps(MD0) == ("sdb1", "sda")
    assert graph.gaps(loop) == ("7:2",)
    assert graph.gaps(SDB2) == ()


def test_only_loops_over_files_stand_on_files() -> None:
    part = device("loop1p1", 259, 1, parent="loop1")
    upper = over(LOOP2, SDB)
    graph = DeviceGraph((SDA, SDA1, SDB, SDB1, LOOP0, LOOP1, part, upper, MD0, LV))
    assert [graph.stands_on_files(d) for d in (LOOP0, part, upper, SDB, SDB1, LV)] == [True, True] + [
        False
    ] * 4
