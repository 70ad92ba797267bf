from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from fsconsole.cli.results import Format, report
from fsconsole.cli.runs import runs_text
from fsconsole.client.runs import look_at
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import UnknownColumn
from fsconsole.journal.store import list_runs
from fsconsole.model.events import Outcome, RunFinished
from fsconsole.model.metrics import Metric
from fsconsole.results.blocks import GridChoice
from fsconsole.system.locks import FileLock
from tests.unit.cli.recorded import CELL_DONE, IN_MKFS, STARTED, WHOLE, make_run, run_command, write


def test_the_command_prints_the_latest_run(tmp_path: Path) -> None:
    write(make_run(tmp_path, "20261120-000000-aaaa", title="the older"), WHOLE)
    write(make_run(tmp_path, "20261121-000000-bbbb", title="the newer"), WHOLE)
    done = run_command("results", "--runs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    standing = "Run 20261121-000000-bbbb: finished. 2 cells: 1 done, 1 failed."
    assert done.stdout.startswith(f"the newer\n{standing}\n")
    assert "ext4 data=ordered" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert run_command("results", "20261120", "--runs", str(tmp_path)).stdout.startswith("the older\n")
    done = run_command("results", "--sort", "durabel", "--runs", str(tmp_path))
    assert done.returncode == ExitCode.USAGE
    sentence, hint = done.stderr.splitlines()
    assert sentence == "fsconsole: There is no column 'durabel'."
    assert hint.startswith("hint: Did you mean durable, ")


def test_a_run_still_going_on_or_dead_says_so(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, (STARTED, *CELL_DONE, *IN_MKFS))
    with FileLock.acquire(folder.lock):
        text = report(folder, width=120)
    assert "running: mkfs of cell 2 of 2. 2 cells: 1 running, 1 done." in text
    assert "running now" in text
    assert "engine died in mkfs of cell 2" in report(folder, width=120)


def test_every_format_has_the_figures_and_columns_and_order_are_chosen_by_name(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    write(folder, WHOLE)
    document = json.loads(report(folder, Format.JSON))
    assert document["rows"][0]["figures"]["durable"]["median"] == 410e6
    lines = list(csv.DictReader(io.StringIO(report(folder, Format.CSV))))
    assert lines[0]["durable [B/s]"] == "410000000"
    write_alone = GridChoice(columns=(Metric.WRITE,))
    row, *_ = csv.DictReader(io.StringIO(report(folder, Format.CSV, summary=True, choice=write_alone)))
    assert (row["write [B/s]"], row["write n"]) == ("812000000", "1")
    assert "| ext4 data=ordered | 812 |" in report(folder, Format.MD, choice=write_alone)
    text = report(folder, choice=GridChoice(sort_by="write", columns=(Metric.WRITE, Metric.DRAIN)))
    assert "variant            write  drain  warn\n" in text
    assert "Sorted by write." in " ".join(text.split())
    with pytest.raises(UnknownColumn):
        report(folder, choice=GridChoice(sort_by="wrote"))


def test_runs_are_listed_with_their_standing_in_words(tmp_path: Path) -> None:
    write(make_run(tmp_path, "r1-finished"), WHOLE)
    write(make_run(tmp_path, "r2-died"), (STARTED, *CELL_DONE, *IN_MKFS))
    write(make_run(tmp_path, "r3-stopped"), (STARTED, *CELL_DONE, RunFinished(Outcome.STOPPED)))
    living = make_run(tmp_path, "r4-lives")
    write(living, (STARTED, *CELL_DONE, *IN_MKFS))
    with FileLock.acquire(living.lock):
        listed = [look_at(folder) for folder in list_runs(str(tmp_path))]
    assert [(run.run_id, run.standing, run.status, run.cells_over) for run in listed] == [
        ("r4-lives", "running: mkfs of cell 2 of 2", "running", 1),
        ("r3-stopped", f"stopped after 1 of 2 cells: fsconsole resume r3-stopped --runs {tmp_path}", "finished", 1),
        ("r2-died", f"engine died in mkfs of cell 2: fsconsole resume r2-died --runs {tmp_path}", "dead", 1),
        ("r1-finished", "finished", "finished", 2),
    ]


def test_a_damaged_folder_is_listed_and_hides_no_other(tmp_path: Path) -> None:
    write(make_run(tmp_path, "whole"), WHOLE)
    Path(make_run(tmp_path, "broken").journal).write_bytes(b"not a database, \x1b[31mnot at all" * 99)
    (tmp_path / "empty").mkdir()
    done = run_command("runs", "--runs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "    damaged: The journal" in done.stdout
    assert "    finished\n" in done.stdout
    listed = json.loads(run_command("runs", "--json", "--runs", str(tmp_path)).stdout)
    assert [(run["run_id"], run["status"]) for run in listed["runs"]] == [
        ("broken", "damaged"), ("whole", "finished"), ("empty", "damaged"),
    ]  # fmt: skip


def test_the_list_of_runs_is_this_one(tmp_path: Path) -> None:
    write(make_run(tmp_path, title="evil \x1b[31m\ntitle"), WHOLE)
    listed = [look_at(folder) for folder in list_runs(str(tmp_path))]
    assert runs_text(listed, str(tmp_path)) == (
        "run                   started                 cells\n"
        "20261121-081000-k7qf  2026-11-21 08:10 UTC      2/2\n"
        "    evil \\x1b[31m\\ntitle\n"
        "    finished"
    )
    assert runs_text([], str(tmp_path)) == f"There are no runs in {tmp_path}."
    told = run_command("runs", "--json", "--runs", str(tmp_path)).stdout
    assert json.loads(told)["runs"][0]["title"] == "evil \x1b[31m\ntitle"
    assert told.isascii()
    (tmp_path / "none").mkdir()
    assert json.loads(run_command("runs", "--json", "--runs", str(tmp_path / "none")).stdout)["runs"] == []
