"""fio beside the trace: its own latencies of a load that it makes, against those that the trace gives for it."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections import Counter
from pathlib import Path

from tests.recompute.figures import Call, rank
from tests.recompute.tracing import Event, of_programs, started, tracefs


def calls_of(events: list[Event], names: tuple[str, ...]) -> list[Call]:
    """Return the calls of these names of all threads."""
    begun: dict[int, Event] = {}
    calls = []
    for event in events:
        if event.name.startswith("sys_enter_") and event.name[10:] in names:
            begun[event.thread] = event
        elif event.name.startswith("sys_exit_") and (entry := begun.pop(event.thread, None)):
            calls.append(Call(entry.name[10:], entry.ns, event.ns, entry.fields, int(event.fields[0])))
    return calls


def beside_fio(writers: int, place: Path) -> Counter[str]:
    """Have fio write 16 KiB blocks directly, fdatasync after every fourth, and compare its figures with the trace's."""
    target = place / "fio"
    target.mkdir(exist_ok=True)
    total_kib = 64 * 1024 // writers
    argv = [
        "fio", "--name=beside", f"--directory={target}", f"--numjobs={writers}", f"--size={total_kib}k", "--bs=16k", "--rw=write",
        "--direct=1", "--ioengine=psync", "--fdatasync=4", "--group_reporting", "--fallocate=none", "--percentile_list=50:95:99",
        "--output-format=json", "--lat_percentiles=1", "--thinktime=0",
    ]  # fmt: skip
    with tracefs() as root:
        trace = of_programs(root)
        try:
            said, _ = started(argv, (trace,), stdout=subprocess.PIPE, cwd=str(place)).communicate()
        finally:
            trace.stop()
        events = trace.events()
    (job,) = json.loads(said[said.index("{") :])["jobs"]
    for path in target.iterdir():
        path.unlink()
    traced = {
        "write": [c.end_ns - c.begin_ns for c in calls_of(events, ("pwrite64",)) if c.result == 16384],
        "fdatasync": [c.end_ns - c.begin_ns for c in calls_of(events, ("fdatasync",))],
    }
    told = {"write": job["write"]["clat_ns"], "fdatasync": job["sync"]["lat_ns"]}
    sums: Counter[str] = Counter()
    for name, times_ns in traced.items():
        true = {"mean": sum(times_ns) / len(times_ns), "50.000000": rank(times_ns, 50), "99.000000": rank(times_ns, 99)}
        says = {"mean": told[name]["mean"], **told[name].get("percentile", {})}
        words = []
        for which, ns in true.items():
            near = abs(says.get(which, math.nan) - ns) <= max(0.10 * ns, 2000)
            sums["near" if near else "fio is another"] += 1
            words.append(f"{which[:4]} {says.get(which, math.nan) / 1e6:.4f} / {ns / 1e6:.4f} ms")
        print(
            f"fio, {writers} writers, {name}: {told[name]['N']} calls by fio, {len(times_ns)} by trace; {', '.join(words)}"
        )
    os.rmdir(target)
    return sums
