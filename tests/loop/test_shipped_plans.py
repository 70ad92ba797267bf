"""Every shipped plan to its end on a loop device: all of its loads with one row and one value of each setting, in one round of tiny files.

In the soak with all of its variants and combinations of options, and two of its thread counts and values: `FSCONSOLE_SOAK=1 python -m pytest tests/loop/test_shipped_plans.py`.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.engine import start_engine
from fsconsole.journal.past import read_state
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import OF_BONNIE, Metric
from fsconsole.model.plan import Keep, StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan
from fsconsole.plan.keys import MACHINE_WIDE
from fsconsole.plan.planfile import Checklist, PlanFile, Scale, TargetSpec, VariantText
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.results.blocks import blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.text import GIB, KIB, MIB
from tests.conftest import MakeLoopDevice
from tests.lab.soak import SOAK
from tests.loop.cold import assert_cold
from tests.loop.runs import assert_nothing_left, kill_engines, new_run, wait_for_end

ELSEWHERE = ("chinner-2012-memory", "chinner-2012-writeback")
"""Plans that test_chinner.py runs whole: their trace needs larger files."""
LARGER = () if SOAK else ("lowe-2009-check-6-million",)
"""Plans that are another one but for numbers that are shrunk here."""
PLANS = [path for path in list_configs() if not read_plan(path).arrays and path.stem not in (*ELSEWHERE, *LARGER)]
"""Arrays are made in guests (tests/lab/inside/whatif): here their members would be seen by the whole machine."""
NEEDS = {"lowe-2009-bonnie": "bonnie++", "lowe-2009-bonnie-files": "bonnie++", "commands-build": "cc"}
SMALLER = {
    "directories, files = 50, 20": "directories, files = 4, 5",
    "os.path.dirname(os.__file__)": "os.path.dirname(os.__file__) + '/json'",
    "range(2000)": "range(20)",
}
"""Of the programs of commands: 20 C files of 1,000, one package of Python's, 20 transactions."""
FILES_OF_BONNIE = 1024
"""It counts in thousands."""
FEW_FILES = 100
READ_BEFORE = {"million-files": 600, "backup": 300}
"""Before its clock starts a load looks for unfinished files where the last ones are, of which a stat alone must leave some to read.
With that directory's inode ext4 reads the 512 around it (inode_readahead_blks): here those are the files' own, in the plan the
files of one directory of a thousand. btrfs has read the first leaf and the last by its mount, and now the directories': of 100
files nothing else is left where three leaves hold them all, which the order of the writers decides."""
TOLD = {
    "lowe-2009-shapes-built-in": {Metric.REAL, Metric.USER, Metric.SYSTEM},
    "lowe-2009-bonnie-files": {
        metric for metric in OF_BONNIE if re.fullmatch("bonnie_(seq|ran)_(create|stat|del)_latency", metric.value)
    },
}
"""Figures of each load that the plan promises beside those of its columns."""


def tiny(load: Workload, source: Path, few: int) -> Workload:
    """Return a load as small as it can be: its kind, blocks, syncs and limits stay."""
    counts = tuple(min(count, 4 * number) for number, count in enumerate(load.thread_counts[: 2 if SOAK else 1], 1))
    threads, block = counts[0], min(load.block_size_bytes, 32 * KIB)
    size = min(load.file_size_bytes, max(2 * block, 8 * KIB))
    return replace(
        load,
        threads=threads,
        thread_counts=counts,
        files=min(load.files, FILES_OF_BONNIE if load.kind is WorkloadKind.BONNIE else few),
        block_size_bytes=block,
        block_sizes=(block,),
        file_size_bytes=size - size % block if size > block else size,
        file_size_max_bytes=min(load.file_size_max_bytes, 2 * size),
        size_weights=tuple((min(bytes_, 32 * KIB), weight) for bytes_, weight in load.size_weights),
        operation_bytes=min(load.operation_bytes, size),
        total_size_bytes=min(load.total_size_bytes, 256 * KIB),
        limit_bytes=min(load.limit_bytes, 2 * MIB if load.kind is WorkloadKind.BONNIE else 8 * block),
        # Single bytes would take bonnie++ 20 s of CPU: past the page cache it leaves them out.
        direct=load.direct or load.kind is WorkloadKind.BONNIE,
        duration_s=min(load.duration_s, 0.1),
        argv=tuple(smaller(word) for word in load.argv),
        sources=(str(source),) if load.sources else (),
        at_most_bytes=min(load.at_most_bytes, MIB),
    )


def smaller(word: str) -> str:
    for old, new in SMALLER.items():
        word = word.replace(old, new)
    return word


def chosen(path: Path, plan: PlanFile) -> tuple[VariantText, ...]:
    """Return the first variant, of every other plan the last that this kernel takes, mostly of another filesystem; all in a soak.

    None of a plan that has a checklist, from which a row comes.
    """
    if SOAK:
        return plan.variants
    if plan.checklists:
        return ()
    in_order = plan.variants if PLANS.index(path) % 2 else reversed(plan.variants)
    return (next(one for one in in_order if is_taken(replace(plan, checklists=(), variants=(one,)))),)


def first_combination(checklist: Checklist) -> Checklist:
    """Return a checklist with the first value of each of its options; as it is in a soak."""
    if SOAK:
        return checklist
    mkfs, mount = (tuple((name, values[:1]) for name, values in of) for of in (checklist.mkfs, checklist.mount))
    return replace(checklist, mkfs=mkfs, mount=mount, exclude=())


