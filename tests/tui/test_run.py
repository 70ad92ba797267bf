"""The Run screen over recorded and living runs, its keys, and a fault of the program that ends the console."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.client.children import Done
from fsconsole.errors import ConsoleFailed, ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    ControlRequested,
    InCell,
    Outcome,
    RunFinished,
    StepFinished,
    StepStarted,
    Verb,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.show.terminal import ASCII
from fsconsole.text import GIB
from fsconsole.tui import app as tui_app
from fsconsole.tui import bridge
from fsconsole.tui.bridge import Bridge, Watch
from fsconsole.tui.screens import base
from fsconsole.tui.widgets.lists import List
from tests.conftest import wait_until
from tests.tui.harness import ONE_OF_SIZES, SIZES, WIDE, Scripted, console, drive, picture
from tests.tui.living import AGAIN, DRAINING, NEXT, living_run
from tests.tui.offers import resumed
from tests.tui.recorded import all_recorded, imported, recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows, until
from tests.unit.results import build

STANDING = {
    "grid": "finished",
    "raw": "finished",
    "failed": "finished: 1 of 2 cells failed",
    "stopped": "stopped after 5 of 6 cells",
    "killed": "engine died in workload of cell 6",
}


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_each_run_that_the_session_names_says_where_it_stands(tmp_path: Path, size: tuple[int, int]) -> None:
    folders = all_recorded(tmp_path)
    async with drive(console(folder=folders[0], runs_dir=tmp_path), size=size) as pilot:
        for folder in folders:
            pilot.app.session.folder = folder
            await pilot.press("1", "3")
            screen = pilot.app.screen
            await until(pilot, lambda f=folder, s=screen: s.snapshot and s.snapshot.folder == f)
            await shows(
                pilot, STANDING[folder.name], "write  ", "dirty  ", "CPU  ", "60 s", "gauges as last read", "l Log"
            )


@pytest.fixture
def _scratch_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded runs can be resumed as if their scratch files were there."""
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())


@pytest.mark.usefixtures("_scratch_files")
@pytest.mark.parametrize("size", SIZES)
async def test_screen_and_log_look_as_kept(tmp_path: Path, size: tuple[int, int]) -> None:
    for name, key, words in (
        ("raw", "3", (STANDING["raw"], "of peak 5869")),
        ("killed", "3", (STANDING["killed"], "of peak 820")),
        ("failed", "l", ("Cell 3 of 3", "$ mkfs.ext4")),
    ):
        app = console(folder=recorded(name, tmp_path), runs_dir=tmp_path)
        async with drive(app, "3", size=size) as pilot:
            await shows(pilot, STANDING[name])
            await pilot.press(key, *(("right", "right") if key == "l" else ()))
            await shows(pilot, *words)
            kept = "log" if key == "l" else f"run-{name}"
            assert_looks_as_kept(pilot, f"{kept}-{size[0]}x{size[1]}")


async def test_only_what_has_come_is_painted_and_after_a_second_times_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(folder=recorded("killed", tmp_path), runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, STANDING["killed"], "CPU  ")
        screen, painted = pilot.app.screen, []
        screen.paint()
        monkeypatch.setattr(screen, "paint", lambda: painted.append(screen.snapshot))
        seen = screen.snapshot
        screen._paint_news()
        assert painted == []
        for known in (
            replace(seen, state=replace(seen.state)),
            replace(seen, alive=True),
            replace(seen, history=replace(seen.history, recent=seen.history.recent[1:])),
        ):
            screen.snapshot = known
            screen._paint_news()
            assert painted.pop() is known
        sampled = replace(seen.state, last_sample=replace(seen.sample))
        screen.snapshot = replace(seen, state=sampled, sample=sampled.last_sample)
        screen._paint_news()
        assert painted == []
        stopping = replace(sampled, stops_after=True)
        screen.snapshot = replace(seen, state=stopping, sample=stopping.last_sample)
        screen._paint_news()
        assert painted.pop() is screen.snapshot
        screen.snapshot = seen
        screen._painted_s -= 1.0
        screen._paint_news()
        assert painted == [seen]


