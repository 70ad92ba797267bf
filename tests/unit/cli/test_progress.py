from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.live import Live

from fsconsole.cli.viewer import LiveView, PrintedView, render, run_view
from fsconsole.journal.events import Batch, Cursor
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.plan import StepKind, Variant
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.show.gauges import bar, gauge_lines
from fsconsole.show.progress import finished_lines, plain_lines
from fsconsole.text import cells_of, printable
from tests.unit.cli.recorded import Terminal
from tests.unit.results import build

CELLS = [build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS)]
RUNNING = build.run(CELLS, [build.done(0), build.running(1), CellState(2)], status=RunStatus.RUNNING)
NOTHING = Batch(Cursor())


def _painted(state: RunState, now_ns: int = 15 * build.SECOND_NS, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, color_system=None)
    console.print(render(state, now_ns, width))
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue().removesuffix("\n").split("\n")


def test_the_live_view_of_a_drain_is_this_one() -> None:
    assert _painted(build.with_sample(RUNNING, 14 * build.SECOND_NS)) == [
        "",
        "four filesystems (20261121-081000-k7qf)",
        "cell 2 of 3, about 8 s left",
        "ext4 data=writeback,nodelalloc on /dev/loop7",
        "step    drain: application done, whole machine 312.0 MiB dirty, 12.0 s",
        "load    812 MB/s",
        "device                 write    read  writes   reads   queue    busy latency",
        "                        MB/s    MB/s     1/s     1/s               %      ms",
        "loop7                    410       0     800       0      12    98.2    14.0",
        "dirty   [################----] 300.0 MiB + 12.0 MiB writeback",
        "        limit 400.0 MiB, background 200.0 MiB",
        "CPU     [######--------------] 30.0 % busy, user 10, system 20, iowait 30 %",
    ]


def test_a_step_with_a_long_title_takes_two_lines_and_keeps_its_words() -> None:
    title = "many writers: create 16 files of 40MiB by 16 threads in writes of 64KiB, random data"
    cell = build.running(1, StepKind.WORKLOAD)
    steps = (*cell.steps[:-1], replace(cell.steps[-1], title=title))
    state = replace(RUNNING, cells=(RUNNING.cells[0], replace(cell, steps=steps), RUNNING.cells[2]))
    assert _painted(state)[4:6] == [
        "step    workload: many writers: create 16 files of 40MiB by 16 threads in writes",
        "        of 64KiB, random data, 13.0 s",
    ]


def test_gauges_that_lack_a_sample_or_a_figure_show_none_and_old_ones_their_age() -> None:
    assert "no gauges yet" in _painted(RUNNING)
    sample = replace(build.sample(load=False, threshold_bytes=None), devices=())
    assert gauge_lines(sample, 0) == [
        "dirty   300.0 MiB + 12.0 MiB writeback",
        "CPU     [######--------------] 30.0 % busy, user 10, system 20, iowait 30 %",
    ]
    assert gauge_lines(build.sample(), 12 * build.SECOND_NS)[-1] == "gauges 12.0 s old"
    assert (bar(7.0), bar(-1.0)) == ("[####################]", "[--------------------]")


@given(st.text(max_size=80), st.text(max_size=80), st.integers(20, 120))
def test_no_label_makes_a_line_wider_or_acts_on_the_terminal(label: str, title: str, width: int) -> None:
    cells = [build.cell(0, Variant(label, "ext4"))]
    state = build.run(cells, [build.running(0)], status=RunStatus.RUNNING, title=title)
    lines = _painted(build.with_sample(state, 15 * build.SECOND_NS), width=width)
    assert len(lines) in {12, 13}
    assert all(cells_of(line) <= width for line in lines)
    assert all(printable(line) == line for line in lines)


def test_the_view_fits_a_console_of_24_lines_in_every_standing() -> None:
    for status in RunStatus:
        state = build.with_sample(replace(RUNNING, status=status))
        assert len(_painted(state)) < 24
        assert len(_painted(replace(state, current_cell=None))) < 24


