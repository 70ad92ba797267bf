"""Quiesce, workload and drain: the steps whose clock and CPU figures are the grid's first columns."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

from fsconsole.engine import cautions
from fsconsole.engine.steps import settings
from fsconsole.engine.steps.mounting import open_mount
from fsconsole.engine.steps.sources import failure_in_words, keep_made, require_inodes, source_of
from fsconsole.engine.work import CellWork, ClockAndCpu, Interrupted, LoadWindow, StepFailed, StepResult
from fsconsole.errors import GeneratorFailed
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.observation import LatencySeen, Outcome, WarningKind
from fsconsole.model.step import Step
from fsconsole.model.workload import Workload
from fsconsole.plan.steps import TREE
from fsconsole.system.host import cpu_count
from fsconsole.system.sync import fsync_device, syncfs
from fsconsole.telemetry.cpu import busy_between, cpu_snapshot
from fsconsole.telemetry.meminfo import read_writeback
from fsconsole.units import format_bytes
from fsconsole.workloads.figures import (
    cpu_measurements,
    drain_measurements,
    generator_measurements,
    latency_measurements,
    load_measurements,
)
from fsconsole.workloads.protocol import LoadHandle, LoadResult

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