def is_taken(plan: PlanFile) -> bool:
    # Larger, as far as the plan knows: files of millions have no room here.
    target = TargetSpec("/dev/loop0", 200 * GIB, is_scratch=True)
    built = build_plan(plan, (target,), load_catalog(), run_id="run", kernel=os.uname().release, memory_bytes=GIB)
    return not any("kernels refuse it" in cell.unavailable for cell in built.cells)


def shrunk(path: Path, source: Path) -> PlanFile:
    """Return a plan in one round with tiny loads, of which the last value of each setting stays, and in a soak the first."""
    plan = read_plan(path)
    settings = {
        name: (values[0], values[-1])[: len(values)] if SOAK else values[-1:]
        for name, values in plan.settings
        # Limits of the whole machine would have other tests' runs refused meanwhile.
        if name not in MACHINE_WIDE
    }
    return replace(
        plan,
        repeats=1,
        scale=Scale(),
        keep=Keep.THREADS,
        published_memory_bytes=0,
        published_device_bytes=0,
        age=plan.age and replace(plan.age, fill=0.02),
        # Of the plans with a raw row one has it in test_chinner.py: its streams write the whole device.
        raw=plan.raw and SOAK,
        settings=tuple(settings.items()),
        # Inodes of millions of files would fill the device with their tables.
        variants=tuple(replace(one, mkfs=re.sub(r"-N \d+", "-N 4096", one.mkfs)) for one in chosen(path, plan)),
        checklists=tuple(map(first_combination, plan.checklists)),
        workloads=tuple(tiny(load, source, READ_BEFORE.get(path.stem, FEW_FILES)) for load in plan.workloads),
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    tree = tmp_path / "source"
    for number in range(3):
        (tree / f"d{number}").mkdir(parents=True)
        (tree / f"d{number}" / "file").write_bytes(bytes(20_000))
    return tree


def assert_whole(state: RunState, plan: PlanFile) -> None:
    """Prove that each variant of a plan ran with all its loads, but for what today's kernels refuse, and has its figures."""
    able, ran_with = set(), set()
    for cell, planned in zip(state.cells, state.request.plan.cells, strict=True):
        if planned.unavailable:
            assert cell.status is CellStatus.UNAVAILABLE
            assert "today's kernels refuse it" in planned.unavailable
            continue
        able.add(planned.index)
        ran_with |= set() if planned.variant.is_raw else {planned.variant.label}
        assert (cell.status, cell.reason) == (CellStatus.DONE, ""), planned.variant.label
        ran = [step.outcome for step in cell.steps if step.kind is StepKind.WORKLOAD]
        assert ran == [Outcome.DONE] * (0 if planned.variant.is_raw else len(planned.workloads))
        assert ((cell.value(Metric.AGED_FILES) or 0) > 0) == (plan.age is not None and not planned.variant.is_raw)
        if not planned.variant.is_raw:
            assert_cold(cell, planned)
    assert len(ran_with) >= (2 if SOAK else 1)
    assert {one.label for one in plan.variants if one.label} <= {
        planned.variant.label for planned in state.request.plan.cells
    }
    rows = [(block, row.row) for block in blocks_of(state, build_grid(state)) for row in block.rows]
    assert able <= {index for _, row in rows for index in row.indexes}
    for block, row in rows:
        # What bonnie++ does in less than half a second has no rate.
        metric = Metric.REAL if block.load is not None and block.load.kind is WorkloadKind.BONNIE else block.metric
        has_figure = row.value(metric) is not None
        assert has_figure == bool(able.intersection(row.indexes)), (block.name, row.name, metric, row.notes)


def assert_told(state: RunState, name: str) -> None:
    """Prove that every load that ran has the figures its plan promises, and that extents of files are told only if counted."""
    loads = [block for block in blocks_of(state, build_grid(state)) if block.load is not None]
    for block, row in [(of, one.row) for of in loads for one in of.rows if one.row.figures]:
        told = {metric for metric, _ in row.figures}
        assert told >= TOLD.get(name, set()), (block.name, row.key.variant.label)
        is_counted = state.request.plan.cells[0].after.extents
        assert is_counted or Metric.EXTENTS_MEAN not in told.union(block.columns), block.name


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_shipped_plan_runs_to_its_end_with_a_variant_and_every_setting_and_load(
    path: Path, loop_device: MakeLoopDevice, source: Path, tmp_path: Path
) -> None:
    if (needed := NEEDS.get(path.stem)) and shutil.which(needed) is None:
        pytest.skip(f"{needed} is not here")
    # Sparse, so that it is cleared at once. xfs takes a stripe of 1280 KiB on nothing smaller.
    device, plan = loop_device(GIB), shrunk(path, source)
    folder = new_run(plan_to_toml(plan), device, str(tmp_path / "runs"))
    try:
        start_engine(folder)
        wait_for_end(folder, 600)
    finally:
        kill_engines(str(tmp_path / "runs"))
    state = read_state(folder)
    # 5 and 6: where a plan requires figures, rows miss them.
    assert state.exit_code in ((0, 5, 6) if any(load.require for load in plan.workloads) else (0,)), state.reason
    assert_whole(state, plan)
    assert_told(state, path.stem)
    assert_nothing_left(device, folder)
