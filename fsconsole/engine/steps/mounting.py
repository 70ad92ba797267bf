"""Mounting, and proving that what is mounted is the target."""

from __future__ import annotations

import os

from fsconsole.catalog.filesystem import Scope
from fsconsole.engine.effects import note_features
from fsconsole.engine.work import CellWork, StepFailed, StepResult, failure_words
from fsconsole.inspect.features import read_mount_options
from fsconsole.inspect.kernel_log import naming, refusal_words, worth_a_warning
from fsconsole.inspect.space import space_measurements
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step
from fsconsole.plan.steps import TREE
from fsconsole.system.mounts import MountEntry, read_mounts
from fsconsole.system.sync import drop_caches
from fsconsole.telemetry.places import bdi_stats_path

TREE_NAME = os.path.basename(TREE)


def mount_new(work: CellWork, step: Step) -> StepResult:
    """Mount the new filesystem, note its effective options and its room, and make the workload's tree."""
    elapsed_s = _mount(work, step.commands[0])
    note_features(work, Scope.MOUNT, read_mount_options(work.cell.target, work.mount_point))
    room = space_measurements(work.mount_point, work.cell.target)
    descriptor = open_mount(work)
    try:
        os.mkdir(TREE_NAME, 0o755, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return StepResult((Measurement(Metric.MOUNT, elapsed_s), *room))


def remount(work: CellWork, step: Step) -> StepResult:
    """Unmount and mount again, so that preallocation beyond the ends of files is given back."""
    unmount(work, step.commands[0])
    _mount(work, step.commands[1])
    return StepResult()


def make_cold(work: CellWork, step: Step) -> StepResult:
    """Unmount, sync, drop all caches and mount: nothing of the filesystem is left in any cache of the kernel."""
    unmount_argv, sync_argv, mount_argv = step.commands
    unmount(work, unmount_argv)
    work.command(sync_argv)
    drop_caches()
    _mount(work, mount_argv)
    return StepResult()


def mount_cold(work: CellWork, step: Step) -> StepResult:
    """Mount with nothing of the filesystem left in any cache of the kernel."""
    os.sync()
    drop_caches()
    _mount(work, step.commands[0])
    return StepResult()


def unmount_timed(work: CellWork, step: Step) -> StepResult:
    """Unmount the loaded filesystem."""
    return StepResult((Measurement(Metric.UNMOUNT, unmount(work, step.commands[0])),))


def release(work: CellWork, _step: Step) -> StepResult:
    """Give back whatever the cell still holds."""
    work.run.wishes.cell_releases()
    work.stack.close()
    return StepResult()


def open_mount(work: CellWork) -> int:
    """Return a descriptor of the mounted filesystem's root, proved to be the cell's and not the host's."""
    descriptor = os.open(work.mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if work.mounted_device is None or os.fstat(descriptor).st_dev != work.mounted_device:
        os.close(descriptor)
        raise StepFailed(f"{work.cell.target} is no longer mounted where the run mounted it")
    return descriptor


def _mount(work: CellWork, argv: tuple[str, ...]) -> float:
    # Due from here on: a mount that succeeds may yet be followed by an interruption or a full journal.
    work.stack.callback(_unmount_if_mounted, work)
    result = work.command(argv, accept_failure=True)
    if result.exit_code != 0:
        # mount(8) says the same words for nearly every refusal; why stands in the kernel's log alone.
        words = refusal_words(work.cell.variant.filesystem, result.kernel_log)
        raise StepFailed("; ".join(words) or failure_words(result))
    entry = _mounted_at(work.mount_point)
    if entry is None or os.path.realpath(entry.source) != os.path.realpath(work.cell.target):
        raise StepFailed(f"mount said yes, yet {work.cell.target} is not what is mounted")
    # btrfs gives its subvolumes numbers of their own: what stat says, not the mount table, is what will be compared.
    work.mounted_device = os.stat(work.mount_point).st_dev
    work.run.sampler.watch_bdi(bdi_stats_path(work.run.places.debug, work.mount_point))
    return result.usage.elapsed_s


def unmount(work: CellWork, argv: tuple[str, ...], *, clock_runs_on: bool = False) -> float:
    """Unmount what is mounted and return the seconds it took. Raises StepFailed where writes were lost in it."""
    work.run.sampler.watch_bdi(None)
    result = work.command(argv, clock_runs_on=clock_runs_on)
    work.mounted_device = None
    device = os.path.basename(os.path.realpath(work.cell.target))
    # umount(2) tells of no error of the writes that it waits for.
    lost = naming(worth_a_warning(result.kernel_log, device), device)
    if lost:
        raise StepFailed(f"umount said yes, but the kernel logged: {lost[0]}")
    return result.usage.elapsed_s


def _unmount_if_mounted(work: CellWork) -> None:
    work.mounted_device = None
    if _mounted_at(work.mount_point) is not None:
        work.run.sampler.watch_bdi(None)
        work.release_command(("umount", work.mount_point))


def _mounted_at(mount_point: str) -> MountEntry | None:
    """Return what is mounted there, or None: the mount table answers both ways."""
    entries = [entry for entry in read_mounts() if entry.mount_point == mount_point]
    return entries[-1] if entries else None
