"""How quickly, how exactly and in how much memory the extents of a tree are counted.

    sudo python -m tests.bench.extents_speed [--files 1000000] [--pairs 7] [--timed 100000] [--dir DIRECTORY]

On an ext4 of its own, three questions. Speed: the survey as the engine makes it (survey_tree), each time in a new
process, against one filefrag for every 1,000 files, in turn; everything is in the kernel's caches. Exactness: a tree
of files that grew in turn, have holes and reserved room; every file's count is filefrag's, and the survey's sums are
theirs. Memory: the peak of a process that surveys a tenth, three tenths and all of the files.

The many files have one block each, reserved and not written: a map tells them as it tells written ones. They are
made by as many processes as there are CPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fsconsole.inspect.extents import layout_of, survey_tree
from fsconsole.system.block import extents
from fsconsole.text import KIB, MIB
from tests.bench.paired import Cost, as_program, cost_of, in_turn, judge, ratio, table
from tests.bench.scratch_fs import Mounted, filesystem, room

FILES_PER_S = 50_000
MORE_MEMORY = 1.1
"""Peak at all files / peak at a tenth of them."""
BLOCK_BYTES, PER_DIRECTORY, AT_ONCE = 4 * KIB, 10_000, 1000
COUNTED = re.compile(rb"^(.*): (\d+) extents? found$", re.MULTILINE)


@dataclass(frozen=True)
class Survey:
    """One survey by a process of its own."""

    files: int
    cpu_s: float
    wall_s: float
    before_bytes: int
    """Its memory right before."""
    peak_bytes: int
    per_file: dict[int, int]


def survey_here(tree: str) -> None:
    """Survey a tree and print what it took: the program that a new process runs."""
    fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    before = _memory("VmRSS")
    found = []
    cost = cost_of(lambda: found.append(survey_tree(fd)))
    print(json.dumps([found[0].files, cost.cpu_s, cost.wall_s, before, _memory("VmHWM"), found[0].per_file]))


def _memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{key}:")]
    return int(line.split()[1]) * KIB


def survey(tree: Path) -> Survey:
    argv = (sys.executable, "-m", "tests.bench.extents_speed", "--survey", str(tree))
    *figures, per_file = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return Survey(*figures, {int(extents): files for extents, files in per_file.items()})


def filefrag(tree: Path) -> dict[bytes, int]:
    """Return the count of every file, by filefrag."""
    counts: dict[bytes, int] = {}
    paths = _paths(tree)
    while batch := list(islice(paths, AT_ONCE)):
        said = subprocess.run((b"filefrag", *batch), check=True, capture_output=True).stdout
        counts.update((path, int(count)) for path, count in COUNTED.findall(said))
    return counts


def _paths(tree: Path) -> Iterator[bytes]:
    for directory, _, names in os.walk(os.fsencode(tree)):
        yield from (os.path.join(directory, name) for name in names)


def make_many(tree: Path, first: int, until: int) -> None:
    """Make files of one block, numbers from first on, with a process for each CPU."""
    starts = range(first, until, PER_DIRECTORY)
    workers = os.cpu_count() or 1
    children = []
    for worker in range(workers):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for start in starts[worker::workers]:
                    _make_directory(tree / str(start), min(PER_DIRECTORY, until - start))
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    statuses = [os.waitpid(pid, 0)[1] for pid in children]
    if any(statuses):
        raise SystemExit("not all files could be made")


def _make_directory(directory: Path, files: int) -> None:
    directory.mkdir()
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(files):
        fd = os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=place)
        os.posix_fallocate(fd, 0, BLOCK_BYTES)
        os.close(fd)
    os.close(place)


def make_fragmented(tree: Path, files: int = 64, rounds: int = 40) -> None:
    """Make files that grow in turn, and get holes and reserved room; each piece is flushed where it is."""
    tree.mkdir()
    opened = [os.open(tree / str(number), os.O_CREAT | os.O_RDWR, 0o600) for number in range(files)]
    for turn in range(rounds):
        for number, fd in enumerate(opened):
            os.lseek(fd, ((turn + number) % 5) * 2 * BLOCK_BYTES * (number % 3), os.SEEK_END)
            os.write(fd, os.urandom(BLOCK_BYTES * (1 + (turn * number) % 4)))
            if (number + turn) % 3:
                os.fsync(fd)
            if number % 4 == 1 and turn % 10 == 9:
                os.posix_fallocate(fd, turn * MIB, 3 * BLOCK_BYTES)
    for number, fd in enumerate(opened):
        if number % 4 == 2:
            path = str(tree / str(number))
            hole = (
                "fallocate",
                "--punch-hole",
                "--offset",
                str(number * BLOCK_BYTES),
                "--length",
                "64KiB",
                path,
            )
            subprocess.run(hole, check=True)
        os.close(fd)


def exactness(disk: Mounted) -> bool:
    """Compare every count with filefrag's."""
    tree = disk.point / "fragmented"
    make_fragmented(tree)
    (tree / "empty").touch()
    disk.settle()
    theirs = filefrag(tree)
    ours = {}
    for path in theirs:
        fd = os.open(path, os.O_RDONLY)
        ours[path] = len(layout_of(extents(fd)).runs)
        os.close(fd)
    differing = sum(ours[path] != theirs[path] for path in theirs)
    in_all, most = sum(theirs.values()), max(theirs.values())
    print(f"fragmented tree: {len(theirs)} files, {in_all} extents, at most {most} in one")
    same_sums = survey(tree).per_file == Counter(theirs.values())
    return judge("files whose count is not filefrag's", differing + (not same_sums), at_most=0)


