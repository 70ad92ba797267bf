"""Lower devices of a target: in samples once, marked, never added up; and whose completed I/O is progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.model.sample import Role
from fsconsole.telemetry import block
from fsconsole.telemetry.block import Watched, block_name, disk_name, ended_io, is_below, watched_tree
from fsconsole.telemetry.sampler import DeviceGauges, arranged
from tests.unit.telemetry.made_sys import MadeSys


@pytest.fixture
def sys(tmp_path: Path) -> MadeSys:
    return MadeSys(tmp_path)


def names(rack: DeviceGauges) -> list[str]:
    return [gauge.device.name for gauge in rack.gauges()]


def test_lower_devices_stand_below_the_first_that_is_made_of_them_each_once(sys: MadeSys) -> None:
    for disk in ("sdb", "sda", "sdc", "sdd"):
        sys.add(disk)
    sys.add("md0", members=("sda", "sdb", "sdc"))
    sys.add("dm-0", members=("md0",))
    for volume in ("dm-1", "dm-2"):
        sys.add(volume, members=("sdd",))
    sys.add("dm-3", members=("dm-1", "dm-2"))
    members = tuple(Watched(name, Role.MEMBER, "md0") for name in ("sda", "sdb", "sdc"))
    assert watched_tree("md0", str(sys.root)) == (Watched("md0"), *members)
    assert watched_tree("dm-0", str(sys.root))[1:] == (Watched("md0", Role.MEMBER, "dm-0"), *members)
    tree = [(device.name, device.above) for device in watched_tree("dm-3", str(sys.root))]
    assert tree == [("dm-3", ""), ("dm-1", "dm-3"), ("sdd", "dm-1"), ("dm-2", "dm-3")]


def test_a_loop_device_shows_the_whole_disk_below_its_file(sys: MadeSys, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    device = os.stat(file).st_dev
    sys.add("sda")
    sys.add_partition("sda", "sda1", number=f"{os.major(device)}:{os.minor(device)}")
    loop = sys.add("loop7")
    (loop / "loop").mkdir()
    (loop / "loop/backing_file").write_text(f"{file}\n")
    assert watched_tree("loop7", str(sys.root)) == (Watched("loop7"), Watched("sda", Role.BELOW, "loop7"))
    (loop / "loop/backing_file").write_text(f"{file} (deleted)\n")
    assert watched_tree("loop7", str(sys.root)) == (Watched("loop7"),)


def test_a_device_that_is_not_there_stands_on_nothing(sys: MadeSys) -> None:
    assert watched_tree("sdz", str(sys.root)) == (Watched("sdz"),)
    assert (disk_name("sdz", str(sys.root)), disk_name("", str(sys.root))) == ("", "")
    assert block_name(os.makedev(8, 1), str(sys.root)) == ""


def test_a_path_is_below_its_folder_and_not_below_one_of_a_similar_name() -> None:
    assert is_below("/mnt/a/b", "/mnt/a")
    assert is_below("/x", "/")
    assert not is_below("/mnt/ab", "/mnt/a")


def test_a_target_that_another_target_stands_on_is_its_member_so_that_nothing_counts_twice() -> None:
    array = (Watched("md0"), Watched("sda", Role.MEMBER, "md0"), Watched("sdb", Role.MEMBER, "md0"))
    devices = arranged([(Watched("sda"),), array, (Watched("sdc"),)])
    assert [(device.name, device.role) for device in devices] == [
        ("md0", Role.TARGET),
        ("sda", Role.MEMBER),
        ("sdb", Role.MEMBER),
        ("sdc", Role.TARGET),
    ]


@pytest.fixture
def rack(sys: MadeSys) -> Iterator[DeviceGauges]:
    made = DeviceGauges(str(sys.root))
    yield made
    made.close()
    assert names(made) == []


def test_gauges_that_stay_are_kept_and_one_that_is_watched_again_starts_anew(
    sys: MadeSys, rack: DeviceGauges
) -> None:
    sys.add("sda")
    sys.add("sdb")
    rack.watch("sda")
    (first,) = rack.gauges()
    first.read()
    rack.watch("sdb")
    assert names(rack) == ["sda", "sdb"]
    assert rack.gauges()[0].read() is not None
    rack.watch("sda")
    assert rack.gauges()[0].read() is None


def test_a_member_that_is_added_later_appears_and_one_that_is_taken_away_goes(
    sys: MadeSys, rack: DeviceGauges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsconsole.telemetry.sampler._LOOK_AGAIN_S", -1.0)
    for disk in ("sda", "sdb", "sdc"):
        sys.add(disk)
    array = sys.add("md0", members=("sda", "sdb"))
    rack.watch("md0")
    assert names(rack) == ["md0", "sda", "sdb"]
    (array / "slaves/sdc").symlink_to(sys.root / "class/block/sdc")
    (array / "slaves/sda").unlink()
    assert names(rack) == ["md0", "sdb", "sdc"]


def test_only_what_was_asked_for_is_missed(sys: MadeSys, rack: DeviceGauges) -> None:
    sys.add("sda")
    sys.add("md0", members=("sda",))
    rack.watch("md0")
    sys.remove("sda")
    array, member = rack.gauges()
    array.read()
    with pytest.raises(FileNotFoundError):
        member.read()
    assert rack.vanished() == ()


def test_an_array_that_comes_and_goes_has_its_members_below_it_only_while_it_is_there(
    sys: MadeSys, rack: DeviceGauges
) -> None:
    for disk in ("sda", "sdb"):
        sys.add(disk)
        rack.watch(disk)
    sys.add("md400", members=("sda", "sdb"))
    rack.watch("md400")
    assert names(rack) == ["md400", "sda", "sdb"]
    assert [gauge.device.above for gauge in rack.gauges()] == ["", "md400", "md400"]
    rack.unwatch("md400")
    sys.remove("md400")
    assert names(rack) == ["sda", "sdb"]
    assert [gauge.device.above for gauge in rack.gauges()] == ["", ""]
    rack.unwatch("md400")


STAT = "1 0 2 5 3 0 4 6 {} 7 8 9 0 10 11 12 13\n"


def device(sys: Path, name: str, in_flight: int = 0, members: tuple[str, ...] = ()) -> None:
    folder = sys / "class/block" / name
    (folder / "slaves").mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(STAT.format(in_flight))
    for member in members:
        (folder / "slaves" / member).touch()
        held = sys / "class/block" / member / "holders"
        held.mkdir(parents=True, exist_ok=True)
        (held / name).touch()


def answers(sys: Path, moved: str, *names: str) -> bool:
    """Return whether I/O of one device that ends is taken for an answer of those."""
    before = ended_io(names, str(sys))
    (sys / "class/block" / moved / "stat").write_text("9" + STAT.format(0))
    return ended_io(names, str(sys)) != before


def test_what_has_ended_counts_and_what_only_waits_does_not(tmp_path: Path) -> None:
    device(tmp_path, "sda")
    before = ended_io(("sda",), str(tmp_path))
    assert before == (("1", "2", "3", "4", "9", "10", "12"),)
    device(tmp_path, "sda", in_flight=30)
    assert ended_io(("sda",), str(tmp_path)) == before
    # An array's members count too; a device that is gone moves no more.
    device(tmp_path, "md0", members=("sda",))
    assert len(ended_io(("md0",), str(tmp_path))) == 2
    assert ended_io(("sdz",), str(tmp_path)) == ((),)


@pytest.mark.parametrize(
    ("stack", "moved", "asked", "counts"),
    [
        # A volume's disk is none of its progress while another volume uses it too, or one in the pool below.
        ({"dm-0": "sda", "dm-1": "sda"}, "sda", ("dm-0",), False),
        ({"dm-0": "sda", "dm-1": "sda"}, "dm-0", ("dm-0",), True),
        ({"dm-2": "sda", "dm-3": "dm-2", "dm-4": "dm-2"}, "sda", ("dm-3",), False),
        ({"dm-0": "sda"}, "sda", ("dm-0",), True),
        ({"dm-0": "sda", "dm-1": "sda"}, "sda", ("dm-0", "dm-1"), True),
        # A device that was asked for counts, whatever stands on it.
        ({"md0": "sda"}, "sda", ("sda",), True),
    ],
)  # fmt: skip
def test_io_of_a_lower_device_is_progress_only_where_nothing_else_uses_it(
    tmp_path, stack, moved, asked, counts
):
    device(tmp_path, "sda")
    for upper, lower in stack.items():
        device(tmp_path, upper, members=(lower,))
    assert answers(tmp_path, moved, *asked) is counts


def test_what_a_volume_is_made_of_below_a_loop_device_is_no_answer_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "_disk_of_file", lambda _path, _sys: "dm-0")
    device(tmp_path, "sda")
    device(tmp_path, "dm-0", members=("sda",))
    device(tmp_path, "loop7")
    (tmp_path / "class/block/loop7/loop").mkdir()
    (tmp_path / "class/block/loop7/loop/backing_file").write_text("/var/lib/image\n")
    assert not answers(tmp_path, "sda", "loop7")
    assert answers(tmp_path, "loop7", "loop7")
