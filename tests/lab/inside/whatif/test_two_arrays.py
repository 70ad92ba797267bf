"""One run over two arrays of its own: a raid5 that is waited for, with md's knobs, and a raid10 assumed clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from fsconsole.journal.events import Batch, Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import SettingSeen, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Role
from fsconsole.model.state import CellStatus, RunState
from tests.lab.guest import Done, fsconsole, settle, udevd
from tests.lab.inside.whatif import arrays as lab
from tests.lab.inside.whatif.arrays import DISKS
from tests.lab.soak import SOAK

PLAN = f"{lab.HERE}/two.toml"
RAID5, RAID10 = 0, 1
MD = "/sys/block/md400/md"
THERE = ("mkfs", "features", "check-empty", "mount", "workload", "drain", "unmount", "check", "cold-mount", "delete")
"""Steps in which the array is there, and has been for a while."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The run when it is over, and all that its journal holds."""

    done: Done
    state: RunState
    batch: Batch


@pytest.fixture(scope="module", autouse=True)
def _udevd() -> Iterator[None]:
    """It runs in a soak: that runs go well beside it is shown by test_ends.py too, and it takes half as long again."""
    with udevd() if SOAK else nullcontext():
        yield


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    code = lab.consent("plan", PLAN, *lab.on(*DISKS))
    done = fsconsole("run", PLAN, *lab.on(*DISKS), "--consent", code, "--json")
    folder = lab.newest()
    yield Whole(done, read_state(folder), JournalReader(folder.journal).read_since(Cursor()))
    lab.clear_disks()


def test_both_cells_are_done_and_clean(whole: Whole) -> None:
    assert whole.done.code == 0, whole.done
    for cell in whole.state.cells:
        assert cell.status is CellStatus.DONE, cell.reason
        assert {step.verdict for step in cell.steps if step.kind is StepKind.CHECK} == {"clean"}


def test_the_resync_is_a_step_with_its_time_where_nothing_was_assumed(whole: Whole) -> None:
    waited, assumed = whole.state.cells[RAID5], whole.state.cells[RAID10]
    assert (waited.value(Metric.ARRAY_SYNC) or 0) > 0
    assert assumed.value(Metric.ARRAY_SYNC) is None
    assert StepKind.ARRAY_SYNC not in {step.kind for step in assumed.steps}


def test_what_was_assumed_clean_is_labelled_and_nothing_else_is(whole: Whole) -> None:
    labelled = [
        cell.index
        for cell in whole.state.cells
        for warning in cell.warnings
        if warning.kind is WarningKind.ASSUMED_CLEAN
    ]
    assert labelled == [RAID10]
    shown = fsconsole("results").out
    assert "assume-clean" in shown
    assert "assumed clean (cell 2)" in shown


def test_the_knobs_are_in_effect_when_the_load_begins(whole: Whole) -> None:
    seen = {
        (entry.observation.path, entry.observation.value)
        for entry in whole.batch.entries
        if isinstance(entry.observation, SettingSeen) and entry.observation.cell == RAID5
    }
    assert seen == {
        (f"{MD}/stripe_cache_size", "1024"),
        (f"{MD}/group_thread_cnt", "2"),
        ("/sys/block/md400/queue/read_ahead_kb", "256"),
    }
    assert not [w for cell in whole.state.cells for w in cell.warnings if w.kind is WarningKind.NOT_IN_EFFECT]


@pytest.mark.parametrize(("cell", "members"), [(RAID5, 3), (RAID10, 4)])
def test_the_gauges_show_the_array_with_its_members_while_it_is_there(whole: Whole, cell: int, members: int) -> None:
    shown = {
        (device.name, device.role, device.above)
        for sample in whole.batch.samples
        if sample.cell == cell and sample.step in THERE
        for device in sample.devices
    }
    names = [disk.removeprefix("/dev/") for disk in DISKS]
    assert {device for device in shown if device[1] is Role.MEMBER} == {
        (name, Role.MEMBER, "md400") for name in names[:members]
    }
    assert ("md400", Role.TARGET, "") in shown


def test_nothing_of_the_arrays_is_left(whole: Whole) -> None:
    assert whole.state.cells
    settle()
    assert lab.arrays() == {}
    assert lab.uuids_on(*DISKS) == set()
