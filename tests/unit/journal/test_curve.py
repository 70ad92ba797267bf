"""The samples of one cell, lean."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.journal.events import Cursor
from fsconsole.journal.past import (
    MAX_POINTS,
    CurvePoint,
    _latest,
    _thinned,
    read_curve,
    read_latencies,
    read_state,
)
from fsconsole.journal.reader import JournalReader
from tests.tui.recorded import recorded


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
            assert point.busy_percent == pytest.approx(one.cpu.busy)
            assert point.iowait_percent == pytest.approx(one.cpu.iowait)
            assert point.write_bytes_s == pytest.approx(sum(d.write_bytes_s for d in one.targets))
            assert point.load_bytes_s == (one.load.bytes_s if one.load else None)


def test_samples_of_earlier_attempts_are_left_out() -> None:
    rows = [(float(at),) for at in (500, 510, 520, 100, 110, 300, 310)]
    assert _latest(rows, 300) == [(300.0,), (310.0,)]
    assert _latest(rows, 100) == [(100.0,), (110.0,), (300.0,), (310.0,)]
    assert _latest([], 0) == []


def test_a_long_cell_is_thinned_to_means() -> None:
    points = [CurvePoint(at, at % 2, None, None, 50.0, 0.0, None, 10.0, 0.0) for at in range(MAX_POINTS * 3)]
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
