"""The Bull plan, as it is shipped and made tiny, on a linear array: each row is done, or tells the kernel's reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Role
from fsconsole.model.state import CellStatus
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.planfile import PlanFile, Scale, ScaleKind
from fsconsole.plan.read import find_config, read_plan
from tests.lab.soak import SOAK, tried
from tests.lab.whole import MEMBERS, Whole, run_on_array
from tests.loop.cold import device_moved

SHIPPED = read_plan(find_config("bull-2008-large-write"))
EVERY = tuple(variant.label for variant in SHIPPED.variants)
CHOSEN = (
    "xfs",
    "ext4 -I 256 -O uninit_groups data=writeback,nomballoc",
)
"""One that is done and one that the kernel refuses; a soak tries all."""
LABELS = tried(EVERY, CHOSEN)
TINY = 2**-14
"""64 KiB of each GiB: a write for each of the files."""
WRITERS = 128 if SOAK else 8
WRITTEN_BYTES = WRITERS * 2**16


def tiny() -> PlanFile:
    """Return the shipped plan with smaller files, and fewer writers but in a soak, once, and the rows that are tried here."""
    variants = tuple(variant for variant in SHIPPED.variants if variant.label in LABELS)
    scale = Scale(ScaleKind.FACTOR, TINY)
    (load,) = SHIPPED.workloads
    workloads = (replace(load, threads=WRITERS, thread_counts=(WRITERS,), files=WRITERS),)
    return replace(SHIPPED, repeats=1, scale=scale, variants=variants, workloads=workloads, raw=False)


@pytest.fixture(scope="module")
def bull() -> Iterator[Whole]:
    plan = Path("/tmp/bull.toml")
    plan.write_text(plan_to_toml(tiny()))
    with run_on_array(str(plan), "linear", *MEMBERS) as whole:
        yield whole


@pytest.mark.parametrize("label", LABELS)
def test_a_row_of_2008_is_done_on_a_linear_array_or_says_what_the_kernel_refuses(bull: Whole, label: str) -> None:
    (planned,) = [cell for cell in bull.state.request.plan.cells if cell.variant.label == label]
    cell = bull.state.cells[planned.index]
    if "nomballoc" in label:
        assert "Unknown parameter 'nomballoc'" in cell.reason, cell
        assert cell.status in {CellStatus.UNAVAILABLE, CellStatus.FAILED}
    else:
        assert cell.status is CellStatus.DONE, (cell.reason, bull.done)
        assert cell.value(Metric.WRITTEN) == WRITTEN_BYTES
        # The kernel counts nothing on the array itself: what its members moved is counted.
        assert device_moved(cell, planned, Metric.DEVICE_WRITTEN)[StepKind.WORKLOAD, 0] >= WRITTEN_BYTES


def test_the_run_of_2008_ends_as_its_plan_said(bull: Whole) -> None:
    # What the plan said could not run is no failure.
    assert bull.done.code == 0, bull.done
    loads = {(load.threads, load.files) for cell in bull.state.request.plan.cells for load in cell.workloads}
    assert loads == {(WRITERS, WRITERS)}


def test_the_gauges_show_a_linear_array_and_its_members(bull: Whole) -> None:
    assert bull.gauges == {("md0", Role.TARGET, ""), *((name, Role.MEMBER, "md0") for name in MEMBERS)}
