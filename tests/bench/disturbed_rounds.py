"""Six equal rounds of a real run, of which the fourth is disturbed for real: is it named, and it alone repeated?

python -m tests.bench.disturbed_rounds DIRECTORY nothing|cold|throughout

The load writes 512 MiB through the page cache of ext4 on a scratch device below DIRECTORY. cold: before the fourth
load 3 GiB are touched and freed until the kernel has reported 1 GiB of them, and what it doesn't report (free blocks below
2 MiB, and up to a GiB that waits) is held while the load runs, so that it gets what was reported. throughout: the same
before each load. Nothing else is made: counters and clocks are the machine's.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.journal.past import read_state
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.rounds import CAUSES
from fsconsole.results.figures import warnings_seen
from fsconsole.system.mounts import engine_argv
from fsconsole.telemetry.page_reporting import reported_bytes
from fsconsole.text import GIB, MIB
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import new_run

PLAN = """
schema = 1
repeats = 6
variant = [{ type = "ext4" }]
workload = [{ kind = "create", threads = 2, file_size = "256MiB" }]
after = { check = false, delete = "none" }
"""
DISTURBED = 3
SHOWN = CAUSES | {WarningKind.MEMORY_COLD}
_LIMIT_S = 60.0


def main(arguments: list[str]) -> None:
    """Carry the run out in a process of its own, or be that."""
    if arguments[0] == "engine":
        disturb(*arguments[2:])
        sys.exit(runner.main([arguments[1]]))
    if arguments[0] == "memory":
        take_cold_memory()
        return
    directory, what = arguments
    with tempfile.TemporaryDirectory(dir=directory) as place, scratch_device(place, 2 * GIB) as device:
        folder = new_run(PLAN, device, os.path.join(place, "runs"))
        argv = engine_argv((sys.executable, "-m", "tests.bench.disturbed_rounds", "engine", folder.path, what, device))
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.getcwd()})
        state = read_state(folder)
        print("round  CPU s/GiB  reported MiB  write MB/s  warnings")
        for cell, known in zip(state.request.plan.cells, state.cells, strict=True):
            figures = (Metric.GENERATOR_PER_GIB, 1), (Metric.MEMORY_REPORTED, MIB), (Metric.WRITE, 1e6)
            per_gib, reported, write = ((known.value(metric) or 0) / unit for metric, unit in figures)
            warned = ", ".join(
                noted.kind.value for noted in warnings_seen(state) if cell.index in noted.cells and noted.kind in SHOWN
            )
            name = f"{cell.repeat}{'b' * cell.redo}"
            print(f"{name:<5}  {per_gib:9.2f}  {reported:12.0f}  {write:10.0f}  {warned}")
        for again in state.repeated:
            print(f"round {again.repeat} ran again: {again.reason}")


def disturb(what: str, device: str) -> None:
    """Have the load of the fourth cell, or every load, run while something else happens."""
    load = HANDLERS[StepKind.WORKLOAD]

    def disturbed(work, step):
        is_meant = work.cell.index == DISTURBED or what == "throughout"
        with cold_memory() if is_meant and what != "nothing" else nullcontext():
            return load(work, step)

    HANDLERS[StepKind.WORKLOAD] = disturbed


@contextmanager
def cold_memory() -> Iterator[None]:
    argv = [sys.executable, "-m", "tests.bench.disturbed_rounds", "memory"]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    try:
        yield
    finally:
        child.kill()
        child.wait()


def take_cold_memory() -> None:
    """Have the kernel report memory, and hold what it didn't report, until somebody ends this process."""
    before, deadline = reported_bytes() or 0, time.monotonic() + _LIMIT_S
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    mmap.mmap(-1, 3 * GIB, private | mmap.MAP_POPULATE).close()
    while (reported_bytes() or 0) - before < GIB and time.monotonic() < deadline:
        time.sleep(0.1)
    held = mmap.mmap(-1, 6 * GIB, private)
    # Pages of 4 KiB come from the smallest free blocks.
    held.madvise(mmap.MADV_NOHUGEPAGE)
    for offset in range(0, 6 * GIB, mmap.PAGESIZE):
        held[offset] = 1
    print("held", flush=True)
    Path("/dev/stdin").read_text()
    held.close()


if __name__ == "__main__":
    main(sys.argv[1:])
