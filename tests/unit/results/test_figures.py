"""Which figures of a cell that did not end well count."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.results.figures import figures_of
from fsconsole.results.grid import build_grid
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


def test_a_load_whose_drain_failed_has_no_rate() -> None:
    state = ended(StepKind.DRAIN, Outcome.FAILED)
    assert value(state, Metric.WRITE) is None
    assert value(state, Metric.MKFS) == build.FIGURES[Metric.MKFS]


def test_a_rate_of_memory_is_in_no_median() -> None:
    cells = (CELL, replace(CELL, index=1, repeat=2))
    states = (
        build.done(0, factors={Metric.WRITE: 0.5}),
        replace(ended(StepKind.DRAIN, Outcome.FAILED), index=1),
    )
    (row,) = build_grid(build.run(cells, states)).rows
    write = row.figure(Metric.WRITE)
    assert write is not None
    assert (write.n, write.median) == (1, build.FIGURES[Metric.WRITE] / 2)


def test_a_load_of_which_a_failed_cell_tells_no_drain_has_no_rate() -> None:
    state = ended(StepKind.DRAIN, None)
    assert value(state, Metric.WRITE) is None
    assert value(replace(state, steps=state.steps[:-1]), Metric.WRITE) is None


def test_a_load_that_was_drained_keeps_its_figures_though_the_check_failed() -> None:
    state = ended(StepKind.CHECK, Outcome.FAILED)
    assert value(state, Metric.WRITE) == build.FIGURES[Metric.WRITE]
    assert value(state, Metric.DURABLE) == build.FIGURES[Metric.DURABLE]


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


def test_a_load_that_needs_no_drain_keeps_its_figures_where_a_later_step_failed() -> None:
    reading = replace(CELL, steps=tuple(step for step in STEPS if step.kind is not StepKind.DRAIN))
    steps = build.finished_steps({Metric.WRITE: 1.0}, kinds=reading.steps[:4])
    steps = (*steps[:-1], replace(steps[-1], outcome=Outcome.FAILED))
    state = CellState(0, CellStatus.FAILED, 1, "extents: no", steps)
    assert figures_of(reading, state, None).value(Metric.WRITE) == 1.0
