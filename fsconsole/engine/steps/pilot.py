"""Steps of a pilot: loads of about a second, from whose figures all cells get their sizes."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.engine.steps import directory, load
from fsconsole.engine.steps.life import TREE_NAME, open_mount
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.model.events import Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.model.workload import Workload
from fsconsole.plan.sizing import Room, amount, first_try, next_try
from fsconsole.workloads.tree import DIRECTORY_FLAGS, remove_tree

_KEPT = frozenset({Metric.WRITE, Metric.READ, Metric.OPS_PER_S, Metric.DRAIN, Metric.DURABLE})


_REPEATS = 2
"""Of tries with a gap, in which the engine or the machine did not run: their times would make all loads too small."""


def pilot(work: CellWork, step: Step) -> StepResult:
    """Run a workload, larger each time, until it lasts about a second with its drain; the last try's figures count."""
    number, pilot = step.workload, work.pilot
    if number is None or pilot is None:
        raise StepFailed("the step is of no pilot")
    loads = work.cell.workloads
    pilot.room = pilot.room or _room(work)
    most, next_one = amount(loads[number]), first_try(loads, number)
    repeats = _REPEATS
    while True:
        work.run.sampler.forget_gaps()
        work.cell = replace(work.cell, workloads=(*loads[:number], next_one, *loads[number + 1 :]))
        result = _run(work, step, next_one)
        took_s = sum(each.value for each in result.measurements if each.metric in (Metric.LAST_DONE, Metric.DRAIN))
        larger = next_try(next_one, most, took_s)
        if repeats and work.run.sampler.longest_gap().elapsed_s:
            repeats, larger = repeats - 1, next_one
        if result.outcome is not Outcome.DONE or result.reason or larger is None:
            break
        _remove(work, number)
        load.quiesce(work, step)
        next_one = larger
    of = next_one if next_one.sizing is not None or next_one.source is None else work.cell.workloads[next_one.source]
    pilot.tried[number] = amount(of), took_s
    pilot.measurements += [each for each in result.measurements if each.metric in _KEPT]
    return result


def _run(work: CellWork, step: Step, workload: Workload) -> StepResult:
    result = load.load(work, step)
    if result.outcome is not Outcome.DONE or not workload.changes:
        return result
    drained = load.drain(work, step)
    return replace(result, measurements=(*result.measurements, *drained.measurements))


def _remove(work: CellWork, number: int) -> None:
    """Remove the files of the last try: bounds assume an empty filesystem."""
    made = work.made.pop(number, None)
    if made is None:
        return
    root = open_mount(work)
    try:
        tree = os.open(TREE_NAME, DIRECTORY_FLAGS, dir_fd=root)
        try:
            remove_tree(made.directory, tree, os.fstat(root).st_dev, lambda: work.run.requests.interrupting)
        finally:
            os.close(tree)
    finally:
        os.close(root)


def _room(work: CellWork) -> Room:
    if work.own is not None:
        return directory.room_of(work.own)
    found = os.statvfs(work.mount_point)
    return Room(found.f_bavail * found.f_frsize, found.f_favail)
