"""Crashes where a shutdown shows nothing: writes that dm-flakey drops below ext2, ext4 without a journal, and btrfs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.system.block import open_exclusive
from tests.lab.guest import fsconsole, run, udevd, wait_until
from tests.lab.runs import begin, begin_anew, new_run, state_of
from tests.lab.soak import tried
from tests.loop.faulty_engine import Event

DISK = "/dev/ubdb"
EVERY = {
    "ext2": '{ type = "ext2" }',
    "no journal": '{ type = "ext4", mkfs = "-O ^has_journal", label = "no journal" }',
    "btrfs": '{ type = "btrfs" }',
    "nilfs2": '{ type = "nilfs2" }',
    "f2fs": '{ type = "f2fs" }',
}
ROWS = tried(tuple(EVERY), ("ext2", "btrfs"))
MOMENTS = tried(("ready", "before"), ("ready",))
"""When in its load, or before it, a cell is skipped."""
SKIPPED = tried(ROWS, ROWS[:1])
FSCK = ("ext2", "no journal")


def plan_of(rows: Sequence[str]) -> str:
    return f"""
schema = 1
repeats = 1
order = "as-listed"
equalise = "none"
variant = [ {", ".join(EVERY[row] for row in rows)} ]
workload = [{{ kind = "create", files = 2, file_size = "64KiB" }}]
after = {{ crash = true, delete = "none" }}
"""


def mapped() -> list[str]:
    found = (path.read_text().strip() for path in Path("/sys/block").glob("dm-*/dm/name"))
    return [name for name in found if name.startswith("fsconsole-")]


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunState]:
    plan = tmp_path_factory.mktemp("crash") / "plan.toml"
    plan.write_text(plan_of(ROWS))
    folder = new_run(str(plan), DISK)
    code = begin(folder).wait()
    state = state_of(folder)
    assert code == 0, (state.reason, [cell.reason for cell in state.cells], Path(folder.engine_log).read_text())
    yield state
    assert mapped() == []
    assert [name for name in os.listdir("/dev/mapper") if name.startswith("fsconsole-")] == []
    os.close(open_exclusive(DISK))


def cell_of(state: RunState, label: str) -> CellState:
    return state.cells[ROWS.index(label)]


@pytest.mark.parametrize("label", ROWS)
def test_what_was_synced_survives_the_writes_that_are_dropped(crashed: RunState, label: str) -> None:
    cell = cell_of(crashed, label)
    assert (cell.status, cell.reason) == (CellStatus.DONE, "")
    (verified,) = [step.reason for step in cell.steps if step.kind is StepKind.CRASH_VERIFY]
    # What tests/README.md tells was printed here.
    print(label, verified, cell.value(Metric.RECOVER), cell.value(Metric.RECOVER_FSCK), cell.warnings)
    assert cell.value(Metric.LOST_SYNCED) == 0
    assert (cell.value(Metric.SYNCED) or 0) > 100
    assert WarningKind.POWER_LOSS not in {warning.kind for warning in cell.warnings}
    assert WarningKind.KERNEL_LOG not in {warning.kind for warning in cell.warnings}


@pytest.mark.parametrize("label", ROWS)
def test_it_recovers_by_e2fsck_alone_without_a_journal_else_by_its_mount(crashed: RunState, label: str) -> None:
    cell = cell_of(crashed, label)
    timed = {metric for metric in (Metric.RECOVER, Metric.RECOVER_FSCK) if cell.value(metric) is not None}
    assert timed == {Metric.RECOVER_FSCK if label in FSCK else Metric.RECOVER}
    loads = [step for step in cell.steps if step.kind is StepKind.CRASH_LOAD]
    assert [any("drop_writes" in word for command in step.commands for word in command.argv) for step in loads] == [
        label != "f2fs"
    ]


def test_a_killed_engines_device_is_removed_by_cleanup(tmp_path: Path) -> None:
    plan, there = tmp_path / "plan.toml", tmp_path / "there"
    plan.write_text(plan_of(ROWS[:1]))
    folder = new_run(str(plan), DISK)
    engine = begin_anew(
        folder,
        Event(
            0,
            "crash-load",
            f"dmsetup suspend --nolockfs $(dmsetup ls | cut -f 1 | grep fsconsole); touch {there}; sleep 600",
            "ready",
        ),
    )
    wait_until(lambda: there.exists() or engine.is_over(), "the load is ready")
    assert there.exists(), state_of(folder).reason
    (name,) = mapped()
    engine.kill()
    engine.wait()
    assert mapped() == [name]
    done = fsconsole("cleanup", folder.name)
    assert f"/dev/mapper/{name} is removed" in done.out
    assert mapped() == []
    wait_until(
        lambda: run("lsblk", "--noheadings", "--output", "MOUNTPOINTS", DISK).strip() == "", "nothing is mounted"
    )
    os.close(open_exclusive(DISK))


def test_a_skip_in_the_middle_leaves_no_device_where_udevd_runs(tmp_path: Path) -> None:
    plan, there = tmp_path / "plan.toml", tmp_path / "there"
    plan.write_text(plan_of(SKIPPED))
    # A skip ends all programs of the engine, this one too.
    stands = f"touch {there}; sleep 600"
    with udevd():
        folder = new_run(str(plan), DISK)
        engine = begin(folder, *(Event(cell, "crash-load", stands, when) for cell, when in enumerate(MOMENTS)))
        for _ in MOMENTS:
            wait_until(lambda: there.exists() or engine.is_over(), "the load is to begin")
            there.unlink()
            assert fsconsole("stop", "--skip", folder.name).code == 0
        engine.wait()
        assert mapped() == []
        os.close(open_exclusive(DISK))
    cells = state_of(folder).cells
    skipped, others = cells[: len(MOMENTS)], cells[len(MOMENTS) :]
    assert {cell.status for cell in skipped} == {CellStatus.SKIPPED}
    assert {(cell.status, cell.value(Metric.LOST_SYNCED)) for cell in others} <= {(CellStatus.DONE, 0)}
