"""Removing the tree, cold, and the unmount that makes it durable."""

from __future__ import annotations

import os
import resource
import time

from fsconsole.engine.steps.mounting import TREE_NAME, open_mount, unmount
from fsconsole.engine.work import CellWork, Interrupted, StepResult
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step
from fsconsole.workloads.removal import RemovalStopped, remove_tree


def delete(work: CellWork, step: Step) -> StepResult:
    """Remove the workload's tree: by the step's command, or where it has none by this process itself."""
    root = open_mount(work)
    try:
        work.delete_began_s = time.monotonic()
        if not step.commands:
            return _delete_here(work, root)
    finally:
        os.close(root)
    usage = work.command(step.commands[0], clock_runs_on=True).usage
    return StepResult(
        (
            Measurement(Metric.DELETE, usage.elapsed_s),
            Measurement(Metric.DELETE_USER, usage.user_s),
            Measurement(Metric.DELETE_SYSTEM, usage.system_s),
        )
    )


def _delete_here(work: CellWork, root: int) -> StepResult:
    before, began_s = resource.getrusage(resource.RUSAGE_THREAD), time.monotonic()
    try:
        remove_tree(TREE_NAME, root, os.fstat(root).st_dev, lambda: work.run.wishes.interrupting)
    except RemovalStopped as stopped:
        raise Interrupted from stopped
    elapsed_s, after = time.monotonic() - began_s, resource.getrusage(resource.RUSAGE_THREAD)
    return StepResult(
        (
            Measurement(Metric.DELETE, elapsed_s),
            Measurement(Metric.DELETE_USER, after.ru_utime - before.ru_utime),
            Measurement(Metric.DELETE_SYSTEM, after.ru_stime - before.ru_stime),
        )
    )


def unmount_after_delete(work: CellWork, step: Step) -> StepResult:
    """Unmount, which waits for everything the delete still owed."""
    unmount(work, step.commands[0], clock_runs_on=True)
    return StepResult((Measurement(Metric.DELETE_DURABLE, time.monotonic() - work.delete_began_s),))
