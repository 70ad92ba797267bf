"""The built-in generator against fio and against C: the same files on the same loop device, in turn.

    sudo python -m tests.bench.generator_fio [--filesystems ext4,xfs] [--writers 1,16,128] [--pairs 7] [--mib 1024]

Each round is one load by every contestant, the order rotating; the first round is thrown away (first touch of
memory). MB/s are bytes / (last file's last write - first file's birth), read from the files themselves: what fio
prints of a group is the longest of its jobs, and these start one after the other. File times go by the kernel's tick
(1 to 10 ms). fio by itself writes one block of each job over and over, slightly changed, from the CPU's cache, which is
less work than writing unlike blocks; --fio=--refill_buffers has it fill every block anew. CPU is that of all of a
contestant's processes, less what the same load costs it with one block in each file: what it takes to start counts
once, however much is written. It needs root, fio and a C compiler, and exits with 1 where a bound is not kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fsconsole.model.command import Command, CommandResult
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.run import RealExecutor
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import prepare_load

BLOCK_BYTES = 64 * KIB
SPEED_BOUND, CPU_BOUND_OF_C = 0.95, 1.25
MKFS = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f")}


@dataclass(frozen=True)
class Case:
    """So many files of one writer each, together of total_bytes."""

    filesystem: str
    writers: int
    total_bytes: int

    @property
    def file_bytes(self) -> int:
        return self.total_bytes // self.writers // BLOCK_BYTES * BLOCK_BYTES


@dataclass(frozen=True)
class Run:
    """What one load came to."""

    written_bytes: float
    elapsed_s: float
    cpu_s: float
    start_s: float = 0.0
    """CPU of the same load with one block in each file."""

    @property
    def bytes_per_s(self) -> float:
        return self.written_bytes / self.elapsed_s

    @property
    def cpu_s_per_gb(self) -> float:
        return (self.cpu_s - self.start_s) / (self.written_bytes / 1e9)

    @property
    def whole_cpu_s_per_gb(self) -> float:
        return self.cpu_s / (self.written_bytes / 1e9)


Contestant = Callable[[Case, Path], Run]


def generator(case: Case, directory: Path) -> Run:
    load = Workload("bench", WorkloadKind.CREATE, case.writers, case.writers, case.file_bytes, BLOCK_BYTES)
    handle = prepare_load(load, tree=str(directory), tree_device=directory.stat().st_dev, hidden=())
    try:
        handle.wait_ready()
        handle.go()
        assert not handle.wait().failures
        return _run(case, directory, handle.end())
    finally:
        handle.kill()


def c_threads(program: Path) -> Contestant:
    def run(case: Case, directory: Path) -> Run:
        words = map(str, (program, directory, case.writers, case.file_bytes, BLOCK_BYTES))
        return _run(case, directory, RealExecutor().run(Command(tuple(words))))

    return run


def fio(*more: str) -> Contestant:
    def run(case: Case, directory: Path) -> Run:
        argv = (
            "fio", "--name=bench", f"--directory={directory}", "--rw=write", "--ioengine=psync", f"--bs={BLOCK_BYTES}",
            f"--size={case.file_bytes}", f"--numjobs={case.writers}", "--fallocate=none", "--group_reporting",
            *more,
        )  # fmt: skip
        return _run(case, directory, RealExecutor().run(Command(argv)))

    return run


def _run(case: Case, directory: Path, done: CommandResult) -> Run:
    assert done.exit_code == 0, done.err
    # Python's stat has no time of birth (man 2 statx).
    paths = sorted(str(path) for path in directory.rglob("*") if path.is_file())
    argv = ("stat", "--printf=%s %.W %.Y\\n", *paths)
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    files = [tuple(map(float, line.split())) for line in said.splitlines()]
    written = sum(size for size, _, _ in files)
    assert written == case.file_bytes * case.writers, "a contestant wrote something else than it was asked for"
    elapsed_s = max(changed for _, _, changed in files) - min(born for _, born, _ in files) or 1e-3
    return Run(written, elapsed_s, done.usage.user_s + done.usage.system_s)


@contextmanager
def filesystem(kind: str, room: Path, size_bytes: int) -> Iterator[Path]:
    """Make and mount a filesystem on a loop device over a new file in room; all is given back."""
    with ExitStack() as stack:
        disk, point = room / "disk", room / "mnt"
        with disk.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        stack.callback(disk.unlink)
        losetup = ("losetup", "--find", "--show", "--direct-io=on", str(disk))
        device = subprocess.run(losetup, check=True, capture_output=True, text=True).stdout.strip()
        stack.callback(subprocess.run, ("losetup", "--detach", device), check=True)
        subprocess.run((*MKFS[kind], device), check=True)
        point.mkdir()
        stack.callback(point.rmdir)
        subprocess.run(("mount", "-o", "nosuid,nodev", device, str(point)), check=True)
        stack.callback(subprocess.run, ("umount", str(point)), check=True)
        yield point


def rounds(case: Case, contestants: dict[str, Contestant], pairs: int, point: Path) -> dict[str, list[Run]]:
    """Return every contestant's runs; the order rotates, so that none always follows the same one."""
    names = list(contestants)
    found: dict[str, list[Run]] = {name: [] for name in names}
    smallest = replace(case, total_bytes=case.writers * BLOCK_BYTES)
    for number in range(pairs + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = load_of(contestants[name], smallest, point)
            run = load_of(contestants[name], case, point)
            if number:
                found[name].append(replace(run, start_s=start.cpu_s))
    return found


def load_of(contestant: Contestant, case: Case, point: Path) -> Run:
    """Return one load, in a directory that is gone afterwards."""
    directory = point / "load"
    directory.mkdir()
    os.sync()
    try:
        return contestant(case, directory)
    finally:
        subprocess.run(("rm", "-rf", str(directory)), check=True)


def ratio(ours: list[Run], others: list[Run], figure: str) -> float:
    """Return the median over the rounds of our figure / theirs."""
    pairs = zip(ours, others, strict=True)
    return float(statistics.median(getattr(one, figure) / getattr(other, figure) for one, other in pairs))


def verdict(case: Case, found: dict[str, list[Run]]) -> bool:
    """Print a case, and tell whether its bounds are kept."""
    for name, runs in found.items():
        speed = statistics.median(run.bytes_per_s for run in runs) / 1e6
        cpu = statistics.median(run.cpu_s_per_gb for run in runs)
        whole = statistics.median(run.whole_cpu_s_per_gb for run in runs)
        came_to = f"{speed:7.0f} MB/s  {cpu:.3f} CPU s/GB ({whole:.3f} with its start)"
        print(f"{case.filesystem} {case.writers:4} {name:13} {came_to}")
    ours = found["generator"]
    by_fio = [name for name in found if name.startswith("fio")]
    best_fio = max(by_fio, key=lambda name: statistics.median(run.bytes_per_s for run in found[name]))
    speeds = {name: ratio(ours, found[name], "bytes_per_s") for name in (best_fio, "C threads")}
    cpus = {name: ratio(ours, found[name], "cpu_s_per_gb") for name in (*by_fio, "C threads")}
    fast = max(speeds.values()) >= SPEED_BOUND
    light = cpus[best_fio] <= 1 and cpus["C threads"] <= CPU_BOUND_OF_C
    words = [f"{name} {value:.2f}" for name, value in speeds.items()]
    print(f"  speed, generator / {', / '.join(words)}: {'kept' if fast else 'NOT KEPT'}")
    words = [f"{name} {value:.2f}" for name, value in cpus.items()]
    print(f"  CPU per GB, generator / {', / '.join(words)}: {'kept' if light else 'NOT KEPT'}", flush=True)
    return fast and light


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filesystems", default="ext4,xfs")
    parser.add_argument("--writers", default="1,16,128")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--mib", type=int, default=1024, help="MiB of each load")
    parser.add_argument("--fio", default="", help="further words for fio")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory(prefix="fsconsole-bench-", dir=asked.dir) as room:
        program = Path(room) / "writers"
        source = Path(__file__).with_name("writers.c")
        subprocess.run(("cc", "-O2", "-pthread", "-o", str(program), str(source)), check=True)
        contestants = {
            "generator": generator,
            "fio threads": fio("--thread", *asked.fio.split()),
            "fio processes": fio(*asked.fio.split()),
            "C threads": c_threads(program),
        }
        for kind in asked.filesystems.split(","):
            with filesystem(kind, Path(room), (asked.mib * 2 + 512) * MIB) as point:
                for writers in map(int, asked.writers.split(",")):
                    case = Case(kind, writers, asked.mib * MIB)
                    kept &= verdict(case, rounds(case, contestants, asked.pairs, point))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
