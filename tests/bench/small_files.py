"""Many files of 4 KiB: the built-in generator against fs_mark, and the built-in delete against rm -rf.

    sudo python -m tests.bench.small_files --fs-mark PATH [--files 100000] [--pairs 7] [--workers 1,4] [--dir DIRECTORY]

fs_mark is Debian's package fsmark, or built from its source; it is told to sync nothing (-S 0), to write each file in
one call, to give each worker a directory, and to make short names, as the generator does: by itself it makes names of
40 characters, which cost a tenth less, as fewer fit into a block of a directory, through which ext4 looks for a place. On an ext4 of its own, each load in new
directories, with nothing dirty left before; contestants take turns. Files/s are those of the time from the first
file's last write to the last one's, read from the files themselves: both are measured alike, and what a program takes
to start and end is not in it. CPU seconds are of all processes of a contestant, less what it takes with one file for
each worker.

Deletes are of such trees, warm: by the engine's own walk (fsconsole/workloads/tree.py), in this process, and by
`rm -rf`, as a program of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fsconsole.model.workload import Directories, Layout, Workload, WorkloadKind
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import prepare_load
from fsconsole.workloads.tree import remove_tree
from tests.bench.paired import Cost, as_program, cost_of, in_turn, judge, ratio, table
from tests.bench.scratch_fs import Mounted, filesystem, room

FILE_BYTES = 4 * KIB
NAME_CHARACTERS, RANDOM_CHARACTERS = "16", "8"
"""Eight come from the clock; with fewer drawn ones some names would be the same."""
CREATES_BOUND, DELETES_BOUND = 0.9, 0.95


@dataclass(frozen=True)
class Load:
    """So many files by so many workers."""

    workers: int
    files: int


Maker = Callable[[Load, Path], None]


def generator(load: Load, directory: Path) -> None:
    """Make the files with the built-in generator."""
    workload = Workload(
        "bench",
        WorkloadKind.CREATE,
        load.workers,
        load.files,
        FILE_BYTES,
        FILE_BYTES,
        Directories(Layout.PER_THREAD),
    )
    handle = prepare_load(workload, tree=str(directory), tree_device=directory.stat().st_dev, hidden=())
    try:
        handle.wait_ready()
        handle.go()
        assert not handle.wait().failures
        assert handle.end().exit_code == 0
    finally:
        handle.kill()


def fs_mark(program: str) -> Maker:
    """Make the files with fs_mark."""

    def make(load: Load, directory: Path) -> None:
        # Of at most 39 characters.
        places = [word for worker in range(load.workers) for word in ("-d", str(worker))]
        argv = (
            program, "-S", "0", "-k", "-L", "1", "-s", str(FILE_BYTES), "-w", str(FILE_BYTES),
            "-p", NAME_CHARACTERS, "-r", RANDOM_CHARACTERS,
            "-n", str(load.files // load.workers), "-l", os.devnull, *places,
        )  # fmt: skip
        subprocess.run(argv, check=True, cwd=directory, stdout=subprocess.DEVNULL)

    return make


def creation(disk: Mounted, maker: Maker, load: Load) -> Cost:
    """Make files and remove them again; the cost is that of making them alone, its clock the files' own."""
    started = _made(disk, maker, Load(load.workers, load.workers))
    whole = _made(disk, maker, load)
    return Cost(whole.cpu_s - started.cpu_s, whole.wall_s)


def _made(disk: Mounted, maker: Maker, load: Load) -> Cost:
    directory = disk.point / "load"
    directory.mkdir()
    disk.settle()
    try:
        cost = cost_of(lambda: maker(load, directory))
        times = [
            os.stat(os.path.join(place, name)).st_mtime_ns for place, _, names in os.walk(directory) for name in names
        ]
    finally:
        shutil.rmtree(directory)
    if len(times) != load.files:
        raise SystemExit(f"{len(times)} files were made, not {load.files}")
    return Cost(cost.cpu_s, (max(times) - min(times)) / 1e9)


def deletion(disk: Mounted, load: Load, remove: Callable[[Path], None]) -> Cost:
    """Remove a tree that was made for it."""
    directory = disk.point / "load"
    directory.mkdir()
    generator(load, directory)
    disk.settle()
    return cost_of(lambda: remove(directory))


def built_in(directory: Path) -> None:
    """Remove a tree as the engine does."""
    parent = os.open(directory.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        remove_tree(directory.name, parent, os.fstat(parent).st_dev, lambda: False)
    finally:
        os.close(parent)


def rm(directory: Path) -> None:
    """Remove a tree by rm."""
    subprocess.run(("rm", "-rf", "--", str(directory)), check=True)


def verdict(what: str, found: dict[str, list[Cost]], files: int, bound: float) -> bool:
    """Print how the first contestant does beside the second; ratios are of speed, more is better."""
    print(what)
    table(found)
    ours, theirs = found.values()
    names = " / ".join(found)
    print(
        f"files/s by the clock: {', '.join(f'{files / min(c.wall_s for c in costs):,.0f}' for costs in found.values())}, at best"
    )
    # A process may end within the clock tick that it is charged by.
    judge(f"files per CPU second, {names}", ratio([c.cpu_s for c in theirs], [c.cpu_s for c in ours]))
    return judge(f"files/s, {names}", ratio([c.wall_s for c in theirs], [c.wall_s for c in ours]), at_least=bound)


def creates(disk: Mounted, load: Load, program: str, pairs: int) -> bool:
    """Let the generator and fs_mark make files in turn."""
    found = in_turn(
        {
            "generator": lambda: creation(disk, generator, load),
            "fs_mark": lambda: creation(disk, fs_mark(program), load),
        },
        pairs,
    )
    return verdict(f"{load.files:,} files made by {load.workers}", found, load.files, CREATES_BOUND)


def deletes(disk: Mounted, load: Load, pairs: int) -> bool:
    """Let the built-in delete and rm remove trees in turn."""
    found = in_turn(
        {"built-in": lambda: deletion(disk, load, built_in), "rm -rf": lambda: deletion(disk, load, rm)},
        pairs,
    )
    return verdict(f"{load.files:,} files deleted", found, load.files, DELETES_BOUND)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fs-mark", default=shutil.which("fs_mark") or "", help="the program")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--workers", default="1,4")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    size = (asked.files * 2 * (FILE_BYTES + 512) + 512 * MIB) // MIB * MIB
    options = ("-N", str(2 * asked.files + 1000), "-E", "lazy_itable_init=0,lazy_journal_init=0")
    loads = [Load(workers, asked.files // workers * workers) for workers in map(int, asked.workers.split(","))]
    kept = True
    with room(asked.dir) as place, filesystem(place, size, mkfs=options) as disk:
        if asked.fs_mark:
            for load in loads:
                kept &= creates(disk, load, asked.fs_mark, asked.pairs)
        else:
            print("creates are left out: no fs_mark here (--fs-mark PATH)")
        kept &= deletes(disk, loads[-1], asked.pairs)
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
