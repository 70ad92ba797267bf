"""Warnings that the engine raises: what a reader of the figures must know, each with what to do about it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fsconsole.catalog.filesystem import Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, not_in_effect, split_flags, split_mount
from fsconsole.devices.discover import find_device
from fsconsole.devices.uses import read_arrays
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.checks import Verdict, killed_for_memory
from fsconsole.inspect.features import Feature
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.device import MdArray
from fsconsole.model.events import FeatureSeen, Outcome, WarningKind, WarningRaised
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.workload import Workload
from fsconsole.system.files import memory_bytes, read_text_or
from fsconsole.telemetry.block import SYS, disk_name, watched_tree
from fsconsole.units import format_percent, format_seconds
from fsconsole.workloads.protocol import LoadResult

# Warnings on arrays that lack members: their figures are not those that they have when whole.

HINT = "Give it its members, let it recover (/proc/mdstat), and run the plan again: a whole array is another one."


def degraded_below(target: str) -> tuple[MdArray, ...]:
    """Return the arrays that lack members, of the target and of all that it stands on. Raises KernelUnreadable."""
    names = {device.name for device in watched_tree(os.path.basename(os.path.realpath(target)))}
    return tuple(array for array in read_arrays() if array.degraded and array.name in names)


def degraded_words(array: MdArray) -> str:
    """Return what is wrong with such an array."""
    return f"the array /dev/{array.name} lacks {array.degraded} of its {len(array.slots)} members"


def about_end(work: CellWork, known: Iterable[str]) -> None:
    """Warn of what a cell's arrays lack at its end; known is what the whole run is warned of anyway."""
    for array in degraded_below(work.cell.target):
        words = degraded_words(array)
        if words not in known:
            work.warn(WarningKind.NOT_COMPARABLE, f"{words} when the cell ended", HINT)


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
            warn(WarningKind.NOT_COMPARABLE, degraded_words(array), HINT)
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


# Warnings on options that were accepted and are not in effect, and on drivers of another name.

_JOURNAL = Where("the journal", "options")
_HINT = (
    "Read this row as one without the option; `fsconsole catalog FS --probe` tells what this machine takes."
)


def note_features(work: CellWork, scope: Scope, features: Sequence[Feature]) -> None:
    """Journal what was read back, and warn of what the variant asked for and is not there."""
    for feature in features:
        work.run.journal.record(
            FeatureSeen(work.cell.index, work.run.attempt, feature.scope, feature.name, feature.value),
            durable=False,
        )
    _warn(work, scope, {feature.name: feature.value for feature in features})


def _warn(work: CellWork, scope: Scope, seen: dict[str, str]) -> None:
    variant = work.cell.variant
    filesystem = load_catalog().get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem.mount_words, _JOURNAL)
    seen_there = {scope: seen}
    log = work.kernel_log.lines() if scope is Scope.MOUNT else ()
    for reason in not_in_effect(filesystem, mkfs, mount, seen_there, log):
        work.warn(WarningKind.NOT_IN_EFFECT, reason, _HINT)
    driver = seen.get("driver", variant.filesystem)
    if scope is Scope.MOUNT and driver != variant.filesystem:
        work.warn(
            WarningKind.DRIVER,
            f"{variant.filesystem} is served by the {driver} driver",
            "Its figures are that driver's; before Linux 4.3 ext3, and ext2 too, could have one of their own.",
        )


# Telling a step that failed since the kernel ran out of memory from one that failed of itself.

_MEMORY_HINT = (
    "Use fewer threads or smaller blocks, or give it memory: `dmesg` says how much each process had, "
    "and whether the limit was the machine's or that of a cgroup."
)


def with_killed(work: CellWork, step: Step, result: StepResult, said_before: int) -> StepResult:
    """Return a step's result, a failed one with what the kernel killed meanwhile for want of memory in its reason.

    said_before is how many lines the cell's kernel log had when the step began.
    """
    if result.outcome is not Outcome.FAILED and result.verdict != Verdict.FAILED.value:
        return result
    names = killed_for_memory(work.kernel_log.lines()[said_before:])
    if not names:
        return result
    killed = "the generator" if step.kind is StepKind.WORKLOAD else " and ".join(names)
    why = f"{killed} was killed (out of memory)"
    work.warn(WarningKind.KERNEL_LOG, f"{step.kind.value}: {why}", _MEMORY_HINT)
    return replace(result, reason=f"{why}: {result.reason}")
