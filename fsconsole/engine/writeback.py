"""Loads with `trace = true`: their tracefs instance, their writeback figures, and what a killed engine left of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median

from fsconsole.engine.work import CellWork, LoadWindow
from fsconsole.errors.runs import ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.workload import Workload
from fsconsole.system.mounts import PRIVATE_ROOT, TRACEFS, mounted_at, mounted_tracefs
from fsconsole.telemetry.machine import bdi_name, bdi_stats_path
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.trace_figures import UNLIMITED, TraceFigures
from fsconsole.telemetry.trace_instance import TraceInstance, instance_path, remove_instance
from fsconsole.telemetry.writeback import WritebackWatch, traced_disks
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

_MOUNT_TIMEOUT_S = 30.0
_HINT = "`fsconsole doctor` tells whether this kernel has debugfs and tracefs; the load itself ran as planned."
_LOST_HINT = "Figures of requests and of writeback_start are of the rest; trace a shorter load, or larger blocks."


def prepare_watch(work: CellWork, workload: Workload) -> WritebackWatch | None:
    """Return the watch of a load that is to be traced, its instance ready; None for others, and for a pilot's."""
    if not workload.trace or work.pilot is not None:
        return None
    target, problems = os.path.basename(os.path.realpath(work.cell.target)), list[str]()
    mounted = mounted_at(work.mount_point)
    bdi = bdi_name(mounted) if mounted else ""
    path = bdi_stats_path(work.run.places.debug, work.mount_point)
    if path is None:
        problems.append("bdi: debugfs has no stats file of this filesystem")
    trace = None
    try:
        tracefs = mounted_tracefs(work.run.executor, os.path.join(PRIVATE_ROOT, "trace"))
        trace = TraceInstance(tracefs, work.run.request.run_id, traced_disks(target), bdi)
    except ToolFailed as error:
        problems.append(f"trace: tracefs can't be mounted: {error.said}")
    except (OSError, Unreadable) as error:
        problems.append(f"trace: {error_reason(error)}")
    watch = WritebackWatch(target, path, trace, problems)
    work.stack.callback(watch.stop)
    return watch


def finish_watch(work: CellWork, window: LoadWindow, end_ns: int) -> tuple[Measurement, ...]:
    """Return the figures of a traced load, keep its histograms with the cell's outputs, and warn of what is missing."""
    watch, result = window.watch, window.result
    if watch is None:
        return ()
    watch.stop()
    figures = watch.figures(result.last_ended_ns, end_ns, wrote=window.handle.workload.changes)
    name = window.handle.workload.name
    if watch.sums is not None:
        text = f"{name}\n\n{histograms(watch.sums)}lost events: {watch.lost}\n"
        work.run.raw.write(work.cell.index, window.step, "writeback", text.encode())
    if watch.problems:
        work.warn(WarningKind.NOT_COUNTED, f"writeback of '{name}': {'; '.join(watch.problems)}", _HINT)
    if watch.lost and watch.sums is not None:
        of = watch.sums.events + watch.lost
        work.warn(WarningKind.NOT_COUNTED, f"{watch.lost} of {of} traced events of '{name}' were lost", _LOST_HINT)
    read = window.device_read_bytes
    if read is not None and window.handle.workload.cold and result.read_bytes and not result.written_bytes:
        figures = (*figures, Measurement(Metric.READ_BEYOND, read - result.read_bytes))
    return figures


def histograms(sums: TraceFigures) -> str:
    """Return distances between writes, nr_pages by reason and of the first events, pages per inode, as text of 80 columns."""
    lines = [f"writes issued: {sums.writes}", "distance from the end of a write to the start of the next one:"]
    for bits, count in sorted(sums.seeks.items()):
        reach = f"below {format_bytes(2**bits)}" if bits else "0 (in order)"
        lines.append(f"  {reach:<20} {count:>10}")
    lines += [
        "",
        f"{'writeback_start':<20} {'events':>8} {'no limit':>9} {'< 0':>6} {'least':>10} {'median':>10} {'most':>10}",
    ]
    for reason, starts in sorted(sums.starts.items()):
        limited = sorted(pages for pages in starts if pages < UNLIMITED)
        negative = sum(pages < 0 for pages in limited)
        spread = (limited[0], median(limited), limited[-1]) if limited else ("-", "-", "-")
        line = f"  {reason:<18} {len(starts):>8} {len(starts) - len(limited):>9} {negative:>6}"
        lines.append(line + "".join(f" {value!s:>10}" for value in spread))
    lines += ["", "pages that writeback wrote of one inode at a time:"]
    by_bits: dict[int, int] = {}
    for pages in sums.chunks:
        by_bits[pages.bit_length()] = by_bits.get(pages.bit_length(), 0) + 1
    lines += [f"  below {2**bits:<14} {count:>10}" for bits, count in sorted(by_bits.items())]
    limits = sorted(limit for limit in sums.limits if limit < UNLIMITED)
    others = f", others {limits[0]} to {limits[-1]}, median {median(limits)}" if limits else ""
    lines.append(f"nr_to_write of these: {len(sums.limits) - len(limits)} without a limit{others}")
    lines += ["", f"reads of at most 4 KiB: {sums.small_reads}"]
    lines += [f"reads marked as metadata: {sums.meta_reads}, {format_bytes(sums.meta_read_bytes)}", ""]
    if sums.first_starts:
        lines += [f"writeback_start, the first {len(sums.first_starts)}:", f"  {'s':>10} {'nr_pages':>20} reason"]
        lines += [f"  {at_s:>10.6f} {pages:>20} {reason}" for at_s, pages, reason in sums.first_starts]
        lines.append("")
    return "\n".join(lines)


def remove_left_trace(run_id: str, executor: Executor) -> Iterator[str]:
    """Remove the tracefs instance of a killed engine's run, and yield a clause if there was one."""
    with suppress(ToolFailed, OSError), _some_tracefs(executor) as tracefs:
        path = instance_path(tracefs, run_id)
        try:
            if remove_instance(tracefs, run_id):
                yield f"the trace {os.path.basename(path)} is removed"
        except OSError as error:
            yield f"the trace {os.path.basename(path)} could not be removed: {error_reason(error)}"


@contextmanager
def _some_tracefs(executor: Executor) -> Iterator[str]:
    """Give a mounted tracefs; one of its own, for the with block, where the machine has none mounted."""
    mounted = mounted_at(TRACEFS)
    if mounted is not None and mounted.filesystem == "tracefs":
        yield TRACEFS
        return
    with tempfile.TemporaryDirectory(prefix="fsconsole-trace-") as directory:
        place = mounted_tracefs(executor, os.path.join(directory, "t"))
        try:
            yield place
        finally:
            executor.run(Command(("umount", place), timeout_s=_MOUNT_TIMEOUT_S))
