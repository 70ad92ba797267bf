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


def test_the_runs_own_stopped_arrays_are_assembled_read_only_under_numbers_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def assembled(*held: str) -> list[tuple[str, ...]]:
        """Return the commands while the kernel holds an array of the disks named, and others."""
        monkeypatch.setattr(arrays, "held_arrays", lambda: [HeldArray("md401", frozenset({"vdz", *held}))])
        recorder = Recorder()
        assemble_stopped(OWN, recorder)
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


def test_content_that_the_run_did_not_make_and_the_new_array_did_not_show_is_somebody_elses() -> None:
    foreign, old, own = ("ext4", OTHERS), ("xfs", OLD), ("ext4", MADE)
    said = foreign_content(ARRAY, left(Outcome.DONE), executor(answer(foreign)))
    assert said.startswith(f"/dev/md127 holds ext4 {OTHERS}, which the run did not make: left untouched")
    assert "`mdadm --stop /dev/md127`, then `mdadm --zero-superblock /dev/vda /dev/vdb`" in said
    showed_old = left(Outcome.DONE, old)
    for found in ((), (own,), (("ext4", MADE.upper()),), (old,)):
        assert foreign_content(ARRAY, showed_old, executor(answer(*found))) == "", found
    # Remains are no leave for something new; an array that was not made whole may show anything.
    assert f"ext4 {OTHERS}" in foreign_content(ARRAY, showed_old, executor(answer(old, foreign)))
    assert foreign_content(ARRAY, left(None), executor(answer(old))) == ""


def test_an_array_that_can_not_be_read_may_be_somebodys_and_one_that_was_not_started_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unread = {
        executor(b"", exit_code=1): "may hold anything",
        executor(b"", exit_code=-9): "may hold anything",
        executor(b"", exit_code=-9, timed_out=True): "does not answer",
    }
    for probe, why in unread.items():
        said = foreign_content(ARRAY, left(Outcome.DONE), probe)
        assert said.startswith("/dev/md127 may hold anything")
        assert why in said
        assert "left untouched" in said
    monkeypatch.setattr(arrays, "is_started", lambda _name: False)
    assert foreign_content(ARRAY, left(Outcome.DONE), executor(answer(("ext4", OTHERS)))) == ""
