"""Every column of a mixed run again, by other means: an own FIEMAP, the kernel's trace, an own statfs; fio beside it.

    sudo python -m tests.recompute [--writers 1,16,128] [--filesystems ext2,ext3,ext4,xfs,btrfs] [--quick] [--dir DIRECTORY]

Imports nothing of fsconsole: its command carries out a plan on a scratch device, and its JSON export is compared. Exits with 1
where a figure is another one. Extents, bytes, flushes and space must be the same; latencies within 10 % or 2 us of the trace;
those of calls that only compute may lie between that and the time from the call before to the call after, since a writer may
lose its CPU behind the trace's exit and before it reads a clock. Times within 5 % or 10 ms, CPU within 10 % or 2 ticks of each CPU.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.recompute.compare import OTHER, SAME, compared
from tests.recompute.figures import Recomputed
from tests.recompute.fio import beside_fio
from tests.recompute.run import watched_run
from tests.recompute.tracing import tracefs

PLAN = """
schema = 1
repeats = 1
title = "recomputed"
order = "as-listed"
raw = {raw}
variant = [{variants}]
workload = [
  {{ name = "synced", kind = "create", threads = {n}, files = {small}, file_size = ["4KiB", "32KiB"], block_size = "8KiB", directories = 100, fsync = "each-file" }},
  {{ name = "buffered", kind = "create", threads = {n}, files = {n}, file_size = "{large}KiB", block_size = "64KiB" }},
  {{ name = "direct", kind = "create", threads = {n}, files = {n}, file_size = "{middle}KiB", block_size = "64KiB", direct = true, fsync = 4, sync_call = "fdatasync" }},
  {{ name = "overwrite", kind = "random-write", of = "buffered", threads = {n}, file_size = "{middle}KiB", block_size = "16KiB", fsync = 16 }},
  {{ name = "mix", kind = "mix", of = "synced", threads = {n}, weights = {{ read = 3, create = 2, append = 2, stat = 1, delete = 1 }}, files = {small}, file_size = "16KiB", block_size = "4KiB", fsync = "end" }},
  {{ name = "cold read", kind = "read", of = "buffered", cold = true, threads = {n}, block_size = "64KiB" }},
  {{ name = "random read", kind = "random-read", of = "direct", threads = {n}, block_size = "4KiB", direct = true }},
  {{ name = "stat", kind = "stat", of = "direct", threads = {n}, files = {stats} }},
  {{ name = "remove", kind = "delete", of = "direct", threads = {n} }},
]
"""


def recomputed(
    program: str, writers: int, filesystems: list[str], place: Path, *, quick: bool, all_of: bool = False
) -> dict[str, Counter[str]]:
    """Carry out a run with so many writers on a scratch device of its own, and compare it."""
    scratch, plan = place / "scratch", place / "plan.toml"
    each_kib = (64 if quick else 256) * 1024 // writers // 64 * 64
    sizes = {"large": each_kib, "middle": max(256, each_kib // 8 // 64 * 64), "stats": 2000 if quick else 20000}
    sizes |= {"n": writers, "small": max(200 if quick else 1600, 4 * writers)}
    variants = ", ".join(f'{{ type = "{name}" }}' for name in filesystems)
    plan.write_text(PLAN.format(raw="false" if quick else "true", variants=variants, **sizes))
    create = [program, "scratch", "create", "--size", "320MiB" if quick else "1GiB", "--dir", str(scratch), "--json"]
    scratch.mkdir(exist_ok=True)
    made = json.loads(subprocess.check_output(create, text=True, stderr=subprocess.DEVNULL))
    try:
        with tracefs() as root:
            again = Recomputed(watched_run(root, program, plan, made["device"], place / f"runs-{writers}"))
        asked, counted = again.device(0, 2**63), again.run.counted
        trace, kernel = (
            {name: one[name] for name in ("reads", "read_bytes", "write_bytes", "flushes")} for one in (asked, counted)
        )
        print(f"{writers} writers; the device in the whole run, by trace {trace}, by its counters {kernel}")
        verdicts = compared(again, made["size_bytes"], place, tells_all=all_of)
        return verdicts | {"the device": Counter([SAME if trace == kernel else OTHER])}
    finally:
        subprocess.run(
            [program, "scratch", "remove", made["device"], "--dir", str(scratch), "--yes"],
            check=True,
            capture_output=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recompute", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--writers", default="1,16,128")
    parser.add_argument("--filesystems", default="ext2,ext3,ext4,xfs,btrfs")
    parser.add_argument("--fsconsole", default=str(Path(sys.executable).with_name("fsconsole")))
    parser.add_argument("--dir", default=None, help="where scratch file and runs lie")
    parser.add_argument("--quick", action="store_true", help="small files, no raw row, no fio")
    parser.add_argument("--all", action="store_true", help="print every figure")
    asked = parser.parse_args()
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=asked.dir, prefix="recompute-") as directory:
        place, filesystems = Path(directory), asked.filesystems.split(",")
        for writers in map(int, asked.writers.split(",")):
            if not asked.quick:
                sums += beside_fio(writers, place)
            verdicts = recomputed(asked.fsconsole, writers, filesystems, place, quick=asked.quick, all_of=asked.all)
            sums += sum(verdicts.values(), Counter())
    print(", ".join(f"{count} {says}" for says, count in sums.most_common()))
    return 1 if sums[OTHER] else 0


if __name__ == "__main__":
    sys.exit(main())
