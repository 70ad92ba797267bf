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


def test_a_paused_run_says_so() -> None:
    assert status_words(replace(RUNNING, status=RunStatus.PAUSED), alive=True).startswith("paused: drain")


def test_a_run_whose_lock_is_free_has_died_where_it_stood() -> None:
    assert status_words(RUNNING, alive=False) == f"engine died in drain of cell 2: fsconsole resume {RUN_ID}"


def test_an_interrupted_run_still_knows_where_it_stood() -> None:
    cells = (build.done(0), build.running(1, status=CellStatus.UNKNOWN), CellState(2))
    state = replace(RUNNING, cells=cells, current_cell=None, status=RunStatus.INTERRUPTED)
    assert status_words(state, alive=False) == f"engine died in drain of cell 2: fsconsole resume {RUN_ID}"


def test_a_finished_run_is_finished_with_what_its_last_word_says() -> None:
    assert status_words(build.demo(), alive=False) == "finished"
    assert status_words(build.demo(), alive=True) == "finished"
    partly = replace(build.demo(), reason="1 of 4 cells failed")
    assert status_words(partly, alive=False) == "finished: 1 of 4 cells failed"


def test_a_run_that_an_error_ended_has_failed() -> None:
    state = replace(build.demo(), outcome=Outcome.FAILED, reason="There is no /dev/sdq.")
    assert status_words(state, alive=False) == "failed: There is no /dev/sdq."


def test_a_run_stopped_within_a_cell_says_where() -> None:
    step = replace(build.running(1, StepKind.MKFS).steps[-1], outcome=Outcome.STOPPED)
    cells = (build.done(0), CellState(1, CellStatus.STOPPED, 1, "", (step,)), CellState(2))
    state = build.run(THREE, cells)
    words = status_words(replace(state, outcome=Outcome.STOPPED), alive=False)
    assert words == f"stopped in mkfs of cell 2: fsconsole resume {RUN_ID}"


def test_a_run_stopped_between_cells_says_after_how_many() -> None:
    state = build.run(THREE, [build.done(0), CellState(1), CellState(2)])
    words = status_words(replace(state, outcome=Outcome.STOPPED), alive=False)
    assert words == f"stopped after 1 of 3 cells: fsconsole resume {RUN_ID}"


def test_a_run_that_never_began_says_how_to_begin() -> None:
    state = build.run(THREE, [CellState(i) for i in range(3)], status=RunStatus.NEW)
    assert status_words(state, alive=False) == f"never started: fsconsole resume {RUN_ID}"
    assert status_words(state, alive=True) == "starting"


def test_cells_are_counted_by_how_they_ended() -> None:
    assert cells_in_words(build.demo()) == "4 cells: 2 done, 1 failed, 1 unavailable"
    assert cells_over(build.demo()) == 4
    assert cells_over(RUNNING) == 1


def test_before_the_first_cell_is_done_the_plan_s_estimate_counts() -> None:
    state = build.run(THREE, [CellState(i) for i in range(3)], status=RunStatus.NEW)
    assert remaining_s(state, 0) == pytest.approx(80.0)


def test_afterwards_the_mean_of_the_done_cells_counts_less_what_the_present_one_took() -> None:
    seven_steps_of_a_second = 7.0
    assert remaining_s(RUNNING, 2 * build.SECOND_NS) == pytest.approx(2 * seven_steps_of_a_second - 2.0)


def test_a_cell_that_takes_longer_than_the_others_never_gives_less_than_nothing() -> None:
    assert remaining_s(RUNNING, 500 * build.SECOND_NS) == pytest.approx(7.0)


def test_a_cell_that_can_t_run_takes_no_time() -> None:
    cells = [build.cell(0), build.cell(1, unavailable="no tool")]
    state = build.run(cells, [CellState(0), CellState(1, CellStatus.UNAVAILABLE)], status=RunStatus.NEW)
    assert remaining_s(state, 0) == pytest.approx(80.0)


def test_a_clock_that_seems_to_go_back_gives_no_negative_time() -> None:
    assert cell_elapsed_s(build.done(0), -5) == 0.0


def test_a_cell_that_no_engine_carries_out_any_more_is_interrupted() -> None:
    assert cells_in_words(as_left(RUNNING, alive=True)) == "3 cells: 1 pending, 1 running, 1 done"
    assert cells_in_words(as_left(RUNNING, alive=False)) == "3 cells: 1 pending, 1 done, 1 interrupted"
    assert as_left(build.demo(), alive=False) == build.demo()
