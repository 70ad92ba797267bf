"""Steps of a filesystem's life: gate, mkfs, mount, extents, unmount, check, delete."""

from __future__ import annotations

import os
import resource
import time
from contextlib import ExitStack

from fsconsole.catalog.filesystem import Scope
from fsconsole.devices.uses import block_number
from fsconsole.engine.steps import layout
from fsconsole.engine.warnings_load import about_crash, note_features
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult, failure_words
from fsconsole.errors.runs import KernelLacks
from fsconsole.inspect import checks
from fsconsole.inspect.checks import CheckVerdict
from fsconsole.inspect.extents import layout_measurements, space_measurements, survey_tree
from fsconsole.inspect.features import first_complaint, parse_mkfs_features, read_mount_options
from fsconsole.model.command import ResourceUsage
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.plan.steps import TREE
from fsconsole.system.block import drop_caches, flush_buffers, forget_cached
from fsconsole.system.files import opened
from fsconsole.system.mounts import mounted_at
from fsconsole.telemetry.machine import bdi_stats_path
from fsconsole.text import error_reason
from fsconsole.workloads.tree import DIRECTORY_FLAGS, RemovalStopped, remove_tree

_FOUND = {
    CheckVerdict.FAILED: "the check could not run",
    CheckVerdict.ERRORS: "the check found damage",
    CheckVerdict.REPAIRED: "the check found damage, and repaired it",
}
_HINT = "Don't trust this row's figures; see the check's raw output, the kernel log and the device's health."


def check(work: CellWork, step: Step) -> StepResult:
    """Run the forced full check; damage is a result, not a failure of the step."""
    # The run's lock keeps the node's cache, which the last close would empty: f2fs wrote past it.
    forget_cached(work.cell.target)
    result = work.command(step.commands[0], accept_failure=True)
    said = result.out + result.err
    verdict = checks.verdict_of(work.cell.variant.filesystem, result.exit_code, said)
    device = os.path.basename(os.path.realpath(work.cell.target))
    if verdict is CheckVerdict.ERRORS and checks.naming(checks.worth_a_warning(result.kernel_log, device), device):
        # After I/O errors, apparent damage may be the disk's fault alone.
        verdict = CheckVerdict.FAILED
    is_empty = step.kind is StepKind.CHECK_EMPTY
    figures = list(_timed(result.usage, Metric.CHECK, Metric.CHECK_USER, Metric.CHECK_SYSTEM))
    share_percent = checks.non_contiguous_percent(said)
    if share_percent is not None:
        figures.append(Measurement(Metric.NON_CONTIGUOUS, share_percent))
    if is_empty:
        figures = [Measurement(Metric.CHECK_EMPTY, result.usage.elapsed_s)]
    # 0: it was over before its memory could be read.
    if result.usage.max_rss_bytes:
        peak = Metric.CHECK_EMPTY_RSS if is_empty else Metric.CHECK_RSS
        figures.append(Measurement(peak, result.usage.max_rss_bytes))
    reason = ""
    if verdict is not CheckVerdict.CLEAN:
        said_by = (result.err, result.out) if verdict is CheckVerdict.FAILED else (result.out, result.err)
        complaints = [complaint for complaint in map(first_complaint, said_by) if complaint]
        reason = f"{_FOUND[verdict]}: {(*complaints, failure_words(result))[0]}"
        work.warn(WarningKind.CHECK, reason, _HINT)
    return StepResult(tuple(figures), verdict=verdict.value, reason=reason)


def check_empty(work: CellWork, step: Step) -> StepResult:
    """Check the new filesystem; what the filled one takes beyond it is what its files cost."""
    result = check(work, step)
    with opened(work.cell.target) as device:
        # e2fsck reads inode tables through the device's page cache: the load must not find them there.
        flush_buffers(device)
    return result


def check_quick(work: CellWork, step: Step) -> StepResult:
    """Time the check of a filesystem that is marked clean, as a boot makes it: it proves nothing of its health."""
    forget_cached(work.cell.target)
    drop_caches()
    result = work.command(step.commands[0], accept_failure=True)
    # What it found the forced check tells, too.
    return StepResult(_timed(result.usage, Metric.QUICK_CHECK, Metric.QUICK_CHECK_USER, Metric.QUICK_CHECK_SYSTEM))


def _timed(usage: ResourceUsage, elapsed: Metric, user: Metric, system: Metric) -> tuple[Measurement, ...]:
    return (
        Measurement(elapsed, usage.elapsed_s),
        Measurement(user, usage.user_s),
        Measurement(system, usage.system_s),
    )


