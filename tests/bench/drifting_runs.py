"""Two real runs of four equal variants on a device that slows down, as listed and in rounds.

python -m tests.bench.drifting_runs DIRECTORY

Each drain of a load waits before it syncs: one second in the first cell, 1 / 0.7 s in the last, so that the device loses 30 %
of its speed in between. All else is real: ext4 with four commit intervals on a scratch device below DIRECTORY.
Prints the load's table of `results` for both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from fsconsole.cli.results import report
from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS, load
from fsconsole.model.plan import StepKind
from fsconsole.system.mounts import engine_argv
from fsconsole.text import MIB
from tests.bench.drift import DRIFT
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import new_run

PLAN = """
schema = 1
repeats = 5
order = "{order}"
variant = [
    {{ type = "ext4", mount = "commit=5" }}, {{ type = "ext4", mount = "commit=6" }},
    {{ type = "ext4", mount = "commit=7" }}, {{ type = "ext4", mount = "commit=8" }},
]
workload = [{{ kind = "create", threads = 4, file_size = "4MiB", block_size = "1MiB", direct = true }}]
after = {{ check = false, delete = "none" }}
"""
CELLS = 20


def main(arguments: list[str]) -> None:
    """Carry both runs out in processes of their own, or be one of them."""
    if arguments[0] == "engine":
        slow_down()
        sys.exit(runner.main([arguments[1]]))
    for order in ("as-listed", "rounds"):
        with tempfile.TemporaryDirectory(dir=arguments[0]) as place, scratch_device(place, 256 * MIB) as device:
            folder = new_run(PLAN.format(order=order), device, os.path.join(place, "runs"))
            argv = engine_argv((sys.executable, "-m", "tests.bench.drifting_runs", "engine", folder.path))
            subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.getcwd()})
            text = report(folder, width=132)
        print(f'order = "{order}"\n{text[text.index("create, 4 threads") :].partition("filesystem:")[0].rstrip()}\n')


def slow_down() -> None:
    """Have each drain wait, the longer the later its cell is."""
    drain, sync = HANDLERS[StepKind.DRAIN], load.syncfs
    place = [0]

    def in_place(work, step):
        place[0] = work.cell.index
        return drain(work, step)

    def late(root):
        time.sleep(1 / (1 - DRIFT * place[0] / (CELLS - 1)))
        sync(root)

    HANDLERS[StepKind.DRAIN], load.syncfs = in_place, late


if __name__ == "__main__":
    main(sys.argv[1:])
