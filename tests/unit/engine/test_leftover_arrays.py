"""Arrays of a dead engine: which are the run's, which are assembled to be read, and whose their content is."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest

from fsconsole.devices.content import parse_wipefs
from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.engine.arrays import (
    OwnArray,
    assemble_stopped,
    foreign_content,
    in_words,
    members_left,
    take_apart_leftovers,
)
from fsconsole.model.command import Command, CommandResult, ResourceUsage
from fsconsole.model.events import Outcome
from fsconsole.model.plan import ArraySpec, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState, StepState
from fsconsole.plan.expand import array_uuid
from tests.fakes import FakeExecutor
from tests.unit.results import build


def killed(status: CellStatus) -> RunState:
    cell = replace(build.cell(0), array=ArraySpec("raid0"), members=("/dev/vda", "/dev/vdb"))
    return build.run((cell,), (CellState(0, status, 1),))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[OwnArray]:
    seen: list[OwnArray] = []

    def dismantle(own: OwnArray, _act: object, _objection: object) -> tuple[str, ...]:
        seen.append(own)
        return ("/dev/md127 was not created by the run: left untouched",)

    monkeypatch.setattr(arrays, "dismantle", dismantle)
    monkeypatch.setattr(arrays, "lock_whole_disk", nullcontext)
    monkeypatch.setattr(arrays, "held_arrays", lambda: [HeldArray("md400", frozenset({"vdz"}))])
    return seen


def test_the_arrays_of_cells_that_were_begun_and_not_done_are_looked_for(asked: list[OwnArray]) -> None:
    state = killed(CellStatus.UNKNOWN)
    said = take_apart_leftovers(state, FakeExecutor({}))
    (own,) = asked
    assert own.uuids == {array_uuid(state.request.run_id, 0)}
    assert said == (
        "/dev/md127 was not created by the run: left untouched",
        "/dev/md400 is an array of vdz, not the run's: left untouched",
    )


def test_where_a_member_does_not_answer_no_array_is_touched(asked: list[OwnArray]) -> None:
    state = killed(CellStatus.UNKNOWN)
    said = take_apart_leftovers(state, FakeExecutor({}), members_left(state).keys())
    assert said == (f"its arrays have to wait: {min(members_left(state))} does not answer",)
    assert asked == []


def test_nothing_is_looked_for_after_cells_that_are_done(asked: list[OwnArray]) -> None:
    assert take_apart_leftovers(killed(CellStatus.DONE), FakeExecutor({})) == ()
    assert members_left(killed(CellStatus.DONE)) == {}
    assert asked == []


OURS, OTHER_OURS, THEIRS = "0000aaaa", "0000bbbb", "0000cccc"
ON = {"/dev/vda": OURS, "/dev/vdb": OURS, "/dev/vdc": OTHER_OURS, "/dev/vdd": THEIRS, "/dev/vde": ""}
OWN = OwnArray(frozenset({OURS, OTHER_OURS}), (*ON, "/dev/gone"))


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


@pytest.fixture(params=[(), ("vdc",)])
def called(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is called while the kernel holds an array of the disks named, and others."""
    held = [HeldArray("md401", frozenset({"vdz", *request.param}))]
    monkeypatch.setattr(arrays, "held_arrays", lambda: held)
    monkeypatch.setattr(arrays, "member_uuid", member_uuid)
    monkeypatch.setattr(arrays, "kernel_name", lambda path: path.removeprefix("/dev/"))
    monkeypatch.setattr(arrays.os.path, "exists", lambda path: path == "/sys/block/md401")
    recorder = Recorder()
    assemble_stopped(OWN, recorder)
    return sorted(recorder.calls, key=lambda argv: argv[-1])


@pytest.mark.parametrize("called", [()], indirect=True)
def test_each_of_the_runs_own_is_under_a_number_of_its_own(called: list[tuple[str, ...]]) -> None:
    numbers, members = {argv[4] for argv in called}, [argv[5:] for argv in called]
    assert numbers == {"/dev/md402", "/dev/md403"}
    assert members == [("/dev/vda", "/dev/vdb"), ("/dev/vdc",)]


@pytest.mark.parametrize("called", [("vdc",)], indirect=True)
def test_one_that_is_held_together_already_is_left_as_it_is(called: list[tuple[str, ...]]) -> None:
    assert [argv[5:] for argv in called] == [("/dev/vda", "/dev/vdb")]


def test_nothing_is_written(called: list[tuple[str, ...]]) -> None:
    assert {argv[:4] for argv in called} == {("mdadm", "--assemble", "--readonly", "--run")}


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
    verdict = in_words(parse_wipefs(answer(*showed), ("/dev/md9",))["/dev/md9"])
    step = StepState(1, StepKind.ARRAY, "make raid1", 0, outcome=outcome, verdict=verdict)
    members = ("/dev/vda", "/dev/vdb")
    cell = replace(build.cell(0), uuid=MADE, array=ArraySpec("raid1"), members=members)
    return build.run((cell,), (CellState(0, CellStatus.UNKNOWN, 1, steps=(step,)),))


@pytest.fixture(autouse=True)
def _bears_the_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = array_uuid(left(None).request.run_id, 0)
    monkeypatch.setattr(arrays, "member_uuid", lambda _path: uuid)
    monkeypatch.setattr(arrays, "is_started", lambda _name: True)


def test_a_filesystem_that_the_run_did_not_make_is_somebody_elses() -> None:
    said = foreign_content(ARRAY, left(Outcome.DONE), executor(answer(("ext4", OTHERS))))
    assert said.startswith(f"/dev/md127 holds ext4 {OTHERS}, which the run did not make: left untouched")
    assert "`mdadm --stop /dev/md127`, then `mdadm --zero-superblock /dev/vda /dev/vdb`" in said


@pytest.mark.parametrize("found", [(), (("ext4", MADE),), (("ext4", MADE.upper()),), (("xfs", OLD),)])
def test_what_the_run_made_and_what_the_new_array_showed_already_are_not(
    found: tuple[tuple[str, str], ...],
) -> None:
    assert foreign_content(ARRAY, left(Outcome.DONE, ("xfs", OLD)), executor(answer(*found))) == ""


def test_remains_are_no_leave_for_something_new() -> None:
    shown = executor(answer(("xfs", OLD), ("ext4", OTHERS)))
    assert f"ext4 {OTHERS}" in foreign_content(ARRAY, left(Outcome.DONE, ("xfs", OLD)), shown)


def test_an_array_that_was_not_started_shows_nothing_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "is_started", lambda _name: False)
    assert foreign_content(ARRAY, left(Outcome.DONE), executor(answer(("ext4", OTHERS)))) == ""


@pytest.mark.parametrize("exit_code", [1, -9])
def test_one_that_was_and_can_not_be_read_may_be_somebodys(exit_code: int) -> None:
    said = foreign_content(ARRAY, left(Outcome.DONE), executor(b"", exit_code=exit_code))
    assert said.startswith("/dev/md127 may hold anything")
    assert "left untouched" in said


def test_whose_an_array_is_that_does_not_answer_is_not_known_and_it_stays() -> None:
    said = foreign_content(ARRAY, left(Outcome.DONE), executor(b"", exit_code=-9, timed_out=True))
    assert "/dev/md127 does not answer" in said
    assert "left untouched" in said


def test_one_that_was_not_made_whole_may_show_anything() -> None:
    assert foreign_content(ARRAY, left(None), executor(answer(("xfs", OLD)))) == ""
