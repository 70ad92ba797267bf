"""Latencies that the generator tells, beside those of its system calls as the kernel traces them (ftrace).

    sudo python -m tests.bench.latency_traced [--writers 1,16,128] [--loads synced,random] [--filesystems ext4,xfs] [--dir DIRECTORY]

The kernel's trace has the entry and the exit of each call between the first writer's start and the last one's end. A call
takes from the one to the other, and where its thread syncs before its next call, to the end of that sync. Mean, p50 and p99
must be within 10 % or 2 us of those, beside the whole microseconds that the trace counts in, and the number of calls the
same; it exits with 1 where they are not. Each load runs twice, and the first is thrown away: the trace's own memory is
touched then.

Of loads that only compute (buffered, stat) the median alone is judged: a writer that has used up its time on a CPU loses it
on the way out of a call, behind the trace's exit and before any program can read a clock.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fsconsole.model.metrics import Metric
from fsconsole.model.workload import SyncAt, SyncCall, Workload, WorkloadKind
from fsconsole.text import KIB, MIB
from fsconsole.workloads.builtin import prepare_load
from fsconsole.workloads.protocol import LoadResult, latency_measurements
from fsconsole.workloads.tree import SourceFiles
from tests.bench.paired import as_program
from tests.bench.scratch_fs import Mounted, filesystem, room, run

SHARE, LEAST_MS, STEP_MS = 0.10, 0.002, 0.001
BUFFER_KIB = 16 * KIB
"""Of each CPU; where it is too small, calls are missing."""
SYNCS = tuple(call.value for call in SyncCall)
CALLS = {
    WorkloadKind.CREATE: "write",
    WorkloadKind.APPEND: "write",
    WorkloadKind.RANDOM_READ: "preadv2",
    WorkloadKind.STAT: "newfstatat",
}
EVENT = re.compile(r"-(\d+) +\[\d+\].* (\d+\.\d+): sys_(\w+)(\(| -> )")
"""Thread, seconds, name of the call, and whether it begins or ends."""

LOADS = {
    "synced": Workload("synced", WorkloadKind.CREATE, 1, 4096, 8 * KIB, 8 * KIB, sync_at=SyncAt.EACH_FILE),
    "fdatasync": Workload(
        "fdatasync",
        WorkloadKind.APPEND,
        1,
        0,
        256 * KIB,
        16 * KIB,
        fsync_every=4,
        sync_call=SyncCall.FDATASYNC,
    ),
    "buffered": Workload("buffered", WorkloadKind.CREATE, 1, 128, 4 * MIB, 64 * KIB),
    "direct": Workload("direct", WorkloadKind.CREATE, 1, 128, MIB, 16 * KIB, direct=True),
    "random": Workload("random", WorkloadKind.RANDOM_READ, 1, 0, 0, 4 * KIB, direct=True),
    "stat": Workload("stat", WorkloadKind.STAT, 1, 16384, 0, 4 * KIB),
}
"""Their files, and operations, are those of all writers together."""
COMPUTING = {"buffered", "stat"}
SOURCE = Workload("source", WorkloadKind.CREATE, 128, 128, 256 * KIB, 64 * KIB)


@dataclass(frozen=True)
class Traced:
    """Times in ms of a load's calls, each with its sync, and of its syncs."""

    latency: list[float]
    fsync: list[float]


@contextmanager
def tracing(place: Path) -> Iterator[Path]:
    """Give a trace of what this process starts from now on; it is gone afterwards."""
    with ExitStack() as stack:
        root = Path("/sys/kernel/tracing")
        if not (root / "instances").is_dir():
            root = place / "tracing"
            root.mkdir()
            stack.callback(root.rmdir)
            run("mount", "-t", "tracefs", "nodev", str(root))
            stack.callback(run, "umount", str(root))
        trace = root / "instances" / f"fsconsole-bench-{os.getpid()}"
        trace.mkdir()
        stack.callback(trace.rmdir)
        for name, value in {
            "tracing_on": "0",
            "trace_clock": "mono",
            "buffer_size_kb": str(BUFFER_KIB),
            "options/event-fork": "1",
            "set_event_pid": str(os.getpid()),
        }.items():
            (trace / name).write_text(value)
        for call in {*SYNCS, *CALLS.values()}:
            for end in ("enter", "exit"):
                (trace / "events" / "syscalls" / f"sys_{end}_{call}" / "enable").write_text("1")
        yield trace


