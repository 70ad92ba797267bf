"""Warnings that the engine raises: what a reader of the figures must know, each with what to do about it."""

from __future__ import annotations

import os

from fsconsole.devices.discovery import find_device
from fsconsole.engine.degraded import HINT as DEGRADED_HINT
from fsconsole.engine.degraded import degraded_below, degraded_words
from fsconsole.engine.work import CellWork
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.observation import WarningKind, WarningRaised
from fsconsole.model.run import RunRequest
from fsconsole.model.workload import Workload
from fsconsole.system.host import memory_bytes
from fsconsole.system.text import read_text_or
from fsconsole.telemetry.layers import SYS, disk_name, watched_tree
from fsconsole.units import format_percent, format_seconds
from fsconsole.workloads.protocol import LoadResult

SHORT_S = 10.0
NEARLY_FULL_PERCENT = 90.0
OBSERVER_PERCENT = 2.0
"""The limits of measurement: shorter, fuller or costlier than this is said."""


def about_run(request: RunRequest, folder_path: str, journal: JournalWriter, attempt: int) -> frozenset[str]:
    """Warn where the journal is written on the very disk that is measured, and where that disk is cached or degraded.

    Returns what was warned of.
    """
    runs_device = os.stat(folder_path).st_dev
    warned: set[str] = set()

    def warn(kind: WarningKind, reason: str, hint: str) -> None:
        journal.record(WarningRaised(None, attempt, kind, reason, hint), durable=False)
        warned.add(reason)

    for target in request.targets:
        device = find_device(target.path)
        loop = device.loop
        for array in degraded_below(target.path):
            warn(WarningKind.NOT_COMPARABLE, degraded_words(array), DEGRADED_HINT)
        uncounted = _uncounted(device.name)
        if uncounted:
            warn(
                WarningKind.NOT_COUNTED,
                f"the kernel counts no I/O of {', '.join(uncounted)}: its gauges stay empty",
                "`echo 1 > /sys/block/NAME/queue/iostats` before a run has them counted.",
            )
        if loop is not None and loop.file_device == runs_device:
            warn(
                WarningKind.JOURNAL_SHARED_DISK,
                f"runs are kept on the filesystem that holds the file below {target.path}",
                "Keep runs elsewhere (--runs) or the scratch file (--dir): the journal's writes are in its figures.",
            )
        if loop is not None and not loop.direct_io:
            warn(
                WarningKind.CACHED,
                f"{target.path} goes through the page cache of the filesystem below it",
                "`losetup --direct-io=on DEVICE`, or a scratch file on a filesystem that has direct I/O.",
            )
    return frozenset(warned)


def _uncounted(name: str) -> tuple[str, ...]:
    """Return the disks of which nothing is counted, among a target's own and what it stands on."""
    disks = dict.fromkeys(disk_name(watched.name) for watched in watched_tree(name))
    return tuple(
        disk for disk in disks if read_text_or(f"{SYS}/class/block/{disk}/queue/iostats", "1") == "0"
    )


def about_array(work: CellWork) -> None:
    """Label an array that was never brought in step."""
    array = work.cell.array
    if array is not None and array.assume_clean:
        work.warn(
            WarningKind.ASSUMED_CLEAN,
            f"the {array.level} was assumed clean: what makes it redundant is not in step until it is written",
            "Fit for its speed alone; for figures of an array as it goes live leave assume_clean out.",
        )


def about_target(work: CellWork) -> None:
    """Warn where the target is no disk."""
    if any(path.startswith("/dev/loop") for path in work.cell.devices):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            "the target is a loop device: its figures are those of the file below it",
            "Compare variants within this run only; for figures of a disk, run the plan on the disk.",
        )


def about_load(work: CellWork, workload: Workload, result: LoadResult) -> None:
    """Warn of a load that was too short, too small for the RAM, or cut off."""
    about_duration(work, workload.name, result.elapsed_s)
    # Direct I/O goes past the page cache.
    if workload.writes and not workload.direct and result.written_bytes < 2 * memory_bytes():
        work.warn(
            WarningKind.CACHED,
            f"'{workload.name}' wrote less than twice the RAM",
            "Trust the durable column, which includes the drain; for write figures of the disk, write more.",
        )
    if workload.reads and not (workload.cold or workload.direct) and result.read_bytes < 2 * memory_bytes():
        work.warn(
            WarningKind.CACHED,
            f"'{workload.name}' read less than twice the RAM, and not from a cold cache",
            "Give it cold = true; a read that the page cache serves says nothing of the filesystem on its disk.",
        )
    if result.failures:
        work.warn(WarningKind.TARGET_FULL, result.failures, "Use a smaller scale or a larger device.")


def about_duration(work: CellWork, name: str, elapsed_s: float) -> None:
    """Warn of a phase that was too short for its figures to be trusted."""
    if elapsed_s < SHORT_S:
        work.warn(
            WarningKind.SHORT,
            f"'{name}' took {format_seconds(elapsed_s)}",
            "Write more (file_size, files) before you compare variants that are close.",
        )


def about_fullness(work: CellWork, root: int) -> None:
    """Warn of a filesystem that the load has nearly filled; root is a descriptor of its root."""
    room = os.fstatvfs(root)
    used_percent = 100 * (1 - room.f_bavail / room.f_blocks) if room.f_blocks else 0.0
    if used_percent > NEARLY_FULL_PERCENT:
        work.warn(
            WarningKind.NEARLY_FULL,
            f"{format_percent(used_percent)} of the filesystem were used after the load",
            "Filesystems allocate differently when they are nearly full: use a smaller scale.",
        )


def about_observer(work: CellWork, observer_percent: float) -> None:
    """Warn where the engine itself took a share of the CPUs that the figures would show."""
    if observer_percent > OBSERVER_PERCENT:
        work.warn(
            WarningKind.OBSERVER,
            f"the engine itself used {format_percent(observer_percent)} of the CPUs",
            "Trust the CPU figures the less; in a longer load, what the engine does once weighs less.",
        )
