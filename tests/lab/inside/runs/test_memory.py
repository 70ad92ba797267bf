"""Memory as an axis on cgroup v2: a cell of each value, on a kernel whose only memory controller is that of version 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.devices.memory_group import limit_file
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellStatus, RunState
from fsconsole.text import MIB
from tests.lab.runs import act, begin, new_run, state_of

NAME = "ubdb"
CONTROL = Path("/sys/fs/cgroup/cgroup.subtree_control")
LIMIT = f"/sys/fs/cgroup/fsconsole-{NAME}/memory.max"
GROUP = os.path.dirname(LIMIT)
LIMITS_MIB, WRITTEN_MIB = (32, 128), 48
PLAN = f"""
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
settings = {{ memory = {[f"{limit}MiB" for limit in LIMITS_MIB]} }}
variant = [{{ type = "ext4" }}]
workload = [{{ kind = "create", threads = 2, files = 2, file_size = "{WRITTEN_MIB // 2}MiB" }}]
after = {{ check = false, delete = "none", extents = false }}
"""


@pytest.fixture(scope="module")
def version_2() -> Iterator[None]:
    """Have the memory controller enabled for groups at the top, as systemd does."""
    CONTROL.write_text("+memory")
    yield
    CONTROL.write_text("-memory")


@pytest.fixture(scope="module")
def ended(version_2: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunState, list[str]]:
    """The run, and for each cell what stood in its group's files when the load was over."""
    folder = tmp_path_factory.mktemp("memory")
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    run = new_run(str(plan), f"/dev/{NAME}")
    looks = [
        act(cell, "drain", ("sh", "-c", f"cat {LIMIT} {GROUP}/memory.stat >{folder}/seen{cell.index}"))
        for cell in state_of(run).cells
    ]
    code = begin(run, *looks).wait()
    state = state_of(run)
    assert code == 0, (state.reason, [cell.reason for cell in state.cells], Path(run.engine_log).read_text())
    return state, [(folder / f"seen{cell.index}").read_text() for cell in state.cells]


def test_each_value_of_the_axis_has_its_cell_and_the_group_is_gone_afterwards(
    ended: tuple[RunState, list[str]],
) -> None:
    state, _ = ended
    assert limit_file(NAME) == LIMIT
    found = [(cell.status, cell.value(Metric.WRITTEN)) for cell in state.cells]
    assert found == [(CellStatus.DONE, WRITTEN_MIB * MIB)] * len(LIMITS_MIB)
    assert not os.path.exists(GROUP)


def test_a_load_s_page_cache_belongs_to_its_group_and_stays_below_the_limit(ended: tuple[RunState, list[str]]) -> None:
    kept_mib = []
    for seen, limit_mib in zip(ended[1], LIMITS_MIB, strict=True):
        limit, *stat = seen.splitlines()
        assert int(limit) == limit_mib * MIB
        kept_mib += [int(line.split()[1]) / MIB for line in stat if line.startswith("file ")]
    tight, roomy = kept_mib
    assert tight <= LIMITS_MIB[0]
    assert roomy >= WRITTEN_MIB
