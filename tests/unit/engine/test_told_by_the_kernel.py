"""What only the kernel's log tells of a step: who was killed for want of memory, and writes that an unmount lost."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fsconsole.engine.steps import life
from fsconsole.engine.warnings import with_killed
from fsconsole.engine.work import StepFailed, StepResult
from fsconsole.model.command import CommandResult, ResourceUsage
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.plan import Step, StepKind

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


def test_any_other_program_that_was_killed_for_want_of_memory_is_named() -> None:
    result = with_killed(Work(KILLED), MKFS, FAILED, 0)  # type: ignore[arg-type]
    assert result.reason.startswith("python3 was killed (out of memory): ")


@pytest.mark.parametrize(("result", "said_before"), [(FAILED, 1), (StepResult(), 0)])
def test_who_was_killed_before_the_step_or_beside_one_that_went_well_changes_nothing(
    result: StepResult, said_before: int
) -> None:
    work = Work(KILLED)
    assert with_killed(work, LOAD, result, said_before) is result  # type: ignore[arg-type]
    assert work.warnings == []


def test_an_unmount_in_which_writes_were_lost_fails_though_umount_said_yes() -> None:
    work = Work("XFS (sdz): Unmounting Filesystem", "XFS (sdz): log I/O error -5")
    with pytest.raises(
        StepFailed, match=r"umount succeeded, but the kernel logged: XFS \(sdz\): log I/O error -5"
    ):
        life.unmount(work, ("umount", "/mnt"))  # type: ignore[arg-type]
    assert work.mounted_device is None


def test_an_unmount_is_not_failed_by_errors_of_another_disk() -> None:
    work = Work("I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2")
    assert life.unmount(work, ("umount", "/mnt")) == 0.5  # type: ignore[arg-type]


CHECK = Step(StepKind.CHECK, "check", (("btrfs", "check", "--readonly", "/dev/sdz"),))
NO_BTRFS = "No valid Btrfs found on /dev/sdz"


def test_damage_that_a_check_finds_is_a_warning_in_its_own_words() -> None:
    work = Work(
        exit_code=1, err=f"Opening filesystem to check...\n{NO_BTRFS}\nERROR: cannot open file system\n"
    )
    result = life.check(work, CHECK)  # type: ignore[arg-type]
    assert (result.verdict, result.reason) == ("errors", f"the check found damage: {NO_BTRFS}")
    assert [(kind, reason) for kind, reason, _ in work.warnings] == [(WarningKind.CHECK, result.reason)]


def test_what_looks_like_damage_on_a_disk_that_can_not_be_read_is_no_verdict_on_the_filesystem() -> None:
    work = Work("Buffer I/O error on dev sdz, logical block 16, async page read", exit_code=1, err=NO_BTRFS)
    result = life.check(work, CHECK)  # type: ignore[arg-type]
    assert (result.verdict, result.reason) == ("failed", f"the check could not run: {NO_BTRFS}")


def test_a_check_that_was_killed_says_by_what() -> None:
    result = life.check(Work(exit_code=-9), CHECK)  # type: ignore[arg-type]
    assert result.verdict == "failed"
    assert result.reason.endswith("tool failed with signal 9: no output")
