"""Arrays of a run: taken apart by UUID and members, dead engines' found again, and whose their content is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import pytest

from fsconsole.devices.content import parse_wipefs
from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceChanged
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.model.events import Outcome
from fsconsole.model.plan import ArraySpec, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState, StepState
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
    def after_a_stop(argv: tuple[str, ...]) -> None:
        md.act(argv)
        if argv == ("mdadm", "--stop", "/dev/md400"):
            md.arrays["md127"] = PAIR["md400"]

    def before_a_clearing(argv: tuple[str, ...]) -> None:
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
    def with_udev(argv: tuple[str, ...]) -> None:
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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[arrays.OwnArray]:
    seen: list[arrays.OwnArray] = []

    def dismantle(own: arrays.OwnArray, _act: object, _objection: object) -> tuple[str, ...]:
        seen.append(own)
        return ("/dev/md127 was not created by the run: left untouched",)

    monkeypatch.setattr(arrays, "dismantle", dismantle)
    monkeypatch.setattr(arrays, "lock_disks", nullcontext)
    monkeypatch.setattr(arrays, "held_arrays", lambda: [HeldArray("md400", frozenset({"vdz"}))])
    return seen


def test_the_arrays_of_cells_that_were_begun_and_not_done_are_looked_for_unless_a_member_is_silent(
    asked: list[arrays.OwnArray],
) -> None:
    done, state = killed(CellStatus.DONE), killed(CellStatus.UNKNOWN)
    members = arrays.members_left(state).keys()
    assert (arrays.take_apart_leftovers(done, FakeExecutor({})), arrays.members_left(done)) == ((), {})
    said = arrays.take_apart_leftovers(state, FakeExecutor({}), members)
    assert said == (f"its arrays have to wait: {min(members)} does not answer",)
    assert asked == []
    said = arrays.take_apart_leftovers(state, FakeExecutor({}))
    assert [own.uuids for own in asked] == [{array_uuid(state.request.run_id, 0)}]
    assert said == (
        "/dev/md127 was not created by the run: left untouched",
        "/dev/md400 is an array of vdz, not the run's: left untouched",
    )


FIRST_UUID, SECOND_UUID, OTHERS_UUID = "0000aaaa", "0000bbbb", "0000cccc"
ON = {
    "/dev/vda": FIRST_UUID,
    "/dev/vdb": FIRST_UUID,
    "/dev/vdc": SECOND_UUID,
    "/dev/vdd": OTHERS_UUID,
    "/dev/vde": "",
}
OWN = arrays.OwnArray(frozenset({FIRST_UUID, SECOND_UUID}), (*ON, "/dev/gone"))


class Recorder:
    """An executor of which every command fails, as mdadm does where too many members are gone."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def run(self, command: Command) -> CommandResult:
        self.calls.append(command.argv)
        return CommandResult(command.argv, 1, b"", b"mdadm: failed to RUN_ARRAY", ResourceUsage(0, 0, 0, 0))


def member_uuid(path: str) -> str:
    if path not in ON:
        raise FileNotFoundError(path)
    return ON[path]


def test_the_runs_own_stopped_arrays_are_assembled_read_only_under_numbers_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def assembled(*held: str) -> list[tuple[str, ...]]:
        """Return the commands while the kernel holds an array of the disks named, and others."""
        monkeypatch.setattr(arrays, "held_arrays", lambda: [HeldArray("md401", frozenset({"vdz", *held}))])
        recorder = Recorder()
        arrays.assemble_stopped(OWN, recorder)
        assert {argv[:4] for argv in recorder.calls} == {("mdadm", "--assemble", "--readonly", "--run")}
        return sorted((argv[4:] for argv in recorder.calls), key=lambda words: words[-1])

    monkeypatch.setattr(arrays, "member_uuid", member_uuid)
    monkeypatch.setattr(arrays, "kernel_name", lambda path: path.removeprefix("/dev/"))
    monkeypatch.setattr(arrays.os.path, "exists", lambda path: path == "/sys/block/md401")
    both = assembled()
    assert {number for number, *_ in both} == {"/dev/md402", "/dev/md403"}
    assert [tuple(members) for _, *members in both] == [("/dev/vda", "/dev/vdb"), ("/dev/vdc",)]
    # One that is held together already is left as it is.
    assert [tuple(members) for _, *members in assembled("vdc")] == [("/dev/vda", "/dev/vdb")]


