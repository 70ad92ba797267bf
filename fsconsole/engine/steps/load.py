"""Quiesce, workload and drain: the steps whose clock and CPU figures are the grid's first columns."""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import ExitStack

from fsconsole.engine import cautions
from fsconsole.engine.steps import settings
from fsconsole.engine.steps.life import open_mount
from fsconsole.engine.work import CellWork, ClockAndCpu, Interrupted, LoadWindow, StepFailed, StepResult
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.events import LatencySeen, Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.model.workload import Workload
from fsconsole.plan.steps import TREE
from fsconsole.system.block import fsync_device, syncfs
from fsconsole.system.files import cpu_count
from fsconsole.telemetry.machine import busy_between, cpu_snapshot, read_writeback
from fsconsole.units import format_bytes, format_bytes_exact
from fsconsole.workloads.protocol import (
    LoadHandle,
    LoadResult,
    cpu_measurements,
    drain_measurements,
    generator_measurements,
    latency_measurements,
    load_measurements,
)
from fsconsole.workloads.raw import StreamReport, from_line
from fsconsole.workloads.tree import SourceFiles, subdirectories

# What a load finds in the filesystem: the files that it works on, and room for those that it makes.


def source_of(work: CellWork, workload: Workload) -> SourceFiles | None:
    """Return the files that a workload works on, None for one that makes its own. Raises StepFailed."""
    if workload.source is None:
        return None
    source = work.made.get(workload.source)
    if source is None:
        name = work.cell.workloads[workload.source].name
        raise StepFailed(f"there is nothing to work on: '{name}' has made no files")
    return source


def keep_made(work: CellWork, number: int, workload: Workload, result: LoadResult) -> None:
    """Keep where a load has made files, and how many each of its threads, for those that work on them."""
    if result.directory:
        counts = tuple(thread.files_done for thread in result.threads)
        work.made[number] = SourceFiles(result.directory, workload.directories, counts)


def require_inodes(workload: Workload, root: int) -> None:
    """Raise StepFailed where a load wants more files than the filesystem can hold; root is a descriptor of it.

    A filesystem that makes inodes as it goes says 0 in all, or as many as its free space can hold (man 3 statvfs).
    """
    room = os.fstatvfs(root)
    if not room.f_files or not workload.creates or not workload.files:
        return
    directories = subdirectories(workload.directories, threads=workload.threads, files=workload.files)
    wanted = workload.files + len(directories) + 1
    if wanted > room.f_ffree:
        raise StepFailed(
            f"'{workload.name}' makes {workload.files} files and {len(directories) + 1} directories,"
            f" and the filesystem has {room.f_ffree} free inodes (df -i): ask mkfs for more, or make fewer files"
        )


def failure_in_words(workload: Workload, result: LoadResult) -> str:
    """Return why a load failed, with what the kernel leaves out where it refuses direct I/O."""
    if workload.direct and any(thread.errno == errno.EINVAL for thread in result.threads):
        block = format_bytes_exact(workload.block_size_bytes)
        return (
            f"{result.failures} (direct I/O in blocks of {block} is refused by the filesystem or its device)"
        )
    return result.failures


QUIET_BYTES = 8 * 1024 * 1024
"""Dirty + Writeback below this is near zero: what a machine at rest always has in flight."""
_QUIET_LIMIT_S = 60.0
_POLL_S = 0.05


def quiesce(work: CellWork, _step: Step) -> StepResult:
    """Wait until nothing dirty is left from before, so that the load pays only for itself."""
    os.sync()
    deadline = time.monotonic() + _QUIET_LIMIT_S
    while (dirty_bytes := _dirty_bytes()) > QUIET_BYTES:
        if time.monotonic() > deadline:
            reason = f"{format_bytes(dirty_bytes)} were still dirty when the load began"
            work.warn(
                WarningKind.OTHER_IO, reason, "Find out what else writes on this machine, and run again."
            )
            return StepResult(reason=reason)
        if work.run.wishes.interrupting:
            raise Interrupted
        time.sleep(_POLL_S)
    return StepResult()


