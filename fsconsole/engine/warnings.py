"""Warnings about a run's figures, each with a hint what to do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fsconsole.catalog.filesystem import Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, not_in_effect, split_flags, split_mount
from fsconsole.devices.fingerprint import NOT_COUNTED, sectors_written
from fsconsole.devices.snapshot import find_device, read_arrays
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.checks import CheckVerdict, killed_for_memory
from fsconsole.inspect.features import Feature
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.device import MdArray
from fsconsole.model.events import FeatureSeen, Outcome, WarningKind, WarningRaised
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.workload import Workload
from fsconsole.system.files import memory_bytes
from fsconsole.telemetry.block import disk_name, watched_tree
from fsconsole.units import format_percent, format_seconds
from fsconsole.workloads.protocol import LoadResult

HINT = "Add the missing members, let it recover (/proc/mdstat), and run the plan again."


def arrays_below(target: str) -> tuple[MdArray, ...]:
    """Return the arrays among the target and its lower devices. Raises KernelUnreadable."""
    names = {device.name for device in watched_tree(os.path.basename(os.path.realpath(target)))}
    return tuple(array for array in read_arrays() if array.name in names)


def degraded_below(target: str) -> tuple[MdArray, ...]:
    """Return the degraded ones of those. Raises KernelUnreadable."""
    return tuple(array for array in arrays_below(target) if array.degraded)


def degraded_words(array: MdArray) -> str:
    """Return the warning's text for a degraded array."""
    return f"the array /dev/{array.name} lacks {array.degraded} of its {len(array.slots)} members"


def about_end(work: CellWork, known: Iterable[str]) -> None:
    """Warn of arrays that are degraded at the cell's end; known are the warnings that the whole run has."""
    for array in degraded_below(work.cell.target):
        words = degraded_words(array)
        if words not in known:
            work.warn(WarningKind.NOT_COMPARABLE, f"{words} when the cell ended", HINT)


def about_samples(work: CellWork, lost: int) -> None:
    """Warn of gauges' samples that the journal could not take."""
    if lost:
        work.warn(
            WarningKind.NOT_COUNTED,
            f"{lost} samples of the gauges were lost: the disk of the run folder took none for too long",
            "The grid's figures are not affected, plots have a gap; keep runs (--runs) on a disk that answers.",
        )


SHORT_S = 10.0
NEARLY_FULL_PERCENT = 90.0
OBSERVER_PERCENT = 2.0
"""Thresholds of warnings."""


