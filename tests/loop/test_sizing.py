"""Pilots on a real device: one for all variants, kept by resume, killed and repeated; the room that wins."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.journal.events import Cursor
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.model.events import CellStarted, PilotFinished, StepFinished, StepStarted, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.plan.sizing import MARGIN, amount
from fsconsole.text import MIB
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import agree_again, assert_nothing_left, carry_out, clean_up, kill_engines, new_run, wait_for_end
from tests.loop.test_kill_engine import hanging, kill_engine

PLAN = """
schema = 1
repeats = 1
title = "sizes by a pilot"
order = "as-listed"
equalise = "none"
load_time = "1s"
filesystem = [{ type = "btrfs" }, { type = "ext4" }]
after = { check = false, delete = "none" }

[[workload]]
name = "synced"
kind = "create"
threads = 2
file_size = "16KiB"
block_size = "16KiB"
fsync = "each-file"
size = "auto"

[[workload]]
name = "large"
kind = "create"
threads = 2
"""


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    """A run that was killed in its pilot, then after it, and then went on to its end; and its first choice."""
    place = tmp_path_factory.mktemp("sized")
    runs_dir = str(place / "runs")
    with scratch_device(place, 384 * MIB) as device:
        folder = new_run(PLAN, device, runs_dir)
        try:
            kill_engine(hanging(folder, StepKind.PILOT, "after", place / "first", cell=0))
            clean_up(runs_dir)
            killed = read_state(folder)
            agree_again(folder)
            kill_engine(hanging(folder, StepKind.WORKLOAD, "before", place / "second", cell=0))
            clean_up(runs_dir)
            chosen = read_state(folder)
            agree_again(folder)
            start_engine(folder)
            wait_for_end(folder)
            assert_nothing_left(device, folder)
        finally:
            kill_engines(runs_dir)
        yield killed, chosen, read_state(folder), JournalReader(folder.journal).read_since(Cursor()).observations


def test_a_pilot_that_was_killed_has_chosen_nothing_and_is_repeated(sized):
    killed, chosen, _, _ = sized
    assert (killed.pilots, killed.cells[0].status) == ((), CellStatus.UNKNOWN)
    assert [pilot.cell for pilot in chosen.pilots] == [0]


def test_what_a_pilot_has_chosen_is_kept_by_resume_and_equal_for_all_variants(sized):
    _, chosen, ended, observed = sized
    assert [(cell.status, cell.reason) for cell in ended.cells] == [(CellStatus.DONE, "")] * 2
    assert [seen for seen in observed if isinstance(seen, PilotFinished)] == list(chosen.pilots)
    (loads,) = {cell.workloads for cell in ended.request.plan.cells}
    assert [load.sizing is not None and load.sizing.is_settled for load in loads] == [True, True]
    assert loads == chosen.request.plan.cells[1].workloads
    for cell in ended.cells:
        written = [one.value for step in cell.steps for one in step.measurements if one.metric is Metric.WRITTEN]
        assert written == [load.total_bytes for load in loads]


def test_the_size_follows_from_the_pilots_own_figures_and_the_step_tells_it(sized):
    _, _, ended, observed = sized
    seen = [one for one in observed if isinstance(one, StepStarted | StepFinished) and one.attempt == 2]
    ends = [
        after for one, after in pairwise(seen) if isinstance(one, StepStarted) and one.title.startswith("synced: as")
    ]
    (pilot,) = [end for end in ends if isinstance(end, StepFinished)]
    value = {one.metric: one.value for one in pilot.measurements}
    files = value[Metric.WRITTEN] / (16 * 1024)
    took_s = value[Metric.LAST_DONE] + value[Metric.DRAIN]
    chosen = amount(ended.request.plan.cells[0].workloads[0])
    assert chosen == pytest.approx(files * MARGIN / took_s, abs=2)
    told = [step.title for cell in ended.cells for step in cell.steps if step.kind is StepKind.WORKLOAD]
    assert sum(f"create {chosen} files of 16KiB" in title for title in told) == 2


def test_where_a_third_of_the_free_space_wins_the_load_is_short_and_says_so(tmp_path):
    plan = PLAN.replace("1s", "1h").replace('{ type = "btrfs" }, ', "")
    plan = plan[: plan.index("[[workload]]")] + plan[plan.rindex("[[workload]]") :]
    with scratch_device(tmp_path, 96 * MIB) as device:
        done, folder = carry_out(plan, device, tmp_path)
    (cell,), (load,) = read_state(folder).cells, read_state(folder).request.plan.cells[0].workloads
    usable = cell.value(Metric.USABLE)
    assert (done.returncode, cell.value(Metric.WRITTEN)) == (0, load.total_bytes)
    assert usable is not None
    assert usable / 4 < load.total_bytes <= usable / 3
    (short,) = [seen.reason for seen in cell.warnings if seen.kind is WarningKind.SHORT]
    assert "at most a third of the free space" in short


def test_a_cell_begins_anew_after_its_pilot(sized):
    _, _, _, observed = sized
    begun = [(seen.cell, seen.attempt) for seen in observed if isinstance(seen, CellStarted)]
    assert begun == [(0, 1), (0, 2), (0, 2), (0, 3), (1, 3)]
