"""Journals the layout of surveyed files, and measures what only their places on the device tell."""

from __future__ import annotations

import os
import stat

from msgspec.structs import asdict

from fsconsole.catalog.loader import load_catalog
from fsconsole.engine.work import CellWork, StepResult, failure_words
from fsconsole.errors.runs import ExtentsUnreadable, ToolMissing
from fsconsole.inspect.extent_lists import debugger_call, share_in_blocks
from fsconsole.inspect.features import group_bytes
from fsconsole.inspect.layout import LayoutRecorder
from fsconsole.model.events import LayoutSeen
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.system.block import device_size_bytes
from fsconsole.system.files import opened


def recorder_of(work: CellWork, tree_fd: int) -> LayoutRecorder:
    """Return a recorder for one of the cell's surveys; tree_fd is open on the mounted filesystem."""
    room = os.fstatvfs(tree_fd)
    size_bytes = room.f_blocks * room.f_frsize
    if stat.S_ISBLK(os.stat(work.cell.target).st_mode):
        with opened(work.cell.target) as device:
            size_bytes = device_size_bytes(device)
    surveys = sum(step.kind is StepKind.EXTENTS for step in work.cell.steps)
    return LayoutRecorder(size_bytes, room.f_frsize, surveys=surveys, group_bytes=group_bytes(work.features))


def noted(work: CellWork, recorder: LayoutRecorder) -> tuple[Measurement, ...]:
    """Journal a survey's layout, and return its figures."""
    layout = recorder.layout()
    if layout.extent_count and work.pilot is None:
        seen = LayoutSeen(**asdict(layout), cell=work.cell.index, attempt=work.run.attempt, step=work.step_number)
        work.run.journal.record(seen, durable=False)
    work.sampled[work.cell.steps[work.step_number].workload] = recorder.sampled_inodes
    groups = recorder.groups_per_file
    return () if groups is None else (Measurement(Metric.GROUPS_PER_FILE, groups),)


def read_lists(work: CellWork, step: Step) -> StepResult:
    """Measure, of a sample of surveyed files, the share whose extent list is not in the inode; the device is unmounted."""
    program, inodes = load_catalog().get(work.cell.variant.filesystem).extent_lists, work.sampled.get(step.workload, ())
    if not inodes or not program:
        return StepResult()
    argv, stdin = debugger_call(program, work.cell.target, inodes)
    try:
        result = work.command(argv, accept_failure=True, stdin=stdin)
    except ToolMissing as error:
        return StepResult(reason=str(error))
    try:
        share = share_in_blocks(program, work.cell.target, result.out)
    except ExtentsUnreadable as error:
        return StepResult(reason=f"{error.why}: {failure_words(result)}")
    return StepResult((Measurement(Metric.LISTS_READ, share),))