def load(work: CellWork, step: Step) -> StepResult:
    """Run one workload: all writers ready behind a barrier, then the clock."""
    number, workload = _workload(work, step)
    settings.about_to_load(work)
    source = source_of(work, workload)
    root = open_mount(work)
    try:
        require_inodes(workload, root)
    finally:
        os.close(root)
    handle = work.run.generator.prepare(
        workload,
        tree=TREE,
        tree_device=_device(work),
        hidden=(os.path.dirname(work.run.folder_path),),
        source=source,
    )
    work.stack.callback(handle.kill)
    try:
        window = _drive(work, handle)
    finally:
        work.run.sampler.watch_load(None)
    work.window, result = window, window.result
    keep_made(work, number, workload, result)
    if work.run.wishes.interrupting or result.is_failure or result.stopped:
        _let_go(work, window)
    if work.run.wishes.interrupting:
        raise Interrupted
    if result.is_failure:
        raise StepFailed(failure_in_words(workload, result))
    cautions.about_load(work, workload, result)
    outcome = Outcome.STOPPED if result.stopped else Outcome.DONE
    # What changed nothing has no drain after it: its figures are whole.
    rest = () if workload.changes or result.stopped else _finish(work, window, window.end)
    return StepResult((*load_measurements(result), *rest), reason=result.failures, outcome=outcome)


def drain(work: CellWork, _step: Step) -> StepResult:
    """Bring everything to the device: syncfs, then the one flush that every variant owes."""
    window = work.window
    if window is None:
        raise StepFailed("there was no load to drain")
    begin_s = time.monotonic()
    with ExitStack() as opened:
        root = open_mount(work)
        # A disk that was pulled can't be opened, and its mount must not stay busy for that.
        opened.callback(os.close, root)
        device = os.open(work.cell.target, os.O_RDONLY | os.O_CLOEXEC)
        opened.callback(os.close, device)
        _bring_out(root, device)
        end = clock_and_cpu()
        cautions.about_fullness(work, root)
    drain_s = end.monotonic_ns / 1e9 - begin_s
    figures = drain_measurements(window.result, drain_s, end.monotonic_ns)
    return StepResult((*figures, *_finish(work, window, end)))


def _bring_out(root: int, device: int) -> None:
    """Bring all to the device. Raises StepFailed where the kernel says that not all of it arrived."""
    try:
        syncfs(root)
        fsync_device(device)
    except OSError as error:
        # Writers were told that all was well: what they wrote stood in memory then.
        raise StepFailed(f"not all that was written reached the device: {error.strerror}") from error


def clock_and_cpu() -> ClockAndCpu:
    """Return this instant with the CPU time that the machine and this process have used until now."""
    return ClockAndCpu(time.monotonic_ns(), cpu_snapshot(), time.process_time())


def _finish(work: CellWork, window: LoadWindow, end: ClockAndCpu) -> tuple[Measurement, ...]:
    """Return the figures from the load's first operation to end, journal its latencies, and let go of it."""
    latencies = window.handle.latencies()
    for operation in latencies:
        seen = LatencySeen(
            work.cell.index,
            work.run.attempt,
            window.step,
            operation.operation,
            operation.sum_ns,
            operation.max_ns,
            operation.over_2_s,
            operation.over_10_s,
            operation.buckets,
        )
        work.run.journal.record(seen, durable=False)
    _let_go(work, window)
    observer_percent = _observer_percent(window, end)
    cautions.about_observer(work, observer_percent)
    return (
        *generator_measurements(window.result, end.monotonic_ns),
        *latency_measurements(latencies),
        *_cost(window, end),
        Measurement(Metric.OBSERVER, observer_percent),
    )


def _drive(work: CellWork, handle: LoadHandle) -> LoadWindow:
    try:
        handle.wait_ready()
        work.run.sampler.watch_load(handle.page)
        work.run.sampler.reset_peak_dirty()
        begin = clock_and_cpu()
        handle.go()
    except GeneratorFailed:
        # Its own words may say more than the reason that is left of them.
        work.keep(work.step_number, handle.end())
        raise
    while not handle.finished(_POLL_S):
        if work.run.wishes.interrupting:
            handle.request_stop()
    result = handle.wait()
    end = clock_and_cpu()
    return LoadWindow(handle, work.step_number, result, begin, end, _gauged(work, result))


