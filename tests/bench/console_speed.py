"""How quickly the console is there and answers: `sudo python -m tests.bench.console_speed [--starts 10] [--keys 100] [--ticks 40]`.

On a pseudo-terminal of 80 x 24, TERM=linux. First paint is from exec to the bytes that hold the line of screens; what
Python compiled is kept from an earlier start, as installed programs have it. Keys are answered while as many processes as
there are CPUs use all of them, as a generator does, the console at nice -5; an answer is the first byte after the key, on a
screen that paints nothing by itself: the cursor of the list of runs moves, and on Plan ext4 is ticked and unticked, each time
once the plan before it is counted. It exits with 1 above 0.8 s (median), and above 100 ms (95th percentile), by the
clock: only where nothing else runs do these say anything of the console. Its own CPU time is printed beside.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.console_pty import compiled, console
from tests.bench.paired import Cost, as_program
from tests.tui.recorded import all_recorded

FIRST_PAINT_S, ANSWER_S = 0.8, 0.1
CONSOLE_NICE = -5
DOWN, UP = b"\x1b[B", b"\x1b[A"
ASKING_S, COUNTING_S = 5.0, 1.0
"""What the Plan screen takes at most to ask what the machine supports, and to count a small plan on busy CPUs."""


@contextmanager
def busy_cpus() -> Iterator[None]:
    """Keep every CPU busy with a process of its own."""
    spin = (sys.executable, "-c", "while True: pass")
    spinners = [subprocess.Popen(spin) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def first_paint(runs: str) -> Cost:
    """Start a console and return what it takes until its line of screens is sent."""
    with console("--runs", runs) as shown:
        painted_s = shown.wait_for("Devices")
        return Cost(shown.cpu_s, painted_s - shown.started_s)


def answers_s(runs: str, keys: int, ticks: int) -> tuple[list[float], list[float]]:
    """Move the cursor of the list of runs up and down, and tick on Plan; return the seconds until each answer."""
    with console("--runs", runs, nice=CONSOLE_NICE) as shown:
        # The devices are listed: no child of the console is at work any more.
        shown.wait_for("ticked")
        since = len(shown.received)
        shown.press(b"5")
        shown.wait_for("finished", since)
        shown.read_for(1.0)
        with busy_cpus():
            shown.read_for(1.0)
            moved = [shown.answer_s(DOWN if number % 2 == 0 else UP) for number in range(keys)]
        since = len(shown.received)
        shown.press(b"2")
        shown.wait_for("cells; about", since)
        shown.read_for(ASKING_S)
        with busy_cpus():
            shown.read_for(1.0)
            return moved, [shown.answer_s(b" ", COUNTING_S) for _ in range(ticks)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--ticks", type=int, default=40)
    parser.add_argument("--runs", default="", help="a directory of runs; by default the recorded ones")
    asked = parser.parse_args()
    with compiled(), tempfile.TemporaryDirectory() as directory:
        runs = asked.runs or directory
        if not asked.runs:
            all_recorded(Path(directory))
        first_paint(runs)
        paints = [first_paint(runs) for _ in range(asked.starts)]
        moved, ticked = answers_s(runs, asked.keys, asked.ticks)
    return int(
        not (paints_hold(paints) & answers_hold("a key's answer", moved) & answers_hold("a tick's answer", ticked))
    )


def paints_hold(paints: list[Cost]) -> bool:
    """Print what starts took, and return whether that is allowed."""
    walls = [paint.wall_s for paint in paints]
    cpu_s, wall_s = statistics.median(paint.cpu_s for paint in paints), statistics.median(walls)
    print(
        f"first paint      {cpu_s:.3f} CPU s, {wall_s:.3f} s ({min(walls):.3f} to {max(walls):.3f}); "
        f"allowed {FIRST_PAINT_S} s: {verdict(wall_s <= FIRST_PAINT_S)}"
    )
    return wall_s <= FIRST_PAINT_S


def answers_hold(what: str, answers: list[float]) -> bool:
    """Print what answers took, and return whether that is allowed."""
    p95_s = sorted(answers)[int(len(answers) * 0.95)]
    print(
        f"{what:<17}p50 {1000 * statistics.median(answers):.0f} ms, p95 {1000 * p95_s:.0f} ms; "
        f"allowed {1000 * ANSWER_S:.0f} ms: {verdict(p95_s <= ANSWER_S)}"
    )
    return p95_s <= ANSWER_S


def verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


if __name__ == "__main__":
    as_program(main)
