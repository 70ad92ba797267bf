"""Steps of a cell in a directory: its own directory is made, written out, dropped from caches, surveyed and removed."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from fsconsole.catalog.filesystem import Scope
from fsconsole.devices.place import DIRECTORY_FLAGS, differs, place_of
from fsconsole.engine.steps import layout
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.errors.runs import ExtentsUnreadable, KernelLacks
from fsconsole.errors.targets import DirectoryLeft
from fsconsole.inspect.extents import layout_measurements, survey_tree
from fsconsole.model.events import FeatureSeen
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.place import RESERVE_SHARE, reserve_bytes
from fsconsole.model.plan import Step
from fsconsole.plan.directory import lacks, room_for
from fsconsole.plan.sizing import Room
from fsconsole.system.block import drop_caches
from fsconsole.system.files import available_bytes
from fsconsole.telemetry.machine import bdi_stats_path
from fsconsole.telemetry.nfs import server_reads
from fsconsole.text import error_reason
from fsconsole.units import format_bytes
from fsconsole.workloads import run_directory
from fsconsole.workloads.run_directory import NotOwn, RunDirectory
from fsconsole.workloads.tree import RemovalStopped

_ASKS_SERVER_S = 0.5
"""Between two looks at the free space where statvfs may ask a server; that of a disk is looked at in each poll."""


def make(work: CellWork, _step: Step) -> StepResult:
    """Verify the directory and its space, and make the run's own one in it; whatever follows, it is removed."""
    path, known = work.cell.target, work.place
    if known is None:
        raise StepFailed(f"{path} is no directory of this run")
    parent = os.open(path, DIRECTORY_FLAGS)
    with ExitStack() as undo:
        undo.callback(os.close, parent)
        try:
            now = place_of(parent)
        except ValueError as error:
            raise StepFailed(f"{path}: {error}") from error
        if difference := differs(known, now):
            raise StepFailed(f"{path} is not the directory of this run any more: {difference}")
        if why := "; ".join(lacks(work.cell.workloads, now, path)):
            raise StepFailed(why)
        undo.pop_all()
    try:
        own = run_directory.make(path, parent, work.run.request.run_id)
    except OSError as error:
        # A quota that is used up, for one.
        raise StepFailed(f"no directory can be made in {path}: {error_reason(error)}") from error
    work.own = own
    work.stack.callback(_remove, work, own)
    work.run.sampler.gauges.watch_bdi(bdi_stats_path(work.run.places.debug, now.mount_point))
    seen = {"filesystem": now.words} | {
        name: value or "on" for name, _, value in (o.partition("=") for o in now.options)
    }
    for name, value in seen.items():
        found = FeatureSeen(work.cell.index, work.run.attempt, Scope.MOUNT, name, value)
        work.run.journal.record(found, durable=False)
    work.features |= seen
    return StepResult(verdict="passed")


def _remove(work: CellWork, own: RunDirectory) -> None:
    """Remove the own directory, however the cell ends. Raises DirectoryLeft, which ends the run."""
    work.run.sampler.gauges.watch_bdi(None)
    try:
        run_directory.remove(own)
    except (OSError, NotOwn) as error:
        raise DirectoryLeft(own.path, error_reason(error)) from error
    finally:
        work.own = None
        own.close()


def _is_stopped(work: CellWork) -> Callable[[], bool]:
    return lambda: work.run.requests.interrupting


def write_out(work: CellWork) -> None:
    """Flush all own files: a syncfs would wait for what others have written. Raises OSError, Interrupted."""
    if work.own is not None:
        try:
            run_directory.sync_files(work.own, _is_stopped(work))
        except RemovalStopped as stopped:
            raise Interrupted from stopped


def cool(work: CellWork, _step: Step) -> StepResult:
    """Drop own files from the page cache, and as root all that is clean in the machine's caches."""
    write_out(work)
    if work.own is not None:
        run_directory.drop_cached(work.own)
    # Without root it is refused; the load says what was read.
    with suppress(PermissionError):
        drop_caches()
    return StepResult()


def survey(work: CellWork, step: Step) -> StepResult:
    """Count the extents of own files; a filesystem without FIEMAP (NFS, ZFS, overlay) has no such figures."""
    if work.own is None:
        raise StepFailed("the run has no directory of its own here")
    names = [run_directory.TREE_NAME]
    if step.workload is not None:
        made = work.made.get(step.workload)
        names += [] if made is None else [made.directory]
    with ExitStack() as stack:
        fd = work.own.fd
        for name in names:
            fd = os.open(name, DIRECTORY_FLAGS, dir_fd=fd)
            stack.callback(os.close, fd)
        try:
            recorder = layout.recorder_of(work, fd)
            surveyed = survey_tree(fd, recorder.add)
            return StepResult((*layout_measurements(surveyed), *layout.noted(work, recorder)))
        except (KernelLacks, ExtentsUnreadable) as error:
            return StepResult(reason=str(error))


def delete(work: CellWork, _step: Step) -> StepResult:
    """Remove the tree by descriptors, and measure that."""
    own = work.own
    if own is None:
        raise StepFailed("the run has no directory of its own here")
    before, begin_s = resource.getrusage(resource.RUSAGE_THREAD), time.monotonic()
    try:
        run_directory.remove_below(own, _is_stopped(work))
    except RemovalStopped as stopped:
        raise Interrupted from stopped
    elapsed_s, after = time.monotonic() - begin_s, resource.getrusage(resource.RUSAGE_THREAD)
    return StepResult((
        Measurement(Metric.DELETE, elapsed_s),
        Measurement(Metric.DELETE_USER, after.ru_utime - before.ru_utime),
        Measurement(Metric.DELETE_SYSTEM, after.ru_stime - before.ru_stime),
    ))  # fmt: skip


def room_of(own: RunDirectory) -> Room:
    """Return the space that a pilot may count on. Raises OSError, ValueError."""
    return room_for(place_of(own.fd))


def is_short_of_space(work: CellWork) -> bool:
    """Return whether a load must be stopped, since others need what is left of the space or the inodes."""
    own, now_s = work.own, time.monotonic()
    if own is None or work.short_of_space or now_s < work.looks_at_space_s:
        return work.short_of_space != ""
    work.looks_at_space_s = now_s + (0 if work.place is not None and work.place.device else _ASKS_SERVER_S)
    room = os.fstatvfs(own.fd)
    reserve, free_bytes = reserve_bytes(room.f_blocks * room.f_frsize), room.f_bavail * room.f_frsize
    if work.place is not None and work.place.filesystem == "tmpfs":
        free_bytes = min(free_bytes, available_bytes())
    least = f"{100 * RESERVE_SHARE:.0f} % stay free for others"
    if free_bytes < reserve:
        work.short_of_space = f"stopped: less than {format_bytes(reserve)} were free on {work.cell.target}: {least}"
    elif room.f_files and room.f_favail < room.f_files * RESERVE_SHARE:
        work.short_of_space = f"stopped: only {room.f_favail} inodes were free on {work.cell.target}: {least}"
    return work.short_of_space != ""


class ServerReads:
    """Bytes that the server of an NFS has read for this machine since this object was made."""

    def __init__(self, work: CellWork) -> None:
        place = work.place
        self._mount_point = place.mount_point if place is not None and place.filesystem.startswith("nfs") else ""
        self._before = server_reads(self._mount_point) if self._mount_point else None

    def so_far(self, device_bytes: int | None) -> int | None:
        """Return the server's bytes on NFS, elsewhere device_bytes; None where neither is known."""
        now = server_reads(self._mount_point) if self._mount_point else None
        return device_bytes if now is None or self._before is None else max(0, now - self._before)
