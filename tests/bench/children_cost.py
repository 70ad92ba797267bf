"""What the commands cost that the console starts again and again: `sudo python -m tests.bench.children_cost [--times 10]`.

Each is run as the console runs it, with what Python compiled kept; CPU time is that of the command and of the programs
that it calls. Nothing is allowed or refused here.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

from tests.bench.console_pty import compiled
from tests.bench.paired import Cost, as_program, cost_of

COMMANDS = (
    ("--help",),
    ("devices", "--json"),
    ("catalog", "--json"),
    ("plan", "configs/demo.toml", "--json"),
    ("runs", "--json"),
    ("scratch", "list", "--json"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    times = parser.parse_args().times
    with compiled():
        for words in COMMANDS:
            found = [cost_of(lambda words=words: run(words)) for _ in range(times + 1)][1:]
            print(f"{' '.join(words):<32} {median_ms(found, 'cpu_s'):6.0f} CPU ms {median_ms(found, 'wall_s'):6.0f} ms")
    return 0


def run(words: tuple[str, ...]) -> None:
    """Run a command, whatever comes of it."""
    command = [sys.executable, "-m", "fsconsole", *words]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def median_ms(costs: list[Cost], of: str) -> float:
    return 1000 * statistics.median(getattr(cost, of) for cost in costs)


if __name__ == "__main__":
    as_program(main)