def speed(disk: Mounted, tree: Path, pairs: int) -> bool:
    """Time surveys and filefrag in turn."""
    surveys: list[Survey] = []

    def ours() -> Cost:
        surveys.append(survey(tree))
        return Cost(surveys[-1].cpu_s, surveys[-1].wall_s)

    found = in_turn({"survey": ours, "filefrag": lambda: cost_of(lambda: filefrag(tree))}, pairs)
    files = surveys[0].files
    print(f"{files:,} files of one extent, warm")
    table(found)
    by_cpu = ratio([cost.cpu_s for cost in found["survey"]], [cost.cpu_s for cost in found["filefrag"]])
    judge("CPU of the survey / of filefrag", by_cpu)
    judge("files/s of CPU time", statistics.median(files / cost.cpu_s for cost in found["survey"]))
    return judge(
        "files/s by the clock",
        statistics.median(files / cost.wall_s for cost in found["survey"]),
        at_least=FILES_PER_S,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--timed", type=int, default=100_000, help="files of the tree that speed is measured on")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--dir", default=None, help="where the loop device's file lies, sparse")
    parser.add_argument("--survey", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.survey:
        survey_here(asked.survey)
        return 0
    inodes = max(asked.files, asked.timed) + 50_000
    size = (inodes * (BLOCK_BYTES + 512) + 512 * MIB) // MIB * MIB
    options = ("-N", str(inodes), "-E", "lazy_itable_init=0,lazy_journal_init=0")
    with room(asked.dir) as place, filesystem(place, size, mkfs=options, allocate=False) as disk:
        kept = exactness(disk)
        tree = disk.point / "many"
        tree.mkdir()
        make_many(tree, 0, asked.timed)
        disk.settle()
        kept &= speed(disk, tree, asked.pairs)
        made, peaks = asked.timed, []
        for files in (asked.files // 10, asked.files * 3 // 10, asked.files):
            if files > made:
                begun = time.monotonic()
                make_many(tree, made, files)
                disk.settle()
                print(f"made {files - made:,} more in {time.monotonic() - begun:.0f} s")
                made = files
            found = survey(tree)
            peaks.append(found.peak_bytes)
            print(
                f"{found.files:9,} files: peak {found.peak_bytes / MIB:.1f} MiB, before {found.before_bytes / MIB:.1f},"
                f" {found.files / found.wall_s:,.0f} files/s, {found.files / found.cpu_s:,.0f} per CPU second",
                flush=True,
            )
        return 0 if kept & judge("peak at all / at a tenth", peaks[-1] / peaks[0], at_most=MORE_MEMORY) else 1


if __name__ == "__main__":
    as_program(main)
