"""Crash test: a filesystem shut down in the middle of a load, its recovery, and the count of lost files."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from fsconsole.engine.steps import life
from fsconsole.engine.warnings_load import no_crash
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult, failure_words
from fsconsole.errors.runs import ToolMissing
from fsconsole.inspect.checks import CheckVerdict
from fsconsole.model.command import ResourceUsage
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.load import ThreadCounters
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.plan.steps import CRASH_TREE, crash_device, crash_load, crash_name, remove_command, resume_command
from fsconsole.system.block import (
    device_size_bytes,
    drop_caches,
    forget_cached,
    forget_mapped,
    mapped_as,
    open_exclusive,
    shut_down,
    syncfs,
)
from fsconsole.system.files import opened, read_text
from fsconsole.text import error_reason
from fsconsole.workloads.builtin import BuiltInLoad, prepare_load
from fsconsole.workloads.stamps import ORIGIN_BYTES, Found, Struck, find, syncs_of
from fsconsole.workloads.tree import DIRECTORY_FLAGS, RemovalStopped, remove_tree

TREE_NAME = os.path.basename(CRASH_TREE)
LOST = "lost"
"""The verdict where a synced file was lost."""
_LOST_HINT = "Don't keep data on it that must survive a power cut; check its mount options and the cell's kernel log."
_POLL_S = 0.0005
"""Poll interval: a sync on flash takes 0.1 ms, so half of the load is soon written."""
_RELEASE_LIMIT_S = 30.0


def strike(work: CellWork, step: Step) -> StepResult:
    """Mount, write files, shut the filesystem down when half of the syncs have returned, unmount.

    If the step has dmsetup commands, dm-flakey drops the writes below the filesystem instead.
    """
    work.struck = None
    argvs = iter(step.commands)
    device = work.cell.target
    if is_mapped := step.commands[0][0] == "dmsetup":
        if why := _map(work, next(argvs), next(argvs)):
            no_crash(work, f"dm-flakey is not available: {why}")
            return StepResult(reason=why)
        device = crash_device(work.cell)
    life.mount(work, next(argvs), device)
    said_before = len(work.kernel_log.lines())
    *drops, unmount_argv = [argv for argv in argvs if argv != remove_command(work.cell.uuid)]
    work.struck = _struck(work, tuple(drops))
    work.command(unmount_argv)
    work.mounted_device = None
    if is_mapped:
        _unmap(work)
    # The shutdown's own kernel messages are no device errors.
    work.expected_log.append(slice(said_before, len(work.kernel_log.lines())))
    _await_release(work)
    return StepResult()


def _struck(work: CellWork, drops: tuple[tuple[str, ...], ...]) -> Struck:
    """Return the load on the mounted filesystem, when its writers have ended."""
    with opened(work.cell.target) as device:
        load = crash_load(device_size_bytes(device))
    origin = os.urandom(ORIGIN_BYTES)
    with ExitStack() as stack:
        root = life.open_mount(work)
        stack.callback(os.close, root)
        with suppress(FileExistsError):
            os.mkdir(TREE_NAME, 0o755, dir_fd=root)
        handle = prepare_load(
            load,
            tree=CRASH_TREE,
            tree_device=os.fstat(root).st_dev,
            hidden=(os.path.dirname(work.run.folder_path),),
            origin=origin,
        )
        stack.callback(handle.kill)
        before = _strike_halfway(work, handle, root, drops)
        result = handle.wait()
        work.keep(work.step_number, handle.end())
    return Struck(origin, result.directory, load, before, result.threads)


def _strike_halfway(
    work: CellWork, handle: BuiltInLoad, root: int, drops: tuple[tuple[str, ...], ...]
) -> tuple[ThreadCounters, ...]:
    """Return each writer's counters as they were before the strike."""
    handle.wait_ready()
    # The directories must survive: only files are tested.
    syncfs(root)
    half = syncs_of(handle.workload) // 2
    handle.go()
    while _syncs(before := handle.page.read()) < half:
        if work.run.requests.interrupting:
            handle.page.request_stop()
            raise Interrupted
        if handle.finished(_POLL_S):
            raise StepFailed(f"the load ended before the strike: {handle.wait().failures or 'it was too short'}")
    if drops:
        # A suspended device blocks writes and unmount: release must resume it first.
        work.stack.callback(_with_mapped, work, resume_command(work.cell.uuid))
        for argv in drops:
            work.command(argv)
    else:
        shut_down(root)
    # What the writers do now fails (EIO), or is dropped.
    handle.page.request_stop()
    return before


def _syncs(threads: Sequence[ThreadCounters]) -> int:
    return sum(thread.operations for thread in threads)


