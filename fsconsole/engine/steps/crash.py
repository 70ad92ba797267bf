"""Crashes: a load that is struck by a shutdown of its filesystem, the recovery, and what is lost."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

from fsconsole.engine.steps import life
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult, failure_words
from fsconsole.inspect.checks import CheckVerdict
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.plan.steps import CRASH_TREE, crash_load
from fsconsole.system.block import device_size_bytes, drop_caches, forget_cached, open_exclusive, shut_down, syncfs
from fsconsole.system.files import opened
from fsconsole.workloads.builtin import BuiltInLoad, prepare_load
from fsconsole.workloads.stamps import ORIGIN_BYTES, Found, Struck, find, syncs_of
from fsconsole.workloads.tree import DIRECTORY_FLAGS, RemovalStopped, remove_tree

TREE_NAME = os.path.basename(CRASH_TREE)
LOST = "lost"
"""The verdict where a synced file was lost."""
_LOST_HINT = (
    "Don't keep data on it that must survive a power cut; look at its options and at the kernel log of the cell."
)
_POLL_S = 0.0005
"""A sync on flash takes a tenth of a millisecond: half of the load is soon written."""
_RELEASE_LIMIT_S = 30.0


def strike(work: CellWork, step: Step) -> StepResult:
    """Mount, write files, and shut the filesystem down when half of the syncs have returned; unmount what is left."""
    mount_argv, unmount_argv = step.commands
    life.mount(work, mount_argv)
    with opened(work.cell.target) as device:
        load = crash_load(device_size_bytes(device))
    said_before = len(work.kernel_log.lines())
    with ExitStack() as stack:
        root = life.open_mount(work)
        stack.callback(os.close, root)
        with suppress(FileExistsError):
            os.mkdir(TREE_NAME, 0o755, dir_fd=root)
        origin = os.urandom(ORIGIN_BYTES)
        handle = prepare_load(
            load,
            tree=CRASH_TREE,
            tree_device=os.fstat(root).st_dev,
            hidden=(os.path.dirname(work.run.folder_path),),
            origin=origin,
        )
        stack.callback(handle.kill)
        syncs = _strike_halfway(work, handle, root)
        result = handle.wait()
        work.keep(work.step_number, handle.end())
    work.struck = Struck(origin, result.directory, load, syncs, result.threads)
    work.command(unmount_argv)
    work.mounted_device = None
    # Messages of a shutdown are its own doing, and no fault of the device.
    work.expected_log.append(slice(said_before, len(work.kernel_log.lines())))
    _await_release(work)
    return StepResult()


def _strike_halfway(work: CellWork, handle: BuiltInLoad, root: int) -> tuple[int, ...]:
    """Return the syncs of each writer that had returned before the strike."""
    handle.wait_ready()
    # The directories must outlive the strike: only files are the load's own.
    syncfs(root)
    half = syncs_of(handle.workload) // 2
    handle.go()
    while sum(syncs := tuple(thread.operations for thread in handle.page.read())) < half:
        if work.run.requests.interrupting:
            handle.page.request_stop()
            raise Interrupted
        if handle.finished(_POLL_S):
            raise StepFailed(f"the load ended before the strike: {handle.wait().failures or 'it was too short'}")
    shut_down(root)
    # What the writers do now fails (EIO); one that waits for nothing ends too.
    handle.page.request_stop()
    return syncs


def _await_release(work: CellWork) -> None:
    """Wait until no mount namespace has the filesystem any more: a mount would show the one that was shut down."""
    deadline = time.monotonic() + _RELEASE_LIMIT_S
    while True:
        try:
            os.close(open_exclusive(work.cell.target))
        except OSError as error:
            if time.monotonic() > deadline:
                raise StepFailed(f"{work.cell.target} is still in use after the unmount: {error.strerror}") from error
        else:
            return
        if work.run.requests.interrupting:
            raise Interrupted
        time.sleep(0.01)


def recover(work: CellWork, step: Step) -> StepResult:
    """Recover from cold caches, by the mount or by a program before it, whichever the step's first command is; timed."""
    *replays, mount_argv = step.commands
    os.sync()
    drop_caches()
    forget_cached(work.cell.target)
    elapsed_s, metric = 0.0, Metric.RECOVER
    for argv in replays:
        result = work.command(argv, accept_failure=True)
        # 1: it has corrected something, which a replay may need (man 8 e2fsck, EXIT CODE).
        if result.exit_code not in (0, 1):
            raise StepFailed(failure_words(result))
        elapsed_s, metric = result.usage.elapsed_s, Metric.RECOVER_FSCK
    mount_s = life.mount(work, mount_argv)
    return StepResult((Measurement(metric, elapsed_s if replays else mount_s),))


def verify(work: CellWork, step: Step) -> StepResult:
    """Count what is lost, remove the load's files, unmount, and check in full where the step says so."""
    unmount_argv, *checks = step.commands
    if work.struck is None:
        raise StepFailed("there was no strike before it")
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
        work.warn(WarningKind.LOST_DATA, f"after a shutdown, {found.words}", _LOST_HINT)
    return StepResult(_figures(work.found), verdict=verdict, reason=reason)


def _figures(found: Found) -> tuple[Measurement, ...]:
    """Return the counts over all strikes of the cell so far."""
    return (
        Measurement(Metric.LOST_SYNCED, len(found.lost)),
        Measurement(Metric.SYNCED, found.synced),
        Measurement(Metric.UNSYNCED, found.unsynced),
        Measurement(Metric.UNSYNCED_WHOLE, found.whole),
        Measurement(Metric.UNSYNCED_PART, found.part),
    )
