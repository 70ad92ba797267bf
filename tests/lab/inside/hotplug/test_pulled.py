"""A virtio, a scsi and an nvme disk, each pulled in the middle of a step: their cells end, and no other's does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.state import CellStatus, RunState
from tests.lab.guest import run
from tests.lab.qmp import HotDisk, Qmp
from tests.lab.runs import act, begin, cells_on, new_run, state_of
from tests.lab.soak import tried

PLAN = "tests/lab/inside/hotplug/pulled.toml"
SIZE_MIB = 64
STAYS = "/dev/vda"
BUSES = ("virtio", "scsi", "nvme")
STEPS = (
    "equalise", "mkfs", "features", "mount", "quiesce", "workload", "drain", "settings", "cold", "settings-back",
    "remount", "extents", "unmount", "check", "cold-mount", "delete", "delete-unmount", "release",
)  # fmt: skip
Steps = tuple[str, str, str]
"""In which step each of BUSES is pulled."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, how its engine ended, and which devices were pulled."""

    state: RunState
    code: int
    pulled: dict[str, str]
    """The step, by the device's path."""


@pytest.fixture(scope="module")
def disks() -> tuple[HotDisk, ...]:
    qmp = Qmp()
    return tuple(qmp.disk(f"hot-{bus}", SIZE_MIB, bus) for bus in BUSES)


@pytest.fixture(
    scope="module", params=tried([(step,) * 3 for step in STEPS], [("mkfs", "workload", "check")])
)
def ended(request: pytest.FixtureRequest, disks: tuple[HotDisk, ...]) -> Iterator[Ended]:
    steps: Steps = request.param
    paths = [f"/dev/{disk.plug()}" for disk in disks]
    folder = new_run(PLAN, *paths, STAYS)
    acts = [
        act(path, step, disk.pulled_by, gone=True)
        for disk, path, step in zip(disks, paths, steps, strict=True)
    ]
    code = begin(folder, *acts).wait()
    yield Ended(state_of(folder), code, dict(zip(paths, steps, strict=True)))
    for disk in disks:
        if disk.found():
            disk.pull()


def test_a_disk_that_is_pulled_ends_its_cell_with_the_reason(ended: Ended) -> None:
    for path, step in ended.pulled.items():
        first, second = cells_on(ended.state, path)
        assert first.status is CellStatus.FAILED, (path, first)
        assert first.steps[-1].kind.value == step, first
        assert first.reason.startswith(f"{step}: ")
        assert f"{path} is gone" in first.reason
        assert second.status is CellStatus.PENDING or "gone" in second.reason, second


def test_cells_on_other_disks_are_carried_out(ended: Ended) -> None:
    cells = cells_on(ended.state, STAYS)
    assert [cell.status for cell in cells] == [CellStatus.DONE] * 2, [cell.reason for cell in cells]


def test_the_run_ends_in_words_and_nothing_is_left_mounted(ended: Ended) -> None:
    assert ended.code == ended.state.exit_code == ExitCode.DEVICE_CHANGED, ended.state
    assert "is gone" in ended.state.reason
    assert "fsconsole resume" in ended.state.hint
    for path in ended.pulled:
        assert path not in Path("/proc/mounts").read_text()
    assert "fsconsole" not in run("ps", "-eo", "args").replace("fsconsole/.venv", "")