def _map(work: CellWork, argv: tuple[str, ...], mknodes: tuple[str, ...]) -> str:
    """Map dm-flakey over the target, to be removed by the release; return why that failed, empty if it didn't."""
    if why := work.run.prover.absence(work.cell.target):
        raise StepFailed(f"{work.cell.target} {why}")
    work.stack.callback(_unmap, work)
    try:
        result = work.command(argv, accept_failure=True)
    except ToolMissing as error:
        return str(error)
    if result.exit_code != 0:
        return (
            failure_words(result) if "device-mapper" in read_text("/proc/misc") else "this kernel has no device-mapper"
        )
    work.command(mknodes)
    below = os.listdir(f"/sys/block/{mapped_as(crash_name(work.cell.uuid))}/slaves")
    if below != [os.path.basename(os.path.realpath(work.cell.target))]:
        raise StepFailed(f"{crash_device(work.cell)} is over {', '.join(below)}, not over {work.cell.target}")
    return ""


def _unmap(work: CellWork) -> None:
    _with_mapped(work, remove_command(work.cell.uuid))
    forget_mapped(crash_name(work.cell.uuid))


def _with_mapped(work: CellWork, argv: tuple[str, ...]) -> None:
    """Run a release command on the cell's device-mapper device, if it exists."""
    if mapped_as(crash_name(work.cell.uuid)):
        work.release_command(argv)


def _await_release(work: CellWork) -> None:
    """Wait until no mount namespace holds the filesystem: a mount would return the instance that was shut down."""
    deadline = time.monotonic() + _RELEASE_LIMIT_S
    while True:
        try:
            os.close(open_exclusive(work.cell.target))
        except OSError as error:
            if time.monotonic() > deadline:
                raise StepFailed(
                    f"{work.cell.target} is still in use after the unmount: {error_reason(error)}"
                ) from error
        else:
            return
        if work.run.requests.interrupting:
            raise Interrupted
        time.sleep(0.01)


_GAVE_UP = 4
"""Errors were left (man 8 fsck, EXIT STATUS)."""


def recover(work: CellWork, step: Step) -> StepResult:
    """Time the recovery from cold caches, by mount or, if the step has them, by programs before it.

    The second program runs if the first one gives up.
    """
    if work.struck is None:
        return StepResult(reason="no crash was tested")
    *programs, mount_argv = step.commands
    os.sync()
    drop_caches()
    forget_cached(work.cell.target)
    usages: list[ResourceUsage] = []
    exit_code = _GAVE_UP
    for argv in programs:
        if exit_code != _GAVE_UP:
            break
        result = work.command(argv, accept_failure=True)
        usages.append(result.usage)
        exit_code = result.exit_code
        # 1: it has corrected something, which a recovery may need.
        if exit_code not in (0, 1, _GAVE_UP) or (exit_code == _GAVE_UP and argv == programs[-1]):
            raise StepFailed(failure_words(result))
        if exit_code == _GAVE_UP:
            hand, tried = (" ".join(words[:-1]) for words in (programs[-1], argv))
            reason = f"{tried}, as run at boot, gave up after the crash; {hand} repaired the filesystem"
            work.warn(
                WarningKind.GAVE_UP,
                reason,
                "Expect boots to stop for an administrator after a crash: plan console access, or use another filesystem.",
            )
    mount_s = life.mount(work, mount_argv)
    if not programs:
        return StepResult((Measurement(Metric.RECOVER, mount_s),))
    figures = (
        Measurement(Metric.RECOVER_FSCK, sum(one.elapsed_s for one in usages)),
        Measurement(Metric.RECOVER_FSCK_USER, sum(one.user_s for one in usages)),
        Measurement(Metric.RECOVER_FSCK_SYSTEM, sum(one.system_s for one in usages)),
    )
    return StepResult(figures)


def verify(work: CellWork, step: Step) -> StepResult:
    """Count lost files, remove the load's files, unmount, and run a full check if the step has one."""
    unmount_argv, *checks = step.commands
    if work.struck is None:
        return StepResult(reason="no crash was tested")
    root = life.open_mount(work)
    try:
        tree = os.open(TREE_NAME, DIRECTORY_FLAGS, dir_fd=root)
        try:
            found = find(work.struck, tree, lambda: work.run.requests.interrupting)
        finally:
            os.close(tree)
        remove_tree(TREE_NAME, root, os.fstat(root).st_dev, lambda: work.run.requests.interrupting)
    except RemovalStopped as stopped:
        raise Interrupted from stopped
    finally:
        os.close(root)
    life.unmount(work, unmount_argv)
    work.found += found
    reason, verdict = found.words, ""
    if checks:
        checked = life.check(work, replace(step, commands=tuple(checks)))
        verdict = checked.verdict
        reason += f"; {checked.reason}" if verdict != CheckVerdict.CLEAN.value else ""
    if found.lost:
        verdict = LOST
        work.warn(WarningKind.LOST_DATA, f"after a crash, {found.words}", _LOST_HINT)
    return StepResult(_figures(work.found), verdict=verdict, reason=reason)


def _figures(found: Found) -> tuple[Measurement, ...]:
    """Return the counts over all crashes of the cell so far."""
    return (
        Measurement(Metric.LOST_SYNCED, len(found.lost)),
        Measurement(Metric.SYNCED, found.synced),
        Measurement(Metric.UNSYNCED, found.unsynced),
        Measurement(Metric.UNSYNCED_WHOLE, found.whole),
        Measurement(Metric.UNSYNCED_PART, found.part),
    )
