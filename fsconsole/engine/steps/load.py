"""Steps that move data: quiesce, workload, drain."""

from __future__ import annotations

import errno
import os
import time
from contextlib import ExitStack

from msgspec.structs import asdict

from fsconsole.engine import disturbances, warnings_directory, warnings_load, writeback
from fsconsole.engine.pid_limit import PidLimit
from fsconsole.engine.steps import directory, settings, sources
from fsconsole.engine.steps.life import TREE_NAME, open_mount
from fsconsole.engine.work import CellWork, ClockAndCpu, Interrupted, LoadWindow, StepFailed, StepResult
from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.events import LatencySeen, Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.model.workload import Workload
from fsconsole.system.block import syncfs
from fsconsole.system.processes import is_running
from fsconsole.telemetry.machine import cpu_snapshot, read_writeback
from fsconsole.telemetry.others import read_processes
from fsconsole.telemetry.traffic import TrafficWindow
from fsconsole.telemetry.writeback import WritebackWatch
from fsconsole.text import error_reason
from fsconsole.units import format_bytes, format_bytes_exact, format_elapsed
from fsconsole.workloads import protocol
from fsconsole.workloads.builtin import prepare_load
from fsconsole.workloads.program import prepare_program
from fsconsole.workloads.protocol import Load
from fsconsole.workloads.tree import DIRECTORY_FLAGS, SourceFiles, directory_name, make_unused, subdirectories


def source_of(work: CellWork, workload: Workload) -> SourceFiles | None:
    """Return the files that a workload uses, None for one that creates its own. Raises StepFailed."""
    if workload.source is None:
        return None
    source = work.made.get(workload.source)
    if source is None or not source.counts:
        name = work.cell.workloads[workload.source].name
        raise StepFailed(f"no source files: '{name}' has made none")
    return source


def require_inodes(workload: Workload, root: int) -> None:
    """Raise StepFailed if a load needs more inodes than are free; root is a descriptor of the filesystem.

    A filesystem that creates inodes on demand reports 0, or as many as its free space holds (man 3 statvfs).
    """
    room = os.fstatvfs(root)
    if room.f_files and workload.sources_files > room.f_ffree:
        copies = f"'{workload.name}' copies {workload.sources_files} files"
        raise StepFailed(f"{copies}, and the filesystem has {room.f_ffree} free inodes (df -i): ask mkfs for more")
    if not room.f_files or not workload.creates or not workload.files:
        return
    directories = subdirectories(workload.directories, threads=workload.threads, files=workload.files)
    wanted = workload.files + len(directories) + 1
    if wanted > room.f_ffree:
        raise StepFailed(
            f"'{workload.name}' makes {workload.files} files and {len(directories) + 1} directories,"
            f" and the filesystem has {room.f_ffree} free inodes (df -i): ask mkfs for more, or make fewer files"
        )


def failure_in_words(workload: Workload, result: protocol.LoadResult) -> str:
    """Return why a load failed; EINVAL of direct I/O is explained."""
    if workload.direct and any(thread.errno == errno.EINVAL for thread in result.threads):
        block = format_bytes_exact(workload.block_size_bytes)
        return f"{result.failures} (direct I/O in blocks of {block} is refused by the filesystem or its device)"
    return result.failures


def fullness_in_words(work: CellWork) -> str:
    """Return that the cell's filesystem is full, in a clause; empty where it isn't, or isn't there any more."""
    try:
        with ExitStack() as opened:
            root = open_mount(work)
            opened.callback(os.close, root)
            room = os.fstatvfs(root)
    except (OSError, StepFailed):
        # Of a pulled disk the load itself has said enough.
        return ""
    where = f"the filesystem on {work.cell.target}"
    if room.f_files and not room.f_favail:
        return f"{where} is full: none of its {room.f_files} inodes is free"
    free_bytes, size_bytes = (blocks * room.f_frsize for blocks in (room.f_bavail, room.f_blocks))
    if free_bytes >= size_bytes * _FULL_SHARE:
        return ""
    return f"{where} is full: {format_bytes(free_bytes)} of {format_bytes(size_bytes)} are free"


_FULL_SHARE = 0.02
"""Of a filesystem's blocks: a program that needs more at once, such as one large file, fails before the last is used."""
QUIET_BYTES = 8 * 1024 * 1024
"""Dirty + Writeback below this counts as zero: an idle machine has as much."""
_QUIET_LIMIT_S = 60.0
_LIVE_LIMIT_S = 10.0
"""On a machine that is live others may never cease to write."""
_POLL_S = 0.05


def quiesce(work: CellWork, _step: Step) -> StepResult:
    """Wait until earlier dirty pages are written, so that the load pays only for its own."""
    if work.cell.variant.is_lazy:
        await_lazy_init(work)
    if work.own is None:
        os.sync()
    else:
        # Another filesystem may wait for its server for ever.
        syncfs(work.own.fd)
    deadline = time.monotonic() + (_QUIET_LIMIT_S if work.own is None else _LIVE_LIMIT_S)
    while True:
        pages = read_writeback()
        dirty_bytes = pages.dirty_bytes + pages.writeback_bytes
        if dirty_bytes <= QUIET_BYTES:
            return StepResult()
        if time.monotonic() > deadline:
            reason = f"{format_bytes(dirty_bytes)} still dirty when the load started"
            work.warn(WarningKind.OTHER_IO, reason, "Find what else writes on this machine, and run again.")
            return StepResult(reason=reason)
        if work.run.requests.interrupting:
            raise Interrupted
        time.sleep(_POLL_S)


