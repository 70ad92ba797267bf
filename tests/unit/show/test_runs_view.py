"""The list of runs in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fsconsole.client.runs import ListedRun, look_at, read_runs
from fsconsole.journal.store import list_runs
from fsconsole.show.runs import RunEntry, list_words, matches, run_lines, runs_table
from tests.tui.recorded import all_recorded

DAMAGED = ListedRun("bad", "", None, 0, 0, "damaged: The journal x can't be used: no.", "damaged")
DONE = ListedRun(
    "r1",
    "ext4 [/x]",
    1_795_248_600 * 10**9,
    3,
    4,
    "stopped after 3 of 4 cells: fsconsole resume r1",
    "finished",
)
RUNS = (RunEntry("r1", DONE, 2048), RunEntry("bad", DAMAGED), RunEntry("later", None))


def test_each_run_says_where_it_stands_and_the_pane_what_to_do() -> None:
    rows = runs_table(RUNS).rows
    assert [row.cells[2] for row in rows] == ["stopped after 3 of 4 cells", "damaged", "..."]
    assert [row.cells[1] for row in rows] == ["3/4", "-", ""]
    assert rows[0].name == "ext4 [/x]"
    assert rows[1].name == "bad"
    text = "\n".join(line.text for line in run_lines(RUNS[0], "/runs", 80))
    assert "-> stopped after 3 of 4 cells; u resumes it" in text
    assert "2026-11-21 08:10 UTC" in text
    assert any("can't be used" in line.text for line in run_lines(RUNS[1], "/runs", 80))


def test_the_pane_names_the_keys_that_help() -> None:
    for status, standing, said in (
        (
            "dead",
            "engine died in mkfs of cell 2: fsconsole resume r1",
            "engine died in mkfs of cell 2; c cleans up, u resumes it",
        ),
        (
            "interrupted",
            "engine died in mkfs of cell 2: fsconsole resume r1",
            "engine died in mkfs of cell 2; u resumes it",
        ),
        ("new", "never started: fsconsole resume r1", "never started; u starts it"),
        ("running", "running: drain of cell 2 of 8", "running: drain of cell 2 of 8; t follows it"),
        ("new", "starting", "starting; t follows it"),
        ("finished", "finished", "finished"),
        ("finished", "finished: 1 of 4 cells failed", "finished: 1 of 4 cells failed"),
    ):
        run = RunEntry("r1", replace(DONE, status=status, standing=standing))
        assert run_lines(run, "/runs", 100)[1].text == f"-> {said}", (status, standing)


def test_the_list_says_that_cells_failed_and_leaves_long_reasons_to_the_pane() -> None:
    def listed(standing: str) -> str:
        return runs_table([RunEntry("r1", replace(DONE, standing=standing))]).rows[0].cells[2]

    assert listed("finished: 1 of 4 cells failed") == "finished: 1 of 4 cells failed"
    assert listed("failed: There is no /dev/disk/by-id/wwn-0x5000c500a1b2c3d4.") == "failed"
    assert listed("engine died in mkfs of cell 2: fsconsole resume r1") == "engine died in mkfs of cell 2"


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
