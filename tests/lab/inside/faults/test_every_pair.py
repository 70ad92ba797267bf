"""In a soak: every fault in every step of every filesystem ends as a result, and the next cell is sound again."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.events import WarningKind
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from tests.lab.inside.faults.bench import (
    DEAD,
    TOP,
    WRITES_FAIL,
    WRITES_LOST,
    Ended,
    Fault,
    carry_out,
    low,
)

TABLES = {"dead": DEAD, "writes fail": WRITES_FAIL, "writes are lost": WRITES_LOST}
FILESYSTEMS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
MOMENTS = (
    ("mkfs", "middle"), ("features", "before"), ("check-empty", "before"), ("mount", "before"), ("workload", "before"),
    ("workload", "ready"), ("workload", "middle"), ("drain", "before"), ("drain", "after"), ("cold", "after"), ("remount", "before"),
    ("extents", "before"), ("unmount", "before"), ("check", "before"), ("cold-mount", "before"),
    ("delete", "before"), ("delete-unmount", "before"),
)  # fmt: skip
TOLD = {WarningKind.KERNEL_LOG, WarningKind.CHECK}
SOUND = "nothing"


@pytest.fixture(scope="module", params=list(product(FILESYSTEMS, TABLES)), ids="-".join)
def ended(request: pytest.FixtureRequest, bench: None, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    filesystem, fault = request.param
    every = [
        Fault(f"{fault}-{step}-{when}", filesystem, ((step, when, low(TABLES[fault])),))
        for step, when in MOMENTS
        if (fault, step) != ("writes are lost", "mkfs")
    ]
    return carry_out([*every, Fault(SOUND, filesystem, ())], tmp_path_factory.mktemp("pair"), (TOP,))


def told(cell: CellState) -> set[WarningKind]:
    return TOLD & {warning.kind for warning in cell.warnings}


def test_every_cell_ends_as_a_result_in_words(ended: Ended) -> None:
    assert ended.code in (ExitCode.OK, ExitCode.CELLS_FAILED), (ended.state.reason, ended.err)
    assert (ended.state.status, ended.err) == (RunStatus.FINISHED, "")
    for name, cell in ended.cells.items():
        assert cell.status in (CellStatus.DONE, CellStatus.FAILED), (name, cell.status, cell.reason)
        assert bool(cell.reason) == (cell.status is CellStatus.FAILED), name
        assert "Errno" not in cell.reason, (name, cell.reason)
        assert "Traceback" not in cell.reason, (name, cell.reason)


def test_no_figure_of_a_disk_that_fails_stands_without_a_word(ended: Ended) -> None:
    silent = [
        name
        for name, cell in ended.cells.items()
        if name.startswith("dead") and cell.status is CellStatus.DONE and not told(cell)
    ]
    assert silent == []


def test_lost_writes_that_a_check_or_a_mount_can_see_are_seen(ended: Ended) -> None:
    for name, cell in ended.cells.items():
        # In the middle of a load all that it was to keep may be written already: btrfs then has nothing that is lost.
        if name in ("writes are lost-workload-before", "writes are lost-workload-ready"):
            verdicts = {step.verdict for step in cell.steps if step.kind is StepKind.CHECK}
            assert cell.status is CellStatus.FAILED or verdicts != {"clean"}, name


def test_the_cell_after_them_is_sound_and_nothing_stays_mounted(ended: Ended) -> None:
    sound = ended.cells[SOUND]
    assert (sound.status, sound.reason, told(sound)) == (CellStatus.DONE, "", set())
    assert "/run/fsconsole" not in Path("/proc/self/mounts").read_text()


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_where_the_filesystem_that_was_made_is_not_there_the_run_ends_in_words_unless_mkfs_told_it(
    filesystem: str, bench: None, tmp_path: Path
) -> None:
    # Whoever lost it, the disk or somebody who exchanged it: what would be wiped next is not what was agreed upon.
    lost = Fault("lost", filesystem, (("mkfs", "middle", low(WRITES_LOST)),))
    ended = carry_out([lost, Fault(SOUND, filesystem, ())], tmp_path, (TOP,))
    cell, sound = ended.cells["lost"], ended.cells[SOUND]
    assert (cell.status, ended.err) == (CellStatus.FAILED, "")
    assert cell.reason
    if cell.steps[-1].kind is StepKind.MKFS:
        assert (ended.code, sound.status) == (ExitCode.CELLS_FAILED, CellStatus.DONE), ended.state.reason
    else:
        assert (ended.code, sound.status) == (ExitCode.DEVICE_CHANGED, CellStatus.STOPPED), ended.state.reason
        assert "is no longer there" in ended.state.reason
    assert "/run/fsconsole" not in Path("/proc/self/mounts").read_text()
