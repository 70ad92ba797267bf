"""The list of runs, and the log of a run's cells."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fsconsole.client.runs import ListedRun, look_at, read_runs
from fsconsole.journal.folder import RunFolder, read_tail
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.state import CellState
from fsconsole.results.table import lay_out
from fsconsole.show.going import living
from fsconsole.show.run import OUTPUT_BYTES, log_rows
from fsconsole.show.runs import Digest, RunEntry, _curve, heads_words, list_words, matches, run_lines, runs_table
from fsconsole.system.locks import FileLock
from fsconsole.text import cells_of
from tests.tui.recorded import all_recorded, recorded
from tests.unit.cli.recorded import make_run

DAMAGED = ListedRun("bad", "", None, 0, 0, "damaged: The journal x can't be used: no.", "damaged")
RESUME, BEGUN_NS = ": fsconsole resume r1", 1_795_248_600 * 10**9
DONE = ListedRun("r1", "ext4 [/x]", BEGUN_NS, 3, 4, f"stopped after 2 of 3 cells{RESUME}", "finished", None, 2, 3)
RUNS = (RunEntry("r1", DONE, 2048), RunEntry("bad", DAMAGED), RunEntry("later", None))


def test_each_run_says_where_it_stands_and_the_pane_what_to_do() -> None:
    rows = runs_table(RUNS).rows
    assert [row.cells[1] for row in rows] == ["stopped after 2 of 3 cells", "damaged", "..."]
    assert [row.cells[4] for row in rows] == ["2/3", "-", ""]
    assert rows[0].name == "ext4 [/x]"
    assert rows[1].name == "bad"
    text = "\n".join(line.text for line in run_lines(RUNS[0], "/runs", 80))
    assert "-> stopped after 2 of 3 cells; r resumes it" in text
    assert "2 of 3 cells ended; 1 can't run" in text
    assert "2026-11-21 08:10 UTC" in text
    assert any("can't be used" in line.text for line in run_lines(RUNS[1], "/runs", 80))


def test_the_pane_names_the_keys_that_help_and_the_list_leaves_long_reasons_to_it() -> None:
    died, failed = "engine died in mkfs of cell 2", "finished: 1 of 4 cells failed"
    gone = "failed: There is no /dev/disk/by-id/wwn-0x5000c500a1b2c3d4."
    for status, standing, keys, listed in (
        ("dead", died + RESUME, "; C cleans up, r resumes it", died),
        ("interrupted", died + RESUME, "; r resumes it", died),
        ("new", f"never started{RESUME}", "; r starts it", "never started"),
        ("running", "running: drain of cell 2 of 8", "; Enter follows it", "running: drain of cell 2 of 8"),
        ("new", "starting", "; Enter follows it", "starting"),
        ("finished", "finished", "", "finished"),
        ("imported", "imported, finished", "", "imported, finished"),
        ("imported", "imported, stopped in workload of cell 17", "", "imported"),
        ("finished", failed, "", failed),
        ("finished", gone, "", "failed"),
    ):
        run = RunEntry("r1", replace(DONE, status=status, standing=standing))
        said = standing.removesuffix(RESUME) + keys
        assert run_lines(run, "/runs", 100)[1].text == f"-> {said}", (status, standing)
        assert runs_table([run]).rows[0].cells[1] == listed, (status, standing)


def test_each_row_has_its_title_beside_its_figures_in_80_columns_and_alike_ones_have_the_run_too() -> None:
    title = "ext4, xfs and btrfs on the new array: mail, video and the nightly backup of both"
    twins = [RunEntry(name, replace(DONE, title=title)) for name in ("20261121-081000-aaaa", "20261121-081031-bbbb")]
    alone = RunEntry("20261120-081000-cccc", replace(DONE, title=title, created_wall_ns=BEGUN_NS - 86_400 * 10**9))
    layout = lay_out(runs_table([*twins, alone, RunEntry("d", replace(DONE, title="  "))]), 80)
    beside = [layout.row_line(begin, 0) for begin in layout.begins[:-1]]
    assert all(re.search(r"^\S.* 11-2[01] 08:10 ", line) for line in beside), beside
    lines = [layout.row_line(line, 0) for line in range(layout.height)]
    assert [one for one in ("aaaa)", "bbbb)", "cccc)") if any(one in line for line in lines)] == ["aaaa)", "bbbb)"]
    assert max(map(len, lines)) <= 80
    wide = lay_out(runs_table([alone]), 200)
    assert wide.row_line(0, 0).startswith(title)


def test_a_title_has_the_columns_that_those_in_sight_leave() -> None:
    title = "ext4, xfs and btrfs on the new array"
    run = RunEntry("r1", replace(DONE, title=title), digest=Digest("=*#", "ext4 data=writeback,nodelalloc"))
    for width in (60, 80, 100):
        layout = lay_out(runs_table([run]), width)
        used = layout.name_width + sum(layout.widths[place] + layout.gap for place in layout.in_sight(0))
        assert used == width or layout.name_width == len(title), width


def test_the_pane_says_what_the_curve_and_the_best_row_are() -> None:
    run = RunEntry("r1", DONE, digest=Digest("=*#", "xfs", "btrfs is decidedly behind by score", 3))
    text = " ".join(line.text for line in run_lines(run, "/runs", 80))
    assert "best: xfs; btrfs is decidedly behind by score; Enter, then A says why" in text
    assert "a mark" not in text
    many = RunEntry("r1", DONE, digest=Digest("+*++#+=+", cells=12))
    text = " ".join(line.text for line in run_lines(many, "/runs", 80))
    assert "from 0 to the highest; 12 cells in 8 marks, each the mean of up to 2" in text
    # Its cells are not its marks: the rule above the pane, which the pane's last line may be out of sight of, says so too.
    assert "cells in order, 8 marks at most, . slow to # fast; best: the winner ─" in heads_words([many], 80)
    assert "MB/s by cell: durable MB/s of its cells in their order" in text
    assert "by cell" not in " ".join(line.text for line in run_lines(RUNS[0], "/runs", 80))


def test_the_curve_has_all_cells_several_of_them_in_a_mark_where_they_are_many() -> None:
    assert _curve([100.0] * 11 + [10.0]) == "#######="
    assert _curve([50.0, 100.0]) == "=#"
    assert _curve([0.0]) == _curve([]) == ""


def test_more_cells_than_were_planned_are_explained_beside_their_number() -> None:
    again = RunEntry("r1", replace(DONE, cells_ended=12, runnable=12, cell_count=12, repeated=2))
    text = " ".join(line.text for line in run_lines(again, "/runs", 200))
    assert "12 of 12 cells ended (10 planned + 2 repeated)" in text
    assert "planned" not in " ".join(line.text for line in run_lines(RUNS[0], "/runs", 200))


def test_a_filter_finds_titles_names_and_standings() -> None:
    assert [row.key for row in runs_table(RUNS, "EXT4").rows] == ["r1"]
    assert [row.key for row in runs_table(RUNS, "damaged").rows] == ["bad"]
    assert matches(RUNS[2], "late")
    assert "1 with 'stopped'" in list_words(RUNS, "stopped", "/runs", is_listed=True)
    assert [run.is_readable for run in RUNS] == [True, False, False]
    assert not any(run.is_living for run in RUNS)


def test_runs_are_read_again_only_where_something_changed(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    folders = list_runs(str(tmp_path))
    known = read_runs(folders, {})
    assert {name: one.listed for name, one in known.items()} == {f.name: look_at(f) for f in folders}
    assert all(one is known[name] for name, one in read_runs(folders, known).items())
    Path(folders[0].journal).write_bytes(b"damaged")
    again = read_runs(folders, known)
    assert again[folders[0].name].listed.status == "damaged"
    assert again[folders[1].name] is known[folders[1].name]


# The log of one cell.


def rows_of(folder: RunFolder, cell: int, width: int = 76) -> list[str]:
    read = partial(read_tail, folder, limit=OUTPUT_BYTES)
    return [row.text for row in log_rows(read_state(folder).cells[cell], read, width)]


def test_every_command_is_there_with_its_exit_code_and_its_output_or_why_it_is_missing(
    tmp_path: Path,
) -> None:
    folder = recorded("grid", tmp_path)
    cell = read_state(folder).cells[0]
    shown = rows_of(folder, 0)
    commands = [command for step in cell.steps for command in step.commands]
    assert sum(row.startswith("   $ ") for row in shown) == len(commands) > 5
    assert sum("exit 0" in row for row in shown) == len(commands)
    assert any("Pass 5: Checking group summary information" in row for row in shown)
    next(Path(folder.raw).glob("000-02-mkfs*")).unlink()
    assert any("its output can't be read: No such file" in row for row in rows_of(folder, 0))


def test_a_failed_step_and_a_cell_without_steps_say_why_in_rows_no_wider_than_the_screen(
    tmp_path: Path,
) -> None:
    folder = recorded("failed", tmp_path)
    for width in (40, 76, 190):
        rows = [row for cell in range(3) for row in rows_of(folder, cell, width)]
        assert max(map(cells_of, rows)) <= width
    assert any("3000 files" in row for row in rows_of(folder, 2))
    unavailable = next(cell.index for cell in read_state(folder).cells if not cell.steps)
    assert rows_of(folder, unavailable)[0].startswith("Nothing was done yet: mballoc")
    assert log_rows(CellState(0), lambda _: (b"", 0), 76)[0].text == "Nothing was done yet."


def test_of_a_long_output_the_end_is_shown(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    output = next(Path(folder.raw).glob("000-02-mkfs*"))
    output.write_text("".join(f"line {number}\n" for number in range(100_000)))
    shown = rows_of(folder, 0)
    assert "     line 99999" in shown
    assert "     line 0" not in shown
    assert any("... more in raw/000-02-mkfs" in row for row in shown)


def test_no_file_outside_the_runs_own_outputs_is_read_nor_a_link_followed_nor_a_pipe_waited_for(
    tmp_path: Path,
) -> None:
    folder = recorded("grid", tmp_path)
    Path(folder.raw, "link").symlink_to("/etc/passwd")
    os.mkfifo(os.path.join(folder.raw, "pipe"))
    outside = ("/etc/passwd", "raw/../journal.sqlite", "../x", "journal.sqlite", "raw/", "raw")
    for named in (*outside, "raw/link", "raw/pipe"):
        with pytest.raises(OSError):  # noqa: PT011 (any of them: what can't be read is told)
            read_tail(folder, named, 100)


def test_the_newest_living_run_is_the_one_to_attach_to(tmp_path: Path) -> None:
    assert living(str(tmp_path)) is None
    assert living(str(tmp_path / "none")) is None
    older, newer = make_run(tmp_path, "20261121-081000-aaaa"), make_run(tmp_path, "20261121-081001-bbbb")
    make_run(tmp_path, "20261121-081002-cccc")
    assert living(str(tmp_path)) is None
    with FileLock.acquire(older.lock):
        assert living(str(tmp_path)) == older
        with FileLock.acquire(newer.lock):
            assert living(str(tmp_path)) == newer