def read_trace(trace: Path, result: LoadResult, wanted: str) -> Traced:
    """Return the calls of that name, and the syncs, from a load's first start to its last end."""
    begun: dict[str, tuple[str, float]] = {}
    last: dict[str, tuple[float, float]] = {}
    traced = Traced([], [])
    with (trace / "trace").open() as lines:
        for line in lines:
            found = EVENT.search(line)
            if found is None or found[1] == str(os.getpid()):
                continue
            thread, at_ms, call, is_begin = found[1], float(found[2]) * 1e3, found[3], found[4] == "("
            if not result.first_started_ns <= at_ms * 1e6 + 1e3 <= result.last_ended_ns + 2e3:
                continue
            if call not in (*SYNCS, wanted):
                continue
            if is_begin:
                begun[thread] = (call, at_ms)
                continue
            began, since_ms = begun.pop(thread, ("", 0.0))
            if began != call:
                continue
            if call in SYNCS:
                traced.fsync.append(at_ms - since_ms)
                # Syncs at the end, and of empty files, follow no call.
                if thread in last:
                    last[thread] = (last[thread][0], at_ms)
                continue
            if thread in last:
                traced.latency.append(last[thread][1] - last[thread][0])
            last[thread] = (since_ms, at_ms)
    traced.latency.extend(end_ms - begin_ms for begin_ms, end_ms in last.values())
    return traced


def load(disk: Mounted, trace: Path | None, workload: Workload) -> tuple[dict[Metric, float], int, Traced]:
    """Run a load under the trace; returns its figures, how many calls they are of, and the trace's."""
    made = None if workload.creates else SourceFiles("source", SOURCE.directories, (1,) * SOURCE.threads)
    handle = prepare_load(workload, tree=str(disk.point), tree_device=disk.point.stat().st_dev, hidden=(), source=made)
    try:
        handle.wait_ready()
        if trace is not None:
            (trace / "trace").write_text("")
            (trace / "tracing_on").write_text("1")
        handle.go()
        result = handle.wait()
        if result.failures:
            raise SystemExit(result.failures)
        if trace is None:
            return {}, 0, Traced([], [])
        (trace / "tracing_on").write_text("0")
        parts = handle.latencies()
        figures = {one.metric: one.value for one in latency_measurements(workload, result, parts)}
        counted = sum(part.count for part in parts if part.operation.value not in (*SYNCS, "create"))
        return figures, counted, read_trace(trace, result, CALLS[workload.kind])
    finally:
        handle.kill()
        if workload is not SOURCE:
            shutil.rmtree(disk.point / workload.name, ignore_errors=True)


def compared(name: str, figures: dict[Metric, float], times_ms: list[float], *judged: str) -> bool:
    """Print a kind of figures beside the trace's; tell whether those that are judged are near enough."""
    if not times_ms:
        return True
    ordered, is_near, words = sorted(times_ms), True, []
    true_ms = {
        "mean": sum(ordered) / len(ordered),
        "p50": ordered[math.ceil(0.50 * len(ordered)) - 1],
        "p99": ordered[math.ceil(0.99 * len(ordered)) - 1],
    }
    for which, true in true_ms.items():
        told = figures[Metric(f"{name}_{which}")]
        near = which not in judged or abs(told - true) <= max(SHARE * true, LEAST_MS) + STEP_MS
        is_near &= near
        words.append(f"{which} {told:8.4f} / {true:8.4f} ms{'' if near else ' NOT NEAR'}")
    print(f"    {name:8}{', '.join(words)}")
    return is_near


def figures_are_near(disk: Mounted, trace: Path, name: str, writers: int) -> bool:
    """Run a load by so many writers, twice; tell whether the second one's figures are near enough to the trace's."""
    disk.settle()
    workload = replace(LOADS[name], name=f"{name}-{writers}", threads=writers)
    judged = ("p50",) if name in COMPUTING else ("mean", "p50", "p99")
    load(disk, trace, workload)
    figures, counted, traced = load(disk, trace, workload)
    is_whole = counted == len(traced.latency)
    lost = "" if is_whole else f", {len(traced.latency)} TRACED"
    print(f"  {name}, {writers} writer{'s' * (writers > 1)}, {counted} calls{lost}", flush=True)
    latencies_near = compared("latency", figures, traced.latency, *judged)
    return compared("fsync", figures, traced.fsync, *judged) and latencies_near and is_whole


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--writers", default="1,16,128")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--filesystems", default="ext4,xfs,btrfs")
    parser.add_argument("--dir", default=None, help="where the loop device's file lies")
    asked = parser.parse_args()
    kept = True
    print("generator / trace")
    for kind in asked.filesystems.split(","):
        with room(asked.dir) as place, filesystem(place, 2048 * MIB, kind) as disk, tracing(place) as trace:
            print(kind)
            load(disk, None, SOURCE)
            for name in asked.loads.split(","):
                for writers in map(int, asked.writers.split(",")):
                    kept &= figures_are_near(disk, trace, name, writers)
    print("all near enough" if kept else "NOT all near enough")
    return 0 if kept else 1


if __name__ == "__main__":
    as_program(main)
