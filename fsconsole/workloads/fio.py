"""fio: its command line, and the figures in its JSON from 2.16 to 3.42."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.figures import Measurement
from fsconsole.model.fio_job import FIO, job_argv
from fsconsole.model.metrics import Metric
from fsconsole.model.wire import Mismatch, decode
from fsconsole.model.workload import Generator, Workload, WorkloadKind
from fsconsole.workloads import fio_load
from fsconsole.workloads.protocol import ProgramFigures
from fsconsole.workloads.tree import SourceFiles

# ---- what is read of the JSON (stat.c, show_thread_status_json); the rest of it is left alone


class _Times(msgspec.Struct, frozen=True):
    """Latencies in ns, before version 3 in us."""

    max: float = 0
    mean: float = 0
    N: int = 0
    """Absent before version 3.18."""
    percentile: dict[str, float] = {}
    bins: dict[str, int] = {}


class _Direction(msgspec.Struct, frozen=True):
    """Reads or writes of a job; runtime in ms."""

    io_bytes: int = 0
    """In KiB where io_kbytes is absent: before version 2.21."""
    io_kbytes: int = -1
    runtime: int = 0
    total_ios: int = 0
    clat: _Times = _Times()
    lat: _Times = _Times()
    clat_ns: _Times = _Times()
    lat_ns: _Times = _Times()


class _Sync(msgspec.Struct, frozen=True):
    """fsync and fdatasync calls, from version 3.4 on; some versions print 0 as total_ios."""

    total_ios: int = 0
    lat_ns: _Times = _Times()

    @property
    def calls(self) -> int:
        return self.lat_ns.N or sum(_numbered(self.lat_ns.bins).values()) or self.total_ios


class _Job(msgspec.Struct, frozen=True):
    """A job, or with group_reporting all jobs of a group."""

    jobname: str = ""
    groupid: int = 0
    error: int = 0
    job_start: int = 0
    """ms since 1970, from version 3.36 on."""
    job_runtime: int = 0
    usr_cpu: float = 0
    sys_cpu: float = 0
    read: _Direction = _Direction()
    write: _Direction = _Direction()
    sync: _Sync = _Sync()


class _Report(msgspec.Struct, frozen=True):
    jobs: tuple[_Job, ...]


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of a kind of call, over all jobs, in ms."""

    count: int
    mean_ms: float
    max_ms: float
    percentiles_ms: dict[int, float]
    """Those that fio printed, or that follow from its buckets."""
    over_s: dict[int, float]
    """Per cent of calls over so many seconds, where that is certain."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Reads or writes of all jobs."""

    moved_bytes: int
    calls: int
    elapsed_s: float
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class FioFigures:
    """Figures of a whole run of fio."""

    read: Moved
    write: Moved
    elapsed_s: float
    """From the first call to the last, of either kind."""
    sync: Latency | None
    cpu_s: float
    """By fio's own account, user and system; before version 3 and some of its jobs don't tell."""
    failures: str
    """Why jobs ended early, in words; empty where none did."""
    is_full: bool
    """True if all of them ended because the filesystem was full."""


_WHOLE = re.compile(r"^\{$.*^\}", re.DOTALL | re.MULTILINE)
"""fio prints notes to the same stream, before and after."""


def argvs(workload: Workload, directory: str, source: SourceFiles | None) -> tuple[tuple[str, ...], ...]:
    """Return fio's command line, of a job file or of a load of a built-in kind. Raises FioJobRefused, GeneratorFailed."""
    if workload.kind is WorkloadKind.FIO:
        return (job_argv(workload.job),)
    return ((*FIO, *fio_load.words(workload, directory, source)),)


