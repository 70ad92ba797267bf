"""The past that SQLite gathers draws the curves that all samples would draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import Point, highest_before, point_of
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import DeviceRates, Role, Sample
from fsconsole.show.history import FIRST_SLOT_S, MAX_SLOTS, Trace, Tracer
from tests.unit.results import build

SECOND_NS = 10**9
SLOT_NS = int(FIRST_SLOT_S * SECOND_NS)
TARGET = DeviceRates("sdb", 512.0 * 3, 512.0 * 7, 1.0, 2.0, 3, 40.0, 1.5, 2.0)
BELOW = replace(TARGET, name="vda", role=Role.BELOW, above="sdb", write_bytes_s=512e6)


def sample(at_ns: int, cell: int | None, sectors: int = 1) -> Sample:
    target = replace(TARGET, write_bytes_s=512.0 * sectors, read_bytes_s=512.0 * (sectors % 11))
    devices = (target, replace(target, name="sdc"), BELOW) if sectors else (BELOW,)
    made = build.sample(at_ns)
    writeback = replace(made.writeback, dirty_bytes=4096 * (sectors * 7 % 1000))
    return replace(made, devices=devices, writeback=writeback, cell=cell)


def write(folder: RunFolder, samples: Iterable[Sample]) -> None:
    journal = JournalWriter(folder, sample_room=10**6)
    for one in samples:
        journal.sample(one)
    journal.close(finished=False)


def trace(points: Iterable[Point], cell: int, began_ns: int) -> Trace:
    tracer = Tracer(cell, began_ns)
    for point in points:
        if point.cell == cell:
            tracer.add(point)
    return tracer.trace()


def past(folder: RunFolder, began_ns: int = 0, last: int = 10**9) -> tuple[Point, ...]:
    return highest_before(folder.journal, last, lambda _: began_ns, SLOT_NS, MAX_SLOTS)


@pytest.mark.parametrize("seconds", [1, 60, 130, 1500])
def test_gathered_slots_draw_the_curve_that_each_sample_would_draw(folder: RunFolder, seconds: int) -> None:
    began_ns = 77_123_456_789
    samples = [
        sample(began_ns + number * SECOND_NS // 2 + number * 1_003, number // seconds, number * 37 % 1009)
        for number in range(2 * seconds)
    ]
    write(folder, samples)
    for cell in (0, 1):
        each = trace(map(point_of, samples), cell, began_ns)
        assert trace(past(folder, began_ns), cell, began_ns) == each
        assert each.points


def test_only_the_last_two_cells_are_gathered(folder: RunFolder) -> None:
    write(folder, [sample(number * SECOND_NS, number // 3) for number in range(12)])
    assert {point.cell for point in past(folder)} == {3, 2}
    assert {point.cell for point in past(folder, last=8)} == {2, 1}


def test_an_earlier_attempt_of_a_cell_is_left_out(folder: RunFolder) -> None:
    write(folder, [sample(number * SECOND_NS, 0, number + 1) for number in range(10)])
    assert [point.monotonic_ns for point in past(folder, 6 * SECOND_NS)] == [
        n * SECOND_NS for n in range(6, 10)
    ]


def test_what_was_before_the_boot_is_left_out(folder: RunFolder) -> None:
    before = [sample(number * SECOND_NS, 0, 1000) for number in range(50, 60)]
    write(folder, [*before, *(sample(number * SECOND_NS, 0, 2) for number in range(55, 70))])
    assert {point.write_bytes_s for point in past(folder)} == {2 * 2 * 512.0}
    # The sample that is no part of the past may be the first one since the boot.
    assert past(folder, last=10) == ()


def test_a_cell_without_targets_has_no_rates_rather_than_zero(folder: RunFolder) -> None:
    write(folder, [sample(number * SECOND_NS, 0, 0) for number in range(3)])
    assert {(point.write_bytes_s, point.read_bytes_s) for point in past(folder)} == {(None, None)}


def test_without_samples_of_a_cell_nothing_is_gathered(folder: RunFolder) -> None:
    write(folder, [sample(number * SECOND_NS, None) for number in range(3)])
    assert past(folder) == ()


def test_a_journal_that_is_gone_is_told(folder: RunFolder) -> None:
    with pytest.raises(JournalUnusable):
        highest_before(folder.journal + "x", 5, lambda _: 0, SLOT_NS, MAX_SLOTS)