def _gauged(work: CellWork, result: LoadResult) -> tuple[Measurement, ...]:
    """Return what only samples can tell of a load that has just ended; stalls are those of writers."""
    peak = Measurement(Metric.PEAK_DIRTY, work.run.sampler.peak_dirty_bytes())
    return (peak, *(work.run.sampler.stall_measurements() if result.written_bytes else ()))


def _let_go(work: CellWork, window: LoadWindow) -> None:
    """Wait for the generator's end as a program, and keep what it printed under the step that it belongs to."""
    work.keep(window.step, window.handle.end())
    window.handle.kill()


def _cost(window: LoadWindow, end: ClockAndCpu) -> tuple[Measurement, ...]:
    """Return CPU figures from the load's first operation to its end, or that of its drain."""
    cpu = busy_between(window.begin.cpu, end.cpu)
    return (
        *cpu_measurements(cpu.busy_s, cpu.available_s, window.result.moved_bytes),
        *window.gauged,
    )


def _observer_percent(window: LoadWindow, end: ClockAndCpu) -> float:
    """Return the engine's own CPU time, sampler included, as a share of all CPUs."""
    elapsed_s = (end.monotonic_ns - window.begin.monotonic_ns) / 1e9
    return 100 * (end.engine_s - window.begin.engine_s) / (elapsed_s * cpu_count())


def _dirty_bytes() -> int:
    writeback = read_writeback()
    return writeback.dirty_bytes + writeback.writeback_bytes


def _workload(work: CellWork, step: Step) -> tuple[int, Workload]:
    if step.workload is None:
        raise StepFailed("the step names no workload")
    return step.workload, work.cell.workloads[step.workload]


def _device(work: CellWork) -> int:
    if work.mounted_device is None:
        raise StepFailed("nothing is mounted")
    return work.mounted_device


# Raw rows: direct streams on the device itself, and the read test.


def write(work: CellWork, step: Step) -> StepResult:
    """Write the streams after the whole gate; from then on the device's content is this run's own."""
    (argv,) = step.commands
    work.run.prover.prove_place(work.cell)
    settings.about_to_load(work)
    with work.run.prover.wiping(work.cell, argv):
        report = from_line(work.command(argv).out)
    cautions.about_duration(work, step.title.partition(":")[0], _seconds(report, report.flushed_ns))
    metric = Metric.RAW_WRITE_1 if report.streams == 1 else Metric.RAW_WRITE_N
    return StepResult((Measurement(metric, report.bytes_per_s), *_as_a_load(report)))


def read(work: CellWork, step: Step) -> StepResult:
    """Read back what the streams wrote."""
    settings.about_to_load(work)
    report = from_line(work.command(step.commands[0]).out)
    metric = Metric.RAW_READ_1 if report.streams == 1 else Metric.RAW_READ_N
    return StepResult(
        (
            Measurement(metric, report.bytes_per_s),
            Measurement(Metric.READ, report.bytes_per_s),
            Measurement(Metric.READ_BYTES, report.moved_bytes),
            Measurement(Metric.READ_TIME, _seconds(report, report.last_ended_ns)),
        )
    )


def readtest(work: CellWork, step: Step) -> StepResult:
    """Read through the page cache for a while."""
    settings.about_to_load(work)
    text = work.command(step.commands[0]).out
    try:
        figure = float(json.loads(text)["bytes_per_s"])
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed("the read test gave no figure") from error
    return StepResult((Measurement(Metric.READTEST, figure),))


def _as_a_load(report: StreamReport) -> tuple[Measurement, ...]:
    """Return the columns of writes that a raw row shares with filesystems; the flush is its drain."""
    write_s = _seconds(report, report.last_ended_ns)
    figures = [
        Measurement(Metric.WRITTEN, report.moved_bytes),
        Measurement(Metric.WRITE_TIME, write_s),
        Measurement(Metric.FIRST_DONE, _seconds(report, report.first_ended_ns)),
        Measurement(Metric.LAST_DONE, write_s),
        Measurement(Metric.DRAIN, (report.flushed_ns - report.last_ended_ns) / 1e9),
        Measurement(Metric.DURABLE, report.bytes_per_s),
    ]
    if write_s > 0:
        figures.append(Measurement(Metric.WRITE, report.moved_bytes / write_s))
    return tuple(figures)


def _seconds(report: StreamReport, until_ns: int) -> float:
    return (until_ns - report.first_started_ns) / 1e9
