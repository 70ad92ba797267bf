"""What `fsconsole --help` costs beside a bare program of two commands: `python -m tests.bench.help_time`.

Both are run in turn, their standard outputs thrown away; each pair gives a ratio of CPU seconds (user and system,
of wait4). The interval is that of the median ratio, by the bootstrap over pairs.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

BARE = """
import typer
app = typer.Typer(rich_markup_mode=None)
@app.command()
def one() -> None:
    "One."
@app.command()
def two() -> None:
    "Two."
app()
"""
RESAMPLES = 2000
ALLOWED_RATIO = 1.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the allowed ratio holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    pairs = parser.parse_args(arguments).pairs
    with tempfile.TemporaryDirectory() as directory:
        bare = Path(directory) / "bare.py"
        bare.write_text(BARE)
        # Both may keep what they compiled, as installed programs do.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(directory) / "compiled")
        own = [str(Path(sys.executable).with_name("fsconsole")), "--help"]
        other = [sys.executable, str(bare), "--help"]
        for argv in (own, other, own, other):
            cost(argv, environment)
        measured = [(cost(own, environment), cost(other, environment)) for _ in range(pairs)]
    return report(measured)


def cost(argv: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return CPU and wall seconds of a program that must succeed."""
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begun = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=nowhere)
    _, status, usage = os.wait4(pid, 0)
    elapsed_s = time.monotonic() - begun
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{argv} failed")
    return usage.ru_utime + usage.ru_stime, elapsed_s


def report(measured: list[tuple[tuple[float, float], tuple[float, float]]]) -> int:
    """Print medians, ratio and interval."""
    print(f"{'':<18} {'CPU ms':>7} {'wall ms':>8}   median of {len(measured)}")
    for name, index in (("fsconsole --help", 0), ("bare, two commands", 1)):
        cpu, wall = (statistics.median(pair[index][kind] for pair in measured) * 1e3 for kind in (0, 1))
        print(f"{name:<18} {cpu:>7.1f} {wall:>8.1f}")
    ratios = [own[0] / other[0] for own, other in measured]
    ratio = statistics.median(ratios)
    low, high = interval(ratios)
    print(f"ratio of CPU {ratio:.3f}, 95 % interval {low:.3f} to {high:.3f}; allowed {ALLOWED_RATIO}")
    return 0 if ratio <= ALLOWED_RATIO else 1


def interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median."""
    draw = random.Random(20080520)  # noqa: S311 - resampling, no secret
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(RESAMPLES * 0.025)], medians[int(RESAMPLES * 0.975)]


if __name__ == "__main__":
    sys.exit(main())
