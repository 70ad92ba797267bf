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


PAIR = {"md400": frozenset({"vda", "vdb"})}


def zero(path: str) -> tuple[str, ...]:
    return ("mdadm", "--zero-superblock", "--metadata=1.2", path)


@pytest.mark.parametrize("name", ["md400", "md127", ""])
def test_an_array_of_ours_is_stopped_under_any_number_and_its_members_are_cleared_also_apart(md, name):
    md.arrays = {name: frozenset({"vda", "vdb"})} if name else {}
    assert dismantle(own(), md.act) == ()
    stop = [("mdadm", "--stop", f"/dev/{name}")] if name else []
    assert md.commands == [*stop, zero(VDA), zero(VDB)]


FURTHER = "/dev/md400 has the member vdc, which is not the run's: left untouched"
NOT_OURS = "/dev/md400 was not created by the run: left untouched"
KEPT = {
    "members of nobody": ({VDA: "", VDB: ""}, {}, "1.2", ()),
    "another array under our name": ({VDA: "", VDB: "", VDC: FOREIGN}, {"md400": frozenset({"vdc"})}, "1.2", ()),
    "another array of our very members": ({VDA: FOREIGN, VDB: FOREIGN}, PAIR, "1.2", (NOT_OURS,)),
    "one of two superblocks": ({VDA: OURS, VDB: FOREIGN}, PAIR, "1.2", (NOT_OURS,)),
    "a further member": ({VDA: OURS, VDB: OURS}, {"md400": frozenset({"vda", "vdb", "vdc"})}, "1.2", (FURTHER,)),
    # An old superblock lies on its members; the array itself is marked elsewhere.
    **{f"metadata {metadata}": ({VDA: OURS, VDB: OURS}, PAIR, metadata, (NOT_OURS,))
       for metadata in ("none", "0.90", "1.0", "external:imsm", "")},
}  # fmt: skip


def test_what_is_not_the_runs_is_left_alone_with_all_its_members(md):
    for case, (md.uuids, md.arrays, md.metadata, left) in KEPT.items():
        assert dismantle(own(), md.act) == left, case
        assert md.commands == [], case


def test_a_foreign_superblock_on_a_free_member_stays(md):
    md.uuids = {VDA: OURS, VDB: FOREIGN}
    assert dismantle(own(), md.act) == ()
    assert md.commands == [zero(VDA)]


def test_a_member_that_fails_or_is_gone_keeps_the_others_from_nothing(md):
    md.uuids, md.arrays = {VDA: OURS, VDB: "unreadable"}, dict(PAIR)
    assert dismantle(own(VDA, VDB, "/dev/vdz"), md.act) == ()
    assert md.commands == [("mdadm", "--stop", "/dev/md400"), zero(VDA)]


def test_members_of_an_array_that_can_not_be_stopped_or_is_objected_to_are_not_touched(md):
    md.arrays, md.stop_fails = dict(PAIR), True
    objected = dismantle(own(), md.act, lambda array: f"{array.path} holds letters")
    assert (objected, md.commands) == (("/dev/md400 holds letters",), [])
    (left,) = dismantle(own(), md.act)
    assert "it is in use" in left
    assert md.commands == [("mdadm", "--stop", "/dev/md400")]


def test_an_array_is_proved_by_just_its_members_and_the_uuid_on_each(md):
    md.arrays = dict(PAIR)
    require_own("/dev/md400", OURS, (VDA, VDB))
    whole, uuids = {"vda", "vdb"}, dict(md.uuids)
    others: tuple[tuple[set[str], dict[str, str]], ...] = (
        ({"vda", "vdb", "vdc"}, {}),
        ({"vda"}, {}),
        (set(), {}),
        (whole, {VDB: FOREIGN}),
        (whole, {VDA: ""}),
        (whole, {VDA: "unreadable"}),
    )
    for held, changed in others:
        md.uuids, md.arrays = uuids | changed, {"md400": frozenset(held)} if held else {}
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
