"""Where a run stands, how much time is left, and how far a step is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.cli.viewer import _step_lines
from fsconsole.devices.md import SyncState, parse_mdstat
from fsconsole.engine.steps import arrays
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.model.device import MdArray
from fsconsole.model.events import Outcome
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Sample, StepProgress
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.results.content import heading
from fsconsole.results.figures import as_left, cells_in_words, count_cells, status_words
from fsconsole.show.progress import cell_elapsed_s, done_share, progress_words, remaining_s, run_words
from fsconsole.show.run import step_line
from fsconsole.text import cells_of
from tests.unit.results import build

RUN_ID = "20261121-081000-k7qf"
THREE = [build.cell(i) for i in range(3)]
RUNNING = build.run(THREE, [build.done(0), build.running(1), CellState(2)], status=RunStatus.RUNNING)
NEW = build.run(THREE, [CellState(i) for i in range(3)], status=RunStatus.NEW)


def test_a_run_says_where_it_stands_and_how_to_take_it_up() -> None:
    resume = f"fsconsole resume {RUN_ID}"
    died = f"engine died in drain of cell 2: {resume}"
    left = (build.done(0), build.running(1, status=CellStatus.UNKNOWN), CellState(2))
    interrupted = replace(RUNNING, cells=left, current_cell=None, status=RunStatus.INTERRUPTED)
    step = replace(build.running(1, StepKind.MKFS).steps[-1], outcome=Outcome.STOPPED)
    within = build.run(THREE, (build.done(0), CellState(1, CellStatus.STOPPED, 1, "", (step,)), CellState(2)))
    between = build.run(THREE, [build.done(0), CellState(1), CellState(2)])
    for state, alive, words in (
        (RUNNING, True, "running: drain of cell 2 of 3"),
        (replace(RUNNING, status=RunStatus.PAUSED), True, "paused: drain of cell 2 of 3"),
        (RUNNING, False, died),
        (interrupted, False, died),
        (build.demo(), False, "finished"),
        (build.demo(), True, "finished"),
        (replace(build.demo(), reason="1 of 4 cells failed"), False, "finished: 1 of 4 cells failed"),
        (replace(build.demo(), outcome=Outcome.FAILED, reason="No /dev/sdq."), False, "failed: No /dev/sdq."),
        (replace(within, outcome=Outcome.STOPPED), False, f"stopped in mkfs of cell 2: {resume}"),
        (replace(between, outcome=Outcome.STOPPED), False, f"stopped after 1 of 3 cells: {resume}"),
        (NEW, False, f"never started: {resume}"),
        (NEW, True, "starting"),
    ):
        assert status_words(state, alive=alive) == words
        assert ".." not in heading(state, words)[-1]


def test_cells_are_counted_by_how_they_ended_and_as_interrupted_where_no_engine_lives() -> None:
    assert cells_in_words(build.demo()) == "4 cells: 2 done, 1 failed, 1 can't run"
    assert cells_in_words(as_left(RUNNING, alive=True)) == "3 cells: 1 pending, 1 running, 1 done"
    assert cells_in_words(as_left(RUNNING, alive=False)) == "3 cells: 1 pending, 1 done, 1 interrupted"
    assert as_left(build.demo(), alive=False) == build.demo()


UNABLE = [build.cell(0), *(build.cell(n, build.XFS, unavailable="too small") for n in (1, 2)), build.cell(3)]
LACKING = [CellState(n, CellStatus.UNAVAILABLE) for n in (1, 2)]


def test_cells_that_can_not_run_are_told_apart_and_neither_done_nor_to_come() -> None:
    before = build.run(UNABLE, [CellState(0), *LACKING, CellState(3)], status=RunStatus.RUNNING)
    assert run_words(before, 0).startswith("0/2 cells, 2 can't run  about")
    assert done_share(before, 0) == 0
    half = build.run(UNABLE, [build.done(0), *LACKING, CellState(3)], status=RunStatus.RUNNING)
    assert (done_share(half, 0), count_cells(half).left) == (0.5, 1)
    stopped = replace(half, status=RunStatus.FINISHED, outcome=Outcome.STOPPED)
    assert status_words(stopped, alive=False).startswith("stopped after 1 of 2 cells, 2 can't run: ")
    # The engine goes over it, which takes a moment.
    passing = build.run(UNABLE, [build.done(0), CellState(1, CellStatus.RUNNING, 1), *LACKING[1:], CellState(3)])
    assert count_cells(passing) == count_cells(half)
    whole = build.run(UNABLE, [build.done(0), *LACKING, build.done(3)])
    assert (done_share(whole, 0), count_cells(whole).words) == (1, "2 of 2 cells, 2 can't run")
    assert count_cells(build.demo()).words == "3 of 3 cells, 1 can't run"


def test_the_estimate_counts_until_a_cell_is_done_then_the_mean_and_never_nothing_while_one_runs() -> None:
    assert remaining_s(NEW, 0) == pytest.approx(80.0)
    seven_steps_of_a_second = 7.0
    assert remaining_s(RUNNING, 2 * build.SECOND_NS) == pytest.approx(2 * seven_steps_of_a_second - 2.0)
    # 500 s in, the running cell is late: a tenth of what it took is left of it, and never nothing.
    assert remaining_s(RUNNING, 500 * build.SECOND_NS) == pytest.approx(50.0 + 7.0)
    assert remaining_s(RUNNING, 7 * build.SECOND_NS) == pytest.approx(1.0 + 7.0)
    cells = [build.cell(0), build.cell(1, unavailable="no tool")]
    state = build.run(cells, [CellState(0), CellState(1, CellStatus.UNAVAILABLE)], status=RunStatus.NEW)
    assert remaining_s(state, 0) == pytest.approx(80.0)
    assert cell_elapsed_s(build.done(0), -5) == 0.0


# How far a step is: told by samples of that very step, in the console, in the live view, and out of mdstat.


NOW_NS = 10 * build.SECOND_NS
STEP = StepState(2, StepKind.ARRAY_SYNC, "wait until /dev/md400 is in step", build.SECOND_NS)
FAR, FAR_WORDS = StepProgress(41.7, 725.0), "42 %, about 12 min 05 s left"


def sample(progress: StepProgress | None = FAR, *, step: str = "array-sync", at_ns: int = NOW_NS) -> Sample:
    return replace(build.sample(at_ns, load=False), step=step, progress=progress)


def waiting(last: Sample | None, started_s: int = 1) -> RunState:
    step = replace(STEP, started_monotonic_ns=started_s * build.SECOND_NS)
    cell = CellState(0, CellStatus.RUNNING, 1, "", (step,))
    return replace(build.run((build.cell(0),), (cell,), status=RunStatus.RUNNING), last_sample=last)


def in_console(state: RunState, now_ns: int = NOW_NS) -> str:
    return step_line(build.snapshot(state, state.last_sample), now_ns, 160)


def test_only_a_sample_of_the_step_tells_how_far_it_is() -> None:
    for last, words in (
        (sample(), FAR_WORDS),
        (sample(StepProgress(0.0)), "0 %"),
        (sample(None), ""),
        (None, ""),
        (sample(step="array"), ""),
        (sample(at_ns=build.SECOND_NS - 1), ""),
    ):
        assert progress_words(STEP, last) == words, (last, words)


def test_console_and_live_view_show_it_in_the_line_of_the_step_lines_and_days_in_two() -> None:
    told = f"wait until /dev/md400 is in step, {FAR_WORDS}, 9.0 s"
    assert f"ARRAY SYNC {told} >" in in_console(waiting(sample()))
    lines = _step_lines(waiting(sample()), NOW_NS, 80)
    assert " ".join(" ".join(lines).split()) == f"step array sync: {told}"
    assert "ARRAY SYNC wait until /dev/md400 is in step, 9.0 s >" in in_console(waiting(None))
    days = 3 * 86400
    state = waiting(sample(StepProgress(99.9, days), at_ns=days * build.SECOND_NS))
    assert cells_of(in_console(state, days * build.SECOND_NS)) <= 160
    assert len(_step_lines(state, days * build.SECOND_NS, 80)) <= 2


MDSTAT = """Personalities : [raid6] [raid5] [raid4]
md400 : active raid5 vdc[3] vdb[1] vda[0]
      194560 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]
      [======>..............]  recovery = 33.4% (32516/97280) finish=2.5min speed=431K/sec

unused devices: <none>
"""
SLOW = SyncState("recover", False, ("vda", "vdb", "vdc"), (), 31.25, True)


def test_a_resync_is_told_as_mdstat_has_it_and_as_sysfs_where_that_has_no_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreadable() -> tuple[MdArray, ...]:
        raise KernelUnreadable(path="/proc/mdstat", line="?")

    waits = MDSTAT.replace("recovery = 33.4% (32516/97280) finish=2.5min", "resync=DELAYED")
    for read, progress in (
        (lambda: parse_mdstat(MDSTAT), StepProgress(33.4, 150.0)),
        (unreadable, StepProgress(31.25)),
        (lambda: (), StepProgress(31.25)),
        (lambda: parse_mdstat(waits), StepProgress(31.25)),
    ):
        monkeypatch.setattr(arrays, "read_arrays", read)
        assert arrays._progress(SLOW) == progress
