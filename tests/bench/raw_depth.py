"""The raw streams against fio: sequential direct writes and reads of one loop device at each depth, in turn.

    sudo python -m tests.bench.raw_depth [--depths 1,4,16,32] [--pairs 15] [--mib 3072] [--block-kib 1024] [--dir DIR]

Each round is one pass over the device by both, the order rotating; the first round is thrown away. fio has so many
jobs of one call each, each in its part of the device; ours take the next block from one counter. MB/s are bytes / (last
process's end - first one's begin), for both without the flush; of fio, which tells no begin, bytes / the longest job,
which leaves out that they begin one after the other. It exits with 1 where the median of the pairs is below 0.95, and
needs root and fio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fsconsole.text import KIB, MIB
from fsconsole.workloads.raw import from_line
from tests.bench.paired import as_program, in_turn, judge, ratio

BOUND = 0.95


def ours(act: str, device: str, depth: int, size: int, block: int) -> float:
    words = ("--depth", str(depth), "--bytes", str(size), "--block", str(block))
    report = from_line(printed(sys.executable, "-I", "-m", "fsconsole.workloads.raw", act, device, *words))
    assert report.moved_bytes == size
    return size / (report.last_ended_ns - report.first_started_ns) * 1e9


def fio(act: str, device: str, depth: int, size: int, block: int) -> float:
    part = size // depth
    said = printed(
        "fio", "--name=raw", f"--filename={device}", f"--rw={act}", "--direct=1", "--ioengine=psync", f"--bs={block}",
        f"--numjobs={depth}", f"--size={part}", f"--offset_increment={part}", "--output-format=json", "--allow_file_create=0",
    )  # fmt: skip
    jobs = [job[act] for job in json.loads(said)["jobs"]]
    assert sum(job["io_bytes"] for job in jobs) == size
    return size / max(job["runtime"] for job in jobs) * 1e3


def printed(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--depths", default="1,4,16,32")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--mib", type=int, default=3072, help="MiB of each pass")
    parser.add_argument("--block-kib", type=int, default=1024)
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    size, block, kept = asked.mib * MIB, asked.block_kib * KIB, True
    with tempfile.TemporaryDirectory(prefix="fsconsole-bench-", dir=asked.dir) as room:
        disk = Path(room) / "disk"
        with disk.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        device = printed("losetup", "--find", "--show", "--direct-io=on", str(disk)).strip()
        try:
            printed("shred", "-n", "1", device)
            for act in ("write", "read"):
                for depth in map(int, asked.depths.split(",")):
                    contestants: dict[str, Callable[[], float]] = {
                        which.__name__: partial(which, act, device, depth, size, block) for which in (ours, fio)
                    }
                    found = in_turn(contestants, asked.pairs)
                    rates = [f"{name} {statistics.median(rates) / 1e6:.0f} MB/s" for name, rates in found.items()]
                    low, high = ratio(found["ours"], found["fio"]).low, ratio(found["ours"], found["fio"]).high
                    what = (
                        f"{act}, depth {depth}: {', '.join(rates)}; ours / fio (mean {low:.2f} to {high:.2f}), median"
                    )
                    ratios = [one / other for one, other in zip(found["ours"], found["fio"], strict=True)]
                    kept &= judge(what, statistics.median(ratios), at_least=BOUND)
        finally:
            printed("losetup", "--detach", device)
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
