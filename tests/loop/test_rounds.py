"""Disturbed rounds of real runs: which are named and repeated, and a run that is killed in a repeated one."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.journal.past import read_state
from fsconsole.journal.seal import check_seals
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus
from fsconsole.model.verdicts import Verdict
from fsconsole.results.blocks import blocks_of
from fsconsole.results.csv import cells_csv
from fsconsole.results.figures import warnings_seen
from fsconsole.results.grid import build_grid
from fsconsole.system.mounts import engine_argv
from fsconsole.text import GIB, MIB
from tests.loop.faulty_run import scratch_device
from tests.loop.rounds_engine import BURNER
from tests.loop.runs import agree_again, assert_nothing_left, clean_up, is_in, new_run, wait_for, wait_for_end

pytestmark = pytest.mark.root

DRIVER = Path(__file__).with_name("rounds_engine.py")
SIX_ROUNDS = """
schema = 1
repeats = 6
equalise = "none"
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 2, file_size = "32MiB" }]
after = { check = false, delete = "none" }
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    with scratch_device(tmp_path_factory.mktemp("rounds"), 192 * MIB) as path:
        yield path


def begun(folder, **script) -> subprocess.Popen[bytes]:
    argv = engine_argv((sys.executable, str(DRIVER), folder.path, json.dumps(script)))
    with open(os.path.join(folder.path, "engine.log"), "ab") as log:
        return subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)


def carried_out(folder, **script):
    begun(folder, **script).wait()
    assert "Traceback" not in Path(folder.path, "engine.log").read_text()
    state = read_state(folder)
    assert state.outcome is Outcome.DONE, state.reason
    return state


def warned_of(state, kind: WarningKind) -> list[int]:
    return sorted(cell for noted in warnings_seen(state) if noted.kind is kind for cell in noted.cells)


@pytest.mark.soak
def test_of_six_equal_rounds_the_one_with_cold_memory_is_named_and_repeated_and_both_are_kept(tmp_path, device):
    folder = new_run(SIX_ROUNDS, device, str(tmp_path / "runs"))
    state = carried_out(folder, cold=[3], dear=[3])
    assert [(cell.repeat, cell.redo) for cell in state.request.plan.cells[6:]] == [(4, 1)]
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert warned_of(state, WarningKind.MEMORY_COLD) == [3]
    assert [cell.value(Metric.MEMORY_REPORTED) for cell in state.cells] == [0, 0, 0, GIB, 0, 0, 0]
    grid = build_grid(state)
    (row,) = grid.rows
    assert [(cell.cell, cell.counts) for cell in row.cells] == [(n, n != 3) for n in range(7)]
    assert row.figure(Metric.DURABLE).n == 6
    assert [(n.cells, n.reason) for n in grid.warnings if n.kind is WarningKind.ROUND_REPEATED] == [
        ((3, 6), "round 4 ran again: memory cold in cell 4, and none in round 3")
    ]
    lines = list(csv.DictReader(io.StringIO(cells_csv(state, grid))))
    assert [line["counts"] for line in lines] == [*["yes"] * 3, "no: its round ran again", *["yes"] * 3]


@pytest.mark.soak
def test_memory_that_is_cold_throughout_is_warned_of_in_every_round_and_none_is_repeated(tmp_path, device):
    folder = new_run(SIX_ROUNDS, device, str(tmp_path / "runs"))
    state = carried_out(folder, cold=list(range(12)), dear=[3])
    assert warned_of(state, WarningKind.MEMORY_COLD) == list(range(6))
    assert len(state.cells) == 6


@pytest.fixture
def burner(tmp_path):
    """A process that uses a CPU, before all others (SCHED_FIFO), while the file "burn" is among the runs."""
    runs = tmp_path / "runs"
    script = f"""import os, time
open("/proc/self/comm", "w").write({BURNER!r})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while True:
    os.path.exists({str(runs / "burn")!r}) or time.sleep(0.01)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as child:
        yield child
        child.kill()


def killed_in(cell: int, folder, **script) -> None:
    """Carry a run out until the load of a cell begins, and kill its engine there."""
    child = begun(folder, **script)
    try:
        wait_for(folder, is_in(cell, StepKind.WORKLOAD), 240)
    finally:
        # The child of unshare is PID 1 of the engine's namespace.
        (engine,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        os.kill(int(engine), signal.SIGKILL)
        child.wait()


def test_a_round_with_a_foreign_load_is_repeated_and_a_run_killed_in_it_goes_on_within_it(tmp_path, device, burner):
    folder = new_run(
        SIX_ROUNDS.replace('"32MiB"', '"1MiB", block_size = "4KiB", fsync = 1'), device, str(tmp_path / "runs")
    )
    killed_in(6, folder, burn=[2], hang=[6])
    assert warned_of(read_state(folder), WarningKind.OTHERS_CPU) == [2]
    assert_nothing_left(device, folder)
    (cleaned,) = clean_up(str(tmp_path / "runs"))
    assert cleaned.resumable
    assert build_grid(read_state(folder)).rows[0].figure(Metric.DURABLE).n == 6

    agree_again(folder)
    start_engine(folder)
    wait_for_end(folder)
    state = read_state(folder)
    assert (state.outcome, len(state.repeated)) == (Outcome.DONE, 1), state.reason
    assert [cell.attempt for cell in state.cells] == [1, 1, 1, 1, 1, 1, 2]
    assert [cell.counts for cell in build_grid(state).rows[0].cells] == [True, True, False, True, True, True, True]

    assert check_seals(folder)[1] == ""
    with sqlite3.connect(folder.journal) as journal:
        journal.execute("UPDATE event SET body = replace(body, 'in cell 3', 'in cell 1') WHERE kind = 'round_repeated'")
    assert "changed" in check_seals(folder)[1]


AUTO = """
schema = 1
repeats = "auto"
same = 90
control = true
equalise = "none"
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 2, file_size = "1MiB" }]
after = { check = false, delete = "none" }
"""


def test_a_run_with_looks_goes_on_between_them_after_a_kill_and_ends_at_the_one_that_decides(tmp_path, device):
    folder = new_run(AUTO, device, str(tmp_path / "runs"))
    killed_in(12, folder, faster=[0, 5], hang=[12])
    assert [(look.round, look.decided, look.cells) for look in read_state(folder).looks] == [(5, False, 24)]
    clean_up(str(tmp_path / "runs"))
    agree_again(folder)
    state = carried_out(folder, faster=[0, 5])
    assert [(look.round, look.decided, look.attempt) for look in state.looks] == [(5, False, 1), (8, True, 2)]
    assert [cell.attempt for cell in state.cells] == [*[1] * 12, *[2] * 4, *[0] * 8]
    assert {(cell.status, cell.reason) for cell in state.cells[16:]} == {(CellStatus.SKIPPED, "decided after round 8")}
    assert_nothing_left(device, folder)

    load, life = blocks_of(state, build_grid(state))
    for block in (load, life):
        assert [(row.name, row.is_control) for row in block.rows] == [("ext4", False), ("ext4 (control)", True)]
        assert block.rows[1].compared.verdict is Verdict.SAME
    assert load.rows[1].compared.n == 8

    assert check_seals(folder)[1] == ""
    with sqlite3.connect(folder.journal) as journal:
        journal.execute("UPDATE event SET body = replace(body, 'false', 'true') WHERE kind = 'look_taken'")
    assert "changed" in check_seals(folder)[1]
