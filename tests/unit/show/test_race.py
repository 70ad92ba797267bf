from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, RunStatus
from fsconsole.show.race import MOST_ROWS, race_lines
from fsconsole.text import cells_of
from tests.unit.results import build

CELLS = [build.cell(0), build.cell(1, build.XFS), build.cell(2, build.BTRFS)]


def test_the_ranking_has_the_best_first_the_running_one_marked_and_no_verdict_words() -> None:
    half = {Metric.DURABLE: 0.5}
    state = build.run(CELLS, [build.done(0), build.done(1, factors=half), build.running(2)], status=RunStatus.RUNNING)
    head, *rows = race_lines(state, 80)
    assert "durable, MB/s so far" in head
    assert [row.split()[0] for row in rows] == ["ext4", "xfs", ">btrfs"]
    assert "-50 %" in rows[1]
    bars = [len("".join(re.findall("##+", row))) for row in rows]
    assert bars[0] == pytest.approx(2 * bars[1], abs=1)
    assert bars[2] == 0
    assert "500|" in head
    assert rows[2].endswith("running #1")
    assert not any(word in " ".join(rows) for word in ("faster", "slower", "same"))


def test_many_variants_take_few_lines_and_the_running_one_and_the_baseline_are_among_them() -> None:
    variants = [replace(build.EXT4, label=f"ext4 number {n}") for n in range(12)]
    cells = [build.cell(n, variant) for n, variant in enumerate(variants)]
    done = [build.done(n, factors={Metric.DURABLE: 1 + n / 10}) for n in range(11)]
    state = build.run(cells, [*done, build.running(11)], status=RunStatus.RUNNING)
    for width in (40, 80, 120):
        lines = race_lines(state, width)
        assert len(lines) == MOST_ROWS + 1
        assert max(map(cells_of, lines)) <= width
    assert "6 more" in lines[0]
    assert any(line.startswith(">ext4 number 11") for line in lines)
    assert any(line.endswith("base") for line in lines)


def test_nothing_is_ranked_before_the_first_figure() -> None:
    assert race_lines(build.run(CELLS, [CellState(n) for n in range(3)], status=RunStatus.RUNNING), 80) == []
