"""Warnings about the machine, the targets and the disk of the run folder, each with a hint what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob

from fsconsole.devices.fingerprint import NOT_COUNTED, sectors_written
from fsconsole.devices.snapshot import find_device, read_arrays
from fsconsole.engine import warnings_directory
from fsconsole.engine.work import CellWork
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.device import MdArray
from fsconsole.model.events import WarningKind, WarningRaised
from fsconsole.model.run import RunRequest
from fsconsole.system.files import read_text_or
from fsconsole.telemetry.block import SYS, disk_name, watched_tree

_LACKS_HINT = "Add the missing members, let it recover (/proc/mdstat), and run the plan again."


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
    for array in degraded_below(f"/dev/{work.device_name}"):
        words = degraded_words(array)
        if words not in known:
            work.warn(WarningKind.NOT_COMPARABLE, f"{words} when the cell ended", _LACKS_HINT)


def about_run(request: RunRequest, folder_path: str, journal: JournalWriter, attempt: int) -> frozenset[str]:
    """Warn of a run log on the tested disk, a cached or degraded target, disabled I/O statistics, and a governor.

    Returns the warnings' texts.
    """
    runs_device = os.stat(folder_path).st_dev
    warned: set[str] = set()

    def warn(kind: WarningKind, reason: str, hint: str) -> None:
        journal.record(WarningRaised(None, attempt, kind, reason, hint), durable=False)
        warned.add(reason)

    for target in request.targets:
        if target.place is not None:
            warnings_directory.about_directory(target, runs_device, warn)
            continue
        device = find_device(target.path)
        loop = device.loop
        for array in degraded_below(target.path):
            warn(WarningKind.NOT_COMPARABLE, degraded_words(array), _LACKS_HINT)
        disks = dict.fromkeys(disk_name(watched.name) for watched in watched_tree(device.name))
        paths = {disk: f"/dev/{disk.replace('!', '/')}" for disk in disks}
        uncounted = [disk for disk in disks if NOT_COUNTED in sectors_written(find_device(paths[disk]))[:1]]
        if uncounted:
            warn(
                WarningKind.NOT_COUNTED,
                f"I/O statistics are disabled for {', '.join(uncounted)}: gauges stay empty",
                "Enable them before a run: `echo 1 > /sys/block/NAME/queue/iostats`.",
            )
        if loop is not None and loop.file_device == runs_device:
            warn(
                WarningKind.JOURNAL_SHARED_DISK,
                f"the run log is on the filesystem that holds the file below {target.path}",
                "Put the runs (--runs) or the scratch file (--dir) on another disk: the log's writes affect the results.",
            )
        if loop is not None and not loop.direct_io:
            warn(
                WarningKind.CACHED,
                f"{target.path} goes through the page cache of the filesystem below it",
                "Run `losetup --direct-io=on DEVICE`, or use a scratch file on a filesystem that supports direct I/O.",
            )
    slowed = governors()
    if slowed:
        warn(
            WarningKind.GOVERNOR,
            f"the CPUs' frequency governor is {' and '.join(slowed)}, not performance",
            "Run `cpupower frequency-set --governor performance` first: else the CPU clock, and with it the figures, vary.",
        )
    return frozenset(warned)


def governors(sys: str = SYS) -> tuple[str, ...]:
    """Return the frequency governors in use other than performance, sorted (Documentation/admin-guide/pm/cpufreq.rst).

    Empty where the kernel doesn't set the frequency: in most virtual machines.
    """
    found = {read_text_or(path, "") for path in glob(f"{sys}/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")}
    return tuple(sorted(found - {"", "performance"}))


def about_array(work: CellWork) -> None:
    """Warn of an array that was assumed clean and never resynced."""
    array = work.cell.array
    if array is not None and array.assume_clean:
        work.warn(
            WarningKind.ASSUMED_CLEAN,
            f"the {array.level} was assumed clean: its redundancy was never synced",
            "Compare speed only; for figures of a production array leave assume_clean out.",
        )


def about_target(work: CellWork) -> None:
    """Warn if the target is a loop device, shares its disk with the system, or is an array in resync."""
    for target in work.run.request.targets:
        if target.shared and target.path in work.cell.devices:
            work.warn(
                WarningKind.SHARED_DISK,
                f"the target {target.shared}: the system's own I/O affects its figures",
                "Compare variants within this run only; for figures of a disk, run the plan on one without the system.",
            )
    arrays = () if work.cell.array is not None else arrays_below(f"/dev/{work.device_name}")
    for array in (array for array in arrays if array.action):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            f"/dev/{array.name} was in {array.action}: md wrote to its members during the cell",
            f"Wait for it (`mdadm --wait /dev/{array.name}`), and run these cells again.",
        )
    if any(name.startswith("loop") for name in work.device_names):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            "the target is a loop device: its figures are those of the file below it",
            "Compare variants within this run only; for figures of a disk, run the plan on that disk.",
        )
