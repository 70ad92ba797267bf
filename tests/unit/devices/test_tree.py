from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.devices.graph import natural_key, tree_rows
from fsconsole.model.device import Device, DeviceKind, LoopBacking
from fsconsole.show.devices import guide
from fsconsole.show.terminal import ASCII, SAFE


def device(
    name: str, kind: DeviceKind = DeviceKind.DISK, parent: str = "", lower: tuple[str, ...] = ()
) -> Device:
    return Device(
        name=name, path=f"/dev/{name}", kind=kind, major=8, minor=0, size_bytes=1, parent=parent, lower=lower
    )


MACHINE = (
    device("sda"),
    device("sda1", DeviceKind.PARTITION, "sda"),
    device("sda2", DeviceKind.PARTITION, "sda"),
    device("sdb"),
    device("sdb1", DeviceKind.PARTITION, "sdb"),
    device("md0", DeviceKind.MD, lower=("sdb1", "sda2")),
    device("dm-0", DeviceKind.DM, lower=("md0",)),
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
    md = device("md0", DeviceKind.MD, lower=("sda1",))
    assert [guide(row, SAFE) for row in tree_rows((*MACHINE[:3], md))] == ["", "├─ ", "│  └─ ", "└─ "]
    backing = LoopBacking("/dev/sda", 5, 7, direct_io=True, autoclear=False)
    loop = Device("loop0", "/dev/loop0", DeviceKind.LOOP, 7, 0, 1, loop=backing)
    drawn = [guide(row, SAFE) + row.device.name for row in tree_rows((loop, device("sda")))]
    assert drawn == ["sda", "└─ loop0"]
    ring = (device("dm-0", DeviceKind.DM, lower=("dm-1",)), device("dm-1", DeviceKind.DM, lower=("dm-0",)))
    assert {row.device.name for row in tree_rows(ring)} == {"dm-0", "dm-1"}
    # A parent that is not listed makes a root.
    (alone,) = tree_rows((device("sda1", DeviceKind.PARTITION, "sda"),))
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
    devices = {
        f"dm-{n}": device(f"dm-{n}", DeviceKind.DM, lower=tuple(f"dm-{m}" for m in lower))
        for n, lower in edges
    }
    rows = [row.device.name for row in tree_rows(tuple(devices.values()))]
    assert sorted(rows) == sorted(devices)