_LAZY_INIT = "ext4lazyinit"
_LAZY_INIT_LIMIT_S = 600.0


def await_lazy_init(work: CellWork) -> None:
    """Wait until the kernel has written the inode tables that mkfs has left to it, and warn of how long that took.

    One thread does it for all ext4 filesystems of the machine, from the mount on (fs/ext4/super.c, ext4_lazyinit_thread).
    """
    begun_s, is_at_work = time.monotonic(), is_running(_LAZY_INIT)
    if not is_at_work:
        return
    while is_at_work and time.monotonic() - begun_s < _LAZY_INIT_LIMIT_S:
        if work.run.requests.interrupting:
            raise Interrupted
        time.sleep(_POLL_S)
        is_at_work = is_running(_LAZY_INIT)
    waited = format_elapsed(time.monotonic() - begun_s)
    if is_at_work:
        reason = f"{_LAZY_INIT} still wrote inode tables when the load started, after a wait of {waited}"
        hint = 'Leave lazy_init off, as by default, or mount with init_itable = "0", which writes them without pauses.'
    else:
        reason = f"mkfs left inode tables to {_LAZY_INIT}: the load waited {waited} for it"
        hint = (
            "Add that time to mkfs before you compare it, or leave lazy_init off, as by default: mkfs then writes them."
        )
    work.warn(WarningKind.LAZY_INIT, reason, hint)


def load(work: CellWork, step: Step) -> StepResult:
    """Run one workload: all writers ready behind a barrier, then the clock."""
    if step.workload is None:
        raise StepFailed("the step names no workload")
    workload = work.cell.workloads[step.workload]
    settings.about_to_load(work)
    source = source_of(work, workload)
    root = open_mount(work)
    try:
        device = os.fstat(root).st_dev
        require_inodes(workload, root)
    finally:
        os.close(root)
    watch = writeback.prepare_watch(work, workload)
    limit = None if workload.is_built_in else PidLimit(work, workload)
    if limit is not None:
        work.stack.callback(limit.close)
    handle = _prepared(work, workload, device, source, limit)
    work.stack.callback(handle.kill)
    try:
        window = _drive(work, handle, watch, limit)
    finally:
        work.run.sampler.gauges.watch_load(None)
    work.window, result = window, window.result
    if result.directory:
        work.made[step.workload] = SourceFiles(result.directory, workload.directories, result.files_by_thread)
    if work.run.requests.interrupting or result.is_failure or result.stopped:
        _end_generator(work, window)
    if work.run.requests.interrupting:
        raise Interrupted
    if work.short_of_space:
        raise StepFailed(work.short_of_space)
    if limit is not None and limit.is_reached():
        raise StepFailed(limit.reason)
    if result.is_failure:
        why = (failure_in_words(workload, result), sources.change_in_words(work, workload), fullness_in_words(work))
        raise StepFailed("; ".join(filter(None, (*why, settings.memory_in_words(work)))))
    warnings_load.about_load(work, workload, result)
    warnings_load.about_cache(work, workload, window)
    warnings_directory.about_cold(work, workload, window)
    if not workload.changes:
        warnings_load.about_duration(work, workload.name, result.elapsed_s, workload.sizing)
    if not workload.changes:
        window.traffic.close()
    outcome = Outcome.STOPPED if result.stopped else Outcome.DONE
    # A load without writes has no drain after it: its figures are complete.
    rest = () if workload.changes or result.stopped else _finish(work, window, window.end)
    return StepResult((*protocol.load_measurements(result), *rest), reason=result.failures, outcome=outcome)


def _prepared(
    work: CellWork, workload: Workload, device: int, source: SourceFiles | None, limit: PidLimit | None
) -> Load:
    """Start the generator of a load up to its barrier. Raises ToolMissing, GeneratorFailed."""
    hidden = sources.hidden_from_loads(work)
    with ExitStack() as opened:
        root = open_mount(work)
        opened.callback(os.close, root)
        tree = os.open(TREE_NAME, DIRECTORY_FLAGS, dir_fd=root)
        opened.callback(os.close, tree)
        if limit is None:
            inode = os.fstat(tree).st_ino
            return prepare_load(
                workload, tree=work.tree, tree_device=device, tree_inode=inode, hidden=hidden, source=source
            )
        name = make_unused(directory_name(workload.name), tree)
        inode = os.stat(name, dir_fd=tree, follow_symlinks=False).st_ino
        if workload.creates:
            # Programs make files alone: fio no more than the directory of the first, dd none.
            layout, threads, files = workload.directories, workload.threads, workload.files
            for inner in subdirectories(layout, threads=threads, files=files):
                os.mkdir(f"{name}/{inner}", 0o755, dir_fd=tree)
    return prepare_program(
        workload,
        tree=work.tree,
        device=device,
        inode=inode,
        directory=name,
        hidden=hidden,
        source=source,
        roots=sources.roots_of(work, workload),
        seen=sources.seen_of(work, workload),
        most_pids=limit.of_namespace,
    )


