"""Engines, generators and whole runs that were stopped for some seconds: named in their cells, and their rounds repeated."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.journal.past import read_state
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import RunState
from fsconsole.results.grid import build_grid
from fsconsole.text import MIB
from tests.conftest import run, wait_until
from tests.loop.delayed_exec import exec_held
from tests.loop.runs import (
    arguments_of,
    assert_nothing_left,
    descendants,
    engine_of,
    generator_below,
    hold_program,
    is_in,
    new_run,
    wait_for,
    wait_for_end,
    written_by,
)

ROUNDS = """
schema = 1
repeats = 5
equalise = "none"
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 2, file_size = "1MiB", block_size = "4KiB", fsync = 1, duration = "1s" }]
after = { check = false, delete = "none", extents = false }
"""
STOP_S = 6.0


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    made = scratch.create(192 * MIB, str(tmp_path_factory.mktemp("scratch")))
    yield made.device
    scratch.remove(made)


def stop_for(seconds: float, pids: list[int]) -> None:
    """Stop processes, and let them continue."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def only_engine(engine: int) -> list[int]:
    return [engine]


def only_generator(engine: int) -> list[int]:
    return generator_below(engine)


def whole_run(engine: int) -> list[int]:
    return [engine, *descendants(engine)]


def cells_with_gap(state: RunState) -> list[int]:
    return [cell.index for cell in state.cells if any(w.kind is WarningKind.GAP for w in cell.warnings)]


def in_load(folder, cell: int, kind: StepKind = StepKind.WORKLOAD) -> int:
    """Wait until a cell's writers write, and return the engine."""
    wait_for(folder, is_in(cell, kind))
    engine = engine_of(folder)
    wait_until(lambda: any(written_by(pid) > 1000 for pid in generator_below(engine)[1:]), "writers write")
    return engine


def test_round_with_stopped_engine_is_repeated(tmp_path, device):
    folder = new_run(ROUNDS, device, str(tmp_path / "runs"))
    start_engine(folder)
    stop_for(STOP_S, only_engine(in_load(folder, 2)))
    wait_for_end(folder)
    state = read_state(folder)
    assert state.outcome is Outcome.DONE, state.reason
    assert cells_with_gap(state) == [2]
    assert [cell.counts for cell in build_grid(state).rows[0].cells] == [True, True, False, True, True, True]
    low, kept = (state.cells[number].value(Metric.DURABLE) for number in (2, 5))
    # Its load took a second, and its drain began after the stop.
    assert low < kept / 2
    assert_nothing_left(device, folder)


@pytest.mark.parametrize(
    ("whom", "words"),
    [
        (only_engine, "fsconsole did not run for "),
        (only_generator, "'create': its generator was stopped"),
        (whole_run, "fsconsole did not run for "),
    ],
)
def test_stop_in_load_is_named_in_its_cell(tmp_path, device, whom: Callable[[int], list[int]], words: str) -> None:
    folder = new_run(
        f'order = "as-listed"\n{ROUNDS.replace("repeats = 5", "repeats = 2")}', device, str(tmp_path / "runs")
    )
    start_engine(folder)
    stop_for(STOP_S, whom(in_load(folder, 0)))
    wait_for_end(folder)
    state = read_state(folder)
    assert cells_with_gap(state) == [0]
    (reason,) = {w.reason for w in state.cells[0].warnings if w.kind is WarningKind.GAP and w.reason.startswith(words)}
    assert reason


def test_stopped_pilot_is_repeated(tmp_path, device):
    """Else its sizes would be those of a device that is some times slower."""
    load = '{ kind = "create", threads = 2, file_size = "16KiB", block_size = "16KiB", fsync = "each-file", size = "auto" }'
    plan = ROUNDS.replace("repeats = 5", 'repeats = 1\nload_time = "2s"').split("workload")[0]
    after = 'after = { check = false, delete = "none", extents = false }\n'
    folder = new_run(f"{plan}workload = [{load}]\n{after}", device, str(tmp_path / "runs"))
    start_engine(folder)
    stop_for(STOP_S, whole_run(in_load(folder, 0, StepKind.PILOT)))
    wait_for_end(folder)
    state = read_state(folder)
    assert state.outcome is Outcome.DONE, state.reason
    assert cells_with_gap(state) == []
    assert state.cells[0].value(Metric.LAST_DONE) > 0.8


def test_stopped_check_is_named(tmp_path, device, monkeypatch):
    barrier = tmp_path / "barrier"
    barrier.touch()
    hold_program("e2fsck", device, barrier, monkeypatch)
    plan = ROUNDS.replace("repeats = 5", "repeats = 1").replace("check = false", "check = true")
    folder = new_run(f'order = "as-listed"\n{plan}', device, str(tmp_path / "runs"))
    start_engine(folder)
    wait_for(folder, is_in(0, StepKind.CHECK_EMPTY))
    engine = engine_of(folder)
    wait_until(lambda: tools_of(engine) != [], "e2fsck runs")
    stop_for(4.0, tools_of(engine)[:1])
    barrier.unlink()
    wait_for_end(folder)
    state = read_state(folder)
    assert cells_with_gap(state) == [0]
    assert any("e2fsck was stopped (SIGSTOP) for " in w.reason for w in state.cells[0].warnings)


def tools_of(engine: int) -> list[int]:
    return [pid for pid in descendants(engine) if any("e2fsck" in word for word in arguments_of(pid))]


@pytest.mark.parametrize(("tool", "kind"), [("mkfs.ext4", StepKind.MKFS), ("e2fsck", StepKind.CHECK_EMPTY)])
def test_engine_stopped_in_step_is_named(tmp_path, device, monkeypatch, tool: str, kind: StepKind) -> None:
    barrier = tmp_path / "barrier"
    barrier.touch()
    plan = (
        f'order = "as-listed"\n{ROUNDS.replace("repeats = 5", "repeats = 2").replace("check = false", "check = true")}'
    )
    folder = new_run(plan, device, str(tmp_path / "runs"))
    with ExitStack() as stack:
        if kind is StepKind.MKFS:
            path = stack.enter_context(exec_held(tool, tmp_path / "held", barrier))
            monkeypatch.setenv("PATH", path)
        else:
            hold_program(tool, device, barrier, monkeypatch)
        start_engine(folder)
        wait_for(folder, is_in(0, kind))
        stop_for(4.0, only_engine(engine_of(folder)))
        barrier.unlink()
        wait_for_end(folder)
    assert cells_with_gap(read_state(folder)) == [0]


def test_blocked_journal_disk_is_no_gap(tmp_path, device, loop_device, mounted):
    disk = loop_device(64 * MIB)
    run("mkfs.ext4", "-q", disk)
    runs = mounted(disk)
    plan = f'order = "as-listed"\n{ROUNDS.replace("repeats = 5", "repeats = 1").replace("1s", "6s")}'
    folder = new_run(plan, device, str(runs / "runs"))
    start_engine(folder)
    in_load(folder, 0)
    run("fsfreeze", "--freeze", str(runs))
    try:
        time.sleep(4.0)
    finally:
        run("fsfreeze", "--unfreeze", str(runs))
    wait_for_end(folder)
    state = read_state(folder)
    assert state.outcome is Outcome.DONE, state.reason
    assert cells_with_gap(state) == []
