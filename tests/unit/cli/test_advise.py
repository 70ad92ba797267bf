"""fsconsole advise, by the command line, on a run in a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fsconsole.client.runs import last_spreads
from fsconsole.journal.store import create_run
from fsconsole.model import events
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind, Variant
from tests.unit.cli.recorded import STARTED, run_command, write
from tests.unit.results import build

GONE = Variant("ext4 with a word of old", "ext4", mount_words=("a_word_of_old", "barrier=0"))


def recorded(runs_dir: Path, variant: Variant, factor: float) -> None:
    """Write a run of three rounds in which the variant has factor times the throughput of ext4."""
    cells, seen = [], []
    for repeat in (1, 2, 3):
        for own, times in ((build.EXT4, 1.0), (variant, factor)):
            index = len(cells)
            cells.append(build.cell(index, own, repeat=repeat))
            figures = {Metric.DURABLE: 1e8 * times * (1 + repeat / 1000), Metric.WRITTEN: 1e13, Metric.LAST_DONE: 1e4}
            measured = tuple(Measurement(metric, value) for metric, value in figures.items())
            seen += [
                events.CellStarted(index, 1),
                events.StepStarted(index, 1, 3, StepKind.DRAIN, "drain"),
                events.StepFinished(index, 1, 3, events.Outcome.DONE, 3.0, measurements=measured),
                events.CellFinished(index, 1, events.Outcome.DONE),
            ]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id="20261121-081000-k7qf"))
    write(folder, (STARTED, *seen, events.RunFinished(events.Outcome.DONE)))


def test_of_words_that_todays_catalog_refuses_advice_says_that_their_safety_is_not_known(tmp_path: Path) -> None:
    recorded(tmp_path, GONE, 3.0)
    done = run_command("advise", "latest", "--weights", "durable=1", "--runs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "* ext4 with a word of old (safety not known)" in text
    assert "safety not known: today's catalog refuses a_word_of_old" in text
    done = run_command("advise", "--weights", "durable=1", "--json", "--runs", str(tmp_path))
    (best,) = json.loads(done.stdout)["best"]
    assert best["safety_unknown"] == "today's catalog refuses a_word_of_old"
    assert best["unsafe"] == []


def test_the_spread_of_the_last_run_is_told_of_its_own_loads_alone(tmp_path: Path) -> None:
    recorded(tmp_path, Variant("ext4 fast", "ext4"), 3.0)
    own = build.request([build.cell(0)]).plan.loads
    assert last_spreads(str(tmp_path)).keys() == {own}
    assert last_spreads(str(tmp_path), own).keys() == {own}
    assert last_spreads(str(tmp_path), frozenset({("mail", "mix", 16, 16384)})) == {}


def test_an_unsafe_row_says_so_in_its_line_by_the_command_line_too(tmp_path: Path) -> None:
    recorded(tmp_path, Variant("ext4 fast", "ext4", mount_words=("barrier=0",)), 3.0)
    done = run_command("advise", "--weights", "durable=1", "--runs", str(tmp_path))
    assert "*  ext4 fast (UNSAFE)" in done.stdout
    assert "fsconsole advise" in run_command("advise", "--help").stdout
