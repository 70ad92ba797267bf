"""Taking a run's arrays apart: only its own, by UUID and members, also while udev or others touch the members."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.engine.arrays import OwnArray, dismantle, require_own
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceChanged

OURS, FOREIGN = "0123abcd-1111-2222-3333-0123456789ab", "ffffffff-1111-2222-3333-0123456789ab"
VDA, VDB, VDC = "/dev/vda", "/dev/vdb", "/dev/vdc"


class Md:
    """A kernel's md, and what stands on its disks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.arrays: dict[str, frozenset[str]] = {}
        self.uuids = {VDA: OURS, VDB: OURS, VDC: ""}
        self.commands: list[tuple[str, ...]] = []
        self.stop_fails = False
        self.metadata = "1.2"
        monkeypatch.setattr(arrays, "held_arrays", self._held)
        monkeypatch.setattr(arrays, "member_uuid", self._uuid)
        monkeypatch.setattr(arrays, "kernel_name", self._name)
        monkeypatch.setattr(arrays, "_is_busy", lambda _: False)

    def act(self, argv: tuple[str, ...]) -> None:
        self.commands.append(argv)
        if "--stop" in argv:
            if self.stop_fails:
                raise ToolFailed(" ".join(argv), 1, "it is in use")
            del self.arrays[argv[-1].removeprefix("/dev/")]
        else:
            self.uuids[argv[-1]] = ""

    def _held(self) -> Iterator[HeldArray]:
        held = [HeldArray(name, members, self.metadata) for name, members in self.arrays.items()]
        return iter(held)

    def _name(self, path: str) -> str:
        if path not in self.uuids and not path.startswith("/dev/md"):
            raise FileNotFoundError(2, "No such file or directory")
        return path.removeprefix("/dev/")

    def _uuid(self, path: str) -> str:
        if self.uuids[path] == "unreadable":
            raise OSError(5, "Input/output error")
        return self.uuids[path]


@pytest.fixture
def md(monkeypatch: pytest.MonkeyPatch) -> Md:
    return Md(monkeypatch)


def own(*members: str) -> OwnArray:
    return OwnArray(frozenset({OURS}), members or (VDA, VDB))


@pytest.mark.parametrize("name", ["md400", "md127"])
def test_an_array_of_ours_is_stopped_under_any_number_and_its_members_are_cleared(md, name):
    md.arrays[name] = frozenset({"vda", "vdb"})
    assert dismantle(own(), md.act) == ()
    assert md.commands == [
        ("mdadm", "--stop", f"/dev/{name}"),
        ("mdadm", "--zero-superblock", "--metadata=1.2", VDA),
        ("mdadm", "--zero-superblock", "--metadata=1.2", VDB),
    ]


def test_superblocks_that_nothing_holds_together_are_cleared_too(md):
    assert dismantle(own(), md.act) == ()
    assert [argv[1] for argv in md.commands] == ["--zero-superblock", "--zero-superblock"]


@pytest.mark.parametrize(
    ("uuids", "held", "left"),
    [
        ({VDA: "", VDB: ""}, {}, ()),
        ({VDA: "", VDB: "", VDC: FOREIGN}, {"md400": {"vdc"}}, ()),
        (
            {VDA: FOREIGN, VDB: FOREIGN},
            {"md400": {"vda", "vdb"}},
            ("/dev/md400 was not created by the run: left untouched",),
        ),
    ],
    ids=["members of nobody", "another array under our name", "another array of our very members"],
)
def test_what_is_not_the_runs_is_left_alone(md, uuids, held, left):
    md.uuids = uuids
    md.arrays = {name: frozenset(members) for name, members in held.items()}
    assert dismantle(own(), md.act) == left
    assert md.commands == []


def test_an_array_that_somebody_gave_a_further_member_is_left_alone_with_all_members(md):
    md.arrays["md400"] = frozenset({"vda", "vdb", "vdc"})
    (left,) = dismantle(own(), md.act)
    assert "has the member vdc, which is not the run's" in left
    assert md.commands == []


def test_one_of_two_superblocks_that_is_foreign_keeps_the_array_and_its_members(md):
    md.uuids = {VDA: OURS, VDB: FOREIGN}
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    assert len(dismantle(own(), md.act)) == 1
    assert md.commands == []


def test_a_foreign_superblock_on_a_free_member_stays(md):
    md.uuids = {VDA: OURS, VDB: FOREIGN}
    assert dismantle(own(), md.act) == ()
    assert md.commands == [("mdadm", "--zero-superblock", "--metadata=1.2", VDA)]


