"""What cleanup does about arrays of a dead engine: it proves the run's targets, locks them, and takes apart what is theirs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from fsconsole.devices.md import HeldArray
from fsconsole.engine import arrays
from fsconsole.engine.arrays import OwnArray, members_left, take_apart_leftovers
from fsconsole.model.plan import ArraySpec
from fsconsole.model.state import CellState, CellStatus, RunState
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


@pytest.mark.parametrize("status", [CellStatus.DONE])
def test_nothing_is_looked_for_after_cells_that_are_done(asked: list[OwnArray], status: CellStatus) -> None:
    assert take_apart_leftovers(killed(status), FakeExecutor({})) == ()
    assert members_left(killed(status)) == {}
    assert asked == []
