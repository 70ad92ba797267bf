from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from fsconsole.engine.hangs import CurrentStep, HangDetector, StallTimer
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.processes import Sleepers, Waiting, in_words
from tests.unit.results import build

MKFS = Waiting(7, "mkfs.ext4", "blkdev_issue_discard")


LOG = Waiting(8, "rm", "nilfs_construct_segment", is_asleep=True)


def still(looks: list[tuple[object, tuple[Waiting, ...], object]], pause_s: float = 1.0) -> list[float]:
    """Return for how long each look, a second after the one before, says that nothing moves."""
    ended: Iterator[object] = iter([io for io, _, _ in looks])
    now: list[tuple[Waiting, ...]] = []
    vigil = StallTimer(
        lambda: next(ended),
        lambda: tuple(one for one in now[-1] if not one.is_asleep),
        lambda: tuple(one for one in now[-1] if one.is_asleep),
    )
    found = []
    for number, (_, waiting, place) in enumerate(looks):
        now.append(waiting)
        found.append(vigil.still_s(place, number * pause_s))
    return found


CASES = {
    "time counts while no I/O ends and somebody waits in the kernel":
        ([(1, (MKFS,), "mkfs")] * 4, [0, 1, 2, 3]),
    "I/O that ends starts it anew":
        ([(io, (MKFS,), "mkfs") for io in (1, 1, 1, 2, 2)], [0, 1, 2, 0, 1]),
    "so does another step":
        ([(1, (MKFS,), place) for place in ("mkfs", "mkfs", "mount", "mount")], [0, 1, 0, 1]),
    "a program that computes does not wait":
        ([(1, (), "check")] * 5, [0, 0, 0, 0, 0]),
    "a writer that is awake for an instant changes nothing":
        ([(1, who, "load") for who in ((MKFS,), (MKFS,), (), (MKFS,), (MKFS,))], [0, 1, 2, 3, 4]),
    "time counts while no I/O ends and everybody sleeps":
        ([(1, (LOG,), "delete")] * 4, [0, 1, 2, 3]),
    "I/O that ends starts it anew for sleepers too":
        ([(io, (LOG,), "delete") for io in (1, 1, 2, 2)], [0, 1, 0, 1]),
}  # fmt: skip


def test_time_without_progress_counts_while_somebody_waits_or_all_sleep() -> None:
    assert {why: still(looks) for why, (looks, _) in CASES.items()} == {why: s for why, (_, s) in CASES.items()}

    # A program that sleeps and works by turns is not taken for one that waits.
    assert max(still([(1, who, "load") for who in ((LOG,), (), (LOG,), (LOG,), ()) * 20])) < 5
    # A pause of the machine is not counted for the device.
    assert still([(1, (MKFS,), "mkfs")] * 2, pause_s=600)[1] < 60


class Asleep:
    """Processes that all sleep."""

    def asleep(self) -> tuple[Waiting, ...]:
        return (LOG,)


def test_a_command_may_sleep_and_other_steps_may_not() -> None:
    detector, sleepers = HangDetector(), cast("Sleepers", Asleep())
    load = Workload("sleep", WorkloadKind.COMMAND, 1, 0, 0, 65536, argv=("sleep", "600"))
    steps = (Step(StepKind.WORKLOAD, "sleep", workload=0), Step(StepKind.DRAIN, "drain", workload=0))
    detector.cell = replace(build.cell(0), workloads=(load,), steps=steps)
    for number, kind, who in ((0, StepKind.WORKLOAD, ()), (1, StepKind.DRAIN, (LOG,))):
        detector.step = CurrentStep(number, kind, 0.0)
        assert detector._asleep(sleepers) == who
    detector.cell = replace(detector.cell, workloads=(replace(load, kind=WorkloadKind.CREATE, argv=()),))
    detector.step = CurrentStep(0, StepKind.WORKLOAD, 0.0)
    assert detector._asleep(sleepers) == (LOG,)


def test_the_first_that_waits_is_named_and_the_others_are_counted() -> None:
    assert in_words((MKFS,)) == "mkfs.ext4 (process 7, in blkdev_issue_discard)"
    assert in_words((Waiting(1, "rm", ""), MKFS, MKFS)) == "rm (process 1) and 2 more processes"