def drain(work: CellWork, _step: Step) -> StepResult:
    """Write everything to the device: syncfs, then the one flush that every variant owes; own files alone in a directory."""
    window = work.window
    if window is None:
        raise StepFailed("there was no load to drain")
    begin_s = time.monotonic()
    with ExitStack() as opened:
        root = open_mount(work)
        # Opening a pulled disk fails; the descriptor of its mount must be closed all the same.
        opened.callback(os.close, root)
        try:
            if work.own is not None:
                directory.write_out(work)
            else:
                device = os.open(work.cell.target, os.O_RDONLY | os.O_CLOEXEC)
                opened.callback(os.close, device)
                syncfs(root)
                os.fsync(device)  # flushes the device's own cache, too (man 2 fsync)
        except OSError as error:
            raise StepFailed(f"not all that was written reached the device: {error_reason(error)}") from error
        end = clock_and_cpu()
        window.traffic.close()
        warnings_load.about_fullness(work, root)
    drain_s, workload = end.monotonic_ns / 1e9 - begin_s, window.handle.workload
    warnings_load.about_duration(work, workload.name, window.result.elapsed_s + drain_s, workload.sizing)
    rates = sources.expect_copied(work, window)
    if rates:
        # Its bytes were not known at its end.
        warnings_load.about_cache(work, workload, window)
    figures = protocol.drain_measurements(window.result, drain_s, end.monotonic_ns)
    rest = _finish(work, window, end)
    return StepResult((*figures, *rates, *rest, *sources.count_made(work, window)))


def clock_and_cpu() -> ClockAndCpu:
    """Return the time and the CPU time used so far by the machine and by this process."""
    return ClockAndCpu(time.monotonic_ns(), cpu_snapshot(), time.process_time())


def _finish(work: CellWork, window: LoadWindow, end: ClockAndCpu) -> tuple[Measurement, ...]:
    """Return the figures from the load's first operation to end, journal its latencies, and end the generator."""
    # First, while nothing else has been done since.
    device = disturbances.device_figures(work, window)
    cpu = disturbances.cpu_figures(work, window, end)
    disturbances.note_heat(work)
    latencies = window.handle.latencies()
    for operation in latencies if work.pilot is None else ():
        seen = LatencySeen(**asdict(operation), cell=work.cell.index, attempt=work.run.attempt, step=window.step)
        work.run.journal.record(seen, durable=False)
    _end_generator(work, window)
    return (
        *protocol.generator_measurements(window.result, end.monotonic_ns),
        *protocol.latency_measurements(window.handle.workload, window.result, latencies),
        *cpu,
        *device,
        *window.gauged,
        *writeback.finish_watch(work, window, end.monotonic_ns),
    )


def _drive(work: CellWork, handle: Load, watch: WritebackWatch | None, limit: PidLimit | None) -> LoadWindow:
    try:
        handle.wait_ready()
        settings.join_memory(work, handle.pid)
        if limit is not None:
            limit.hold(handle.pid)
        work.run.sampler.gauges.watch_load(handle.page)
        work.run.sampler.reset_peak_dirty()
        dirty_bytes = read_writeback().pending_bytes
        if watch is not None:
            watch.start()
        processes, traffic = read_processes(), TrafficWindow(work.device_name)
        served = directory.ServerReads(work)
        begin = clock_and_cpu()
        handle.go()
    except GeneratorFailed:
        # Its output may say more than the error's reason.
        work.keep(work.step_number, handle.end())
        raise
    stops = disturbances.StopWatch(work, handle.pid)
    while not handle.finished(_POLL_S):
        stops.look(handle.workload.name)
        is_over = limit is not None and limit.is_reached()
        if is_over or work.run.requests.interrupting or directory.is_short_of_space(work):
            handle.stop()
    result = handle.wait()
    end = clock_and_cpu()
    # What a load that syncs leaves is others'.
    dirty_bytes += QUIET_BYTES if handle.workload.syncs else 0
    dirty_bytes = max(0, read_writeback().pending_bytes - dirty_bytes)
    read_bytes = served.so_far(traffic.bytes_read_so_far())
    peak = Measurement(Metric.PEAK_DIRTY, work.run.sampler.peak_dirty_bytes())
    # Stalls are those of writers.
    stalls = work.run.sampler.stall_measurements() if result.written_bytes else ()
    reported = work.run.reported.since_last()
    memory = () if reported is None else (Measurement(Metric.MEMORY_REPORTED, reported),)
    gauged = (peak, *stalls, *memory)
    around = (dirty_bytes, read_bytes, processes, traffic)
    return LoadWindow(handle, work.step_number, result, begin, end, *around, gauged, watch)


def _end_generator(work: CellWork, window: LoadWindow) -> None:
    """Wait for the generator's exit and keep its output with the load's step."""
    work.keep(window.step, window.handle.end())
    window.handle.kill()
