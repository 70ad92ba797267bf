"""Extents of every file, after a remount."""

from __future__ import annotations

import os
from contextlib import ExitStack

from fsconsole.engine.steps.mounting import TREE_NAME, open_mount
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.errors import KernelLacks
from fsconsole.inspect.extents import measurements, survey_tree
from fsconsole.model.observation import WarningKind
from fsconsole.model.step import Step

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def survey(work: CellWork, step: Step) -> StepResult:
    """Count the extents of all files of the tree, or of those that the step's workload made.

    A filesystem without extent maps (jfs, reiserfs) lives on without these figures.
    """
    with ExitStack() as stack:
        fd = open_mount(work)
        stack.callback(os.close, fd)
        for name in (TREE_NAME, *_own_directory(work, step)):
            fd = os.open(name, _DIRECTORY, dir_fd=fd)
            stack.callback(os.close, fd)
        try:
            return StepResult(measurements(survey_tree(fd)))
        except KernelLacks as error:
            work.warn(WarningKind.NOT_IN_EFFECT, f"extents were not counted: {error}", error.hint)
            return StepResult()


def _own_directory(work: CellWork, step: Step) -> tuple[str, ...]:
    if step.workload is None:
        return ()
    made = work.made.get(step.workload)
    if made is None:
        raise StepFailed(f"'{work.cell.workloads[step.workload].name}' has made no files")
    return (made.directory,)
