"""A virtio, a scsi and an nvme disk, each pulled in the middle of a step: what becomes of the run, and when they return."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import BDI_FIELDS, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState
from tests.lab.guest import fsconsole
from tests.lab.qmp import HotDisk, Qmp
from tests.lab.runs import act, begin, cells_on, new_run, state_of
from tests.lab.soak import SOAK, tried

PLANS = "tests/lab/inside/hotplug"
SIZE_MIB = 32
BUSES = ("virtio", "scsi", "nvme")
WHEN = (0, 0, 1) if SOAK else (0, 0, 0)
"""In which of its cells each is pulled; in a soak the last has one that goes well, though the others are gone by then."""
STEPS = (
    "equalise", "mkfs", "features", "check-empty", "mount", "quiesce", "workload", "drain", "settings", "cold", "settings-back",
    "remount", "extents", "unmount", "check", "cold-mount", "delete", "delete-unmount", "release",
)  # fmt: skip
RAW_STEPS = ("raw-pilot", "raw-write", "raw-read", "readtest")
Steps = tuple[str, str, str]
CHOSEN = ("short.toml", ("mkfs", "workload", "check"))
EVERY = [
    *(("every.toml", (step,) * 3) for step in STEPS),
    *(("raw.toml", (step,) * 3) for step in RAW_STEPS),
]


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, how its engine ended, and which devices were pulled in which step."""

    name: str
    state: RunState
    code: int
    pulled: dict[str, str]


@pytest.fixture(scope="module")
def disks(qmp: Qmp) -> tuple[HotDisk, ...]:
    return tuple(qmp.disk(f"hot-{bus}", SIZE_MIB, bus) for bus in BUSES)


@pytest.fixture(scope="module", params=tried(EVERY, [CHOSEN]), ids=lambda param: "-".join(param[1]))
def ended(request: pytest.FixtureRequest, disks: tuple[HotDisk, ...]) -> Iterator[Ended]:
    plan, steps = request.param
    paths = [f"/dev/{disk.plug()}" for disk in disks]
    folder = new_run(f"{PLANS}/{plan}", *paths)
    acts = [
        act(cells_on(state_of(folder), path)[number], step, ("sh", "-c", disk.pulled_by), gone=path)
        for disk, path, step, number in zip(disks, paths, steps, WHEN, strict=True)
    ]
    code = begin(folder, *acts).wait()
    yield Ended(folder.name, state_of(folder), code, dict(zip(paths, steps, strict=True)))
    for disk in disks:
        if disk.found():
            disk.pull()


def test_a_disk_that_is_pulled_ends_its_cell_with_the_reason(ended: Ended) -> None:
    for (path, step), number in zip(ended.pulled.items(), WHEN, strict=True):
        cell = cells_on(ended.state, path)[number]
        assert cell.status is CellStatus.FAILED, (path, cell.reason)
        # A load may be over by the time the kernel has let go of the disk.
        assert cell.steps[-1].kind.value in ({step, "drain"} if step == "workload" else {step}), cell.reason
        assert f"{path} is gone" in cell.reason


def test_cells_on_other_disks_are_carried_out_and_those_on_a_lost_one_are_left(ended: Ended) -> None:
    for path, number in zip(ended.pulled, WHEN, strict=True):
        cells = cells_on(ended.state, path)
        assert {cell.status for cell in cells[:number]} <= {CellStatus.DONE}
        assert {step.outcome for step in cells[number].steps[:-1]} == {Outcome.DONE}
        assert {cell.status for cell in cells[number + 1 :]} <= {CellStatus.PENDING, CellStatus.STOPPED}


def test_the_run_ends_in_words_and_nothing_is_left_mounted(ended: Ended) -> None:
    assert ended.code == ended.state.exit_code == ExitCode.DEVICE_CHANGED, ended.state.reason
    assert "is gone" in ended.state.reason
    assert "fsconsole resume" in ended.state.hint
    for path in ended.pulled:
        assert f"{path} " not in Path("/proc/mounts").read_text()


def test_a_load_is_traced_on_this_kernel_too_and_no_instance_is_left_of_one_whose_disk_is_gone(ended: Ended) -> None:
    assert os.listdir("/sys/kernel/debug/tracing/instances") == []
    figures = [
        {one.metric: one.value for step in cell.steps[: at + 1] for one in step.measurements}
        for cell, planned in zip(ended.state.cells, ended.state.request.plan.cells, strict=True)
        for at, step in enumerate(cell.steps)
        if step.kind is StepKind.DRAIN and step.outcome is Outcome.DONE and planned.workloads[0].trace
    ]
    assert figures or SOAK
    for told in figures:
        assert {metric for typical, peak, _ in BDI_FIELDS for metric in (typical, peak)} <= set(told)
        assert told[Metric.TRACE_LOST] == told[Metric.NR_PAGES_NEGATIVE] == 0
        # Files that are synced after every write: the head goes to and fro between them and the journal.
        assert told[Metric.WRITE_SEEK] > 0
        assert told[Metric.WRITES_IN_ORDER] < 100
        assert told[Metric.WRITEBACK_STARTS] > 0


def test_a_disk_that_returns_is_known_under_another_name_and_another_disk_in_its_place_is_left(
    ended: Ended, disks: tuple[HotDisk, ...], qmp: Qmp, request: pytest.FixtureRequest
) -> None:
    former = next(iter(ended.pulled))
    impostor = qmp.disk(f"impostor-{ended.name}", SIZE_MIB, "virtio", serial="IMPOSTOR")
    plugged = impostor.plug()
    request.addfinalizer(impostor.pull)
    assert f"/dev/{plugged}" == former
    subprocess.run(["dd", "if=/dev/urandom", f"of={former}", "bs=1M", "count=4", "status=none"], check=True)
    before = content(former)
    missing = fsconsole("resume", ended.name, "--show")
    assert missing.code == ExitCode.DEVICE_CHANGED, missing
    assert disks[0].serial in missing.err
    now = [f"/dev/{disk.plug()}" for disk in disks]
    assert now[0] != former
    refused = fsconsole("resume", ended.name)
    assert refused.code == ExitCode.CONSENT_MISSING, refused
    assert now[0] in refused.err
    if SOAK:
        shown = fsconsole("resume", ended.name, "--show", "--json")
        code = json.loads(shown.out)["consent"]
        finished = fsconsole("resume", ended.name, "--consent", code, "--json")
        assert finished.code == ExitCode.CELLS_FAILED, finished
    assert content(former) == before


def content(path: str) -> bytes:
    """Return a disk's bytes, read anew."""
    subprocess.run(["blockdev", "--flushbufs", path], check=True)
    return Path(path).read_bytes()
