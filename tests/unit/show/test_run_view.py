from __future__ import annotations

from dataclasses import replace

from fsconsole.journal.folder import RunFolder
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import LoadProgress, Sample, Writeback
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.show.gauges import age_words
from fsconsole.show.history import History, RunSnapshot, known_of, names_of
from fsconsole.show.run import cell_in_sight, cell_row, step_line, title_line
from fsconsole.text import GIB, MIB, cells_of
from tests.unit.results import build

NOW_NS = 10 * build.SECOND_NS
CELLS = (build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS), build.cell(3, build.BTRFS))
WIDTHS = (60, 80, 120, 200)


def snapshot(state: RunState, *, alive: bool = True, sample: Sample | None = None) -> RunSnapshot:
    return RunSnapshot(
        RunFolder("/runs/r"), state, names_of(state.request.plan), known_of(state), sample, History(), alive
    )


def going(kind: StepKind = StepKind.DRAIN, *, status: RunStatus = RunStatus.RUNNING) -> RunState:
    states = (build.done(0), build.failed(1), build.running(2, kind), CellState(3))
    return build.run(CELLS, states, status=status)


def sample(step: str, *, at_ns: int = NOW_NS, **how: object) -> Sample:
    made = replace(build.sample(at_ns), step=step, cell=2, **how)
    return replace(made, writeback=Writeback(3 * GIB, 100 * MIB))


def test_the_title_says_which_cell_of_how_many_and_what_is_left() -> None:
    line = title_line(snapshot(going()), NOW_NS, 80)
    assert line.startswith("four filesystems: cell 3 of 4, about ")
    assert line.endswith(" left")
    assert "paused, cell 3 of 4" in title_line(snapshot(going(status=RunStatus.PAUSED)), NOW_NS, 80)


def test_no_line_is_wider_than_the_screen() -> None:
    for width in WIDTHS:
        state = going()
        long = replace(state.request.plan, title="\x1b[31m[/x]" + "name " * 60)
        state = replace(state, request=replace(state.request, plan=long))
        shown = snapshot(state)
        assert cells_of(title_line(shown, NOW_NS, width)) <= width, width
        for index in range(4):
            row = cell_row(shown, index, width)
            assert cells_of(row.text) <= width, width
            assert row.text.isprintable(), width


def test_each_cell_has_its_status_in_a_word_and_figures_or_a_reason_in_line() -> None:
    shown = snapshot(going())
    texts = [" ".join(cell_row(shown, index, 100).text.split()) for index in range(4)]
    assert texts[0] == "1 ext4 data=ordered done write 812 durable 410 MB/s"
    assert texts[1].startswith("2 ext4 data=writeback,nodelalloc failed mkfs: mkfs.xfs failed")
    assert texts[2] == "3 xfs running step 4 of 7: drain"
    assert texts[3] == "4 btrfs pending"
    rows = [cell_row(shown, index, 100).text for index in range(4)]
    words = ("done", "failed", "running", "pending")
    assert len({row.index(word) for row, word in zip(rows, words, strict=True)}) == 1


def test_names_keep_their_ends_in_80_columns_and_repeats_are_numbered() -> None:
    long = replace(build.EXT4, label="ext4 " + "x" * 60 + " data=ordered")
    state = build.run((build.cell(0, long), build.cell(1)), (build.done(0), build.done(1)))
    text = cell_row(snapshot(state), 0, 80).text
    assert "data=ordered" in text
    assert text.endswith("MB/s")
    cells = (build.cell(0), build.cell(1, repeat=2))
    shown = snapshot(build.run(cells, (build.done(0), build.done(1))))
    assert "#2" in cell_row(shown, 1, 80).text
    assert "#" not in cell_row(snapshot(going()), 0, 80).text


def test_a_check_that_found_something_and_a_cell_of_a_dead_engine_stand_out() -> None:
    shown = snapshot(build.run(CELLS[:1], (build.done(0, verdict="errors"),)))
    row = cell_row(shown, 0, 80)
    assert "check: errors" in row.text
    assert row.tone == "bad"
    row = cell_row(snapshot(going(), alive=False), 2, 80)
    assert "running" not in row.text
    assert "interrupted  engine died" in row.text
    assert row.tone == "bad"


def test_the_step_says_how_far_it_is_by_samples_of_its_own() -> None:
    line = step_line(snapshot(going(), sample=sample("drain")), NOW_NS)
    assert line.startswith("drain: application done, 3.1 GiB still dirty, ")
    load = LoadProgress(256 * MIB, 4096, 1, 16, 1e8)
    line = step_line(snapshot(going(StepKind.WORKLOAD), sample=sample("workload", load=load)), NOW_NS)
    assert line == "workload: large files, 256.0 MiB of 1.0 GiB, 1 file, 16 threads, 8.0 s"
    early = sample("workload", at_ns=build.SECOND_NS)
    line = step_line(snapshot(going(StepKind.WORKLOAD), sample=early), NOW_NS)
    assert line == "workload: large files, 8.0 s"
    other = sample("mkfs")
    assert step_line(snapshot(going(StepKind.WORKLOAD), sample=other), NOW_NS) == line


def test_gauges_older_than_two_seconds_tell_their_age() -> None:
    last = sample("drain")
    assert age_words(last, NOW_NS + 2 * build.SECOND_NS) == ""
    assert age_words(last, NOW_NS + 3 * build.SECOND_NS) == "gauges 3.0 s old"
    assert age_words(None, NOW_NS) == "no gauges yet"
    assert age_words(last, NOW_NS + 9**15, alive=False) == "last gauges"


def test_a_run_that_is_over_or_dead_says_what_can_be_done() -> None:
    over = build.run(CELLS[:1], (build.done(0),))
    assert "enter shows its results" in step_line(snapshot(over, alive=False), NOW_NS)
    dead = step_line(snapshot(going(), alive=False), NOW_NS)
    assert "c cleans up" in dead
    assert "r resumes" in dead
    new = build.run(CELLS[:1], (CellState(0),), status=RunStatus.NEW)
    assert "Never started" in step_line(snapshot(new, alive=False), NOW_NS)
    interrupted = replace(going(), status=RunStatus.INTERRUPTED, current_cell=None)
    assert "cleaned up" in step_line(snapshot(interrupted, alive=False), NOW_NS)


def test_the_cell_at_hand_is_kept_in_sight_else_the_next_else_the_last() -> None:
    assert cell_in_sight(going()) == 2
    between = replace(going(), current_cell=None)
    waiting = replace(between, cells=(*between.cells[:2], build.done(2), CellState(3)))
    assert cell_in_sight(waiting) == 3
    over = replace(waiting, cells=(*waiting.cells[:3], CellState(3, CellStatus.SKIPPED)))
    assert cell_in_sight(over) == 3
    assert cell_in_sight(build.run((), ())) == 0


def test_a_raw_row_shows_its_own_rates() -> None:
    state = build.run(CELLS[:1], (build.done(0),))
    figures = {Metric.RAW_WRITE_N: 1.812e9, Metric.RAW_READ_N: 2.5e9}
    raw = CellState(0, CellStatus.DONE, 1, "", build.finished_steps(figures))
    text = cell_row(snapshot(replace(state, cells=(raw,))), 0, 100).text
    assert "raw write N 1812" in text
    assert "raw read N 2500 MB/s" in text