def test_a_member_that_fails_or_is_gone_keeps_the_others_from_nothing(md):
    md.uuids = {VDA: OURS, VDB: "unreadable"}
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    assert dismantle(own(VDA, VDB, "/dev/vdz"), md.act) == ()
    assert md.commands == [
        ("mdadm", "--stop", "/dev/md400"),
        ("mdadm", "--zero-superblock", "--metadata=1.2", VDA),
    ]


def test_members_of_an_array_that_can_not_be_stopped_are_not_touched(md):
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    md.stop_fails = True
    (left,) = dismantle(own(), md.act)
    assert "it is in use" in left
    assert md.commands == [("mdadm", "--stop", "/dev/md400")]


def test_an_array_is_proved_by_its_members_and_the_uuid_on_each(md):
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    require_own("/dev/md400", OURS, (VDA, VDB))


@pytest.mark.parametrize(
    ("held", "uuids"),
    [
        ({"vda", "vdb", "vdc"}, {}),
        ({"vda"}, {}),
        (set(), {}),
        ({"vda", "vdb"}, {VDB: FOREIGN}),
        ({"vda", "vdb"}, {VDA: ""}),
        ({"vda", "vdb"}, {VDA: "unreadable"}),
    ],
)
def test_an_array_that_is_not_just_ours_is_refused(md, held, uuids):
    md.uuids |= uuids
    if held:
        md.arrays["md400"] = frozenset(held)
    with pytest.raises(DeviceChanged):
        require_own("/dev/md400", OURS, (VDA, VDB))


def test_an_array_that_udev_puts_together_again_is_stopped_again_and_not_forgotten(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    act, stops = md.act, []

    def with_udev(argv: tuple[str, ...]) -> None:
        act(argv)
        if "--stop" in argv and not stops:
            md.arrays["md127"] = frozenset({"vda", "vdb"})
        stops.extend(argv[-1:] if "--stop" in argv else ())

    assert dismantle(own(), with_udev) == ()
    assert stops == ["/dev/md400", "/dev/md127"]
    assert (md.arrays, md.uuids[VDA], md.uuids[VDB]) == ({}, "", "")


def test_one_that_is_put_together_again_right_before_its_members_are_cleared_is_stopped_again(md: Md) -> None:
    act, tries = md.act, []

    def with_udev(argv: tuple[str, ...]) -> None:
        tries.append(argv)
        if len(tries) == 1:
            md.arrays["md127"] = frozenset({"vda", "vdb"})
            raise ToolFailed(" ".join(argv), 2, "Couldn't open /dev/vda for write - not zeroing")
        act(argv)

    assert dismantle(own(), with_udev) == ()
    assert ("mdadm", "--stop", "/dev/md127") in tries
    assert (md.arrays, md.uuids[VDA], md.uuids[VDB]) == ({}, "", "")


def test_one_that_udev_puts_together_again_and_again_is_told(md: Md) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})
    act = md.act

    def with_udev(argv: tuple[str, ...]) -> None:
        act(argv)
        md.arrays["md127"] = frozenset({"vda", "vdb"})

    left = dismantle(own(), with_udev)
    assert left == tuple(f"{path} has the run's superblock again" for path in (VDA, VDB))


def test_another_array_that_got_the_name_while_udev_was_waited_for_is_left_alone(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})

    def somebody_comes(_path: str) -> bool:
        md.arrays["md400"] = frozenset({"vdc"})
        md.uuids |= {VDA: "", VDB: "", VDC: FOREIGN}
        return False

    monkeypatch.setattr(arrays, "_is_busy", somebody_comes)
    (left,) = dismantle(own(), md.act)
    assert "has the member vdc, which is not the run's" in left
    assert md.commands == []


@pytest.mark.parametrize("metadata", ["none", "0.90", "1.0", "external:imsm", ""])
def test_an_array_that_is_marked_elsewhere_is_not_the_runs_though_an_old_superblock_lies_on_its_members(
    md: Md, metadata: str
) -> None:
    md.uuids = {VDA: OURS, VDB: OURS}
    md.arrays["md5"] = frozenset({"vda", "vdb"})
    md.metadata = metadata
    (left,) = dismantle(own(), md.act)
    assert "was not created by the run" in left
    assert md.commands == []


def test_an_array_against_which_there_is_an_objection_is_left_with_its_members(md: Md) -> None:
    md.arrays["md127"] = frozenset({"vda", "vdb"})
    assert dismantle(own(), md.act, lambda array: f"{array.path} holds letters") == (
        "/dev/md127 holds letters",
    )
    assert md.commands == []
