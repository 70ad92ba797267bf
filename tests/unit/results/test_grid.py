from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Setting, Step, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.results.grid import build_grid, sort_grid
from fsconsole.text import KIB, MIB
from tests.unit.results import build


def _names(state: RunState, sort_by: Metric = Metric.DURABLE) -> list[str]:
    return [row.name for row in build_grid(state, sort_by=sort_by).rows]


def test_rows_come_by_durable_from_the_highest_and_those_without_figures_last() -> None:
    assert _names(build.demo()) == ["ext4 data=writeback,nodelalloc", "ext4 data=ordered", "xfs", "btrfs"]


def test_times_come_from_the_lowest() -> None:
    assert _names(build.demo(), Metric.CHECK)[:2] == ["ext4 data=ordered", "ext4 data=writeback,nodelalloc"]


def test_a_column_that_nobody_has_leaves_the_plan_s_order() -> None:
    assert _names(build.demo(), Metric.OBSERVER) == [
        "ext4 data=ordered",
        "ext4 data=writeback,nodelalloc",
        "xfs",
        "btrfs",
    ]


@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=6), st.sampled_from([Metric.DURABLE, Metric.CPU]))
def test_any_figures_are_sorted_whole(factors: list[float], metric: Metric) -> None:
    cells = [build.cell(i, replace(build.XFS, label=f"v{i}")) for i in range(len(factors))]
    state = build.run(cells, [build.done(i, factors={metric: factor}) for i, factor in enumerate(factors)])
    grid = build_grid(state, sort_by=metric)
    medians = [summary.median for row in grid.rows if (summary := row.figure(metric)) is not None]
    assert medians == sorted(medians, reverse=metric is Metric.DURABLE)
    assert len(grid.rows) == len(factors)


def test_a_row_without_figures_says_why() -> None:
    rows = {row.name: row for row in build_grid(build.demo()).rows}
    assert rows["btrfs"].notes == ("unavailable: mkfs.btrfs is not installed (package btrfs-progs)",)
    assert rows["xfs"].notes == ("failed: mkfs: mkfs.xfs failed with exit code 1: no room",)
    assert rows["xfs"].figures == ()


def test_repeats_are_one_row_with_median_n_and_spread() -> None:
    grid = build_grid(build.repeated())
    durable = {row.name: row.figure(Metric.DURABLE) for row in grid.rows}
    ordered = durable["ext4 data=ordered"]
    assert ordered is not None
    assert ordered.n == 3
    assert ordered.median == pytest.approx(410.2e6)
    assert ordered.spread_percent == pytest.approx(4.0)
    assert grid.repeats == (3,)


def test_repeats_far_apart_are_warned_of() -> None:
    (warning,) = build_grid(build.repeated()).warnings
    assert warning.kind is WarningKind.SPREAD
    assert warning.cells == (1, 3, 5)
    assert "'xfs' lie 50 % apart" in warning.reason


def test_a_repeat_that_failed_leaves_the_others_figures_and_is_told() -> None:
    state = build.repeated()
    cells = (*state.cells[:4], build.failed(4, "check: no"), CellState(5))
    rows = {row.name: row for row in build_grid(replace(state, cells=cells)).rows}
    ordered = rows["ext4 data=ordered"]
    assert ordered.notes == ("1 of 3 failed: check: no",)
    assert rows["xfs"].notes == ("1 of 3 not run yet",)
    durable = ordered.figure(Metric.DURABLE)
    assert durable is not None
    assert durable.n == 2


def test_a_step_that_was_stopped_gives_no_figure() -> None:
    stopped = StepState(
        2,
        StepKind.WORKLOAD,
        "large files",
        0,
        Outcome.STOPPED,
        1.0,
        measurements=(Measurement(Metric.WRITE, 1e6),),
    )
    state = build.run([build.cell(0)], [CellState(0, CellStatus.STOPPED, 1, "by the operator", (stopped,))])
    (row,) = build_grid(state).rows
    assert row.figures == ()
    assert row.notes == ("stopped: by the operator",)


def test_a_running_cell_shows_what_it_has_so_far() -> None:
    steps = build.finished_steps(build.FIGURES)[:4]
    running = CellState(0, CellStatus.RUNNING, 1, "", steps)
    (row,) = build_grid(build.run([build.cell(0)], [running], status=RunStatus.RUNNING)).rows
    assert row.figure(Metric.DURABLE) is not None
    assert row.figure(Metric.CHECK) is None
    assert row.notes == ("running now",)


