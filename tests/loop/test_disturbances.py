"""Others at work during a cell: each is named in the cell that it disturbed, and in no other one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fsconsole.client.engine import start_engine
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import OF_DEVICE, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.telemetry.traffic import read_counted, traffic
from fsconsole.text import MIB
from tests.loop.gate_cases import partitioned
from tests.loop.runs import is_in, new_run, wait_for, wait_for_end

PLAN = """
schema = 1
title = "three times the same"
repeats = 3
order = "as-listed"
filesystem = [{ type = "ext4" }]
workload = [{ kind = "create", file_size = "64KiB", block_size = "1", duration = "1s" }]
after = { check = true, delete = "none" }
"""
BURN = "while True: pass"
HOLD = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); time.sleep(60)"


@contextmanager
def beside(*argv: str) -> Iterator[int]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def named(state: RunState, kind: WarningKind, words: str) -> list[int]:
    return [cell.index for cell in state.cells if any(w.kind is kind and words in w.reason for w in cell.warnings)]


def drained(cell: int, state: RunState) -> bool:
    return any(step.kind is StepKind.DRAIN and step.outcome for step in state.cells[cell].steps)


def test_a_foreign_reader_of_the_disk_a_foreign_program_and_another_engine_are_named_where_they_were(
    tmp_path: Path,
) -> None:
    lock = f"/run/fsconsole-disk-test{os.getpid()}.lock"
    with partitioned(tmp_path, (1, 60), (61, 60), size_bytes=124 * MIB) as (disk, target, other):
        name = os.path.basename(target)
        before = read_counted([name])
        folder = new_run(PLAN, target, str(tmp_path / "runs"))
        start_engine(folder)
        wait_for(folder, is_in(1, StepKind.WORKLOAD))
        with beside("sh", "-c", f"while dd if={other} of=/dev/null bs=1M iflag=direct; do :; done") as reader:
            wait_for(folder, lambda state: drained(1, state))
        wait_for(folder, is_in(2, StepKind.WORKLOAD))
        try:
            with beside(sys.executable, "-c", BURN) as burner:
                # More than any other session gets on a busy machine (man 7 sched, "The autogroup feature").
                with suppress(OSError):
                    Path(f"/proc/{burner}/autogroup").write_text("-20")
                with beside(sys.executable, "-c", HOLD, lock) as engine:
                    wait_for(folder, lambda state: drained(2, state))
                wait_for_end(folder)
        finally:
            os.unlink(lock)
        state = read_state(folder)
        moved = traffic(before, read_counted([name]), name)
    assert [cell.status for cell in state.cells] == [CellStatus.DONE] * 3
    assert named(state, WarningKind.FOREIGN_IO, f"on {os.path.basename(disk)} ") == [1]
    assert named(state, WarningKind.OTHERS_CPU, f"(process {burner})") == [2]
    assert named(state, WarningKind.ENGINE_BESIDE, f"(engine process {engine})") == [2]
    assert named(state, WarningKind.FOREIGN_IO, f"sh (process {reader})") in ([1], [])
    assert moved is not None
    steps = [
        {one.metric: one.value for one in step.measurements}
        for cell in state.cells
        for step in cell.steps
        if any(one.metric in OF_DEVICE for one in step.measurements)
    ]
    written = sum(figures[Metric.DEVICE_WRITTEN] for figures in steps)
    assert 0.95 * moved.written_bytes <= written <= moved.written_bytes
    drains = [figures for figures in steps if Metric.WRITE_AMPLIFICATION in figures]
    assert len(drains) == 3
    assert all(1 <= figures[Metric.WRITE_AMPLIFICATION] < 40 and figures[Metric.DEVICE_FLUSHES] for figures in drains)
    assert drains[1][Metric.FOREIGN_IO] >= 16 * MIB
