"""How quickly the console is there and answers: `sudo python -m tests.bench.console_speed [--starts 10] [--keys 100]`.

On a pseudo-terminal of 80 x 24, TERM=linux. First paint is from exec to the bytes that hold the line of screens. Keys are
answered while as many processes as there are CPUs use all of them, as a generator does, the console at nice -5; an
answer is the first byte after the key, on a screen that paints nothing by itself. It exits with 1 above 0.8 s (median),
and above 100 ms (95th percentile).
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

from tests.bench.console_pty import console
from tests.bench.paired import as_program
from tests.tui.recorded import all_recorded

FIRST_PAINT_S, ANSWER_S = 0.8, 0.1
CONSOLE_NICE = -5
DOWN, UP = b"\x1b[B", b"\x1b[A"


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


def first_paint_s(runs: str) -> float:
    """Start a console and return the seconds until its line of screens is sent."""
    with console("--runs", runs) as shown:
        return shown.wait_for("Devices") - shown.started_s


def answers_s(runs: str, keys: int) -> list[float]:
    """Move the cursor of the list of runs up and down; return the seconds until each answer."""
    with console("--runs", runs, nice=CONSOLE_NICE) as shown:
        shown.wait_for("Devices")
        shown.read_for(3.0)
        shown.press(b"5")
        shown.read_for(2.0)
        with busy_cpus():
            shown.read_for(1.0)
            return [shown.answer_s(DOWN if number % 2 == 0 else UP) for number in range(keys)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--runs", default="", help="a directory of runs; by default the recorded ones")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        runs = asked.runs or directory
        if not asked.runs:
            all_recorded(Path(directory))
        paints = [first_paint_s(runs) for _ in range(asked.starts)]
        answers = sorted(answers_s(runs, asked.keys))
    median = statistics.median(paints)
    p95 = answers[int(len(answers) * 0.95)]
    print(f"first paint      {median:.3f} s, {min(paints):.3f} to {max(paints):.3f}; allowed {FIRST_PAINT_S}")
    print(
        f"a key's answer   p50 {1000 * statistics.median(answers):.0f} ms, p95 {1000 * p95:.0f} ms; allowed 100"
    )
    return 0 if median <= FIRST_PAINT_S and p95 <= ANSWER_S else 1


if __name__ == "__main__":
    as_program(main)
