"""The built-in generator against the real FFSB and tiobench: same profile, same device, in turn.

    sudo python -m tests.bench.published_generators [--ffsb PATH] [--tiotest PATH] [--pairs 7] [--filesystem ext4]
        [--threads 4] [--file-mib 256] [--seconds 5] [--device-gib 16] [--dir DIRECTORY]

Both are built outside of this tree from their own sources (FFSB 6.0: ./configure && make; tiobench 0.4.2: make); what
is not given is left out. FFSB: threads create files of one size in one directory, in writes of 64 KiB, until the time
is over and their last file is done; throughput is bytes / (end of the sync() after it - start), as FFSB prints it, and
so computed here for the generator. Its profile has no num_filesystems=, which FFSB 6.0 refuses. tiotest: each thread
writes one file, fsync at its end; throughput as it prints it, and first thread's start to last thread's end here.

All write zeros, as FFSB and tiotest do, from memory that stays in the CPU's cache. It holds where the generator's
median lies within the program's own runs, lowest to highest, on this device. CPU seconds per GB are those of a whole
program, which takes nothing to start, and of the generator's writers.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fsconsole.model.workload import DataKind, Workload, WorkloadKind
from fsconsole.text import GIB, KIB, MIB
from fsconsole.workloads.builtin import prepare_load
from tests.bench.paired import as_program, cost_of, in_turn, judge, ratio
from tests.bench.scratch_fs import Mounted, filesystem, room

BLOCK_BYTES = 64 * KIB
FFSB_PROFILE = """directio=0
time={seconds}
[filesystem]
location={directory}
num_dirs=1
num_files=0
min_filesize={mib}m
max_filesize={mib}m
[end]
[threadgroup]
num_threads={threads}
create_weight=1
write_size={mib}m
write_blocksize=64k
[end]
"""
FFSB_TOOK = re.compile(r"^Benchmark took ([\d.]+) sec", re.MULTILINE)
TIOTEST_WROTE = re.compile(r"^write:([\d.]+),([\d.]+),", re.MULTILINE)


@dataclass(frozen=True)
class Profile:
    """What all are asked to do."""

    threads: int
    file_mib: int
    seconds: int

    @property
    def file_bytes(self) -> int:
        return self.file_mib * MIB


@dataclass(frozen=True)
class Moved:
    """What one run came to."""

    written_bytes: float
    elapsed_s: float
    cpu_s: float = 0.0
    """0 where it is that of the whole program."""

    @property
    def mb_per_s(self) -> float:
        return self.written_bytes / self.elapsed_s / 1e6

    @property
    def cpu_s_per_gb(self) -> float:
        return self.cpu_s / (self.written_bytes / 1e9)


Run = Callable[[Profile, Path], Moved]


def generator_until_time(profile: Profile, directory: Path) -> Moved:
    """Create files until the time is over, as FFSB."""
    load = Workload(
        "bench", WorkloadKind.CREATE, profile.threads, 0, profile.file_bytes, BLOCK_BYTES,
        data=DataKind.ZERO, duration_s=profile.seconds,
    )  # fmt: skip
    return _generator(load, directory, sync=True)


def generator_with_fsync(profile: Profile, directory: Path) -> Moved:
    """Write a file of each thread and fsync it, as tiotest."""
    threads, blocks = profile.threads, profile.file_bytes // BLOCK_BYTES
    load = Workload(
        "bench", WorkloadKind.CREATE, threads, threads, profile.file_bytes, BLOCK_BYTES,
        data=DataKind.ZERO, fsync_every=blocks,
    )  # fmt: skip
    return _generator(load, directory, sync=False)


def _generator(load: Workload, directory: Path, *, sync: bool) -> Moved:
    handle = prepare_load(load, tree=str(directory), tree_device=directory.stat().st_dev, hidden=())
    try:
        handle.wait_ready()
        handle.go()
        result = handle.wait()
        if result.failures:
            raise SystemExit(f"{result.failures}; a larger --device-gib or fewer --seconds may help")
        if sync:
            os.sync()
        end_ns = time.monotonic_ns() if sync else result.last_ended_ns
        handle.end()
        elapsed_s = (end_ns - result.first_started_ns) / 1e9
        return Moved(result.written_bytes, elapsed_s, result.user_s + result.system_s)
    finally:
        handle.kill()


def ffsb(program: str) -> Run:
    def run(profile: Profile, directory: Path) -> Moved:
        file = directory / "profile"
        words = {"threads": profile.threads, "mib": profile.file_mib, "seconds": profile.seconds}
        file.write_text(FFSB_PROFILE.format(directory=directory, **words))
        took = float(_found(FFSB_TOOK, _said(program, str(file)))[0])
        sizes = [path.stat().st_size for path in (directory / "data").rglob("*") if path.is_file()]
        return Moved(sum(sizes), took)

    return run


def tiotest(program: str) -> Run:
    def run(profile: Profile, directory: Path) -> Moved:
        words = ("-f", profile.file_mib, "-t", profile.threads, "-b", BLOCK_BYTES, "-d", directory)
        only_write = ("-k", "1", "-k", "2", "-k", "3", "-L", "-T")
        mib, took = map(float, _found(TIOTEST_WROTE, _said(program, *map(str, words), *only_write)))
        return Moved(mib * MIB, took)

    return run


def _said(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def _found(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = pattern.search(text)
    if match is None:
        raise SystemExit(f"not understood: {text[-500:]}")
    return match.groups()


def measured(disk: Mounted, run: Run, profile: Profile) -> Moved:
    """Carry out one run in a directory that is gone afterwards."""
    directory = disk.point / "load"
    directory.mkdir()
    disk.settle()
    found = []
    try:
        cost = cost_of(lambda: found.append(run(profile, directory)))
    finally:
        shutil.rmtree(directory)
    return replace(found[0], cpu_s=found[0].cpu_s or cost.cpu_s)


def against(disk: Mounted, profile: Profile, pairs: int, *, name: str, theirs: Run, ours: Run) -> bool:
    """Let generator and program take turns, and tell whether the generator is one of the program's runs by its speed."""
    contestants = {"generator": ours, name: theirs}
    found = in_turn({who: lambda run=run: measured(disk, run, profile) for who, run in contestants.items()}, pairs)
    for who, runs in found.items():
        speeds = [run.mb_per_s for run in runs]
        cpu = statistics.median(run.cpu_s_per_gb for run in runs)
        print(
            f"{who:10} {statistics.median(speeds):8.0f} MB/s, {min(speeds):.0f} to {max(speeds):.0f};"
            f" {cpu:.3f} CPU s/GB   {len(runs)} runs"
        )
    own, other = found["generator"], found[name]
    judge(
        f"CPU per GB, generator / {name}",
        ratio([r.cpu_s_per_gb for r in own], [r.cpu_s_per_gb for r in other]),
    )
    judge(f"throughput, generator / {name}", ratio([r.mb_per_s for r in own], [r.mb_per_s for r in other]))
    middle, speeds = statistics.median(r.mb_per_s for r in own), [r.mb_per_s for r in other]
    holds = min(speeds) <= middle <= max(speeds)
    print(f"within {name}'s own runs: {'holds' if holds else 'DOES NOT HOLD'}", flush=True)
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ffsb", default=shutil.which("ffsb") or "", help="the program")
    parser.add_argument("--tiotest", default=shutil.which("tiotest") or "", help="the program of tiobench")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--filesystem", default="ext4")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--file-mib", type=int, default=256)
    parser.add_argument("--seconds", type=int, default=5, help="of each FFSB run")
    parser.add_argument("--device-gib", type=int, default=16, help="FFSB ends where it is full")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    profile = Profile(asked.threads, asked.file_mib, asked.seconds)
    kept = True
    with room(asked.dir) as place, filesystem(place, asked.device_gib * GIB, asked.filesystem) as disk:
        print(f"{profile.threads} threads, files of {profile.file_mib} MiB, on {asked.filesystem}")
        if asked.ffsb:
            kept &= against(disk, profile, asked.pairs, name="ffsb", theirs=ffsb(asked.ffsb), ours=generator_until_time)
        if asked.tiotest:
            theirs = tiotest(asked.tiotest)
            kept &= against(disk, profile, asked.pairs, name="tiotest", theirs=theirs, ours=generator_with_fsync)
    if not (asked.ffsb or asked.tiotest):
        print("nothing was measured: neither --ffsb nor --tiotest")
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
