"""One run on a raid5 of three virtio disks: a cell of ext4, and of each filesystem that few kernels have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest

from fsconsole.journal.batch import Cursor
from fsconsole.journal.history import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import list_runs
from fsconsole.model.measurement import Metric
from fsconsole.model.sample import Role, Sample
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.model.step import StepKind
from tests.lab.guest import Done, create_array, fsconsole, settle, stop_arrays

PLAN = "tests/lab/inside/runs/rare.toml"
MEMBERS = ("vda", "vdb", "vdc")
FILESYSTEMS = ("ext4", "f2fs", "nilfs2", "jfs", "reiserfs")
WRITTEN_BYTES = 4 * 2**20
RUNS = "/var/lib/fsconsole/runs"


@dataclass(frozen=True, slots=True)
class Whole:
    """The run when it is over, and all that the gauges showed meanwhile."""

    done: Done
    state: RunState
    samples: tuple[Sample, ...]


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    paths = [f"/dev/{name}" for name in MEMBERS]
    create_array("md0", "raid5", *paths)
    settle()
    planned = fsconsole("plan", PLAN, "--device", "/dev/md0", "--json")
    assert planned.code == 0, planned.err
    consent = json.loads(planned.out)["consent"]
    done = fsconsole("run", PLAN, "--device", "/dev/md0", "--consent", consent, "--json")
    (folder,) = list_runs(RUNS)
    samples = JournalReader(folder.journal).read_since(Cursor()).samples
    yield Whole(done, read_state(folder), samples)
    stop_arrays(*paths)


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
    shown = {
        (device.name, device.role, device.above) for sample in whole.samples for device in sample.devices
    }
    assert shown == {("md0", Role.TARGET, ""), *((name, Role.MEMBER, "md0") for name in MEMBERS)}


def test_what_was_written_counts_once_and_with_parity_on_the_members(whole: Whole) -> None:
    assert {cell.value(Metric.WRITTEN) for cell in whole.state.cells} == {WRITTEN_BYTES}
    moved = dict.fromkeys(("md0", *MEMBERS), 0.0)
    for before, sample in pairwise(whole.samples):
        for device in sample.devices:
            moved[device.name] += device.write_bytes_s * (sample.monotonic_ns - before.monotonic_ns) / 1e9
    on_members = sum(moved[name] for name in MEMBERS)
    assert moved["md0"] > WRITTEN_BYTES
    assert on_members > 1.2 * moved["md0"]


def test_the_gauges_without_a_run_show_the_same_devices(whole: Whole) -> None:
    done = fsconsole("gauges", "--device", "/dev/md0", "--json", "--count", "1")
    assert done.code == 0, done.err
    shown = [(device["name"], device["role"]) for device in json.loads(done.out.splitlines()[-1])["devices"]]
    assert shown == [("md0", "target"), *((name, "member") for name in MEMBERS)]
