"""What takes too long for the test command: an engine killed in every kind of step, every level with every knob."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from tests.lab.guest import fsconsole, wait_until
from tests.lab.inside.whatif.arrays import (
    DISKS,
    HERE,
    LIMIT_S,
    arrays,
    clear_disks,
    consent,
    hurry,
    is_in,
    kill_engines,
    newest,
    on,
    uuids_on,
    wait_for,
)
from tests.lab.runs import act, begin, new_run
from tests.lab.soak import SOAK

__test__ = SOAK
"""Not even collected otherwise: a test that is left out is one that a machine is missing for."""

A, B, C, D = DISKS
MIRROR = f"{HERE}/mirror.toml"
KINDS = (StepKind.ARRAY_SYNC, StepKind.RAW_WRITE, StepKind.READTEST, StepKind.ARRAY_STOP)


@pytest.fixture(autouse=True)
def _clear() -> Iterator[None]:
    yield
    hurry(200000)
    kill_engines()
    clear_disks()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_whose_engine_was_killed_is_resumed_to_its_end(kind: StepKind) -> None:
    hurry(200 if kind is StepKind.ARRAY_SYNC else 200000)
    code = consent("plan", MIRROR, *on(A, B))
    assert fsconsole("run", MIRROR, *on(A, B), "--consent", code, "--detach").code == 0
    folder = newest()
    wait_for(folder, is_in(0, kind), f"the cell is in {kind.value}")
    kill_engines()
    hurry(200000)
    # Within its last step the array may have been taken apart and noted, just before the engine died.
    resumed_to_its_end(folder, may_need_no_consent=kind is StepKind.ARRAY_STOP)


@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.8, 1.6])
def test_a_run_whose_engine_was_killed_while_mdadm_made_its_array_is_resumed_to_its_end(
    after_s: float,
) -> None:
    folder = new_run(MIRROR, A, B)
    begun = Path("/tmp/an-array-is-made")
    begun.unlink(missing_ok=True)
    engine = begin(folder, act(read_state(folder).cells[0], "array", ("touch", str(begun))))
    wait_until(begun.exists, "the array is to be made", LIMIT_S)
    time.sleep(after_s)
    engine.kill()
    engine.wait()
    resumed_to_its_end(folder, may_need_no_consent=False)


def resumed_to_its_end(folder: RunFolder, *, may_need_no_consent: bool) -> None:
    shown = ("resume", folder.name, "--show")
    assert fsconsole(*shown).code == 0
    assert arrays() == {}
    code = consent(*shown)
    assert code or may_need_no_consent
    done = fsconsole("resume", folder.name, "--consent", code)
    assert done.code == 0, done
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}
    assert arrays() == {}
    assert uuids_on(A, B) == set()


def test_every_level_and_knob_makes_a_cell_that_is_done() -> None:
    path = f"{HERE}/every.toml"
    code = consent("plan", path, *on(*DISKS))
    done = fsconsole("run", path, *on(*DISKS), "--consent", code, "--json")
    assert done.code == 0, done.err
    cells = read_state(newest()).cells
    assert {cell.status for cell in cells} == {CellStatus.DONE}, [cell.reason for cell in cells]
    assert uuids_on(*DISKS) == set()
