from __future__ import annotations

from collections.abc import Iterator

from fsconsole.engine.hangs import StallTimer
from fsconsole.system.processes import Waiting, in_words

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


def test_time_counts_while_no_io_ends_and_somebody_waits_in_the_kernel() -> None:
    assert still([(1, (MKFS,), "mkfs")] * 4) == [0, 1, 2, 3]


def test_io_that_ends_begins_it_anew() -> None:
    assert still([(io, (MKFS,), "mkfs") for io in (1, 1, 1, 2, 2)]) == [0, 1, 2, 0, 1]


def test_another_step_begins_it_anew() -> None:
    assert still([(1, (MKFS,), place) for place in ("mkfs", "mkfs", "mount", "mount")]) == [0, 1, 0, 1]


def test_a_program_that_computes_is_not_taken_for_one_that_waits() -> None:
    assert still([(1, (), "check")] * 5) == [0, 0, 0, 0, 0]


def test_a_writer_that_is_awake_for_an_instant_changes_nothing() -> None:
    assert still([(1, who, "load") for who in ((MKFS,), (MKFS,), (), (MKFS,), (MKFS,))]) == [0, 1, 2, 3, 4]


def test_time_counts_while_no_io_ends_and_everybody_sleeps() -> None:
    assert still([(1, (LOG,), "delete")] * 4) == [0, 1, 2, 3]


def test_io_that_ends_begins_it_anew_for_those_that_sleep_too() -> None:
    assert still([(io, (LOG,), "delete") for io in (1, 1, 2, 2)]) == [0, 1, 0, 1]


def test_a_program_that_sleeps_and_works_by_turns_is_not_taken_for_one_that_waits() -> None:
    worked_now_and_then = still([(1, who, "load") for who in ((LOG,), (), (LOG,), (LOG,), ()) * 20])
    assert max(worked_now_and_then) < 5


def test_a_pause_of_the_machine_is_not_counted_for_the_device() -> None:
    assert still([(1, (MKFS,), "mkfs")] * 2, pause_s=600)[1] < 60


def test_the_first_that_waits_is_named_and_the_others_are_counted() -> None:
    assert in_words((MKFS,)) == "mkfs.ext4 (process 7, in blkdev_issue_discard)"
    assert in_words((Waiting(1, "rm", ""), MKFS, MKFS)) == "rm (process 1) and 2 more processes"
