"""Arrays of a run: taken apart by UUID and members, dead engines' found again, and whose their content is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fsconsole.devices.evidence import GateContext
from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceChanged
from fsconsole.model.command import Watch
from fsconsole.model.plan import ArraySpec
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.plan.expand import array_uuid
from tests.fakes import FakeExecutor
from tests.unit.results import build

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

    def act(self, argv: tuple[str, ...], _watch: Watch | None = None) -> None:
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


def own(*members: str) -> arrays.OwnArray:
    return arrays.OwnArray(frozenset({OURS}), members or (VDA, VDB))


PAIR = {"md400": frozenset({"vda", "vdb"})}


def zero(path: str) -> tuple[str, ...]:
    return ("mdadm", "--zero-superblock", "--metadata=1.2", path)


@pytest.mark.parametrize("name", ["md400", "md127", ""])
def test_an_array_of_ours_is_stopped_under_any_number_and_its_members_are_cleared_also_apart(md, name):
    md.arrays = {name: frozenset({"vda", "vdb"})} if name else {}
    assert arrays.dismantle(own(), md.act) == ()
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
        assert arrays.dismantle(own(), md.act) == left, case
        assert md.commands == [], case


def test_a_foreign_superblock_on_a_free_member_stays(md):
    md.uuids = {VDA: OURS, VDB: FOREIGN}
    assert arrays.dismantle(own(), md.act) == ()
    assert md.commands == [zero(VDA)]


def test_a_member_that_fails_or_is_gone_keeps_the_others_from_nothing(md):
    md.uuids, md.arrays = {VDA: OURS, VDB: "unreadable"}, dict(PAIR)
    assert arrays.dismantle(own(VDA, VDB, "/dev/vdz"), md.act) == ()
    assert md.commands == [("mdadm", "--stop", "/dev/md400"), zero(VDA)]


def test_members_of_an_array_that_can_not_be_stopped_or_is_objected_to_are_not_touched(md):
    md.arrays, md.stop_fails = dict(PAIR), True
    objected = arrays.dismantle(own(), md.act, lambda array: f"{array.path} holds letters")
    assert (objected, md.commands) == (("/dev/md400 holds letters",), [])
    (left,) = arrays.dismantle(own(), md.act)
    assert "it is in use" in left
    assert md.commands == [("mdadm", "--stop", "/dev/md400")]


def test_an_array_is_proved_by_just_its_members_and_the_uuid_on_each(md):
    md.arrays = dict(PAIR)
    arrays.require_own("/dev/md400", OURS, (VDA, VDB))
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
            arrays.require_own("/dev/md400", OURS, (VDA, VDB))


def test_an_array_that_udev_puts_together_again_is_stopped_again_and_not_forgotten(md: Md) -> None:
    def after_a_stop(argv: tuple[str, ...], _watch: Watch | None) -> None:
        md.act(argv)
        if argv == ("mdadm", "--stop", "/dev/md400"):
            md.arrays["md127"] = PAIR["md400"]

    def before_a_clearing(argv: tuple[str, ...], _watch: Watch | None) -> None:
        if "--stop" not in argv and ("mdadm", "--stop", "/dev/md127") not in md.commands:
            md.arrays["md127"] = PAIR["md400"]
            raise ToolFailed(" ".join(argv), 2, "Couldn't open /dev/vda for write - not zeroing")
        md.act(argv)

    for act in (after_a_stop, before_a_clearing):
        md.arrays, md.uuids, md.commands = dict(PAIR), {VDA: OURS, VDB: OURS}, []
        assert arrays.dismantle(own(), act) == ()
        assert md.commands[:2] == [("mdadm", "--stop", "/dev/md400"), ("mdadm", "--stop", "/dev/md127")]
        assert (md.arrays, md.uuids) == ({}, {VDA: "", VDB: ""})


def test_one_that_udev_puts_together_again_and_again_is_told(md: Md) -> None:
    def with_udev(argv: tuple[str, ...], _watch: Watch | None) -> None:
        md.act(argv)
        md.arrays["md127"] = PAIR["md400"]

    md.arrays = dict(PAIR)
    told = tuple(f"{path} has the run's superblock again" for path in (VDA, VDB))
    assert arrays.dismantle(own(), with_udev) == told


def test_another_array_that_got_the_name_while_udev_was_waited_for_is_left_alone(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.arrays["md400"] = frozenset({"vda", "vdb"})

    def somebody_comes(_path: str) -> bool:
        md.arrays["md400"] = frozenset({"vdc"})
        md.uuids |= {VDA: "", VDB: "", VDC: FOREIGN}
        return False

    monkeypatch.setattr(arrays, "_is_busy", somebody_comes)
    (left,) = arrays.dismantle(own(), md.act)
    assert "has the member vdc, which is not the run's" in left
    assert md.commands == []


def killed(status: CellStatus) -> RunState:
    cell = replace(build.cell(0), array=ArraySpec("raid0"), members=("/dev/vda", "/dev/vdb"))
    return build.run((cell,), (CellState(0, status, 1),))


def test_assembled_arrays_of_cells_that_were_begun_and_not_done_are_a_dead_engines_unless_a_member_is_silent(
    md: Md,
) -> None:
    done, state = killed(CellStatus.DONE), killed(CellStatus.UNKNOWN)
    own_uuid = array_uuid(state.request.run_id, 0)
    context = GateContext(FakeExecutor({}), "/var/lib/fsconsole/runs", {})
    (target,) = state.request.targets
    members = frozenset({"loop7", "vdb"})
    for uuid, held, found in (
        (own_uuid, {"md400": members}, ["md400"]),
        (own_uuid, {"md127": members}, ["md127"]),
        (FOREIGN, {"md400": members}, []),
        (own_uuid, {"md400": frozenset({"vda", "vdb"})}, []),
    ):
        md.uuids, md.arrays = {target.path: uuid, VDA: own_uuid, VDB: own_uuid}, held
        assert [array.name for array in arrays.arrays_left(state)] == found
        assert arrays.arrays_left(done) == ()
    assert [*arrays.left_in_words(state, context, {VDB})] == [f"its arrays can't be looked at: {VDB} does not answer"]
    assert [*arrays.left_in_words(done, context, {VDB})] == []


def test_clearing_is_stopped_once_a_member_is_no_longer_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, uuid = [frozenset[int]()], [OURS]
    monkeypatch.setattr(arrays, "devices_open_for_writing", lambda _: opened[0])
    monkeypatch.setattr(arrays, "device_number", lambda _: 7)
    monkeypatch.setattr(arrays, "member_uuid", lambda _: uuid[0])
    watch = arrays._while_ours(VDA, frozenset({OURS}))
    assert not watch("/proc/9")
    opened[0] = frozenset({7})
    assert watch("/proc/9")
    for opened[0], uuid[0] in ((frozenset({7}), "another"), (frozenset({8}), OURS)):
        with pytest.raises(DeviceChanged, match="no member of this run's array any longer"):
            watch("/proc/9")
