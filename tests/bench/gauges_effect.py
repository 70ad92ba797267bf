"""What the gauges do to a load: `python -m tests.bench.gauges_effect` (as root).

A load with the sampler at 2 Hz and one without it, in pairs whose order changes from one to the next, on an ext4 over
a loop device of this program's own, whose file lies in memory where there is a /dev/shm: a disk's moods are left out, and
what the sampler takes is taken from the load. Each load writes anew what the one before left, and ends with an fsync
of each file. Printed is the geometric mean of the ratios (with : without) with its 95 % interval (Student, on logarithms),
and their median, which holds on a machine that others use too.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fsconsole.text import KIB, MIB
from tests.bench.sampler_cost import sampling

ALLOWED_PERCENT = 1.0
HZ, NEVER_HZ = 2.0, 1 / 86400
DEVICE_BYTES = 640 * MIB
FILE_BYTES = 256 * MIB
BLOCK = bytes(64 * KIB)
WRITERS = 2
Z_95 = statistics.NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Load:
    """One load: by the clock, and in CPU seconds of its writers."""

    elapsed_s: float
    cpu_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 unless the interval says that more than the allowed per cent are lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=4, help="how often a load writes its files")
    chosen = parser.parse_args(arguments)
    with own_filesystem() as folder:
        run_load(folder, chosen.rounds)
        pairs = [one_pair(folder, chosen.rounds, with_first=number % 2 == 0) for number in range(chosen.pairs)]
    print(f"{chosen.pairs} pairs; median load {statistics.median(b.elapsed_s for _, b in pairs):.2f} s")
    low, _ = report("elapsed", [(a.elapsed_s, b.elapsed_s) for a, b in pairs])
    report("CPU of the writers", [(a.cpu_s, b.cpu_s) for a, b in pairs])
    return int(low > ALLOWED_PERCENT)


def report(what: str, pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Print the difference in per cent, and return its interval."""
    logs = [math.log(first / second) for first, second in pairs]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    reach = student_95(len(logs) - 1) * error
    middle, low, high = (100 * math.expm1(at) for at in (mean, mean - reach, mean + reach))
    print(f"{what}: {middle:+.2f} % with gauges, 95 % interval {low:+.2f} to {high:+.2f} %")
    print(f"{' ' * len(what)}  median {', 95 % interval '.join(median_words(logs))}")
    return low, high


def median_words(logs: Sequence[float]) -> tuple[str, str]:
    """Return the median in per cent and its interval by order statistics, which few wild pairs don't move."""
    ranked = [100 * math.expm1(at) for at in sorted(logs)]
    reach = math.ceil(Z_95 * math.sqrt(len(ranked)) / 2)
    first, last = max(0, len(ranked) // 2 - reach), min(len(ranked) - 1, (len(ranked) - 1) // 2 + reach)
    return f"{statistics.median(ranked):+.2f} %", f"{ranked[first]:+.2f} to {ranked[last]:+.2f} %"


def student_95(degrees: int) -> float:
    """Return Student's two-sided 95 % quantile (Abramowitz and Stegun 26.7.5), good to 0.001 from 8 degrees on."""
    z, n = Z_95, degrees
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)


def one_pair(folder: Path, rounds: int, *, with_first: bool) -> tuple[Load, Load]:
    """Return a load with the gauges and one without."""
    if with_first:
        watched = run_load(folder, rounds, watched=True)
        return watched, run_load(folder, rounds)
    alone = run_load(folder, rounds)
    return run_load(folder, rounds, watched=True), alone


def run_load(folder: Path, rounds: int, *, watched: bool = False) -> Load:
    """Write all files by processes of their own; the clock runs from their start to the last one's end."""
    # A journal and a sampler stand by in both, but only one takes samples.
    with sampling(HZ if watched else NEVER_HZ):
        begin_s = time.monotonic()
        children = [started(folder / f"file{number}", rounds) for number in range(WRITERS)]
        usages = [ended(child) for child in children]
        return Load(time.monotonic() - begin_s, sum(usages))


def started(path: Path, rounds: int) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        write(path, rounds)
        code = 0
    finally:
        os._exit(code)


def write(path: Path, rounds: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for _ in range(rounds):
        for offset in range(0, FILE_BYTES, len(BLOCK)):
            os.pwrite(fd, BLOCK, offset)
        os.fsync(fd)


def ended(child: int) -> float:
    """Return the CPU seconds of a child that has done its work."""
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"a writer ended with status {status}")
    return usage.ru_utime + usage.ru_stime


@contextmanager
def own_filesystem() -> Iterator[Path]:
    """Mount an ext4 on a loop device over a file of this program's own; all is gone afterwards."""
    with ExitStack() as stack:
        place = "/dev/shm" if os.path.isdir("/dev/shm") else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place)))
        file, point = folder / "disk", folder / "mnt"
        point.mkdir()
        with file.open("wb") as disk:
            os.posix_fallocate(disk.fileno(), 0, DEVICE_BYTES)
        device = run("losetup", "--find", "--show", str(file)).strip()
        stack.callback(run, "losetup", "--detach", device)
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        run("mount", device, str(point))
        stack.callback(run, "umount", str(point))
        yield point


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
