"""Every shipped recipe to its end, with all of its loads, in one cell on a scratch device: small, but nothing left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.journal.past import read_state
from fsconsole.model.events import Outcome
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.model.workload import Workload
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.planfile import PlanFile, VariantText
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.plan.shipped import is_recipe
from fsconsole.text import KIB, MIB
from tests.loop.runs import carry_out

pytestmark = pytest.mark.root


def tiny(load: Workload) -> Workload:
    """Return a load of a recipe as small as it can be: its kind, blocks, syncs, threads and limits stay."""
    threads = min(load.thread_counts[0], 4)
    block = min(load.block_size_bytes, 64 * KIB)
    size = min(load.file_size_bytes, max(8 * block, 8 * KIB))
    return replace(
        load,
        threads=threads,
        thread_counts=(threads,),
        files=max(threads, min(load.files, 24)) if load.files else 0,
        block_size_bytes=block,
        block_sizes=(block,),
        file_size_bytes=size - size % block if size > block else size,
        file_size_max_bytes=min(load.file_size_max_bytes, 2 * size),
        duration_s=min(load.duration_s, 0.1),
    )


def test_every_load_of_every_recipe_runs_to_its_end(device: str, tmp_path: Path) -> None:
    recipes = [read_plan(path) for path in list_configs() if is_recipe(path)]
    loads = tuple(tiny(load) for plan in recipes for load in plan.workloads)
    # Their names are directories, and commands name those of loads before them.
    assert len({load.name for load in loads}) == len(loads) > 25
    plan = PlanFile("recipes", loads, variants=(VariantText("ext4"),), repeats=1)
    done, folder = carry_out(plan_to_toml(plan), device, tmp_path)
    assert done.returncode in (0, 5, 6), done.stderr
    state = read_state(folder)
    (cell,) = state.cells
    assert (cell.status, cell.reason) == (CellStatus.DONE, "")
    ran = [step for step in cell.steps if step.kind is StepKind.WORKLOAD]
    assert [step.outcome for step in ran] == [Outcome.DONE] * len(loads)
    assert sum(load.file_size_bytes * load.files for load in loads) < 48 * MIB