def test_plain_lines_tell_what_began_and_ended_the_warnings_and_the_reasons() -> None:
    begun = build.run(CELLS, [build.running(0), CellState(1), CellState(2)], status=RunStatus.RUNNING)
    assert plain_lines(None, begun) == ("1/3  ext4 data=ordered               running",)
    assert plain_lines(begun, RUNNING) == (
        "1/3  ext4 data=ordered               done  write  812 durable  410 MB/s",
        "2/3  ext4 data=writeback,nodelalloc  running",
    )
    assert plain_lines(RUNNING, RUNNING) == ()
    again = replace(RUNNING, cells=(replace(RUNNING.cells[0], attempt=2), *RUNNING.cells[1:]))
    assert len(plain_lines(RUNNING, again)) == 1
    lines = plain_lines(None, build.demo())
    assert lines[1] == "    warnings: short, not comparable"
    assert lines[2].endswith(" durable  537 MB/s  check: errors")
    assert lines[3].endswith("  failed  mkfs: mkfs.xfs failed with exit code 1: no room")
    assert "  can't run  mkfs.btrfs is not installed" in lines[4]
    assert lines[5] == "run 20261121-081000-k7qf: finished"
    assert plain_lines(None, build.repeated())[2].startswith("3/6  ext4 data=ordered  #2  ")


def test_the_line_of_a_cell_that_went_well_fits_80_columns() -> None:
    label = "ext4 with very many options that need room"
    cells = [build.cell(index, Variant(label, "ext4"), repeat=index + 1) for index in range(12)]
    (line,) = finished_lines(None, build.run(cells, [build.done(0), *map(CellState, range(1, 12))]))
    assert cells_of(line) <= 80
    assert line.endswith("durable  410 MB/s")
    assert label in plain_lines(None, build.run(cells, [build.done(0), *map(CellState, range(1, 12))]))[0]


def test_a_kind_of_warning_is_told_of_the_first_cell_alone() -> None:
    warned = [build.done(index, warnings=(build.warning(index),)) for index in range(3)]
    lines = finished_lines(None, build.run(CELLS, warned))
    assert [line for line in lines if "warnings" in line] == ["    warnings: short"]
    of_all = build.done(0, warnings=tuple(build.warning(0, kind) for kind in WarningKind))
    lines = finished_lines(None, build.run(CELLS, [of_all, *warned[1:]]))
    assert max(map(len, lines)) <= 80
    assert all(kind.words in " ".join(lines) for kind in (WarningKind.CACHED, WarningKind.SPREAD))


def test_a_run_that_is_stopped_says_how_to_go_on() -> None:
    state = replace(RUNNING, status=RunStatus.FINISHED, outcome=Outcome.STOPPED, current_cell=None)
    cells = (RUNNING.cells[0], CellState(1, CellStatus.STOPPED), CellState(2))
    (*_, last) = plain_lines(RUNNING, replace(state, cells=cells))
    assert last.endswith("fsconsole resume 20261121-081000-k7qf")


def test_no_terminal_and_a_dumb_one_get_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with run_view(stream) as view:
        view.show(build.demo(), NOTHING)
        view.show(build.demo(), NOTHING)
    assert stream.getvalue().count("\n") == 6
    assert "\x1b" not in stream.getvalue()
    for term in ("dumb", "unknown", ""):
        monkeypatch.setenv("TERM", term)
        with run_view(Terminal()) as view:
            assert isinstance(view, PrintedView)


def test_a_terminal_gets_the_live_view_with_finished_cells_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    with run_view(terminal) as view:
        assert isinstance(view, LiveView)
        view.show(RUNNING, NOTHING)
    above, _, below = terminal.getvalue().partition("\x1b[1mfour filesystems")
    assert "1/3  ext4 data=ordered               done  write  812 durable  410 MB/s\n" in above
    assert "cell 2 of 3" not in above
    assert "step    drain" in below


def test_the_live_view_is_painted_at_most_once_per_quarter_second(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=Terminal(), width=80, force_terminal=True)
    painted: list[bool] = []
    with Live(console=console, auto_refresh=False) as live:
        monkeypatch.setattr(live, "update", lambda *_args, refresh: painted.append(refresh))
        monkeypatch.setattr("fsconsole.cli.viewer.time.monotonic", iter([100.0, 100.1, 100.2, 100.3]).__next__)
        view = LiveView(live)
        for _ in range(4):
            view.show(RUNNING, NOTHING)
    assert painted == [True, True]
