"""Programs of loads on cgroup v2: bounded in a group of their own, and in the memory group of their cell where it has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.model.state import CellStatus
from tests.lab.runs import act, begin, new_run, state_of

NAME = "ubdb"
CONTROL = Path("/sys/fs/cgroup/cgroup.subtree_control")
PLAN = """
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [{ type = "ext4" }]
workload = [{ kind = "command", argv = ["sh", "-c", "echo 1 >file"] }]
after = { check = false, delete = "none", extents = false }
"""


@pytest.fixture(scope="module", autouse=True)
def version_2() -> Iterator[None]:
    """Have the controllers enabled for groups at the top, as systemd does."""
    CONTROL.write_text("+memory +pids")
    yield
    CONTROL.write_text("-memory -pids")


@pytest.mark.parametrize("settings", ["", 'settings = { memory = ["64MiB"] }\n'], ids=["alone", "with-memory"])
def test_programs_are_bounded_on_cgroup_2(tmp_path: Path, settings: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(settings + PLAN)
    run = new_run(str(plan), f"/dev/{NAME}")
    group = f"/sys/fs/cgroup/fsconsole-{NAME if settings else f'pids-{run.name}'}"
    look = act(
        state_of(run).cells[0], "drain", ("sh", "-c", f"cat {group}/pids.max {group}/pids.events >{tmp_path}/seen")
    )
    begin(run, look).wait()
    state = state_of(run)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE], state.cells[0].reason
    most, *events = (tmp_path / "seen").read_text().splitlines()
    assert 0 < int(most) <= 4098
    assert "max 0" in events
    assert not list(Path("/sys/fs/cgroup").glob("fsconsole-*"))
