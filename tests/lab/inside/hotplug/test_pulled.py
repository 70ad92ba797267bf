"""A virtio, a scsi and an nvme disk, each pulled in the middle of each step."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fsconsole.model.events import Outcome
from fsconsole.model.metrics import BDI_FIELDS, Metric
from fsconsole.model.plan import StepKind
from tests.lab.pulled import (  # noqa: F401
    Ended,
    carried_out,
    test_a_disk_that_is_pulled_ends_its_cell_with_the_reason,
    test_a_disk_that_returns_is_known_under_another_name_and_another_disk_in_its_place_is_left,
    test_cells_on_other_disks_are_carried_out_and_those_on_a_lost_one_are_left,
    test_the_run_ends_in_words_and_nothing_is_left_mounted,
)
from tests.lab.qmp import HotDisk, Qmp

PLANS = "tests/lab/inside/hotplug"
SIZE_MIB = 32
BUSES = ("virtio", "scsi", "nvme")
STEPS = (
    "equalise", "mkfs", "features", "check-empty", "mount", "quiesce", "workload", "drain", "settings", "cold", "settings-back",
    "remount", "extents", "unmount", "check", "cold-mount", "delete", "delete-unmount", "release",
)  # fmt: skip
RAW_STEPS = ("raw-pilot", "raw-write", "raw-read", "readtest")
TRACED = ("traced.toml", ("mkfs", "workload", "check"))
EVERY = [
    TRACED,
    *(("every.toml", (step,) * 3) for step in STEPS),
    *(("raw.toml", (step,) * 3) for step in RAW_STEPS),
]


@pytest.fixture(scope="module")
def disks(qmp: Qmp) -> tuple[HotDisk, ...]:
    return tuple(qmp.disk(f"hot-{bus}", SIZE_MIB, bus) for bus in BUSES)


@pytest.fixture
def impostor(ended: Ended, qmp: Qmp) -> HotDisk:
    return qmp.disk(f"impostor-{ended.name}", SIZE_MIB, "virtio", serial="IMPOSTOR")


@pytest.fixture(scope="module", params=EVERY, ids=lambda param: "-".join(param[1]))
def ended(request: pytest.FixtureRequest, disks: tuple[HotDisk, ...]) -> Iterator[Ended]:
    plan, steps = request.param
    yield from carried_out(f"{PLANS}/{plan}", steps, disks)


def test_a_load_is_traced_on_this_kernel_too_and_no_instance_is_left_of_one_whose_disk_is_gone(ended: Ended) -> None:
    assert os.listdir("/sys/kernel/debug/tracing/instances") == []
    figures = [
        {one.metric: one.value for step in cell.steps[: at + 1] for one in step.measurements}
        for cell, planned in zip(ended.state.cells, ended.state.request.plan.cells, strict=True)
        for at, step in enumerate(cell.steps)
        if step.kind is StepKind.DRAIN and step.outcome is Outcome.DONE and planned.workloads[0].trace
    ]
    assert figures or not any(cell.workloads[0].trace for cell in ended.state.request.plan.cells)
    for told in figures:
        assert {metric for typical, peak, _ in BDI_FIELDS for metric in (typical, peak)} <= set(told)
        assert told[Metric.TRACE_LOST] == told[Metric.NR_PAGES_NEGATIVE] == 0
        # Files that are synced after every write: the head goes to and fro between them and the journal.
        assert told[Metric.WRITE_SEEK] > 0
        assert told[Metric.WRITES_IN_ORDER] < 100
        assert told[Metric.WRITEBACK_STARTS] > 0
