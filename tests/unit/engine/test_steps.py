"""Steps: reasons from the kernel log, lost devices, killed programs, extents, quiesce."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.devices.md import parse_mdstat
from fsconsole.engine import runner
from fsconsole.engine.control import Requests
from fsconsole.engine.hangs import HangDetector
from fsconsole.engine.steps import life, load
from fsconsole.engine.steps.load import quiesce
from fsconsole.engine.warnings import degraded_words, with_killed
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.errors.runs import KernelLacks
from fsconsole.errors.targets import DeviceHangs
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.events import Outcome, Verb, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.text import MIB
from tests.unit.results import build

KILLED = "Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB, UID:0"
LOAD, MKFS = Step(StepKind.WORKLOAD, "load"), Step(StepKind.MKFS, "format", (("mkfs.ext4", "/dev/sdz"),))
FAILED = StepResult(outcome=Outcome.FAILED, reason="it ended with signal 9")


class Work:
    """A cell's work as far as these functions look at it."""

    def __init__(self, *lines: str, exit_code: int = 0, err: str = "") -> None:
        self.kernel_log = SimpleNamespace(lines=lambda: lines)
        self.warnings: list[tuple[WarningKind, str, str]] = []
        self.cell = SimpleNamespace(target="/dev/sdz", variant=SimpleNamespace(filesystem="btrfs"))
        self.run = SimpleNamespace(sampler=SimpleNamespace(gauges=SimpleNamespace(watch_bdi=lambda _: None)))
        self.mounted_device: int | None = 5
        self._result = CommandResult(
            argv=("tool",), exit_code=exit_code, stdout=b"", stderr=err.encode(),
            usage=ResourceUsage(0.5, 0.0, 0.0, 0), kernel_log=lines,
        )  # fmt: skip

    def warn(self, *warning: tuple[WarningKind, str, str]) -> None:
        self.warnings.append(warning)  # type: ignore[arg-type]

    def command(self, _argv: tuple[str, ...], **_how: bool) -> CommandResult:
        return self._result


def test_a_load_whose_generator_was_killed_for_want_of_memory_says_so_with_a_hint() -> None:
    work = Work("before", KILLED)
    result = with_killed(work, LOAD, FAILED, 1)  # type: ignore[arg-type]
    assert result.reason == "the generator was killed (out of memory): it ended with signal 9"
    ((kind, reason, hint),) = work.warnings
    assert kind is WarningKind.KERNEL_LOG
    assert reason == "workload: the generator was killed (out of memory)"
    assert "fewer threads" in hint


def test_any_other_program_that_was_killed_in_the_step_is_named_if_the_step_failed() -> None:
    result = with_killed(Work(KILLED), MKFS, FAILED, 0)  # type: ignore[arg-type]
    assert result.reason.startswith("python3 was killed (out of memory): ")
    for same, said_before in ((FAILED, 1), (StepResult(), 0)):
        work = Work(KILLED)
        assert with_killed(work, LOAD, same, said_before) is same  # type: ignore[arg-type]
        assert work.warnings == []


def test_an_unmount_in_which_writes_were_lost_fails_though_umount_said_yes() -> None:
    work = Work("XFS (sdz): Unmounting Filesystem", "XFS (sdz): log I/O error -5")
    with pytest.raises(
        StepFailed, match=r"umount succeeded, but the kernel logged: XFS \(sdz\): log I/O error -5"
    ):
        life.unmount(work, ("umount", "/mnt"))  # type: ignore[arg-type]
    assert work.mounted_device is None
    # Errors of another disk are none of this filesystem.
    work = Work("I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2")
    assert life.unmount(work, ("umount", "/mnt")) == 0.5  # type: ignore[arg-type]


CHECK = Step(StepKind.CHECK, "check", (("btrfs", "check", "--readonly", "/dev/sdz"),))
NO_BTRFS = "No valid Btrfs found on /dev/sdz"


def test_a_check_says_in_its_own_words_what_it_found_or_why_it_found_nothing() -> None:
    said = f"Opening filesystem to check...\n{NO_BTRFS}\nERROR: cannot open file system\n"
    unread = "Buffer I/O error on dev sdz, logical block 16, async page read"
    cases = (
        (Work(exit_code=1, err=said), "errors", f"the check found damage: {NO_BTRFS}"),
        # What looks like damage on a disk that can't be read is no verdict on the filesystem.
        (Work(unread, exit_code=1, err=NO_BTRFS), "failed", f"the check could not run: {NO_BTRFS}"),
        (Work(exit_code=-9), "failed", "the check could not run: tool failed with signal 9: no output"),
    )
    for work, verdict, reason in cases:
        result = life.check(work, CHECK)  # type: ignore[arg-type]
        assert (result.verdict, result.reason) == (verdict, reason)
        assert [(kind, words) for kind, words, _ in work.warnings] == [(WarningKind.CHECK, reason)]


MEASURED = StepResult((Measurement(Metric.READ, 9e9),))


WORKLOAD = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.WORKLOAD)
DELETE = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.DELETE)


def on_a_device_that_is_gone(number: int, steps: tuple[Step, ...]) -> StepResult:
    run = SimpleNamespace(prover=SimpleNamespace(absence=lambda _path: "is gone"))
    cell = replace(build.cell(0), steps=steps)
    work = SimpleNamespace(run=run, cell=cell, step_number=number)
    return runner._with_absence(cast("CellWork", work), MEASURED)


