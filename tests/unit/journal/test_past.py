"""Curves and points of past samples, read without all the other figures."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import (
    MAX_POINTS,
    Point,
    _latest,
    _thinned,
    best_before,
    highest_before,
    point_of,
    points_before,
    read_curve,
    read_latencies,
    read_state,
)
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import DeviceRates, Role, Sample
from fsconsole.show.history import FIRST_SLOT_S, MAX_SLOTS, Trace, Tracer
from tests.tui.recorded import recorded
from tests.unit.results import build


@pytest.mark.parametrize("name", ["grid", "raw", "killed", "bull"])
def test_points_say_what_the_samples_say(name: str, tmp_path: Path) -> None:
    folder = recorded(name, tmp_path)
    samples = JournalReader(folder.journal).read_since(Cursor(0, 0), max_samples=5000).samples
    for cell in read_state(folder).cells:
        if not cell.steps:
            continue
        of_cell = [one for one in samples if one.cell == cell.index]
        points = read_curve(folder, cell.index, cell.steps[0].started_monotonic_ns)
        assert [point.monotonic_ns for point in points] == [one.monotonic_ns for one in of_cell]
        for point, one in zip(points, of_cell, strict=True):
            assert point.pending_bytes == one.writeback.pending_bytes
            assert point.cpu_percent == pytest.approx(one.cpu.busy)
            assert point.iowait_percent == pytest.approx(one.cpu.iowait)
            assert point.write_bytes_s == pytest.approx(sum(d.write_bytes_s for d in one.targets))
            assert point.load_bytes_s == (one.load.bytes_s if one.load else None)


def test_samples_of_earlier_attempts_are_left_out() -> None:
    points = [Point(at, 0, None, None, 0.0, 0.0) for at in (500, 510, 520, 100, 110, 300, 310)]
    assert _latest(points, 300) == points[-2:]
    assert _latest(points, 100) == points[-4:]
    assert _latest([], 0) == []


def test_a_long_cell_is_thinned_to_means() -> None:
    points = [Point(at, 0, 10.0, None, at % 2, 50.0) for at in range(MAX_POINTS * 3)]
    thin = _thinned(points)
    assert len(thin) <= MAX_POINTS
    assert thin[-1].monotonic_ns == points[-1].monotonic_ns
    assert {point.write_bytes_s for point in thin} == {10.0}
    assert all(0 < point.pending_bytes < 1 for point in thin)


def test_latencies_are_those_of_the_cell(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    seen = read_latencies(folder, 0, 1)
    assert seen
    assert {one.cell for one in seen} == {0}
    assert read_latencies(folder, 0, 2) == ()


TARGET = DeviceRates("sdb", 512.0 * 3, 512.0 * 7, 1.0, 2.0, 3, 40.0, 1.5, 2.0)
BELOW = replace(TARGET, name="vda", role=Role.BELOW, above="sdb", write_bytes_s=512e6)


def samples() -> list[Sample]:
    devices = ((), (TARGET, BELOW), (TARGET, BELOW, replace(TARGET, name="sdc")))
    return [
        replace(build.sample(at * 10**9), devices=devices[at % 3], cell=None if at % 5 == 0 else at) for at in range(11)
    ]


def write_samples(folder: RunFolder, samples: Iterable[Sample]) -> None:
    journal = JournalWriter(folder, sample_room=10**6)
    for one in samples:
        journal.sample(one)
    journal.close(finished=False)


def test_points_are_what_whole_samples_say_read_backwards_without_gap_or_overlap(folder: RunFolder) -> None:
    write_samples(folder, samples())
    batch = JournalReader(folder.journal).read_since(JournalReader(folder.journal).recent(100))
    following, points = points_before(folder.journal, 2**62, 100)
    assert list(points) == [point_of(sample) for sample in reversed(batch.samples)]
    assert following == 0
    found, following = [], 2**62
    while following:
        following, points = points_before(folder.journal, following, 4)
        found += points
    assert [point.monotonic_ns // 10**9 for point in found] == list(range(10, -1, -1))


def test_the_best_rates_are_not_those_of_preparing_the_device(folder: RunFolder) -> None:
    _, one, two = samples()[:3]
    write_samples(folder, (one, replace(two, step="equalise")))
    assert best_before(folder.journal, 2**62)[0] == 512.0 * 7


def test_only_targets_count_and_none_is_not_zero() -> None:
    none, one, two = (point_of(sample) for sample in samples()[:3])
    assert (none.write_bytes_s, one.write_bytes_s, two.write_bytes_s) == (None, 512.0 * 7, 512.0 * 14)


def test_a_journal_that_is_gone_and_a_sample_that_is_no_number_are_told(folder: RunFolder) -> None:
    for look in (points_before, lambda path, _last, _limit: past(RunFolder(path))):
        with pytest.raises(JournalUnusable):
            look(folder.path + "x", 5, 5)
    write_samples(folder, samples())
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        journal.execute("UPDATE sample SET monotonic_ns = 'soon' WHERE monotonic_ns = 5000000000")
    with pytest.raises(JournalUnusable, match="'soon' is not a whole number"):
        points_before(folder.journal, 2**62, 100)


SECOND_NS = 10**9
SLOT_NS = int(FIRST_SLOT_S * SECOND_NS)


def sample(at_ns: int, cell: int | None, sectors: int = 1) -> Sample:
    target = replace(TARGET, write_bytes_s=512.0 * sectors, read_bytes_s=512.0 * (sectors % 11))
    devices = (target, replace(target, name="sdc"), BELOW) if sectors else (BELOW,)
    made = build.sample(at_ns)
    writeback = replace(made.writeback, dirty_bytes=4096 * (sectors * 7 % 1000))
    load = replace(made.load, bytes_s=512.0 * sectors)
    return replace(made, devices=devices, writeback=writeback, cell=cell, load=load)


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
    write_samples(folder, samples)
    each = trace(map(point_of, samples), 1, began_ns)
    assert trace(past(folder, began_ns), 1, began_ns) == each
    assert each.points


def test_only_the_last_cell_is_gathered(folder: RunFolder) -> None:
    write_samples(folder, [sample(number * SECOND_NS, number // 3) for number in range(12)])
    assert {point.cell for point in past(folder)} == {3}
    assert {point.cell for point in past(folder, last=8)} == {2}


def test_an_earlier_attempt_of_a_cell_is_left_out(folder: RunFolder) -> None:
    write_samples(folder, [sample(number * SECOND_NS, 0, number + 1) for number in range(10)])
    assert [point.monotonic_ns for point in past(folder, 6 * SECOND_NS)] == [n * SECOND_NS for n in range(6, 10)]


def test_what_was_before_the_boot_is_left_out(folder: RunFolder) -> None:
    before = [sample(number * SECOND_NS, 0, 1000) for number in range(50, 60)]
    write_samples(folder, [*before, *(sample(number * SECOND_NS, 0, 2) for number in range(55, 70))])
    assert {point.write_bytes_s for point in past(folder)} == {2 * (2 + 2) * 512.0}
    # The sample that is no part of the past may be the first one since the boot.
    assert past(folder, last=10) == ()


def test_a_cell_without_targets_has_no_rates_and_samples_of_no_cell_are_not_gathered(
    folder: RunFolder,
) -> None:
    write_samples(folder, [sample(number * SECOND_NS, None) for number in range(3)])
    assert past(folder) == ()
    write_samples(folder, [sample(number * SECOND_NS, 0, 0) for number in range(4, 7)])
    assert {(point.write_bytes_s, point.read_bytes_s) for point in past(folder)} == {(None, None)}