TREE_NAME = os.path.basename(TREE)


def mount_new(work: CellWork, step: Step) -> StepResult:
    """Mount the new filesystem, journal its effective options and its space, and create the workload's tree."""
    elapsed_s = mount(work, step.commands[0])
    note_features(work, Scope.MOUNT, read_mount_options(work.cell.target, work.mount_point))
    about_crash(work)
    room = space_measurements(work.mount_point, work.cell.target)
    work.usable_bytes = room[0].value
    descriptor = open_mount(work)
    try:
        os.mkdir(TREE_NAME, 0o755, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return StepResult((Measurement(Metric.MOUNT, elapsed_s), *room))


def remount_timed(work: CellWork, step: Step) -> StepResult:
    """Unmount the loaded filesystem, and mount it, which frees preallocation beyond the ends of files."""
    unmount_argv, mount_argv = step.commands
    elapsed_s = unmount(work, unmount_argv)
    mount(work, mount_argv)
    return StepResult((Measurement(Metric.UNMOUNT, elapsed_s),))


def remount_cold(work: CellWork, step: Step) -> StepResult:
    """Unmount, drop all caches and mount: the filesystem is in no cache of the kernel."""
    unmount_argv, sync_argv, mount_argv = step.commands
    unmount(work, unmount_argv)
    work.command(sync_argv)
    drop_caches()
    mount(work, mount_argv)
    return StepResult()


def mount_cold(work: CellWork, step: Step) -> StepResult:
    """Mount the filled filesystem, which is in no cache of the kernel."""
    os.sync()
    drop_caches()
    return StepResult((Measurement(Metric.MOUNT_FILLED, mount(work, step.commands[0])),))


def unmount_filled(work: CellWork, step: Step) -> StepResult:
    """Measure what the loads have filled, and unmount for the check."""
    room = os.statvfs(work.mount_point)
    figures = [Measurement(Metric.USED, work.usable_bytes - room.f_bfree * room.f_frsize)]
    if room.f_files:
        figures.append(Measurement(Metric.INODES, room.f_files - room.f_ffree))
    elapsed_s = unmount(work, step.commands[0])
    if not work.cell.after.extents:
        # With them, the unmount before their count was the first.
        figures.append(Measurement(Metric.UNMOUNT, elapsed_s))
    return StepResult(tuple(figures))


def release(work: CellWork, _step: Step) -> StepResult:
    """Release what the cell still holds; its own array is stopped last."""
    work.run.requests.cell_releases()
    work.stack.close()
    return StepResult()


def open_mount(work: CellWork) -> int:
    """Return a descriptor of the mounted root, checked by st_dev to be the cell's and not the host's; of a directory the own one."""
    if work.own is not None:
        return os.dup(work.own.fd)
    descriptor = os.open(work.mount_point, DIRECTORY_FLAGS)
    if work.mounted_device is None or os.fstat(descriptor).st_dev != work.mounted_device:
        os.close(descriptor)
        raise StepFailed(f"{work.cell.target} is no longer mounted where the run mounted it")
    return descriptor


def mount(work: CellWork, argv: tuple[str, ...], device: str = "") -> float:
    """Mount the cell's filesystem, to be unmounted by the release, and return the seconds it took. Raises StepFailed.

    device is what it is mounted from, the cell's target by default.
    """
    # Due from here on: an interruption or a full journal may follow a successful mount.
    work.stack.callback(_unmount_if_mounted, work)
    result = work.command(argv, accept_failure=True)
    if result.exit_code != 0:
        # mount(8) has one message for nearly every refusal; the reason is in the kernel log.
        words = checks.refusal_words(work.cell.variant.filesystem, result.kernel_log)
        raise StepFailed("; ".join(words) or failure_words(result))
    entry = mounted_at(work.mount_point)
    # By number: without udevd /dev/mapper/NAME is a node of its own, not a link.
    if entry is None or block_number(entry.source) != block_number(device or work.cell.target):
        raise StepFailed(f"mount succeeded, but {work.cell.target} is not what is mounted")
    # btrfs gives its subvolumes st_dev numbers of their own: later checks compare stat, not the mount table.
    work.mounted_device = os.stat(work.mount_point).st_dev
    work.run.sampler.gauges.watch_bdi(bdi_stats_path(work.run.places.debug, work.mount_point))
    return result.usage.elapsed_s


def unmount(work: CellWork, argv: tuple[str, ...], *, clock_runs_on: bool = False) -> float:
    """Unmount and return the seconds it took. Raises StepFailed if writes were lost."""
    work.run.sampler.gauges.watch_bdi(None)
    result = work.command(argv, clock_runs_on=clock_runs_on)
    work.mounted_device = None
    device = os.path.basename(os.path.realpath(work.cell.target))
    # umount(2) reports no error of the writes that it waits for.
    lost = checks.naming(checks.worth_a_warning(result.kernel_log, device), device)
    if lost:
        raise StepFailed(f"umount succeeded, but the kernel logged: {lost[0]}")
    return result.usage.elapsed_s


def _unmount_if_mounted(work: CellWork) -> None:
    work.mounted_device = None
    if mounted_at(work.mount_point) is not None:
        work.run.sampler.gauges.watch_bdi(None)
        work.release_command(("umount", work.mount_point))


def delete(work: CellWork, step: Step) -> StepResult:
    """Remove the workload's tree: by the step's command, or in this process if it has none."""
    root = open_mount(work)
    try:
        work.delete_began_s = time.monotonic()
        if not step.commands:
            before = resource.getrusage(resource.RUSAGE_THREAD)
            remove_tree(TREE_NAME, root, os.fstat(root).st_dev, lambda: work.run.requests.interrupting)
            elapsed_s = time.monotonic() - work.delete_began_s
            after = resource.getrusage(resource.RUSAGE_THREAD)
            user_s, system_s = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            usage = ResourceUsage(elapsed_s, user_s, system_s, 0)
    except RemovalStopped as stopped:
        raise Interrupted from stopped
    finally:
        os.close(root)
    if step.commands:
        usage = work.command(step.commands[0], clock_runs_on=True).usage
    return StepResult(_timed(usage, Metric.DELETE, Metric.DELETE_USER, Metric.DELETE_SYSTEM))


def unmount_after_delete(work: CellWork, step: Step) -> StepResult:
    """Unmount, which waits for the delete's remaining writes, and flush the device, which not every unmount does."""
    unmount(work, step.commands[0], clock_runs_on=True)
    with opened(work.cell.target) as device:
        try:
            os.fsync(device)
        except OSError as error:
            raise StepFailed(f"not all of the delete reached the device: {error_reason(error)}") from error
    return StepResult((Measurement(Metric.DELETE_DURABLE, time.monotonic() - work.delete_began_s),))


def pass_gate(work: CellWork, _step: Step) -> StepResult:
    """Prove that the target is still what consent was given for; an error here ends the run."""
    work.run.prover.prove_cell(work.cell)
    return StepResult(verdict="passed")


def make(work: CellWork, step: Step) -> StepResult:
    """Format; the first command is mkfs and is timed, tuning commands follow."""
    work.run.prover.prove_place(work.cell, work.cell.target)
    if work.run.attempt > 1 or any(pilot.cell == work.cell.index for pilot in work.run.pilots):
        # A pilot, or a killed attempt, may have left the cell's own UUID there, which mkfs.btrfs refuses to make a second time.
        work.wipe(("wipefs", "--all", "--force", work.cell.target))
    results = [work.wipe(argv) for argv in step.commands]
    return StepResult(_timed(results[0].usage, Metric.MKFS, Metric.MKFS_USER, Metric.MKFS_SYSTEM))


def read_features(work: CellWork, step: Step) -> StepResult:
    """Read back the effective features."""
    for argv in step.commands:
        text = work.command(argv).out
        note_features(work, Scope.MKFS, parse_mkfs_features(work.cell.variant.filesystem, text))
    return StepResult()


def survey(work: CellWork, step: Step) -> StepResult:
    """Count the extents of all files of the tree, or of the step's workload, and journal their layout.

    A filesystem without FIEMAP (jfs, reiserfs) gets a warning instead.
    """
    with ExitStack() as stack:
        fd = open_mount(work)
        stack.callback(os.close, fd)
        names = [TREE_NAME]
        if step.workload is not None:
            made = work.made.get(step.workload)
            if made is None:
                raise StepFailed(f"'{work.cell.workloads[step.workload].name}' has made no files")
            names.append(made.directory)
        for name in names:
            fd = os.open(name, DIRECTORY_FLAGS, dir_fd=fd)
            stack.callback(os.close, fd)
        try:
            recorder = layout.recorder_of(work, fd)
            surveyed = survey_tree(fd, recorder.add)
            return StepResult((*layout_measurements(surveyed), *layout.noted(work, recorder)))
        except KernelLacks as error:
            work.warn(WarningKind.NOT_IN_EFFECT, f"extents were not counted: {error}", error.hint)
            return StepResult()
