"""Which figures of a cell count, their statistics, and how a column scales them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.results.content import ColumnScale, scale_for
from fsconsole.results.figures import figures_of, spread_percent, summarise
from fsconsole.results.grid import build_grid
from fsconsole.text import KIB, MIB
from fsconsole.workloads.protocol import LoadResult, generator_measurements
from tests.unit.results import build

STEPS = (*build.STEPS, Step(StepKind.DELETE_UNMOUNT, "unmount"))
CELL = replace(build.cell(0), steps=STEPS)
GONE = "/dev/loop7 is gone"


def ended(kind: StepKind, outcome: Outcome | None, status: CellStatus = CellStatus.FAILED) -> CellState:
    """A cell whose life ended in the step of that kind, with that outcome; all steps before it are done."""
    number = next(number for number, step in enumerate(STEPS) if step.kind is kind)
    steps = build.finished_steps(build.FIGURES, kinds=STEPS[: number + 1])
    last = replace(steps[-1], outcome=outcome, reason=GONE, measurements=())
    return CellState(0, status, 1, f"{kind.value}: {GONE}", (*steps[:-1], last))


def value(state: CellState, metric: Metric) -> float | None:
    return figures_of(CELL, state, None).value(metric)


def test_cpu_efficiency_is_what_a_second_of_the_generators_cpu_moves() -> None:
    # By hand: 2 s of CPU for 512 MiB are 4 s for 1 GiB, and 1 s of CPU moved 512 MiB / 2 = 256 MiB.
    figures = {**build.FIGURES, Metric.GENERATOR_PER_GIB: 4.0}
    state = CellState(0, CellStatus.DONE, 1, "", build.finished_steps(figures, kinds=STEPS))
    result = LoadResult((), 512 * MIB, 0, 10**9, 0, 0, 1.5, 0.5, is_whole=True)
    (_, cost) = generator_measurements(result, 9 * 10**9)
    assert (cost.metric, cost.value) == (Metric.GENERATOR_PER_GIB, 4.0)
    assert value(state, Metric.CPU_EFFICIENCY) == 268_435_456
    free = CellState(
        0, CellStatus.DONE, 1, "", build.finished_steps({**figures, Metric.GENERATOR_PER_GIB: 0.0}, kinds=STEPS)
    )
    assert value(free, Metric.CPU_EFFICIENCY) is None


def test_a_load_whose_drain_failed_has_no_rate_and_is_in_no_median() -> None:
    state = ended(StepKind.DRAIN, Outcome.FAILED)
    assert value(state, Metric.WRITE) is None
    assert value(state, Metric.MKFS) == build.FIGURES[Metric.MKFS]
    cells = (CELL, replace(CELL, index=1, repeat=2))
    states = (
        build.done(0, factors={Metric.WRITE: 0.5}),
        replace(ended(StepKind.DRAIN, Outcome.FAILED), index=1),
    )
    (row,) = build_grid(build.run(cells, states)).rows
    write = row.figure(Metric.WRITE)
    assert write is not None
    assert (write.n, write.median) == (1, build.FIGURES[Metric.WRITE] / 2)
    state = ended(StepKind.DRAIN, None)
    assert value(state, Metric.WRITE) is None
    assert value(replace(state, steps=state.steps[:-1]), Metric.WRITE) is None


def test_a_load_that_was_drained_or_needs_no_drain_keeps_its_figures_though_a_later_step_failed() -> None:
    state = ended(StepKind.CHECK, Outcome.FAILED)
    assert value(state, Metric.WRITE) == build.FIGURES[Metric.WRITE]
    assert value(state, Metric.DURABLE) == build.FIGURES[Metric.DURABLE]
    reading = replace(CELL, steps=tuple(step for step in STEPS if step.kind is not StepKind.DRAIN))
    steps = build.finished_steps({Metric.WRITE: 1.0}, kinds=reading.steps[:4])
    steps = (*steps[:-1], replace(steps[-1], outcome=Outcome.FAILED))
    state = CellState(0, CellStatus.FAILED, 1, "extents: no", steps)
    assert figures_of(reading, state, None).value(Metric.WRITE) == 1.0


def test_a_load_keeps_its_figures_while_it_is_drained_and_where_nobody_says_that_this_failed() -> None:
    for outcome, status in (
        (None, CellStatus.RUNNING),
        (None, CellStatus.UNKNOWN),
        (Outcome.STOPPED, CellStatus.STOPPED),
        (Outcome.SKIPPED, CellStatus.SKIPPED),
    ):
        assert value(ended(StepKind.DRAIN, outcome, status), Metric.WRITE) == build.FIGURES[Metric.WRITE]


def test_a_delete_whose_unmount_failed_has_no_time_and_the_load_before_it_keeps_its_own() -> None:
    state = ended(StepKind.DELETE_UNMOUNT, Outcome.FAILED)
    assert value(state, Metric.DELETE) is None
    assert value(state, Metric.WRITE) == build.FIGURES[Metric.WRITE]


# Median and spread.


def test_the_median_of_an_even_number_lies_between_the_middle_two_also_of_the_largest() -> None:
    assert summarise((1.0, 10.0, 2.0, 4.0)).median == 3.0
    assert summarise((1.7e308, 1.7e308)).median == 1.7e308
    with pytest.raises(ValueError, match="no values"):
        summarise(())


def test_the_spread_is_the_whole_range_over_the_median_where_there_is_one() -> None:
    assert spread_percent((90.0, 100.0, 120.0)) == pytest.approx(30.0)
    assert summarise((5.0,)).spread_percent is None
    assert spread_percent((0.0, 0.0, 3.0)) is None
    assert spread_percent((5e-324, 5e-324, 1e308)) is None


@given(st.lists(st.floats(0.001, 1e12), min_size=1, max_size=9).map(tuple))
def test_raw_values_are_kept_in_their_order_and_the_median_lies_within_them(
    values: tuple[float, ...],
) -> None:
    summary = summarise(values)
    assert (summary.values, summary.n) == (values, len(values))
    assert min(values) <= summary.median <= max(values)


# The unit and the digits of a column.


def test_a_column_has_one_unit_and_its_points_in_line() -> None:
    for metric, values, unit, texts in (
        (Metric.DURABLE, (78.94e6, 812e6), "MB/s", ["78.9", "812.0"]),
        (Metric.CHECK, (5336.2, 0.0431), "s", ["5336.200", "0.043"]),
        (Metric.MKFS, (0.00912, 0.0324), "s", ["0.009", "0.032"]),
        (Metric.DELETE, (0.0019, 0.00382), "s", ["0.0019", "0.0038"]),
        (Metric.CPU, (29.63,), "%", ["29.6"]),
        (Metric.FILES_PER_S, (45512.0,), "1/s", ["45512"]),
        (Metric.EXTENTS_MEAN, (1.0, 1.5), "", ["1.00", "1.50"]),
        (Metric.EXTENTS_MAX, (1.0, 272.0), "", ["1", "272"]),
        (Metric.EXTENT_SIZE_MEDIAN, (128 * KIB, 4 * MIB), "MiB", ["0.125", "4.000"]),
        (Metric.EXTENT_SIZE_MEDIAN, (0.0,), "B", ["0"]),
        (Metric.PEAK_DIRTY, (), "B", []),
    ):
        scale = scale_for(metric, values)
        assert scale.unit == unit, (metric, values)
        assert [scale.text(value) for value in values] == texts, (metric, values)


@given(
    st.floats(-1e300, 1e300),
    st.integers(0, 6).map(lambda decimals: ColumnScale("", 1.0, decimals)),
)
def test_no_figure_is_so_long_that_it_would_have_to_be_clipped(value: float, scale: ColumnScale) -> None:
    assert len(scale.text(value)) <= 9
    assert float(scale.text(value)) == pytest.approx(value, rel=0.05, abs=0.5)
