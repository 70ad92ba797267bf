from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.show.race import MOST_ROWS, current_workload, race_lines, ranking_of
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


@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
def test_bar_figure_and_difference_agree_or_the_difference_is_in_brackets_until_both_have_the_same_rounds(
    factor: float,
) -> None:
    # Round by round xfs is 10 % below; were the second round slow, ext4's mean of both would be below xfs's first.
    cells = [build.cell(n, (build.EXT4, build.XFS)[n % 2], repeat=1 + n // 2) for n in range(4)]
    rates = [{Metric.DURABLE: rate} for rate in (1.0, 0.9, factor / 2)]
    done = [build.done(n, factors=rate) for n, rate in enumerate(rates)]
    apart = ranking_of(build.run(cells, [*done, build.running(3)], status=RunStatus.RUNNING))
    assert apart is not None
    assert {row.name: (row.rounds, row.change) for row in apart.rows} == {
        "ext4 data=ordered": (2, None),
        "xfs": (1, pytest.approx(-0.1)),
    }
    lines = race_lines(build.run(cells, [*done, build.running(3)], status=RunStatus.RUNNING), 80)
    assert re.search(r" 1  \(-10 %\) +running #2$", next(line for line in lines if "xfs" in line))
    # The head says what the brackets are.
    assert lines[0].endswith(" n  vs base (same n)")
    whole = build.run(cells, [*done, build.done(3, factors={Metric.DURABLE: 0.4})], status=RunStatus.RUNNING)
    together = ranking_of(whole)
    assert "same n" not in race_lines(whole, 80)[0]
    assert together is not None
    figures = {row.name: row.value for row in together.rows}
    xfs = next(row for row in together.rows if row.name == "xfs")
    assert figures["xfs"] is not None
    assert (base := figures["ext4 data=ordered"]) is not None
    assert xfs.change == pytest.approx(figures["xfs"] / base - 1)
    assert (xfs.change > 0) == (together.rows[0] is xfs)


def test_of_a_long_name_the_filesystem_and_the_last_option_stay() -> None:
    long = replace(build.EXT4, label="ext4 ^flex_bg -I 512 data=writeback commit=60 stripe=32 nodelalloc")
    state = build.run([build.cell(0, long), CELLS[1]], [build.done(0), build.running(1)], status=RunStatus.RUNNING)
    _, row, _ = race_lines(state, 80)
    assert row.startswith(" ext4 ^flex_bg")
    assert "nodelalloc " in row
    assert cells_of(row) <= 80


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


def test_of_27_variants_the_best_three_the_baseline_the_running_one_and_one_neighbour_are_shown() -> None:
    # The baseline is the worst: the ranking is that of the numbers, downwards.
    variants = [replace(build.EXT4, label=f"ext4 number {n:02}") for n in range(27)]
    cells = [build.cell(n + 27 * again, one, repeat=1 + again) for again in (0, 1) for n, one in enumerate(variants)]
    done = [build.done(n, factors={Metric.DURABLE: 1 + n / 10}) for n in range(27)]
    states = [*done, *(CellState(n) for n in range(27, 39)), build.running(39), *(CellState(n) for n in range(40, 54))]
    head, *rows = race_lines(build.run(cells, states, status=RunStatus.RUNNING), 80)
    assert "21 more" in head
    assert [row[1:15] for row in rows] == [f"ext4 number {n}" for n in ("26", "25", "24", "13", "12", "00")]
    assert [row[0] for row in rows] == [" ", " ", " ", " ", ">", " "]
    assert rows[4].endswith("running #2")
    assert rows[5].endswith("base")


MORE = replace(build.LARGE_FILES, name="small files")


def two_loads(at: int | None) -> RunState:
    """Two cells with two workloads each, of which the second cell is in the step of that number."""
    steps = (*build.STEPS[:4], *(replace(step, workload=1) for step in build.STEPS[2:4]), *build.STEPS[4:])
    cells = [replace(build.cell(n), workloads=(build.LARGE_FILES, MORE), steps=steps) for n in range(2)]
    if at is None:
        return build.run(cells, [CellState(0), CellState(1)], status=RunStatus.RUNNING)
    begun = tuple(StepState(n, steps[n].kind, steps[n].title, n) for n in range(at + 1))
    states = [CellState(0), CellState(1, CellStatus.RUNNING, 1, "", begun)]
    return build.run(cells, states, status=RunStatus.RUNNING)


@pytest.mark.parametrize(
    ("at", "workload"),
    [(None, 0), (0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (7, 1)],
    ids=["between cells", "gate", "mkfs", "load 1", "drain 1", "load 2", "drain 2", "check"],
)
def test_the_current_workload_is_the_last_one_that_the_running_cell_began(at: int | None, workload: int) -> None:
    assert current_workload(two_loads(at)) == workload


def test_of_several_workloads_the_current_ones_block_is_ranked_with_its_own_figures_and_name() -> None:
    steps = (*build.STEPS[:4], *(replace(step, workload=1) for step in build.STEPS[2:4]), *build.STEPS[4:])
    variants = (build.EXT4, build.XFS, build.EXT4, build.XFS)
    cells = [
        replace(build.cell(n, one, repeat=1 + n // 2), workloads=(build.LARGE_FILES, MORE), steps=steps)
        for n, one in enumerate(variants)
    ]

    def done(index: int, first: float, second: float) -> CellState:
        found = build.finished_steps({}, kinds=steps)
        for number, rate in ((3, first), (5, second)):
            measured = (Measurement(Metric.DURABLE, rate),)
            found = (*found[:number], replace(found[number], measurements=measured), *found[number + 1 :])
        return CellState(index, CellStatus.DONE, 1, "", found)

    for at, name, order in ((2, "large files", ["ext4", "xfs"]), (4, "small files", ["xfs", "ext4"])):
        begun = tuple(StepState(n, steps[n].kind, steps[n].title, n) for n in range(at + 1))
        running = CellState(2, CellStatus.RUNNING, 1, "", begun)
        states = [done(0, 200e6, 100e6), done(1, 100e6, 300e6), running, CellState(3)]
        head, *rows = race_lines(build.run(cells, states, status=RunStatus.RUNNING), 80)
        assert head.lstrip().startswith(f"{name}: durable, MB/s so far")
        assert [row.lstrip(">").split()[0] for row in rows] == order


def test_nothing_is_ranked_before_the_first_figure() -> None:
    assert race_lines(build.run(CELLS, [CellState(n) for n in range(3)], status=RunStatus.RUNNING), 80) == []


def test_a_variant_that_can_not_run_says_so_and_has_no_figure_to_wait_for() -> None:
    states = [build.done(0), CellState(1, CellStatus.UNAVAILABLE, 1, "too small"), CellState(2)]
    _, first, waits, last = race_lines(build.run(CELLS, states), 80)
    assert first.split()[-1] == "base"
    assert waits.split() == ["btrfs", "-", "0"]
    assert last.split()[-2:] == ["can't", "run"]
    assert " - " not in last
