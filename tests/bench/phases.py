"""What comparisons with published programs share: our loads one after the other, figures beside figures, the verdict.

A run is a list of phases; each has its figures by name, as its program says them. CPU seconds come first: the clock of a
busy machine tells more of the machine than of a program.
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fsconsole.devices.memory_group import NO_GROUP, limit_file, write_limit
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.workload import Workload
from fsconsole.system.block import drop_caches
from fsconsole.system.cgroups import join
from fsconsole.text import SECTOR_BYTES
from fsconsole.workloads.builtin import prepare_load
from fsconsole.workloads.program import prepare_program
from fsconsole.workloads.protocol import (
    LoadResult,
    latency_measurements,
    load_measurements,
)
from fsconsole.workloads.tree import SourceFiles
from tests.bench.paired import in_turn, ratio
from tests.bench.scratch_fs import Mounted

Figures = dict[str, float]
Run = Mapping[str, Figures]
"""Of each phase, by name."""
CPU, SPEED, OPS, FILES, MEAN, MAX, OVER_2, OVER_10 = (
    "CPU s/GB",
    "MB/s",
    "ops/s",
    "files/s",
    "mean ms",
    "max ms",
    "% > 2 s",
    "% > 10 s",
)
BYTES, DEVICE, TOOK = "MB", "read of the device, MB", "s"
IN_CALLS = "threads in a call"
"""Calls a second x their mean: as many as there are threads, less what these do between calls, where both clocks are right."""
TOLD = {
    Metric.LATENCY_MEAN: MEAN, Metric.LATENCY_MAX: MAX, Metric.OVER_2_S: OVER_2, Metric.OVER_10_S: OVER_10,
    Metric("read_mean"): MEAN, Metric("read_max"): MAX, Metric("random_read_mean"): MEAN, Metric("random_read_max"): MAX,
    Metric("random_write_mean"): MEAN, Metric("random_write_max"): MAX,
    Metric("append_ops_per_s"): "appends/s", Metric("delete_ops_per_s"): "deletes/s",
    Metric.OPS_PER_S: OPS, Metric.FILES_PER_S: FILES, Metric.LATENCY_P50: "p50 ms", Metric.LATENCY_P95: "p95 ms", Metric.LATENCY_P99: "p99 ms",
}  # fmt: skip
"""Our figures under the names that programs print."""
RATES = (SPEED, OPS, FILES, "appends/s", "deletes/s")


@contextmanager
def memory_group(size_bytes: int) -> Iterator[str]:
    """Make a memory cgroup of so many bytes, as a plan's `memory` does; yields the file of its limit, empty for 0."""
    path = limit_file("bench") if size_bytes else ""
    if path:
        write_limit(path, str(size_bytes))
    try:
        yield path
    finally:
        if path:
            write_limit(path, NO_GROUP)