def test_the_worst_check_is_the_row_s_verdict() -> None:
    cells = [build.cell(i, repeat=i + 1) for i in range(3)]
    state = build.run(cells, [build.done(0), build.done(1, verdict="repaired"), build.done(2)])
    assert build_grid(state).rows[0].verdict == "repaired"


def test_a_warning_of_many_cells_is_one_warning() -> None:
    grid = build_grid(build.demo())
    assert [(warning.kind, warning.cells) for warning in grid.warnings] == [
        (WarningKind.SHORT, (0, 1)),
        (WarningKind.NOT_COMPARABLE, (0,)),
    ]


def test_a_run_without_cells_has_an_empty_grid() -> None:
    grid = build_grid(build.run([], []))
    assert grid.rows == ()
    assert grid.repeats == ()


def test_thread_counts_that_vary_make_rows_and_stand_in_their_names() -> None:
    workloads = [replace(build.LARGE_FILES, threads=threads) for threads in (1, 16)]
    cells = [replace(build.cell(i), workloads=(workload,)) for i, workload in enumerate(workloads)]
    assert set(_names(build.run(cells, [build.done(0), build.done(1)]))) == {
        "ext4 data=ordered, 1 thread",
        "ext4 data=ordered, 16 threads",
    }


def test_names_hold_no_word_that_tells_nothing_more() -> None:
    settings = [Setting((("read_ahead", "128KiB"),)), Setting((("read_ahead", "2MiB"),))]
    cells = [
        replace(
            build.cell(i),
            target=f"/dev/sd{'ab'[i]}",
            setting=settings[i],
        )
        for i in range(2)
    ]
    assert _names(build.run(cells, [build.done(0), build.done(1)])) == [
        "ext4 data=ordered, /dev/sda",
        "ext4 data=ordered, /dev/sdb",
    ]


def test_variants_of_one_label_are_told_apart_by_their_words() -> None:
    variants = [replace(build.XFS, mkfs_words=("-b", f"size={size}")) for size in (1024, 4096)]
    cells = [build.cell(i, variant) for i, variant in enumerate(variants)]
    assert _names(build.run(cells, [build.done(0), build.done(1)])) == [
        "xfs, xfs -b size=1024",
        "xfs, xfs -b size=4096",
    ]


def test_two_workloads_in_one_cell_are_two_rows_that_share_mkfs_and_check() -> None:
    small = Workload("small files", WorkloadKind.CREATE, 4, 1000, 4 * KIB, 4 * KIB)
    steps = (
        Step(StepKind.MKFS, "mkfs"),
        Step(StepKind.WORKLOAD, "large files", workload=0),
        Step(StepKind.WORKLOAD, "small files", workload=1),
    )
    states = tuple(
        StepState(number, step.kind, step.title, 0, Outcome.DONE, 1.0, measurements=(figure,))
        for number, (step, figure) in enumerate(
            zip(
                steps,
                (
                    Measurement(Metric.MKFS, 0.5),
                    Measurement(Metric.WRITE, 200e6),
                    Measurement(Metric.WRITE, 3 * MIB),
                ),
                strict=True,
            )
        )
    )
    cell = replace(build.cell(0), workloads=(build.LARGE_FILES, small), steps=steps)
    grid = build_grid(build.run([cell], [CellState(0, CellStatus.DONE, 1, "", states)]), sort_by=Metric.WRITE)
    found = [(row.name, [(metric, summary.median) for metric, summary in row.figures]) for row in grid.rows]
    assert found == [
        ("ext4 data=ordered, large files", [(Metric.WRITE, 200e6), (Metric.MKFS, 0.5)]),
        ("ext4 data=ordered, small files", [(Metric.WRITE, 3.0 * MIB), (Metric.MKFS, 0.5)]),
    ]
    # Sorted anew by what they share, they come in the plan's order, whatever the order was before.
    backwards = sort_grid(grid, Metric.WRITE, is_reversed=True)
    assert backwards.rows == grid.rows[::-1]
    assert sort_grid(backwards, Metric.MKFS).rows == grid.rows


def test_rows_that_differ_in_another_workload_are_told_apart_by_its_threads() -> None:
    others = [replace(build.LARGE_FILES, name="others", threads=threads) for threads in (1, 4)]
    cells = [replace(build.cell(i), workloads=(build.LARGE_FILES, other)) for i, other in enumerate(others)]
    names = _names(build.run(cells, [build.done(0), build.done(1)]))
    assert len(set(names)) == len(names) == 4