def figures(workload: Workload, out: str, err: str) -> ProgramFigures:
    """Return what fio printed. Raises GeneratorFailed where a job failed; a load of a built-in kind may fill the filesystem."""
    try:
        found = parse(out)
    except GeneratorFailed as error:
        raise GeneratorFailed(error.why + _last_words(err)) from error
    is_built_in = workload.generator is Generator.FIO
    if found.failures and not (is_built_in and found.is_full and found.write.moved_bytes):
        raise GeneratorFailed(found.failures)
    counts = fio_load.counts_of(workload) if is_built_in else ()
    told = measurements(found)
    if counts and found.write.elapsed_s > 0:
        told = (*told, Measurement(Metric.FILES_PER_S, sum(counts) / found.write.elapsed_s))
    return ProgramFigures(
        written_bytes=found.write.moved_bytes,
        read_bytes=found.read.moved_bytes,
        measurements=told,
        files_done=0 if found.failures else sum(counts),
        counts=() if found.failures else counts,
        failures=found.failures,
    )


def parse(output: str) -> FioFigures:
    """Return the figures in fio's standard output. Raises GeneratorFailed where it is no report."""
    found = _WHOLE.search(output)
    if found is None and re.search(r"^\{$", output, re.MULTILINE):
        raise GeneratorFailed(
            "fio's JSON has no end: of several hundred jobs it is too long, group_reporting makes it short"
        )
    if found is None:
        raise GeneratorFailed(f"fio printed no figures{_last_words(output)}")
    try:
        jobs = decode(_Report, found[0]).jobs
    except Mismatch as error:
        raise GeneratorFailed(f"fio's JSON is not what a known version prints: {error}") from error
    if not jobs:
        raise GeneratorFailed("fio ran no job")
    failed = Counter((job.jobname, job.error) for job in jobs if job.error)
    return FioFigures(
        read=_moved([(job, job.read) for job in jobs]),
        write=_moved([(job, job.write) for job in jobs]),
        elapsed_s=_elapsed_ms([(job, max(job.read, job.write, key=lambda part: part.runtime)) for job in jobs]) / 1000,
        sync=_latency([(job.sync.lat_ns, job.sync.calls, 1) for job in jobs]),
        cpu_s=sum((job.usr_cpu + job.sys_cpu) / 100 * job.job_runtime / 1000 for job in jobs),
        failures="; ".join(f"job {name}: {os.strerror(number)}" for name, number in failed),
        is_full=bool(failed) and all(number in (errno.ENOSPC, errno.EDQUOT) for _, number in failed),
    )


def _last_words(output: str) -> str:
    lines = output.strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def _moved(parts: Sequence[tuple[_Job, _Direction]]) -> Moved:
    """Return one direction of all jobs; its time is fio's own, from the first of them to the last."""
    parts = [(job, part) for job, part in parts if part.total_ios]
    return Moved(
        moved_bytes=sum(part.io_bytes * (1 if part.io_kbytes >= 0 else 1024) for _, part in parts),
        calls=sum(part.total_ios for _, part in parts),
        elapsed_s=_elapsed_ms(parts) / 1000,
        latency=_latency([_times_of(part) for _, part in parts]),
    )


def _elapsed_ms(parts: Sequence[tuple[_Job, _Direction]]) -> int:
    """Return the time of jobs that ran at once, or one after the other.

    Without their starts (old versions) groups count as one after the other, which stonewall makes of them.
    """
    if not parts:
        return 0
    if all(job.job_start for job, _ in parts):
        return max(job.job_start + part.runtime for job, part in parts) - min(job.job_start for job, _ in parts)
    groups = {job.groupid for job, _ in parts}
    return sum(max(part.runtime for job, part in parts if job.groupid == group) for group in groups)


_Weighed = tuple[_Times, int, int]
"""Latencies, the number of calls that they are of, and their unit in ns."""


def _times_of(part: _Direction) -> _Weighed:
    """Return the time from a call's submission to its end, with percentiles where the job asked for them elsewhere."""
    is_old = part.lat.mean > 0 or part.clat.mean > 0
    completion, whole = (part.clat, part.lat) if is_old else (part.clat_ns, part.lat_ns)
    has_none = not completion.mean and not completion.percentile
    times = whole if has_none or (whole.percentile and not completion.percentile) else completion
    return times, part.total_ios, 1000 if is_old else 1


_NUMBER = re.compile(r"\d{1,18}(\.\d{1,12})?")


_Figure = TypeVar("_Figure", int, float)