async def test_rows_are_made_again_only_for_another_ranking_and_a_layout_only_for_more_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(folder=recorded("killed", tmp_path), runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, STANDING["killed"], "CPU  ")
        screen, listed = pilot.app.screen, pilot.app.screen.query_one("#cells", List)
        screen.paint()
        rows = listed.rows
        screen.paint()
        assert listed.rows is rows
        screen.snapshot = replace(screen.snapshot, ranking=replace(screen.snapshot.ranking))
        screen.paint()
        assert listed.rows is not rows
        screen._put("#step", "word " * 20)
        laid_out: list[bool] = []
        monkeypatch.setattr(screen, "put", lambda _selector, _content, *, layout: laid_out.append(layout))
        for text in ("other " * 18, "one line", "word " * 40, ""):
            screen._put("#step", text)
        assert laid_out == [False, True, True, True]


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_without_any_run_it_says_where_runs_come_from(tmp_path: Path, size: tuple[int, int]) -> None:
    async with drive(console(runs_dir=tmp_path), "3", size=size) as pilot:
        await shows(pilot, "No run is shown")
        await pilot.press("p", "l", "t", "z", "S", "X", "escape")
        await shows(pilot, "No run is shown")


async def test_the_log_shows_commands_with_exit_codes_and_what_they_printed(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    output = next(Path(folder.raw).glob("005-02-mkfs*"))
    output.write_bytes(b"\x1b[31mhostile [/x] \xff text\n" + output.read_bytes())
    async with drive(console(folder=folder, runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, "finished")
        # The best variant's last cell.
        await pilot.press("l")
        await shows(pilot, "Cell 5 of 6: xfs", "mkfs.xfs")
        await pilot.press("right")
        await shows(pilot, "Cell 6 of 6: ext4 data=ordered", "$ mkfs.ext4", "exit 0")
        await shows(pilot, r"\x1b[31mhostile [/x] \xff")
        await pilot.press("escape")
        await shows(pilot, "write  ")


async def test_keys_choose_what_is_drawn_in_any_size(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("grid", tmp_path), runs_dir=tmp_path), "3") as pilot:
        shown = await shows(pilot, "0 to 10 s", "disk 384 MB/s", "dirty 216 MiB", "lost if power fails now: 216 MiB")
        assert "app" not in shown
        await pilot.press("t")
        await shows(pilot, "CPU 45 % busy", "100 %")
        await pilot.press("z")
        await shows(pilot, "last 60 s")
        await pilot.press("t")
        await shows(pilot, "Chart: nothing.", "latency")
        assert "last 60 s" not in picture(pilot)
        await pilot.press("t", "z")
        for size in ((20, 5), (60, 16), (200, 60), (120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            if size[0] >= 120:
                await shows(pilot, "disk, cell 4", "CPU  ", "[", "60 s")
        await shows(pilot, "finished", "write  ")


async def test_charts_over_one_time_axis_share_their_left_edge_and_width(tmp_path: Path) -> None:
    for size in SIZES:
        async with drive(
            console(folder=recorded("grid", tmp_path / str(size[0])), runs_dir=tmp_path), "3", size=size
        ) as pilot:
            lines = (await shows(pilot, "0 to 10 s", "60 s")).splitlines()
            edges = {line.index("│") for line in lines if re.match(r" *([0-9.]+ [MKG]i?B(/s)?|0)?│", line)}
            rings = {line.index("60 s ") for line in lines if "60 s " in line}
            assert edges == {10}
            assert len(rings) == 1
            # One second is as wide in all of them, and all end at one column.
            tops = [line for line in lines if re.match(r" *[0-9.]+ [MKG]i?B(/s)?│", line)]
            marks = {tuple(at for at, one in enumerate(line) if one == "│") for line in tops}
            assert len(tops) > 1
            assert len(marks) == 1
            assert len({len(line.rstrip()) for line in lines if "60 s " in line}) == 1


async def test_a_slow_link_has_the_same_charts_in_ascii(tmp_path: Path) -> None:
    app = console(folder=recorded("grid", tmp_path), runs_dir=tmp_path, slow=True, glyphs=ASCII)
    async with drive(app, "3") as pilot:
        shown = await shows(pilot, "0 to 10 s", "lost if power fails now: 216 MiB")
        assert shown.isascii()
        await pilot.press("t")
        await shows(pilot, "Chart: CPU.", "CPU 45 % busy")


async def test_on_a_slow_link_a_living_run_is_painted_every_two_seconds(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path, slow=True, glyphs=ASCII), "3") as pilot:
            await shows(pilot, "0/2 cells")
            screen = pilot.app.screen
            paints = [timer for timer in screen._timers if timer._callback == screen._paint_news]
            assert [timer._interval for timer in paints] == [2.0]


async def test_a_journal_that_can_not_be_read_is_a_sentence(tmp_path: Path) -> None:
    damaged, newer = recorded("grid", tmp_path), recorded("raw", tmp_path)
    Path(damaged.journal).write_bytes(b"nonsense" * 4096)
    with closing(sqlite3.connect(newer.journal)) as connection:
        connection.execute("PRAGMA user_version = 999")
    async with drive(console(runs_dir=tmp_path)) as pilot:
        for folder, sentence in (
            (RunFolder(str(tmp_path / "none")), "does not exist, or is still being made. Copy the folder"),
            (damaged, "can't be used: file is not a database. Copy the folder"),
            (newer, "made by a newer fsconsole. Open it with that version."),
        ):
            pilot.app.session.folder = folder
            await pilot.press("1", "3")
            await shows(pilot, "journal.sqlite", "can't be read", sentence)


async def test_a_key_asks_the_engine_and_its_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with living_run(tmp_path) as run:
        app = console(folder=run.folder, runs_dir=tmp_path)
        monkeypatch.setattr(app, "exit", lambda message: said.append(str(message)))
        async with drive(app, "3") as pilot:
            await shows(pilot, "WORKLOAD")
            for key, words in (
                ("p", "Pausing before the next cell"),
                ("a", "Stopping after the current cell"),
            ):
                await pilot.press(key)
                await shows(pilot, words, "(a test)")
            # Once more takes it back, whoever asked for it: the journal knows.
            run.record((ControlRequested(Verb.STOP_AFTER),))
            # The footer says what the key does now.
            await shows(pilot, "0/2 cells  stops after this cell", "a Go on")
            await pilot.press("a")
            await shows(pilot, "The stop is taken back")
            run.record((ControlRequested(Verb.CONTINUE),))
            await shows(pilot, "0/2 cells  about", "a Stop after")
            asked = [Verb.PAUSE, Verb.STOP_AFTER, Verb.CONTINUE]
            assert run.asked == asked
            # What ends a cell is asked about first, and Enter alone goes on.
            for key, question, verb, said_then in (
                ("S", "Skip cell 1 of 2, ext4 data=ordered?", Verb.SKIP, "Skipping the current cell"),
                ("X", "Stop the run now, in cell 1 of 2, ext4 data=ordered?", Verb.STOP_NOW, "Stopping now"),
            ):
                for answer, words in (("enter", "WORKLOAD"), ("y", said_then)):
                    await pilot.press(key)
                    await shows(pilot, question)
                    await pilot.press(answer)
                    await shows(pilot, words)
                    asked += [verb] if answer == "y" else []
                    assert run.asked == asked
            run.record((ControlRequested(Verb.PAUSE),))
            await shows(pilot, "0/2 cells  pauses after this cell")
            await pilot.press("p")
            await shows(pilot, "Continuing")
            assert run.asked[5:] == [Verb.CONTINUE]
            away = Path(run.folder.control).rename(run.folder.control + ".away")
            await pilot.press("p")
            await shows(pilot, "takes no requests now", "ask again")
            away.rename(run.folder.control)
            # Detaching leaves the console, and nothing is asked of the run.
            await pilot.press("d")
            await pilot.pause()
        assert len(run.asked) == 6
    assert f"fsconsole attach {run.folder.name} --runs {tmp_path}" in said[0]


async def test_late_answer_skips_no_other_cell(tmp_path: Path) -> None:
    with living_run(tmp_path, again=True) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            await pilot.press("S")
            await shows(pilot, "Skip cell 1 of 3, ext4 data=ordered, round 1?")
            run.record(NEXT)
            await shows(pilot, "Skip cell 1 of 3, ext4 data=ordered, round 1?", "Cell 1 is finished: y skips nothing")
            await pilot.press("y")
            await shows(pilot, f"Cell 1 of run {run.folder.name} is not skipped: it is finished, and cell 2 runs now.")
            assert run.requested == []
            await pilot.press("S")
            await shows(pilot, "Skip cell 2 of 3, xfs, round 1?")
            await pilot.press("y")
            await shows(pilot, "Skipping the current cell")
            assert run.requested == [ControlRequested(Verb.SKIP, InCell(1, 1))]
            # A stop is never refused, wherever the run is by then.
            await pilot.press("X")
            await shows(pilot, "Stop the run now, in cell 2 of 3, xfs, round 1?")
            run.record(AGAIN)
            await shows(pilot, "That cell is finished: y stops the run in the cell that runs then.")
            await pilot.press("y")
            await shows(pilot, "Stopping now")
            assert run.requested[1:] == [ControlRequested(Verb.STOP_NOW, InCell(1, 1))]
            run.record((CellFinished(2, 1, Outcome.DONE),))
            await shows(pilot, "between cells")
            await pilot.press("S")
            await shows(pilot, "The run is between cells: there is nothing to skip.")


async def test_a_run_that_ends_below_a_question_and_keys_after_its_end_are_told_where_its_figures_are(
    tmp_path: Path,
) -> None:
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            await pilot.press("X")
            await shows(pilot, "Stop the run now, in cell 1 of 2, ext4 data=ordered?")
            run.record((*NEXT, CellFinished(1, 1, Outcome.DONE), RunFinished(Outcome.DONE)))
            run.die()
            await shows(pilot, "The run has ended meanwhile.")
            await pilot.press("y")
            over = (f"Run {run.folder.name} has ended: there is nothing to", "4 shows its results.")
            await shows(pilot, *over)
            for key in ("p", "S", "a", "X", "d"):
                pilot.app.screen.say("")
                await pilot.press(key)
                await shows(pilot, *over)
        assert run.asked == []


async def test_what_the_engine_answered_goes_once_the_title_says_that_it_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By itself a message goes too, after a while.
    monkeypatch.setattr(base, "MESSAGE_LASTS_S", 3600.0)
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            await pilot.press("p")
            run.record((ControlRequested(Verb.PAUSE),))
            await shows(pilot, "0/2 cells  pauses after this cell", "Pausing before the next cell")
            run.record((CellFinished(0, 1, Outcome.DONE),))
            await shows(pilot, "PAUSED  1/2 cells", "Paused before the next cell; p continues.")
            await until(pilot, lambda: "Pausing" not in picture(pilot), "the answer has gone")
            await pilot.press("p")
            await shows(pilot, "Continuing")
            run.record((ControlRequested(Verb.CONTINUE), *NEXT))
            await until(pilot, lambda: "Continuing" not in picture(pilot), "it goes on")
            await pilot.press("X", "y")
            await shows(pilot, "Stopping now")
            run.record((CellFinished(1, 1, Outcome.STOPPED), RunFinished(Outcome.STOPPED)))
            run.die()
            await until(pilot, lambda: "Stopping now" not in picture(pilot), "it has stopped")
            await shows(pilot, "stopped in")


async def test_a_key_that_toggles_pressed_twice_at_once_asks_and_takes_it_back(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            for key, asked, words in (
                ("a", Verb.STOP_AFTER, "The stop is taken back"),
                ("p", Verb.PAUSE, "Continuing"),
            ):
                run.requested.clear()
                await pilot.press(key, key)
                await shows(pilot, words)
                assert run.asked == [asked, Verb.CONTINUE]
                # The journal knew of neither; it goes before what was asked for here.
                run.record((ControlRequested(asked), ControlRequested(Verb.CONTINUE)))
                await until(pilot, lambda s=pilot.app.screen: not s._asked, "the journal has it")


async def test_enter_opens_the_running_cells_view_and_escape_comes_back_to_the_run(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD", "X Stop.. enter Cell d Detach")
            # A look at all runs, every 2 s, tells behind the host that one goes on.
            head = picture(pilot).splitlines()[0].partition(" box")[0]
            await pilot.press("enter")
            shown = await shows(pilot, "Cell 1 of 2, round 1, running", "Curves  Figures")
            assert shown.splitlines()[0].partition(" box")[0].rstrip() == head.rstrip()
            run.record((*DRAINING, *NEXT))
            await pilot.press("escape")
            await shows(pilot, "MKFS", "> xfs")
            await pilot.press("enter")
            await shows(pilot, "Cell 2 of 2, round 1, running")
            await pilot.press("escape", "up", "enter")
            await shows(pilot, "Cell 1 of 2, round 1, done")


async def test_the_log_of_a_run_that_was_imported_without_outputs_says_so_once(tmp_path: Path) -> None:
    async with drive(console(folder=imported("demo", tmp_path), runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, "enter shows its results")
        await pilot.press("l")
        shown = await shows(pilot, "(imported without outputs)", "exit 0")
        assert "can't be read" not in shown


async def test_of_a_paused_run_footer_help_and_palette_say_that_p_continues_it(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        app = console(folder=run.folder, runs_dir=tmp_path)
        async with drive(app, "3", size=(120, 60)) as pilot:
            await shows(pilot, "WORKLOAD")
            paused = (ControlRequested(Verb.PAUSE), CellFinished(0, 1, Outcome.DONE))
            # The engine may have it before its journal does: a second p would continue.
            for does, other, happens in (
                ("Pause", "Continue", ()),
                ("Continue", "Pause", ("p",)),
                ("Continue", "Pause", paused),
                ("Pause", "Continue", (ControlRequested(Verb.CONTINUE), *NEXT)),
            ):
                if happens == ("p",):
                    await pilot.press("p")
                elif happens:
                    run.record(happens)
                await shows(pilot, f"p {does} S Skip")
                titles = {command.title for command in app.get_system_commands(app.screen)}
                assert does in titles
                assert other not in titles
                await pilot.press("?")
                assert f"{other}: wait" not in await shows(pilot, f"{does}: wait before the next cell, or go on")
                await pilot.press("escape")
                await until(pilot, lambda: "wait before" not in picture(pilot), "the help is closed")


async def test_a_dead_run_whose_scratch_file_is_gone_says_so_and_is_not_offered_to_be_resumed(tmp_path: Path) -> None:
    folder, children = recorded("killed", tmp_path), Scripted()
    file = read_state(folder).request.targets[0].backing_file
    assert not Path(file).exists()
    gone = f"Its scratch file {file} is gone, so it can't go on."
    async with drive(console(children, folder=folder, runs_dir=tmp_path), "3") as pilot:
        assert "Resume" not in await shows(pilot, f"Its engine died: C cleans up. {gone}", "C Clean up")
        await pilot.press("r")
        await until(pilot, lambda: pilot.app.screen.said == gone, gone)
        await pilot.press("p")
        assert "r resumes" not in await shows(pilot, "there is nothing to pause", "4 shows its results.")
    assert children.acted == []


PROVEN = "/dev/loop0 holds only what the run left: it is wiped again for each cell that is left."


@pytest.mark.usefixtures("_scratch_files")
async def test_a_dead_run_is_resumed_by_a_child_whose_failure_is_told_with_its_hint(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    refused = Done((), 20, "", "fsconsole: There is no /dev/loop0.\nhint: Look with devices.\n")
    children = Scripted()
    async with drive(console(children, folder=folder, runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, "r resumes")
        for answer, told in (
            (refused, "There is no /dev/loop0. Look with devices."),
            ("killed\n", "Run killed goes on."),
        ):
            children.answers, children.asked = {"resume": answer, "resume killed --exact --show": resumed(PROVEN)}, []
            await pilot.press("r")
            await shows(pilot, "Resume run killed?", PROVEN)
            places = ("--runs", str(tmp_path))
            look = ("resume", "killed", "--exact", "--show", *places, "--json")
            assert children.acted == [look]
            await pilot.press("y")
            await shows(pilot, told)
            assert children.acted == [look, ("resume", "killed", "--exact", "--detach", *places)]


@pytest.mark.parametrize("size", [*SIZES, pytest.param(WIDE, marks=pytest.mark.soak)])
async def test_a_living_run_is_watched_to_its_end(tmp_path: Path, size: tuple[int, int]) -> None:
    is_wide = size[0] >= 120
    with living_run(tmp_path, again=True) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3", size=size) as pilot:
            shown = await shows(pilot, "0/3 cells", "left")
            # It fills with the time that the cell is expected to take.
            assert re.search(r"\[[#.]+\] +0/3 cells", shown)
            await shows(pilot, "3 of 7", "WORKLOAD", "1.0 GiB of 1.0 GiB", "> drain")
            await shows(pilot, "durable, MB/s so far", "> ext4 data=ordered", "0  base    running #1")
            run.record(DRAINING)
            run.sample("drain")
            await shows(pilot, "DRAIN", "3.1 GiB", "> extents", "lost if power fails now: 3.10 GiB")
            run.sample("drain", dirty_bytes=GIB)
            # It counts down.
            await shows(pilot, "DRAIN", "1.1 GiB", "lost if power fails now: 1.10 GiB", "disk 41 C, machine 58 C")
            run.record(NEXT)
            await shows(pilot, "1/3 cells", "2 of 7", "MKFS", "> workload", "> xfs", "running #1")
            await shows(pilot, "cell 1 ext4 data=ordered done:")
            run.record(AGAIN)
            run.sample(cell=2)
            await shows(pilot, "2/3 cells", "running #2")
            # From 120 columns on the application has a curve of its own, and the cell before is the ghost.
            curves = ("█ disk 410 MB/s   ■ app 812 MB/s   ░ disk, cell 1", "█ disk 410 MB/s (app 812 MB/s)")
            shown = await shows(pilot, curves[0] if is_wide else curves[1], "█ dirty 3.10 GiB")
            assert ("░ disk" in shown, "■" in shown) == (is_wide, is_wide)
            rows = shown.splitlines()
            assert max(map(len, rows)) <= size[0]
            assert all(rows[:-2]), shown
            run.record((RunFinished(Outcome.DONE),))
            run.lock.release()
            await shows(pilot, "two filesystems: finished", "enter shows its results")
            await pilot.press("enter")
            await pilot.pause()
            assert pilot.app.current_mode == "results"


async def test_of_27_variants_six_stand_at_80x24_with_how_many_more_there_are(tmp_path: Path) -> None:
    # The baseline is the worst; number 26 is not measured yet.
    variants = [replace(build.EXT4, label=f"ext4 number {n:02}") for n in range(27)]
    with living_run(tmp_path, variants=variants) as run:
        for n in range(26):
            figures = (Measurement(Metric.DURABLE, 1e8 * (10 + n)),)
            drained = StepFinished(n, 1, 3, Outcome.DONE, 1.0, measurements=figures)
            run.record((CellStarted(n, 1), StepStarted(n, 1, 3, StepKind.DRAIN, "drain"), drained))
            run.record((CellFinished(n, 1, Outcome.DONE),))
        run.record((CellStarted(26, 1), StepStarted(26, 1, 2, StepKind.WORKLOAD, "large files")))
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            shown = await shows(pilot, "26/27 cells", "21 more", "> ext4 number 26")
            assert re.findall(r"^[> ] ext4 number (\d\d)", shown, re.MULTILINE) == ["25", "24", "23", "22", "00", "26"]


async def test_a_cursor_that_was_moved_stays_escape_follows_again_and_old_gauges_do_not_pass_for_new_ones(
    tmp_path: Path,
) -> None:
    with living_run(tmp_path) as run:
        async with drive(console(runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "> ext4")
            assert pilot.app.session.folder == run.folder
            await pilot.press("tab") if not isinstance(pilot.app.focused, List) else None
            await pilot.press("down")
            await shows(pilot, "> xfs")
            await pilot.press("escape")
            await shows(pilot, "> ext4")
            run.record(NEXT)
            await shows(pilot, "> xfs")
            run.sample(age_s=50.0)
            await until(pilot, lambda: re.search(r"\(gauges [5-9]\d\.\d s old", picture(pilot)), "the gauges' age")


async def test_the_scratch_device_of_a_demo_goes_when_its_end_was_seen(tmp_path: Path) -> None:
    with living_run(tmp_path, owned_scratch="/var/lib/fsconsole/scratch-1.img") as run:
        children = Scripted({"cleanup": f"{run.folder.name}: removed its scratch device\n"})
        async with drive(console(children, folder=run.folder, runs_dir=tmp_path), "3") as pilot:
            await shows(pilot, "WORKLOAD")
            run.record((*NEXT, CellFinished(1, 1, Outcome.DONE), RunFinished(Outcome.DONE)))
            run.die()
            await shows(pilot, "two filesystems: finished", "removed its scratch device")
        assert children.acted == [("cleanup", run.folder.name, "--runs", str(tmp_path))]


async def test_the_bridge_ends_when_another_screen_is_shown_and_when_the_console_ends(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("grid", tmp_path), runs_dir=tmp_path), "3") as pilot:
        await shows(pilot, "finished")
        first = pilot.app.screen._bridge
        await pilot.press("1")
        await until(pilot, lambda: not first._thread.is_alive(), "the bridge's end")
        await pilot.press("3")
        await shows(pilot, "finished")
        last = pilot.app.screen._bridge
    await asyncio.to_thread(wait_until, lambda: not last._thread.is_alive(), "the bridge's end")


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have looking at a run fail as no file of it can bring about."""

    def look(_watch: Watch) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(Watch, "look", look)
    monkeypatch.setattr(bridge, "_IDLE_S", 0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.usefixtures("faulty")
async def test_a_bridge_hands_over_what_it_died_of_which_ends_the_console(tmp_path: Path) -> None:
    folder, told = recorded("grid", tmp_path), list[int]()
    one = Bridge(folder, lambda: told.append(1))
    one.start()
    wait_until(lambda: not one._thread.is_alive(), "the bridge's end")
    taken = one.take()
    assert isinstance(taken, ZeroDivisionError)
    assert told == [1]
    app = console(folder=folder, runs_dir=tmp_path)
    with pytest.raises(ZeroDivisionError, match="made up"):
        async with drive(app, "3") as pilot:
            await until(pilot, lambda: app.return_code == 1, "the end of the console")


def test_a_console_that_ended_by_a_fault_says_so_and_does_not_end_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = SimpleNamespace(return_code=1, run=lambda: None)
    monkeypatch.setattr(tui_app, "ConsoleApp", lambda _session: faulty)
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(ConsoleFailed, match="a run that it showed goes on") as caught:
        tui_app.run_console(str(tmp_path))
    assert caught.value.exit_code is ExitCode.FAILURE


async def test_the_footer_of_a_finished_run_says_that_enter_shows_its_results_and_it_does(tmp_path: Path) -> None:
    app = console(folder=recorded("grid", tmp_path), runs_dir=tmp_path)
    async with drive(app, "3") as pilot:
        await shows(pilot, "enter Results l Log")
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "results", "the results")
