"""A run beside everything that looks at its device, over and over: no cell is lost by it.

python -m tests.loop.soak_beside [CELLS] prints how often each command ended with which code, and what became of the
cells. An agent has the device open for a second in five meanwhile, and smartctl, as it were, twice a second.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from fsconsole.client.engine import start_engine
from fsconsole.devices import scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.state import OPEN_STATUSES, CellStatus
from fsconsole.text import MIB
from tests.loop.commands import command
from tests.loop.runs import assert_nothing_left, new_run, wait_for, wait_for_end

PLAN = """
schema = 1
title = "cells beside passers-by"
repeats = {repeats}
order = "shuffled"
equalise = "none"
variant = [{{ type = "ext4" }}, {{ type = "xfs" }}, {{ type = "btrfs" }}]
workload = [
    {{ kind = "create", threads = 2, file_size = "64KiB", duration = "0.3s", bytes = "64MiB" }},
    {{ kind = "read", cold = true, duration = "0.3s" }},
]
"""
VARIANTS, SPARE_REPEATS = 3, 10
DEVICE_BYTES = 320 * MIB
_OPENER = """
import os, sys, time
device, open_s, closed_s = sys.argv[1], *map(float, sys.argv[2:])
while True:
    fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    print("opened", flush=True)
    time.sleep(open_s)
    os.close(fd)
    time.sleep(closed_s)
"""
OPENERS = {"agent": ("1", "4"), "smartctl": ("0.02", "0.5")}
"""For how many seconds each has the device open, and then not."""


@contextmanager
def openers(device: str, directory: str) -> Iterator[None]:
    """Have the device opened by others, again and again; each open is a line of a file by the opener's name."""
    started = []
    try:
        for name, times in OPENERS.items():
            with Path(directory, name).open("w") as out:
                started.append(subprocess.Popen([sys.executable, "-c", _OPENER, device, *times], stdout=out))
        yield
    finally:
        for opener in started:
            opener.kill()
            opener.wait()


def look_on(folder: RunFolder, made: scratch.Scratch, cells: int) -> Counter[str]:
    """Look at a run's device by all commands until so many cells are over; return how each ended, and how often."""
    runs, where = str(Path(folder.path).parent), str(Path(made.path).parent)
    plan = str(Path(runs).parent / "plan.toml")
    looks = (
        ("devices", "--runs", runs),
        ("plan", plan, "--device", made.device, "--runs", runs),
        ("scratch", "list", "--dir", where),
        ("scratch", "remove", made.device, "--dir", where, "--runs", runs, "--yes"),
    )
    ended: Counter[str] = Counter()
    for words in cycle(looks):
        over = [cell for cell in read_state(folder).cells if cell.status not in OPEN_STATUSES]
        if len(over) >= cells or not is_alive(folder):
            return ended
        done = command(*words)
        named = " ".join(words[:2] if words[0] == "scratch" else words[:1])
        ended[f"{named}: exit {done.returncode}"] += 1
    raise AssertionError("unreachable")


def main(arguments: list[str]) -> None:
    """Carry out a run of so many cells, and print what became of them."""
    wanted = int(arguments[0]) if arguments else 60
    # It is stopped: one that has ended by itself would lose its device to the last command.
    repeats = -(-wanted // VARIANTS) + SPARE_REPEATS
    with tempfile.TemporaryDirectory(prefix="fsconsole-soak-") as directory:
        made = scratch.create(DEVICE_BYTES, str(Path(directory, "scratch")))
        folder = new_run(PLAN.format(repeats=repeats), made.device, str(Path(directory, "runs")))
        begun_s = time.monotonic()
        start_engine(folder)
        # Before the first cell whoever has the device open ends the run, as its operator is still there.
        wait_for(folder, lambda state: state.cells[0].status is CellStatus.DONE)
        with openers(made.device, directory):
            ended = look_on(folder, made, wanted)
            command("stop", "--runs", str(Path(folder.path).parent))
            wait_for_end(folder)
        elapsed_s = time.monotonic() - begun_s
        state = read_state(folder)
        for told, times in sorted(ended.items()):
            print(f"{times:5} {told}")
        for name in OPENERS:
            print(f"{len(Path(directory, name).read_text().splitlines()):5} opens by {name}")
        cells = Counter(cell.status.value for cell in state.cells if cell.status is not CellStatus.PENDING)
        print(f"{elapsed_s:.0f} s, run {state.status.value}, cells: {dict(cells)}")
        for cell in state.cells:
            if cell.reason:
                print(f"cell {cell.index + 1}: {cell.reason}")
        assert_nothing_left(made.device, folder)
        scratch.remove(made)
        sys.exit(0 if set(cells) == {CellStatus.DONE.value} else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
