"""An array that a dead engine left and that somebody has taken for his own since: cleanup leaves it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fsconsole.devices.content import parse_wipefs
from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.engine.arrays import LeftoverOwner, in_words
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.events import Outcome
from fsconsole.model.plan import ArraySpec, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState, StepState
from fsconsole.plan.expand import array_uuid
from tests.fakes import FakeExecutor
from tests.unit.results import build

ARRAY = HeldArray("md127", frozenset({"vda", "vdb"}), "1.2")
OURS, OLD, THEIRS = "0000aaaa-own", "0000bbbb-old", "0000cccc-new"


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
    cell = replace(build.cell(0), uuid=OURS, array=ArraySpec("raid1"), members=members)
    return build.run((cell,), (CellState(0, CellStatus.UNKNOWN, 1, steps=(step,)),))


@pytest.fixture(autouse=True)
def _bears_the_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = array_uuid(left(None).request.run_id, 0)
    monkeypatch.setattr(arrays, "member_uuid", lambda _path: uuid)
    monkeypatch.setattr(arrays, "is_started", lambda _name: True)


def test_a_filesystem_that_the_run_did_not_make_is_somebody_elses() -> None:
    said = LeftoverOwner(left(Outcome.DONE), executor(answer(("ext4", THEIRS)))).objection(ARRAY)
    assert said.startswith(f"/dev/md127 holds ext4 {THEIRS}, which the run did not make: left untouched")
    assert "`mdadm --stop /dev/md127`, then `mdadm --zero-superblock /dev/vda /dev/vdb`" in said


@pytest.mark.parametrize("found", [(), (("ext4", OURS),), (("ext4", OURS.upper()),), (("xfs", OLD),)])
def test_what_the_run_made_and_what_the_new_array_showed_already_are_not(
    found: tuple[tuple[str, str], ...],
) -> None:
    assert LeftoverOwner(left(Outcome.DONE, ("xfs", OLD)), executor(answer(*found))).objection(ARRAY) == ""


def test_remains_are_no_leave_for_something_new() -> None:
    said = LeftoverOwner(left(Outcome.DONE, ("xfs", OLD)), executor(answer(("xfs", OLD), ("ext4", THEIRS))))
    assert f"ext4 {THEIRS}" in said.objection(ARRAY)


def test_an_array_that_was_not_started_shows_nothing_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "is_started", lambda _name: False)
    assert LeftoverOwner(left(Outcome.DONE), executor(answer(("ext4", THEIRS)))).objection(ARRAY) == ""


@pytest.mark.parametrize("exit_code", [1, -9])
def test_one_that_was_and_can_not_be_read_may_be_somebodys(exit_code: int) -> None:
    said = LeftoverOwner(left(Outcome.DONE), executor(b"", exit_code=exit_code)).objection(ARRAY)
    assert said.startswith("/dev/md127 may hold anything")
    assert "left untouched" in said


def test_whose_an_array_is_that_does_not_answer_is_not_known_and_it_stays() -> None:
    said = LeftoverOwner(left(Outcome.DONE), executor(b"", exit_code=-9, timed_out=True)).objection(ARRAY)
    assert "/dev/md127 does not answer" in said
    assert "left untouched" in said


def test_one_that_was_not_made_whole_may_show_anything() -> None:
    assert LeftoverOwner(left(None), executor(answer(("xfs", OLD)))).objection(ARRAY) == ""
