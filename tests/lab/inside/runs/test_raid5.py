"""One run on a raid5 of three disks: a cell of each filesystem that few kernels have."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Role
from fsconsole.model.state import CellState, CellStatus
from tests.lab.guest import fsconsole
from tests.lab.whole import MEMBERS, Whole, run_on_array

PLAN = "tests/lab/inside/runs/rare.toml"
FILESYSTEMS = ("f2fs", "nilfs2", "jfs", "reiserfs")
WRITTEN_BYTES = 4 * 2**20


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    with run_on_array(PLAN, "raid5", *MEMBERS) as done:
        yield done


def cell_of(whole: Whole, filesystem: str) -> CellState:
    return whole.state.cells[FILESYSTEMS.index(filesystem)]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_cell_is_done_on_an_array_with_every_step(whole: Whole, filesystem: str) -> None:
    cell = cell_of(whole, filesystem)
    assert cell.status is CellStatus.DONE, (cell.reason, whole.done)
    kinds = [step.kind for step in cell.steps]
    assert {StepKind.MKFS, StepKind.MOUNT, StepKind.WORKLOAD, StepKind.EXTENTS} <= set(kinds)
    verdicts = {step.verdict for step in cell.steps if step.kind is StepKind.CHECK}
    assert verdicts == (set() if filesystem == "nilfs2" else {"clean"})


def test_the_run_ends_well(whole: Whole) -> None:
    assert whole.done.code == 0, whole.done
    assert whole.done.err == ""


def test_the_gauges_show_the_array_and_mark_its_members_as_the_same_bytes(whole: Whole) -> None:
    assert whole.gauges == {("md0", Role.TARGET, ""), *((name, Role.MEMBER, "md0") for name in MEMBERS)}


def test_what_was_written_counts_once_and_with_parity_on_the_members(whole: Whole) -> None:
    assert {cell.value(Metric.WRITTEN) for cell in whole.state.cells} == {WRITTEN_BYTES}
    on_array = whole.written_bytes(Role.TARGET)
    assert on_array > WRITTEN_BYTES
    assert whole.written_bytes(Role.MEMBER) > 1.2 * on_array


def test_the_gauges_without_a_run_show_the_same_devices(whole: Whole) -> None:
    done = fsconsole("gauges", "--device", "/dev/md0", "--json", "--count", "1")
    assert done.code == 0, done.err
    shown = [(device["name"], device["role"]) for device in json.loads(done.out.splitlines()[-1])["devices"]]
    assert shown == [("md0", "target"), *((name, "member") for name in MEMBERS)]