def _numbered(found: Mapping[str, _Figure]) -> dict[float, _Figure]:
    """Return what stands at numbers: version 2 has names of its constants among its buckets."""
    return {float(name): value for name, value in found.items() if _NUMBER.fullmatch(name)}


_PERCENTILES = (50, 95, 99)
_LONG_S = (2, 10)


def _latency(parts: Sequence[_Weighed]) -> Latency | None:
    """Return latencies of several jobs as those of one; None where nothing was timed."""
    parts = [(times, calls, unit) for times, calls, unit in parts if calls and times.max]
    calls = sum(calls for _, calls, _ in parts)
    if not calls:
        return None
    max_ms = max(times.max * unit for times, _, unit in parts) / 1e6
    bins = Counter[float]()
    for times, _, unit in parts:
        for edge, count in _numbered(times.bins).items():
            bins[edge * unit / 1e6] += count
    has_bins = sum(bins.values()) > 0 and all(times.bins for times, _, _ in parts)
    return Latency(
        count=calls,
        mean_ms=sum(times.mean * calls * unit for times, calls, unit in parts) / calls / 1e6,
        max_ms=max_ms,
        percentiles_ms=_percentiles(parts, bins if has_bins else Counter()),
        over_s={
            limit: 100 * sum(count for ms, count in bins.items() if ms > limit * 1000) / sum(bins.values())
            if has_bins and max_ms > limit * 1000
            else 0.0
            for limit in _LONG_S
            if has_bins or max_ms <= limit * 1000
        },
    )


def _percentiles(parts: Sequence[_Weighed], bins: Counter[float]) -> dict[int, float]:
    """Return what fio printed of one job; of several what it would have printed of their buckets together."""
    if len(parts) == 1:
        times, _, unit = parts[0]
        printed = {name: ns * unit / 1e6 for name, ns in _numbered(times.percentile).items()}
        return {which: printed[which] for which in _PERCENTILES if which in printed}
    total, edges = sum(bins.values()), sorted(bins.items())
    found, seen = {}, 0
    for ms, count in edges:
        seen += count
        found.update({which: ms for which in _PERCENTILES if which not in found and seen >= total * which / 100})
    return found


def measurements(figures: FioFigures) -> tuple[Measurement, ...]:
    """Return the figures as columns; a load that reads and writes has its calls apart, as a mix."""
    found: list[Measurement] = []
    sides = (
        ("read", figures.read, (Metric.READ_BYTES, Metric.READ_TIME, Metric.READ)),
        ("write", figures.write, (Metric.WRITTEN, Metric.WRITE_TIME, Metric.WRITE)),
    )
    is_mixed = bool(figures.read.calls and figures.write.calls)
    for name, side, (amount, duration, rate) in sides:
        if not side.calls:
            continue
        found += [Measurement(amount, side.moved_bytes), Measurement(duration, side.elapsed_s)]
        if side.elapsed_s > 0:
            found.append(Measurement(rate, side.moved_bytes / side.elapsed_s))
            found += [Measurement(Metric(f"{name}_ops_per_s"), side.calls / side.elapsed_s)] if is_mixed else []
        if side.latency is not None:
            found += _times(name if is_mixed else "latency", side.latency)
    if figures.elapsed_s > 0:
        calls = figures.read.calls + figures.write.calls
        found.append(Measurement(Metric.OPS_PER_S, calls / figures.elapsed_s))
    if figures.cpu_s:
        found.append(Measurement(Metric.CPU_FIO, figures.cpu_s))
    if figures.sync is not None:
        found += _times("fsync", figures.sync)
    return tuple(found)


def _times(name: str, latency: Latency) -> list[Measurement]:
    found = {"count": float(latency.count), "mean": latency.mean_ms, "max": latency.max_ms}
    found |= {f"p{which}": ms for which, ms in latency.percentiles_ms.items() if which != 95 or name == "latency"}
    times = [Measurement(Metric(f"{name}_{which}"), value) for which, value in found.items()]
    if name == "latency":
        times += [Measurement(Metric(f"over_{limit}_s"), share) for limit, share in latency.over_s.items()]
    return times
