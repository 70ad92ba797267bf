from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.live import Live

from fsconsole.cli.gauges import bar, gauge_lines
from fsconsole.cli.progress import LiveView, PlainView, plain_lines, progress_view, render
from fsconsole.journal.batch import Batch, Cursor
from fsconsole.model.observation import Outcome
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.model.variant import Variant
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of
from tests.unit.analysis import build

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
        "four filesystems (20261121-081000-k7qf)",
        "cell 2 of 3: ext4 data=writeback,nodelalloc on /dev/loop7",
        "step    drain for 12.0 s: drain",
        "load    812 MB/s, 1.0 GiB and 3 files done, 13 threads running",
        "device  loop7: write 410 MB/s, read 0 MB/s, busy 98.2 %",
        "dirty   [################----] 300.0 MiB + 12.0 MiB in writeback",
        "        limit 400.0 MiB, background from 200.0 MiB",
        "CPU     [######--------------] 30.0 % busy, 30.0 % idle and waiting for I/O",
        "left    about 7 s, by the cells so far",
    ]


def test_before_the_first_sample_the_gauges_are_empty_not_zero() -> None:
    assert "gauges  none yet" in _painted(RUNNING)


def test_what_the_machine_does_not_offer_is_absent() -> None:
    lines = gauge_lines(build.sample(load=False, threshold_bytes=None), 0)
    assert lines[1:] == [
        "dirty   300.0 MiB + 12.0 MiB in writeback",
        "CPU     [######--------------] 30.0 % busy, 30.0 % idle and waiting for I/O",
    ]


def test_old_gauges_show_their_age() -> None:
    assert gauge_lines(build.sample(), 12 * build.SECOND_NS)[-1] == "gauges  12.0 s old"


def test_a_bar_is_never_longer_than_full() -> None:
    assert bar(7.0) == "[####################]"
    assert bar(-1.0) == "[--------------------]"


@given(st.text(max_size=80), st.text(max_size=80), st.integers(20, 120))
def test_no_label_makes_a_line_wider_or_acts_on_the_terminal(label: str, title: str, width: int) -> None:
    cells = [build.cell(0, Variant(label, "ext4"))]
    state = build.run(cells, [build.running(0)], status=RunStatus.RUNNING, title=title)
    lines = _painted(build.with_sample(state, 15 * build.SECOND_NS), width=width)
    assert len(lines) == 9
    assert all(cells_of(line) <= width for line in lines)
    assert all(printable(line) == line for line in lines)


def test_the_view_fits_a_console_of_24_lines_in_every_standing() -> None:
    for status in RunStatus:
        state = build.with_sample(replace(RUNNING, status=status))
        assert len(_painted(state)) < 24
        assert len(_painted(replace(state, current_cell=None))) < 24


def test_plain_lines_tell_what_began_and_what_ended() -> None:
    begun = build.run(CELLS, [build.running(0), CellState(1), CellState(2)], status=RunStatus.RUNNING)
    assert plain_lines(None, begun) == ("cell 1 of 3: ext4 data=ordered",)
    assert plain_lines(begun, RUNNING) == (
        "cell 1 of 3 done: ext4 data=ordered; write 812 MB/s, durable 410 MB/s, "
        "check 0.312 s clean, delete 0.0452 s",
        "cell 2 of 3: ext4 data=writeback,nodelalloc",
    )
    assert plain_lines(RUNNING, RUNNING) == ()


def test_plain_lines_tell_the_warnings_and_the_reasons() -> None:
    lines = plain_lines(None, build.demo())
    assert lines[0].endswith("; warned of: short, not-comparable")
    assert lines[2] == "cell 3 of 4 failed: xfs: mkfs: mkfs.xfs failed with exit code 1: no room"
    assert lines[3].startswith("cell 4 of 4 unavailable: btrfs: mkfs.btrfs is not installed")
    assert lines[4] == "run 20261121-081000-k7qf: finished"


def test_a_cell_that_is_done_again_is_told_again() -> None:
    again = replace(RUNNING.cells[0], attempt=2)
    resumed = replace(RUNNING, cells=(again, *RUNNING.cells[1:]))
    assert len(plain_lines(RUNNING, resumed)) == 1


def test_repeats_are_told_apart() -> None:
    assert "(repeat 2 of 3)" in plain_lines(None, build.repeated())[2]


def test_a_run_that_is_stopped_says_how_to_go_on() -> None:
    state = replace(RUNNING, status=RunStatus.FINISHED, outcome=Outcome.STOPPED, current_cell=None)
    cells = (RUNNING.cells[0], CellState(1, CellStatus.STOPPED), CellState(2))
    (*_, last) = plain_lines(RUNNING, replace(state, cells=cells))
    assert last.endswith("fsconsole resume 20261121-081000-k7qf")


def test_no_terminal_gets_plain_lines() -> None:
    stream = io.StringIO()
    with progress_view(stream) as view:
        view.show(build.demo(), NOTHING)
        view.show(build.demo(), NOTHING)
    assert stream.getvalue().count("\n") == 5
    assert "\x1b" not in stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_plain_lines(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    with progress_view(Terminal()) as view:
        assert isinstance(view, PlainView)


def test_a_terminal_gets_the_live_view_with_finished_cells_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    with progress_view(terminal) as view:
        assert isinstance(view, LiveView)
        view.show(RUNNING, NOTHING)
    above, _, below = terminal.getvalue().partition("\x1b[1mfour filesystems")
    assert "cell 1 of 3 done: ext4 data=ordered; write 812 MB/s, durable 410 MB/s" in terminal.getvalue()
    assert "cell 2 of 3: ext4" not in above
    assert "step    drain" in below


def test_the_live_view_is_painted_at_most_once_per_quarter_second(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=Terminal(), width=80, force_terminal=True)
    painted: list[bool] = []
    with Live(console=console, auto_refresh=False) as live:
        monkeypatch.setattr(live, "update", lambda *_args, refresh: painted.append(refresh))
        monkeypatch.setattr(
            "fsconsole.cli.progress.time.monotonic", iter([100.0, 100.1, 100.2, 100.3]).__next__
        )
        view = LiveView(live)
        for _ in range(4):
            view.show(RUNNING, NOTHING)
    assert painted == [True, True]
