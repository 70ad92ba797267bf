"""Removing the tree, cold, and the unmount that makes it durable."""

from __future__ import annotations

import os
import time

from fsconsole.engine.steps.mounting import open_mount, unmount
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step


def delete(work: CellWork, step: Step) -> StepResult:
    """Remove the workload's tree."""
    os.close(open_mount(work))
    work.delete_began_s = time.monotonic()
    usage = work.command(step.commands[0], clock_runs_on=True).usage
    return StepResult(
        (
            Measurement(Metric.DELETE, usage.elapsed_s),
            Measurement(Metric.DELETE_USER, usage.user_s),
            Measurement(Metric.DELETE_SYSTEM, usage.system_s),
        )
    )


def unmount_after_delete(work: CellWork, step: Step) -> StepResult:
    """Unmount, which waits for everything the delete still owed."""
    unmount(work, step.commands[0], clock_runs_on=True)
    return StepResult((Measurement(Metric.DELETE_DURABLE, time.monotonic() - work.delete_began_s),))