ARRAY = HeldArray("md127", frozenset({"vda", "vdb"}), "1.2")
MADE, OLD, OTHERS = "0000aaaa-own", "0000bbbb-old", "0000cccc-new"


def answer(*found: tuple[str, str]) -> bytes:
    rows = [{"type": kind, "offset": "0x438", "usage": "filesystem", "uuid": uuid} for kind, uuid in found]
    return json.dumps({"signatures": rows}).encode()


def executor(stdout: bytes, exit_code: int = 0, *, timed_out: bool = False) -> FakeExecutor:
    columns = "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH"
    argv = ("wipefs", "--no-act", "--json", "--output", columns, "/dev/md127")
    result = CommandResult(argv, exit_code, stdout, b"", ResourceUsage(0, 0, 0, 0), timed_out=timed_out)
    return FakeExecutor({argv: result})


def left(outcome: Outcome | None, *showed: tuple[str, str]) -> RunState:
    verdict = arrays.in_words(parse_wipefs(answer(*showed), ("/dev/md9",))["/dev/md9"])
    step = StepState(1, StepKind.ARRAY, "make raid1", 0, outcome=outcome, verdict=verdict)
    members = ("/dev/vda", "/dev/vdb")
    cell = replace(build.cell(0), uuid=MADE, array=ArraySpec("raid1"), members=members)
    return build.run((cell,), (CellState(0, CellStatus.UNKNOWN, 1, steps=(step,)),))


@pytest.fixture
def _bears_the_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = array_uuid(left(None).request.run_id, 0)
    monkeypatch.setattr(arrays, "member_uuid", lambda _path: uuid)
    monkeypatch.setattr(arrays, "is_started", lambda _name: True)


@pytest.mark.usefixtures("_bears_the_uuid")
def test_content_that_the_run_did_not_make_and_the_new_array_did_not_show_is_somebody_elses() -> None:
    foreign, old, own = ("ext4", OTHERS), ("xfs", OLD), ("ext4", MADE)
    said = arrays.foreign_content(ARRAY, left(Outcome.DONE), executor(answer(foreign)))
    assert said.startswith(f"/dev/md127 holds ext4 {OTHERS}, which the run did not make: left untouched")
    assert "`mdadm --stop /dev/md127`, then `mdadm --zero-superblock /dev/vda /dev/vdb`" in said
    showed_old = left(Outcome.DONE, old)
    for found in ((), (own,), (("ext4", MADE.upper()),), (old,)):
        assert arrays.foreign_content(ARRAY, showed_old, executor(answer(*found))) == "", found
    # Remains are no leave for something new; an array that was not made whole may show anything.
    assert f"ext4 {OTHERS}" in arrays.foreign_content(ARRAY, showed_old, executor(answer(old, foreign)))
    assert arrays.foreign_content(ARRAY, left(None), executor(answer(old))) == ""


@pytest.mark.usefixtures("_bears_the_uuid")
def test_an_array_that_can_not_be_read_may_be_somebodys_and_one_that_was_not_started_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unread = {
        executor(b"", exit_code=1): "may hold anything",
        executor(b"", exit_code=-9): "may hold anything",
        executor(b"", exit_code=-9, timed_out=True): "does not answer",
    }
    for probe, why in unread.items():
        said = arrays.foreign_content(ARRAY, left(Outcome.DONE), probe)
        assert said.startswith("/dev/md127 may hold anything")
        assert why in said
        assert "left untouched" in said
    monkeypatch.setattr(arrays, "is_started", lambda _name: False)
    assert arrays.foreign_content(ARRAY, left(Outcome.DONE), executor(answer(("ext4", OTHERS)))) == ""
