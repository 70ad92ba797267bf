"""Former members of a run's own arrays: what a clean end left on them is proof enough, anything else is asked about.

No array is made here: the journals tell of some, and the devices hold what one could have left.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fsconsole.client.engine import create_request
from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.engine.proof import Prover, UnprovenTarget, look_again, renew
from fsconsole.errors.targets import ConsentOutdated, DeviceChanged
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    MemberLeft,
    Observation,
    Outcome,
    RunStarted,
    StepFinished,
    StepStarted,
)
from fsconsole.model.plan import StepKind
from fsconsole.plan.arrays import EVERY_LEVEL
from fsconsole.preflight import prepare as preparing
from fsconsole.system.run import RealExecutor
from tests.conftest import MakeLoopDevice, run
from tests.loop.gate_cases import MIB, write

pytestmark = pytest.mark.root

SIZE = 64 * MIB
PLAN = """
schema = 1
order = "as-listed"
[[array]]
level = ["raid1", "raid0"]
[[variant]]
type = "ext4"
[[workload]]
kind = "create"
file_size = "1MiB"
"""
ARRAY_STEP = 2


@pytest.fixture
def devices(loop_device: MakeLoopDevice) -> tuple[str, str]:
    return loop_device(SIZE), loop_device(SIZE)


@pytest.fixture
def folder(devices: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two cells on arrays of both devices, agreed to, on which remains of the first array lie."""
    monkeypatch.setattr(preparing, "array_support", lambda: EVERY_LEVEL)
    (tmp_path / "plan.toml").write_text(PLAN)
    run_id, runs = make_run_id(), str(tmp_path / "runs")
    os.mkdir(runs)
    prepared = preparing.prepare(
        str(tmp_path / "plan.toml"), devices, executor=RealExecutor(), runs_dir=runs, run_id=run_id
    )
    folder = create_run(runs, create_request(run_id, prepared.plan, prepared.targets))
    for device in devices:
        for offset in sample_offsets(SIZE)[1:]:
            write(device, offset, os.urandom(BLOCK_BYTES))
    return folder


def tell(folder: RunFolder, *observations: Observation) -> None:
    journal = JournalWriter(folder)
    for observation in observations:
        journal.record(observation)
    journal.close(finished=True)


def array_made(cell: int, attempt: int, outcome: Outcome | None = Outcome.DONE) -> tuple[Observation, ...]:
    begun = (
        RunStarted(attempt, "0.1.0", "boot", "6.1", "box"),
        CellStarted(cell, attempt),
        StepStarted(cell, attempt, ARRAY_STEP, StepKind.ARRAY, "make it"),
    )
    ended = () if outcome is None else (StepFinished(cell, attempt, ARRAY_STEP, outcome, 1.0),)
    return (*begun, *ended)


def ended_cleanly(folder: RunFolder, cell: int = 0, attempt: int = 1) -> None:
    """Let the journal tell of a cell whose array was taken apart, and that its members were looked at then."""
    prover = Prover(RealExecutor(), read_state(folder), folder.path)
    members = read_state(folder).request.plan.cells[cell].members
    left = (MemberLeft(cell, attempt, n, prover.note_left(path)) for n, path in enumerate(members))
    tell(folder, *array_made(cell, attempt), *left, CellFinished(cell, attempt, Outcome.DONE))


def unproven(folder: RunFolder) -> tuple[UnprovenTarget, ...]:
    return look_again(folder, RealExecutor()).unproven


def why(doubt: UnprovenTarget) -> str:
    return str(doubt.why)


def test_after_a_clean_end_nothing_is_asked(folder: RunFolder) -> None:
    ended_cleanly(folder)
    renewal = look_again(folder, RealExecutor())
    assert (renewal.unproven, renewal.consent) == ((), "")
    renew(folder, renewal, "")


def raw_data(device: str) -> None:
    write(device, sample_offsets(SIZE)[7], b"a raw database, which no tool sees")


def nothing_any_more(device: str) -> None:
    write(device, sample_offsets(SIZE)[7], bytes(BLOCK_BYTES))


def a_filesystem(device: str) -> None:
    run("mkfs.ext4", "-q", "-F", device)


@pytest.mark.parametrize("came", [raw_data, nothing_any_more, a_filesystem], ids=lambda came: came.__name__)
def test_what_came_onto_a_member_since_a_clean_end_is_asked_about_and_of_that_member_alone(
    folder: RunFolder, devices: tuple[str, str], came: Callable[[str], None]
) -> None:
    ended_cleanly(folder)
    came(devices[1])
    (doubt,) = unproven(folder)
    assert doubt.target.path == devices[1]
    with pytest.raises(ConsentOutdated, match=devices[1]):
        renew(folder, look_again(folder, RealExecutor()), "")


def test_a_change_of_content_alone_is_told_as_such(folder: RunFolder, devices: tuple[str, str]) -> None:
    ended_cleanly(folder)
    raw_data(devices[0])
    (doubt,) = unproven(folder)
    assert "has changed since this run took its array apart" in why(doubt)


def test_of_an_engine_that_died_within_the_cell_all_members_are_asked_about(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    tell(folder, *array_made(0, 1))
    found = unproven(folder)
    assert [doubt.target.path for doubt in found] == list(devices)
    assert all("nothing on it tells" in why(doubt) for doubt in found)


@pytest.mark.parametrize(
    ("outcome", "words"), [(None, "was ended while it wiped"), (Outcome.FAILED, "was cut short, or failed")]
)
def test_a_clean_end_counts_for_nothing_once_the_next_array_was_begun(
    folder: RunFolder, outcome: Outcome | None, words: str
) -> None:
    ended_cleanly(folder)
    tell(folder, *array_made(1, 1, outcome))
    assert len(unproven(folder)) == 2
    assert all(words in why(doubt) for doubt in unproven(folder))


def test_a_clean_end_counts_for_nothing_after_an_attempt_of_which_the_writes_are_not_known(
    folder: RunFolder,
) -> None:
    ended_cleanly(folder)
    # The second attempt made an array in cell 1; the third began the cell anew, so that its journal forgets it.
    tell(folder, *array_made(1, 2), CellStarted(1, 3))
    assert len(unproven(folder)) == 2


def test_one_member_that_could_not_be_looked_at_is_asked_about_alone(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    prover = Prover(RealExecutor(), read_state(folder), folder.path)
    left = MemberLeft(0, 1, 0, prover.note_left(devices[0]))
    tell(folder, *array_made(0, 1), left, CellFinished(0, 1, Outcome.FAILED, "workload: it failed"))
    assert [doubt.target.path for doubt in unproven(folder)] == [devices[1]]


def test_between_two_cells_of_one_engine_just_what_was_left_has_to_stay(
    folder: RunFolder, devices: tuple[str, str]
) -> None:
    state = read_state(folder)
    first, second = state.request.targets
    cell = state.request.plan.cells[0]
    tell(folder, *array_made(0, 1))
    prover = Prover(RealExecutor(), state, folder.path, holds_lock=False)
    for device in devices:
        prover.note_left(device)
        raw_data(device)
    with pytest.raises(DeviceChanged, match="has changed since this run took its array apart"):
        prover.prove_target(first)
    raw_data(devices[1])
    prover.note_left(devices[1])
    prover.prove_target(second)
    prover.note_left(devices[0])
    with prover.wiping(cell, ("mdadm", "--create"), cell.members):
        raw_data(devices[0])
    write(devices[0], sample_offsets(SIZE)[9], b"what the next array writes")
    prover.prove_target(first)
