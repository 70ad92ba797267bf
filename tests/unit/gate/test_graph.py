from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.evidence import Relation
from fsconsole.devices.graph import DeviceGraph, natural_key, relatives, same_disk, tree_rows
from fsconsole.model.device import Device, DeviceKind, LoopBacking
from fsconsole.show.devices import guide
from fsconsole.show.terminal import ASCII, SAFE
from tests.unit.gate.made import GIB, LOOP0, SDA, SDA1, SDB, SDB1, SDB2, SDC, SDC1, device, over

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
    # A BSD slice within a DOS partition, and a label with a partition for the whole disk.
    for sdb5 in (
        device("sdb5", minor=21, parent="sdb", partition_start_bytes=3 * GIB - 512, size_bytes=1024),
        device("sdb5", minor=21, parent="sdb"),
    ):
        assert roles(SDB2, SDB, SDB1, sdb5) == {"sdb2": same, "sdb5": inside, "sdb": disk}
        assert roles(sdb5, SDB, SDB2)["sdb2"] is inside
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


def test_the_end_of_a_serial_number_tells_disks_apart_unless_one_that_looks_the_same_has_it_too() -> None:
    one = device("sdb", minor=16, model="ST2000DM", serial="Z0001234")
    part = replace(one, name="sdb1", minor=17, kind=DeviceKind.PARTITION, parent="sdb")
    for serial, end in (("Z0005678", "1234"), ("", "1234"), ("Z9991234", "")):
        graph = DeviceGraph((one, part, replace(one, name="sdc", minor=32, serial=serial)))
        for which in (one, part):
            assert [other.name for other in graph.lookalikes(which)] == ["sdc"]
            assert graph.serial_end(which) == end
    assert DeviceGraph((one, SDA)).lookalikes(one) == ()


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
    assert [graph.stands_on_files(d) for d in (LOOP0, part, upper, SDB, SDB1, LV)] == [True, True] + [False] * 4


def listed(name: str, kind: DeviceKind = DeviceKind.DISK, parent: str = "", lower: tuple[str, ...] = ()) -> Device:
    return Device(name=name, path=f"/dev/{name}", kind=kind, major=8, minor=0, size_bytes=1, parent=parent, lower=lower)


MACHINE = (
    listed("sda"),
    listed("sda1", DeviceKind.PARTITION, "sda"),
    listed("sda2", DeviceKind.PARTITION, "sda"),
    listed("sdb"),
    listed("sdb1", DeviceKind.PARTITION, "sdb"),
    listed("md0", DeviceKind.MD, lower=("sdb1", "sda2")),
    listed("dm-0", DeviceKind.DM, lower=("md0",)),
)


def test_what_lies_on_a_device_stands_below_it() -> None:
    drawn = [guide(row, SAFE) + row.device.name for row in tree_rows(MACHINE)]
    assert drawn == [
        "sda",
        "├─ sda1",
        "└─ sda2",
        "   └─ md0",
        "      └─ dm-0",
        "sdb",
        "└─ sdb1",
    ]


def test_an_array_stands_under_its_first_member_and_names_the_others() -> None:
    rows = {row.device.name: row for row in tree_rows(MACHINE)}
    assert rows["md0"].also_under == ("sdb1",)
    assert rows["sda2"].also_under == ()
    drawn = [guide(row, ASCII) for row in tree_rows(MACHINE)]
    assert drawn[1:5] == ["|- ", "`- ", "   `- ", "      `- "]


def test_loops_stand_below_devices_rings_hide_nothing_and_lines_go_down_past_children() -> None:
    md = listed("md0", DeviceKind.MD, lower=("sda1",))
    assert [guide(row, SAFE) for row in tree_rows((*MACHINE[:3], md))] == ["", "├─ ", "│  └─ ", "└─ "]
    backing = LoopBacking("/dev/sda", 5, 7, direct_io=True, autoclear=False)
    loop = Device("loop0", "/dev/loop0", DeviceKind.LOOP, 7, 0, 1, loop=backing)
    drawn = [guide(row, SAFE) + row.device.name for row in tree_rows((loop, listed("sda")))]
    assert drawn == ["sda", "└─ loop0"]
    ring = (listed("dm-0", DeviceKind.DM, lower=("dm-1",)), listed("dm-1", DeviceKind.DM, lower=("dm-0",)))
    assert {row.device.name for row in tree_rows(ring)} == {"dm-0", "dm-1"}
    # A parent that is not listed makes a root.
    (alone,) = tree_rows((listed("sda1", DeviceKind.PARTITION, "sda"),))
    assert guide(alone, SAFE) == ""


def test_disks_count_on_in_letters_and_in_numbers() -> None:
    names = ["sda", "sda2", "sda10", "sdb", "sdz", "sdaa", "sdab1"]
    assert sorted(["sdab1", "sda10", "sdz", "sda2", "sdb", "sdaa", "sda"], key=natural_key) == names
    assert natural_key("nvme2n1") < natural_key("nvme10n1")


@given(st.lists(st.text(max_size=12), unique=True, max_size=8))
def test_any_names_can_be_ordered(names: list[str]) -> None:
    assert sorted(sorted(names, key=natural_key)) == sorted(names)


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=3)), max_size=10))
def test_every_device_has_exactly_one_row(edges: list[tuple[int, list[int]]]) -> None:
    devices = {f"dm-{n}": listed(f"dm-{n}", DeviceKind.DM, lower=tuple(f"dm-{m}" for m in lower)) for n, lower in edges}
    rows = [row.device.name for row in tree_rows(tuple(devices.values()))]
    assert sorted(rows) == sorted(devices)