def test_a_step_has_failed_where_its_device_is_gone_once_the_clock_has_stopped() -> None:
    steps = tuple(step for step in build.STEPS if step.kind is not StepKind.DRAIN)
    failed = StepResult(outcome=Outcome.FAILED, reason="/dev/loop7 is gone")
    assert on_a_device_that_is_gone(WORKLOAD, steps) == failed
    assert on_a_device_that_is_gone(DELETE - 1, steps) == failed
    steps = (*build.STEPS, Step(StepKind.DELETE_UNMOUNT, "unmount"))
    assert on_a_device_that_is_gone(WORKLOAD, steps) == MEASURED
    assert on_a_device_that_is_gone(DELETE, steps) == MEASURED
    assert on_a_device_that_is_gone(WORKLOAD + 1, steps).outcome is Outcome.FAILED
    assert on_a_device_that_is_gone(DELETE + 1, steps).outcome is Outcome.FAILED


KILLED_CHECK = Step(StepKind.CHECK, "check it")


def handled(monkeypatch: pytest.MonkeyPatch, *, hangs: bool, verb: Verb | None = None) -> StepResult:
    detector, requests = HangDetector(), Requests()
    if verb is not None:
        requests.take(verb)

    def check(_work: CellWork, _step: Step) -> StepResult:
        if hangs:
            detector.hang = DeviceHangs("/dev/sdx", "fsck.ext4", "4 min", " in check", "a-run")
        return StepResult(verdict="failed")

    monkeypatch.setitem(runner.HANDLERS, StepKind.CHECK, check)
    run = SimpleNamespace(detector=detector, requests=requests)
    return runner._handled(cast("CellWork", SimpleNamespace(run=run)), KILLED_CHECK)


def test_a_check_that_was_killed_for_a_hang_has_failed_unless_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = handled(monkeypatch, hangs=True)
    assert (result.outcome, result.measurements) == (Outcome.FAILED, ())
    assert "/dev/sdx" in result.reason
    assert handled(monkeypatch, hangs=True, verb=Verb.STOP_NOW).outcome is Outcome.STOPPED
    # Any other check is done, whatever it says.
    assert handled(monkeypatch, hangs=False).outcome is Outcome.DONE


def test_a_filesystem_without_extent_maps_has_a_warning_and_the_cell_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / life.TREE_NAME).mkdir()
    warnings: list[tuple[WarningKind, str, str]] = []
    work = SimpleNamespace(warn=lambda *warning: warnings.append(warning))

    def survey_tree(fd: int) -> None:
        raise KernelLacks(what="extent maps of this filesystem", why="not supported", remedy="Use another.")

    monkeypatch.setattr(life, "open_mount", lambda _: os.open(tmp_path, os.O_RDONLY))
    monkeypatch.setattr(life, "survey_tree", survey_tree)
    result = life.survey(work, SimpleNamespace(workload=None))  # type: ignore[arg-type]
    assert (result.outcome, result.measurements) == (Outcome.DONE, ())
    ((kind, reason, hint),) = warnings
    assert kind is WarningKind.NOT_IN_EFFECT
    assert "extents were not counted: This kernel does not offer extent maps" in reason
    assert hint == "Use another."


STEP = Step(StepKind.QUIESCE, "wait")


def waited_s(dirty_bytes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[WarningKind]]:
    """Wait with that much dirty all the time; return the seconds and the warnings that it took."""
    now_s, warned = [0.0], []

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    monkeypatch.setattr(load.os, "sync", lambda: None)
    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    writeback = SimpleNamespace(dirty_bytes=dirty_bytes - MIB, writeback_bytes=MIB)
    monkeypatch.setattr(load, "read_writeback", lambda: writeback)
    run = SimpleNamespace(requests=SimpleNamespace(interrupting=False))
    quiesce(cast("CellWork", SimpleNamespace(run=run, warn=lambda kind, *_: warned.append(kind))), STEP)
    return now_s[0], warned


def test_8_mib_dirty_are_a_machine_at_rest_and_more_is_waited_for_a_minute_and_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert waited_s(8 * MIB, monkeypatch) == (0.0, [])
    seconds, warned = waited_s(9 * MIB, monkeypatch)
    assert 60 < seconds < 61
    assert warned == [WarningKind.OTHER_IO]


RECORDED = Path(__file__).parents[2] / "data" / "mdstat"


def test_the_warning_of_a_degraded_array_counts_what_is_missing() -> None:
    (array,) = parse_mdstat((RECORDED / "6.1.192-raid5-failed-member.txt").read_text())
    assert array.degraded
    assert degraded_words(array) == "the array /dev/md0 lacks 1 of its 3 members"


@pytest.mark.root
def test_what_is_mounted_is_known_by_its_number_whatever_its_node_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, minor in (("dm-0", 200), ("mapped", 200), ("other", 201)):
        os.mknod(tmp_path / name, 0o600 | stat.S_IFBLK, os.makedev(253, minor))
    work = Work()
    work.stack, work.mount_point = ExitStack(), str(tmp_path)  # type: ignore[attr-defined]
    work.run.places = SimpleNamespace(debug="")
    work.cell.target = str(tmp_path / "dm-0")
    monkeypatch.setattr(work.stack, "callback", lambda *_: None)  # type: ignore[attr-defined]
    for name, is_it in (("mapped", True), ("other", False)):
        entry = SimpleNamespace(source=str(tmp_path / name))
        monkeypatch.setattr(life, "mounted_at", lambda _point, entry=entry: entry)
        with nullcontext() if is_it else pytest.raises(StepFailed, match="is not what is mounted"):
            life._mount(work, ("mount",))  # type: ignore[arg-type]