def about_run(request: RunRequest, folder_path: str, journal: JournalWriter, attempt: int) -> frozenset[str]:
    """Warn of a run log on the tested disk, of a cached or degraded target, and of disabled I/O statistics.

    Returns the warnings' texts.
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
        disks = dict.fromkeys(disk_name(watched.name) for watched in watched_tree(device.name))
        paths = {disk: f"/dev/{disk.replace('!', '/')}" for disk in disks}
        uncounted = [disk for disk in disks if NOT_COUNTED in sectors_written(find_device(paths[disk]))[:1]]
        if uncounted:
            warn(
                WarningKind.NOT_COUNTED,
                f"I/O statistics are disabled for {', '.join(uncounted)}: its gauges stay empty",
                "Enable them before a run: `echo 1 > /sys/block/NAME/queue/iostats`.",
            )
        if loop is not None and loop.file_device == runs_device:
            warn(
                WarningKind.JOURNAL_SHARED_DISK,
                f"runs are kept on the filesystem that holds the file below {target.path}",
                "Put the runs (--runs) or the scratch file (--dir) on another disk: the log's writes affect the results.",
            )
        if loop is not None and not loop.direct_io:
            warn(
                WarningKind.CACHED,
                f"{target.path} goes through the page cache of the filesystem below it",
                "`losetup --direct-io=on DEVICE`, or a scratch file on a filesystem that has direct I/O.",
            )
    return frozenset(warned)


def about_array(work: CellWork) -> None:
    """Warn of an array that was assumed clean and never resynced."""
    array = work.cell.array
    if array is not None and array.assume_clean:
        work.warn(
            WarningKind.ASSUMED_CLEAN,
            f"the {array.level} was assumed clean: its redundancy is not in sync until it is written",
            "Good for comparing speed only; for figures of a production array leave assume_clean out.",
        )


def about_target(work: CellWork) -> None:
    """Warn if the target is a loop device, shares its disk with the system, or is an array that md still brings in step."""
    for target in work.run.request.targets:
        if target.shared and target.path in work.cell.devices:
            work.warn(
                WarningKind.SHARED_DISK,
                f"the target {target.shared}: the system's own reads and writes disturb its figures",
                "Compare variants within this run only; for figures of a disk, run the plan on one without the system.",
            )
    arrays = () if work.cell.array is not None else arrays_below(work.cell.target)
    for array in (array for array in arrays if array.action):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            f"/dev/{array.name} was in {array.action}: md wrote to its members too",
            "Wait for it, `mdadm --wait`, and run these cells again.",
        )
    if any(path.startswith("/dev/loop") for path in work.cell.devices):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            "the target is a loop device: its figures are those of the file below it",
            "Compare variants within this run only; for figures of a disk, run the plan on that disk.",
        )


def about_load(work: CellWork, workload: Workload, result: LoadResult) -> None:
    """Warn of a load that was too short, too small for the RAM, or ended by a full filesystem."""
    about_duration(work, workload.name, result.elapsed_s)
    # Direct I/O bypasses the page cache.
    if workload.writes and not workload.direct and result.written_bytes < 2 * memory_bytes():
        work.warn(
            WarningKind.CACHED,
            f"'{workload.name}' wrote less than twice the RAM",
            "Use the durable column, which includes the drain; for the disk's own write figures, write more.",
        )
    if workload.reads and not (workload.cold or workload.direct) and result.read_bytes < 2 * memory_bytes():
        work.warn(
            WarningKind.CACHED,
            f"'{workload.name}' read less than twice the RAM, and not from a cold cache",
            "Set cold = true; a read from the page cache says nothing about the filesystem on its disk.",
        )
    if result.failures:
        work.warn(WarningKind.TARGET_FULL, result.failures, "Use a smaller scale or a larger device.")


def about_duration(work: CellWork, name: str, elapsed_s: float) -> None:
    """Warn of a phase that was too short for reliable figures."""
    if elapsed_s < SHORT_S:
        work.warn(
            WarningKind.SHORT,
            f"'{name}' took {format_seconds(elapsed_s)}",
            "Write more (file_size, files) before comparing variants that are close.",
        )


def about_fullness(work: CellWork, root: int) -> None:
    """Warn of a nearly full filesystem; root is a descriptor of its root."""
    room = os.fstatvfs(root)
    used_percent = 100 * (1 - room.f_bavail / room.f_blocks) if room.f_blocks else 0.0
    if used_percent > NEARLY_FULL_PERCENT:
        work.warn(
            WarningKind.NEARLY_FULL,
            f"filesystem {format_percent(used_percent)} full after the load",
            "Filesystems allocate differently when nearly full: use a smaller scale.",
        )


def about_observer(work: CellWork, observer_percent: float) -> None:
    """Warn if the engine itself used a noticeable share of the CPUs."""
    if observer_percent > OBSERVER_PERCENT:
        work.warn(
            WarningKind.OBSERVER,
            f"the engine itself used {format_percent(observer_percent)} of the CPUs",
            "Treat the CPU figures with care; a longer load dilutes the engine's fixed cost.",
        )


_JOURNAL = Where("the journal", "options")
_HINT = "Read this row as one without the option; `fsconsole catalog FS --probe` shows what this machine accepts."


def note_features(work: CellWork, scope: Scope, features: Sequence[Feature]) -> None:
    """Journal the effective features, and warn of requested ones that are not in effect."""
    for feature in features:
        work.run.journal.record(
            FeatureSeen(work.cell.index, work.run.attempt, feature.scope, feature.name, feature.value),
            durable=False,
        )
    seen = {feature.name: feature.value for feature in features}
    variant = work.cell.variant
    filesystem = load_catalog().get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem, _JOURNAL)
    log = work.kernel_log.lines() if scope is Scope.MOUNT else ()
    for reason in not_in_effect(filesystem, mkfs, mount, {scope: seen}, log):
        work.warn(WarningKind.NOT_IN_EFFECT, reason, _HINT)
    driver = seen.get("driver", variant.filesystem)
    if scope is Scope.MOUNT and driver != variant.filesystem:
        work.warn(
            WarningKind.DRIVER,
            f"{variant.filesystem} uses the {driver} driver",
            "The figures are that driver's; before Linux 4.3 ext2 and ext3 could have drivers of their own.",
        )


_MEMORY_HINT = (
    "Use fewer threads or smaller blocks, or add memory: `dmesg` shows how much each process used, "
    "and whether the machine or a cgroup set the limit."
)


def with_killed(work: CellWork, step: Step, result: StepResult, said_before: int) -> StepResult:
    """Return the result; a failed step's reason names programs that the kernel's OOM killer ended during it.

    said_before is the number of lines in the cell's kernel log when the step started.
    """
    if result.outcome is not Outcome.FAILED and result.verdict != CheckVerdict.FAILED.value:
        return result
    names = killed_for_memory(work.kernel_log.lines()[said_before:])
    if not names:
        return result
    killed = "the generator" if step.kind is StepKind.WORKLOAD else " and ".join(names)
    why = f"{killed} was killed (out of memory)"
    work.warn(WarningKind.KERNEL_LOG, f"{step.kind.value}: {why}", _MEMORY_HINT)
    return replace(result, reason=f"{why}: {result.reason}")
