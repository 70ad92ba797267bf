"""Extents of every file, after a remount."""

from __future__ import annotations

import os

from fsconsole.engine.steps.mounting import TREE_NAME, open_mount
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.extents import measurements, survey_tree
from fsconsole.model.step import Step


def survey(work: CellWork, _step: Step) -> StepResult:
    """Count the extents of all files of the tree."""
    root = open_mount(work)
    try:
        tree = os.open(TREE_NAME, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        try:
            return StepResult(measurements(survey_tree(tree)))
        finally:
            os.close(tree)
    finally:
        os.close(root)