def within(group: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that starts a program in a group."""
    if not group:
        return tuple(argv)
    return ("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(Path(group).with_name("cgroup.procs")), *argv)


def device_read_bytes(device: str) -> int:
    """Return what has been read of a block device (Documentation/block/stat.rst)."""
    return int(Path("/sys/class/block", Path(device).name, "stat").read_text().split()[2]) * SECTOR_BYTES


class Ours:
    """Our loads in a directory, each on the files of those before it, as a cell has them but without drains.

    With until_synced a sync() of all filesystems is within the time of each, as FFSB's own clock has it.
    """

    def __init__(self, disk: Mounted, directory: Path, group: str = "", *, until_synced: bool = False) -> None:
        self._disk, self._directory, self._group, self._until_synced = disk, directory, group, until_synced
        self._sources: dict[int, SourceFiles] = {}
        self._made = 0

    def carry_out(self, loads: Sequence[Workload], *, first: int = 0) -> Run:
        """Carry out loads, of which the first has this number in its plan; return their figures."""
        found = dict[str, Figures]()
        for number, load in enumerate(loads, start=first):
            if load.cold:
                self._disk.settle()
                drop_caches()
            before = device_read_bytes(self._disk.device)
            result, figures = self._one(load)
            source = self._sources.get(load.source) if load.source is not None else None
            if load.creates:
                self._sources[number] = SourceFiles(result.directory, load.directories, result.files_by_thread)
            elif source is not None:
                self._sources[number] = source
            found[load.name] = {**figures, DEVICE: (device_read_bytes(self._disk.device) - before) / 1e6}
        return found

    def _one(self, load: Workload) -> tuple[LoadResult, dict[str, float]]:
        tree, device = str(self._directory), self._directory.stat().st_dev
        source = self._sources.get(load.source) if load.source is not None else None
        if load.is_built_in:
            handle = prepare_load(load, tree=tree, tree_device=device, hidden=(), source=source)
        else:
            self._made += 1
            name = f"program-{self._made}"
            (self._directory / name).mkdir()
            handle = prepare_program(load, tree=tree, device=device, directory=name, hidden=(), source=source)
        try:
            handle.wait_ready()
            if self._group:
                join(str(Path(self._group).parent), handle.pid, "/proc")
            handle.go()
            result = handle.wait()
            if result.failures:
                raise SystemExit(f"{load.name}: {result.failures}")
            if self._until_synced:
                os.sync()
            took_s = (time.monotonic_ns() - result.first_started_ns) / 1e9
            told = (*load_measurements(result), *latency_measurements(load, result, handle.latencies()))
            handle.end()
            figures = named(told, result)
            if self._until_synced:
                figures = {
                    name: value * result.elapsed_s / took_s if name in RATES else value
                    for name, value in figures.items()
                }
                figures[TOOK] = took_s
            return result, figures
        finally:
            handle.kill()


def named(told: Sequence[Measurement], result: LoadResult) -> dict[str, float]:
    """Return a load's figures as the product tells them, under the names of this file."""
    by_metric = {one.metric: one.value for one in told}
    rate = by_metric.get(Metric.READ if result.read_bytes else Metric.WRITE, 0.0)
    time_s = by_metric.get(Metric.READ_TIME if result.read_bytes else Metric.WRITE_TIME, result.elapsed_s)
    return {
        CPU: (result.user_s + result.system_s) / (result.moved_bytes / 1e9 or 1),
        SPEED: rate / 1e6,
        **{name: by_metric[metric] for metric, name in TOLD.items() if metric in by_metric},
        BYTES: result.moved_bytes / 1e6,
        TOOK: time_s,
    }


def in_directory(disk: Mounted, run: Callable[[Path], Run]) -> Run:
    """Carry out one run in a directory that is gone afterwards, with nothing dirty before it."""
    directory = disk.point / "load"
    directory.mkdir()
    disk.settle()
    drop_caches()
    try:
        return run(directory)
    finally:
        shutil.rmtree(directory)


def side_by_side(
    name: str, theirs: Callable[[], Run], ours: Mapping[str, Callable[[], Run]], pairs: int, *, judged: Sequence[str]
) -> bool:
    """Let a program and ours take turns and print every figure that both tell; True where the judged ones agree.

    They agree where the interval of the ratio reaches 1, or our median lies within the program's own runs.
    """
    found = in_turn({"theirs": theirs, **ours}, pairs)
    holds = True
    for who in ours:
        runs = [*found[who], *found["theirs"]]
        # bonnie++ has no figure of what was done too quickly.
        for phase in (phase for phase in found["theirs"][0] if all(phase in run for run in runs)):
            own, other = ([run[phase] for run in found[one]] for one in (who, "theirs"))
            print(f"{f'{who} / {name}: {phase}':50}  ours, theirs (lowest to highest), ours / theirs")
            for one in (*own, *other):
                one.update({IN_CALLS: one[OPS] * one[MEAN] / 1e3} if OPS in one and MEAN in one else {})
            for figure in (figure for figure in other[0] if figure in own[0]):
                holds &= _line(figure, [one[figure] for one in own], [one[figure] for one in other], figure in judged)
    return holds


def _line(figure: str, own: Sequence[float], other: Sequence[float], is_judged: bool) -> bool:
    mine, low, high = statistics.median(own), min(other), max(other)
    said = f"  {figure:24} {mine:12,.4g} {statistics.median(other):12,.4g} ({low:,.4g} to {high:,.4g})"
    if min(*own, *other) <= 0:
        # No ratio of nothing: shares over 2 s.
        print(said, flush=True)
        return True
    found = ratio(own, other)
    agrees = found.low <= 1 <= found.high or low <= mine <= high or math.isclose(mine, high, rel_tol=1e-3)
    print(f"{said}  {found}{'' if not is_judged else ': holds' if agrees else ': DOES NOT HOLD'}", flush=True)
    return agrees or not is_judged
