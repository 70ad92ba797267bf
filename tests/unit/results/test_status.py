from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.model.events import Outcome
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.results.figures import as_left, cells_in_words, cells_over, status_words
from fsconsole.show.progress import cell_elapsed_s, remaining_s
from tests.unit.results import build

RUN_ID = "20261121-081000-k7qf"
THREE = [build.cell(i) for i in range(3)]
RUNNING = build.run(THREE, [build.done(0), build.running(1), CellState(2)], status=RunStatus.RUNNING)


def test_a_living_run_says_what_it_does() -> None:
    assert status_words(RUNNING, alive=True) == "running: drain of cell 2 of 3"
    assert status_words(replace(RUNNING, status=RunStatus.PAUSED), alive=True).startswith("paused: drain")


def test_a_run_whose_lock_is_free_has_died_where_it_stood() -> None:
    assert status_words(RUNNING, alive=False) == f"engine died in drain of cell 2: fsconsole resume {RUN_ID}"
    cells = (build.done(0), build.running(1, status=CellStatus.UNKNOWN), CellState(2))
    state = replace(RUNNING, cells=cells, current_cell=None, status=RunStatus.INTERRUPTED)
    assert status_words(state, alive=False) == f"engine died in drain of cell 2: fsconsole resume {RUN_ID}"


def test_a_finished_run_is_finished_or_failed_with_what_its_last_word_says() -> None:
    assert status_words(build.demo(), alive=False) == "finished"
    assert status_words(build.demo(), alive=True) == "finished"
    partly = replace(build.demo(), reason="1 of 4 cells failed")
    assert status_words(partly, alive=False) == "finished: 1 of 4 cells failed"
    state = replace(build.demo(), outcome=Outcome.FAILED, reason="There is no /dev/sdq.")
    assert status_words(state, alive=False) == "failed: There is no /dev/sdq."


def test_a_stopped_run_says_where_or_after_how_many_cells() -> None:
    step = replace(build.running(1, StepKind.MKFS).steps[-1], outcome=Outcome.STOPPED)
    cells = (build.done(0), CellState(1, CellStatus.STOPPED, 1, "", (step,)), CellState(2))
    state = build.run(THREE, cells)
    words = status_words(replace(state, outcome=Outcome.STOPPED), alive=False)
    assert words == f"stopped in mkfs of cell 2: fsconsole resume {RUN_ID}"
    state = build.run(THREE, [build.done(0), CellState(1), CellState(2)])
    words = status_words(replace(state, outcome=Outcome.STOPPED), alive=False)
    assert words == f"stopped after 1 of 3 cells: fsconsole resume {RUN_ID}"


def test_a_run_that_never_began_says_how_to_begin() -> None:
    state = build.run(THREE, [CellState(i) for i in range(3)], status=RunStatus.NEW)
    assert status_words(state, alive=False) == f"never started: fsconsole resume {RUN_ID}"
    assert status_words(state, alive=True) == "starting"


def test_cells_are_counted_by_how_they_ended_and_as_interrupted_where_no_engine_lives() -> None:
    assert cells_in_words(build.demo()) == "4 cells: 2 done, 1 failed, 1 unavailable"
    assert cells_over(build.demo()) == 4
    assert cells_over(RUNNING) == 1
    assert cells_in_words(as_left(RUNNING, alive=True)) == "3 cells: 1 pending, 1 running, 1 done"
    assert cells_in_words(as_left(RUNNING, alive=False)) == "3 cells: 1 pending, 1 done, 1 interrupted"
    assert as_left(build.demo(), alive=False) == build.demo()


def test_the_estimate_counts_until_a_cell_is_done_then_the_mean_and_never_less_than_nothing() -> None:
    state = build.run(THREE, [CellState(i) for i in range(3)], status=RunStatus.NEW)
    assert remaining_s(state, 0) == pytest.approx(80.0)
    seven_steps_of_a_second = 7.0
    assert remaining_s(RUNNING, 2 * build.SECOND_NS) == pytest.approx(2 * seven_steps_of_a_second - 2.0)
    assert remaining_s(RUNNING, 500 * build.SECOND_NS) == pytest.approx(7.0)
    cells = [build.cell(0), build.cell(1, unavailable="no tool")]
    state = build.run(cells, [CellState(0), CellState(1, CellStatus.UNAVAILABLE)], status=RunStatus.NEW)
    assert remaining_s(state, 0) == pytest.approx(80.0)
    assert cell_elapsed_s(build.done(0), -5) == 0.0
