"""However a cell ends, its array is taken apart by what it is, not by what it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.journal.history import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.state import CellStatus
from fsconsole.model.step import StepKind
from tests.lab.guest import create_array, fsconsole, run, settle, stop_arrays
from tests.lab.inside.whatif.arrays import (
    DISKS,
    HERE,
    arrays,
    consent,
    digest,
    is_in,
    kill_engines,
    newest,
    on,
    uuids_on,
    wait_for,
    wait_until,
)
from tests.lab.soak import tried

A, B, C, D = DISKS
MIRROR = f"{HERE}/mirror.toml"
SPEED = "/proc/sys/dev/raid/speed_limit_"


def hurry(kib_per_s: int) -> None:
    for limit in ("min", "max"):
        Path(f"{SPEED}{limit}").write_text(str(kib_per_s))


@pytest.fixture(autouse=True)
def _clear() -> Iterator[None]:
    hurry(200)
    yield
    hurry(200000)
    kill_engines()
    stop_arrays(*DISKS)


def test_a_cell_skipped_and_an_engine_killed_leave_no_array_and_no_other_array_is_touched() -> None:
    code = consent("plan", MIRROR, *on(A, B))
    begun = fsconsole("run", MIRROR, *on(A, B), "--consent", code, "--detach")
    assert begun.code == 0, begun
    folder = newest()

    wait_for(folder, is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    assert fsconsole("stop", folder.name, "--skip").code == 0
    wait_for(folder, lambda state: state.cells[0].status is CellStatus.SKIPPED, "the cell is skipped")

    wait_for(folder, is_in(1, StepKind.RAW_READ), "the stripe has been written")
    assert arrays()["md400"].members == {"vda", "vdb"}
    kill_engines()
    # As udev may put it together after a reboot, while another array has taken the name.
    run("mdadm", "--stop", "/dev/md400")
    run("mdadm", "--assemble", "/dev/md127", A, B)
    create_array("md400", "raid1", C, D)
    settle()
    before = [digest(disk) for disk in (C, D)]

    cleaned = fsconsole("cleanup", folder.name)
    assert cleaned.code == 0, cleaned
    assert "stopped the array /dev/md127" in cleaned.out
    assert "/dev/md400 is an array of vdc, vdd, not the run's: it stays as it is" in cleaned.out
    assert arrays().keys() == {"md400"}
    assert uuids_on(A, B) == set()
    assert [digest(disk) for disk in (C, D)] == before


KINDS = (StepKind.ARRAY_SYNC, StepKind.RAW_WRITE, StepKind.READTEST, StepKind.ARRAY_STOP)


@pytest.mark.parametrize("kind", tried(KINDS, ()))
def test_a_run_whose_engine_was_killed_is_resumed_to_its_end(kind: StepKind) -> None:
    if kind is not StepKind.ARRAY_SYNC:
        hurry(200000)
    code = consent("plan", MIRROR, *on(A, B))
    assert fsconsole("run", MIRROR, *on(A, B), "--consent", code, "--detach").code == 0
    folder = newest()
    wait_for(folder, is_in(0, kind), f"the cell is in {kind.value}")
    kill_engines()
    hurry(200000)
    shown = ("resume", folder.name, "--show")
    assert fsconsole(*shown).code == 0
    assert arrays() == {}
    done = fsconsole("resume", folder.name, "--consent", consent(*shown))
    assert done.code == 0, done
    wait_until(lambda: not is_alive(folder), "the engine ends")
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}
    assert arrays() == {}
    assert uuids_on(A, B) == set()


@pytest.mark.parametrize("plan", tried(("every.toml",), ()))
def test_every_level_and_knob_makes_a_cell_that_is_done(plan: str) -> None:
    hurry(200000)
    path = f"{HERE}/{plan}"
    code = consent("plan", path, *on(*DISKS))
    done = fsconsole("run", path, *on(*DISKS), "--consent", code, "--json")
    assert done.code == 0, done.err
    cells = read_state(newest()).cells
    assert {cell.status for cell in cells} == {CellStatus.DONE}, [cell.reason for cell in cells]
    assert uuids_on(*DISKS) == set()
