"""The shipped plan of arrays with tiny files: each level to its end, and what is cold is read from the array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.journal.past import read_state
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.model.workload import Workload
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.planfile import PlanFile, Scale
from fsconsole.plan.read import find_config, read_plan
from fsconsole.text import KIB
from tests.lab.guest import fsconsole
from tests.lab.inside.whatif import arrays as lab
from tests.lab.inside.whatif.arrays import DISKS
from tests.lab.soak import tried
from tests.loop.cold import assert_cold, device_moved

SHIPPED = read_plan(find_config("whatif-arrays"))
FILES, FILE_BYTES, BLOCK_BYTES = 8, 256 * KIB, 64 * KIB


@pytest.fixture(scope="module", autouse=True)
def _udevd() -> None:
    """None runs here, which would take as long again: that runs go well beside it is shown by the other tests of this folder."""


def tiny() -> PlanFile:
    """Return the shipped plan once, with small files, of its filesystems ext4: mkfs.xfs makes nothing on disks as small as these.

    Outside of a soak on one level with one chunk.
    """
    (axis,) = SHIPPED.arrays
    levels, chunks = tried(axis.levels, axis.levels[:1]), tried(axis.chunks_bytes, axis.chunks_bytes[:1])
    return replace(
        SHIPPED,
        repeats=1,
        scale=Scale(),
        arrays=(replace(axis, levels=tuple(levels), chunks_bytes=tuple(chunks)),),
        checklists=tuple(one for one in SHIPPED.checklists if one.filesystem == "ext4"),
        workloads=tuple(map(tiny_load, SHIPPED.workloads)),
    )


def tiny_load(load: Workload) -> Workload:
    block = min(load.block_size_bytes, BLOCK_BYTES)
    return replace(
        load,
        threads=2,
        thread_counts=(2,),
        files=FILES if load.creates else 0,
        file_size_bytes=FILE_BYTES if load.creates else 0,
        block_size_bytes=block,
        block_sizes=(block,),
        duration_s=min(load.duration_s, 0.5),
    )


def test_the_plan_of_arrays_runs_to_its_end_on_each_level_and_its_cold_read_is_read_from_the_array(
    tmp_path: Path,
) -> None:
    plan, shrunk = tmp_path / "whatif-arrays.toml", tiny()
    plan.write_text(plan_to_toml(shrunk))
    code = lab.consent("plan", str(plan), *lab.on(*DISKS))
    done = fsconsole("run", str(plan), *lab.on(*DISKS), "--consent", code, "--json")
    assert done.code == 0, done
    state = read_state(lab.newest())
    assert {planned.array.level for planned in state.request.plan.cells if planned.array} == set(
        shrunk.arrays[0].levels
    )
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        assert (cell.status, cell.reason) == (CellStatus.DONE, ""), planned.variant.label
        (number,) = [number for number, load in enumerate(planned.workloads) if load.cold]
        assert cell.value(Metric.READ_BYTES) == FILES * FILE_BYTES
        assert device_moved(cell, planned)[StepKind.WORKLOAD, number] >= FILES * FILE_BYTES
        assert_cold(cell, planned)
    assert (lab.arrays(), lab.uuids_on(*DISKS)) == ({}, set())
