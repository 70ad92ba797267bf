"""One run under which a disk fails in one kind of step after the other: each cell ends with its verdict.

The raid0 whose disk is pulled is left to a soak: test_pulled.py pulls disks under loads too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from tests.lab.inside.faults.bench import (
    DEAD,
    RAID0,
    RAID5,
    SLOW,
    SLOW_MS,
    TOP,
    WELL,
    WRITES_FAIL,
    Ended,
    Fault,
    carry_out,
    low,
)
from tests.lab.soak import tried

NO_MEMORY = """
echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir -p /sys/fs/cgroup/small
for process in /run/fsconsole/proc/[0-9]*; do
    if grep -aqs '[w]orkloads.host' $process/cmdline; then echo ${process##*/} >/sys/fs/cgroup/small/cgroup.procs; fi
done
echo 0 >/sys/fs/cgroup/small/memory.max
"""
STANDSTILL_S = 3
PULLED = "echo 1 >/sys/block/sda/device/delete"


def faults() -> tuple[Fault, ...]:
    """Return what happens, cell after cell; the last cell finds a disk that is dead for good."""
    return (
        Fault("write", "xfs", (("workload", "ready", low(DEAD)),)),
        Fault("drain", "btrfs", (("drain", "before", low(WRITES_FAIL)),)),
        Fault("read", "xfs", (("cold", "after", low(DEAD)),)),
        Fault("check", "ext4", (("check", "before", low(DEAD)),)),
        Fault("memory", "ext4", (("workload", "ready", NO_MEMORY),)),
        Fault(
            "slow", "btrfs",
            (
                ("workload", "ready", low(SLOW)),
                ("workload", "middle", f"dmsetup suspend --noflush low; sleep {STANDSTILL_S}; dmsetup resume low"),
                ("drain", "after", low(WELL)),
                ("delete-unmount", "before", low(WRITES_FAIL)),
            ),
        ),
        Fault("member", "ext4", (("workload", "middle", "mdadm --quiet /dev/md0 --fail /dev/ubdb"),), target=RAID5),
        Fault("raid0", "ext4", (("workload", "ready", PULLED),), target=RAID0),
        Fault("mkfs", "ext4", (("mkfs", "middle", low(DEAD)),), heals=False),
        Fault("dead", "ext4", ()),
    )  # fmt: skip


@pytest.fixture(scope="module")
def ended(bench: None, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    targets = tuple(tried((TOP, RAID5, RAID0), (TOP, RAID5)))
    happen = tuple(fault for fault in faults() if fault.target in targets)
    return carry_out(happen, tmp_path_factory.mktemp("faults"), targets)


FAILED = {
    "mkfs": r"mkfs: mkfs\.ext4 failed with exit code 1: .*",
    "write": r"workload: 2 of 2 writers stopped: Input/output error",
    "drain": r"drain: not all that was written reached the device: Input/output error",
    "read": r"workload: .*Input/output error.*",
    "check": r"cold mount: EXT4-fs \(dm-\d\): unable to read superblock",
    "slow": r"delete unmount: umount succeeded, but the kernel logged: BTRFS error \(device dm-\d.*",
    "memory": r"workload: the generator was killed \(out of memory\): .*",
    # Where the load ends within the page cache, the first to be told is the drain.
    "raid0": r"(workload|drain): .*(Input/output error|Read-only file system).*",
}


def warned(cell: CellState, kind: WarningKind) -> list[str]:
    return [warning.reason for warning in cell.warnings if warning.kind is kind]


NAMES = tried(tuple(FAILED), tuple(name for name in FAILED if name != "raid0"))


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_in_a_step_is_a_failed_cell_with_the_reason_in_words(ended: Ended, name: str) -> None:
    cell = ended.cells[name]
    assert cell.status is CellStatus.FAILED, (cell.reason, ended.err)
    assert re.fullmatch(FAILED[name], cell.reason, re.DOTALL), cell.reason


@pytest.mark.parametrize("name", [name for name in NAMES if name != "memory"])
def test_what_the_kernel_said_of_it_is_a_warning_on_the_cell_with_its_lines_kept(ended: Ended, name: str) -> None:
    cell = ended.cells[name]
    if name == "check" and not warned(cell, WarningKind.KERNEL_LOG):
        # The kernel prints ten such lines in 5 s, and the cell before may have had them; this one's reason is its word.
        assert cell.reason.startswith("cold mount: EXT4-fs")
        return
    (reason,) = warned(cell, WarningKind.KERNEL_LOG)
    (kept,) = Path(ended.folder.raw).glob(f"{cell.index:03}-*-kernel-log")
    assert reason.removeprefix("the kernel logged: ") in kept.read_text()


def test_a_check_of_a_disk_that_can_not_be_read_is_no_verdict_on_the_filesystem(ended: Ended) -> None:
    (check,) = [step for step in ended.cells["check"].steps if step.kind is StepKind.CHECK]
    assert check.verdict == "failed"
    assert check.reason.startswith("the check could not run: ")
    assert warned(ended.cells["check"], WarningKind.CHECK) == [check.reason]


def test_a_generator_that_was_killed_for_want_of_memory_has_a_hint(ended: Ended) -> None:
    (warning,) = [w for w in ended.cells["memory"].warnings if w.kind is WarningKind.KERNEL_LOG]
    assert warning.reason == "workload: the generator was killed (out of memory)"
    assert "fewer threads" in warning.hint


def test_a_disk_that_is_slow_under_a_load_has_the_figures_of_a_slow_disk(ended: Ended) -> None:
    cell = ended.cells["slow"]
    assert {step.verdict for step in cell.steps if step.kind is StepKind.CHECK} == {"clean"}
    write_s, drain_s = cell.value(Metric.WRITE_TIME), cell.value(Metric.DRAIN)
    assert write_s > STANDSTILL_S
    assert drain_s > SLOW_MS / 1000
    # What the engine does between the two counts too.
    assert 0 < cell.value(Metric.DURABLE) <= cell.value(Metric.WRITTEN) / (write_s + drain_s)


def test_a_device_that_stood_still_is_told_as_a_stall(ended: Ended) -> None:
    assert STANDSTILL_S / 2 < ended.cells["slow"].value(Metric.STALLS) < ended.cells["slow"].value(Metric.WRITE_TIME)


def test_an_array_that_lost_a_member_goes_on_and_the_cell_says_so(ended: Ended) -> None:
    cell = ended.cells["member"]
    assert (cell.status, cell.reason) == (CellStatus.DONE, "")
    assert "the array /dev/md0 lacks 1 of its 3 members when the cell ended" in warned(cell, WarningKind.NOT_COMPARABLE)
    assert "md/raid:md0: Disk failure on ubdb" in warned(cell, WarningKind.KERNEL_LOG)[0]


def test_a_disk_that_stays_dead_ends_the_run_before_the_next_cell_with_the_reason(ended: Ended) -> None:
    assert ended.cells["dead"].status is CellStatus.STOPPED
    assert (ended.code, ended.state.exit_code) == (ExitCode.DEVICE_REFUSED, ExitCode.DEVICE_REFUSED)
    assert ended.state.status is RunStatus.FINISHED
    assert "could not be proved free: the signatures on /dev/dm-" in ended.state.reason
    assert "Input/output error" in ended.state.reason
    assert "can't be read" in ended.state.hint
    assert ended.err == ""


def test_nothing_stays_mounted(ended: Ended) -> None:
    assert ended.state.status is RunStatus.FINISHED
    assert "/run/fsconsole" not in Path("/proc/self/mounts").read_text()
