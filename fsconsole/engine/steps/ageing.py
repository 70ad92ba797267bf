"""Ageing step: fills the new filesystem and removes half of it, in cycles, before the first load."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress

from fsconsole.engine.steps.life import open_mount
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.model.wire import Mismatch, decode, encode
from fsconsole.plan.ageing import full_bytes
from fsconsole.plan.steps import AGED_TREE
from fsconsole.system.block import device_size_bytes, drop_caches, syncfs
from fsconsole.system.files import opened
from fsconsole.system.isolation import python_argv
from fsconsole.system.run import find_program, spawn
from fsconsole.units import format_bytes
from fsconsole.workloads.ageing import AgeJob, AgeReport
from fsconsole.workloads.builtin import interpreter_places
from fsconsole.workloads.cage import caged
from fsconsole.workloads.job import Stage
from fsconsole.workloads.reports import ending_in_words

TREE_NAME = os.path.basename(AGED_TREE)
_PROGRAM = python_argv("-m", "fsconsole.workloads.ageing")
_POLL_S = 0.1


def age(work: CellWork, _step: Step) -> StepResult:
    """Age the filesystem; what is left of its files stays beside the loads' tree until the next mkfs.

    The space that the cell has used is counted from here on.
    """
    if work.cell.age is None:
        raise StepFailed("the cell is not to be aged")
    begin_s = time.monotonic()
    with ExitStack() as stack:
        root = open_mount(work)
        stack.callback(os.close, root)
        device = stack.enter_context(opened(work.cell.target))
        wanted = full_bytes(work.cell.age, device_size_bytes(device))
        room = os.fstatvfs(root)
        if wanted > room.f_bavail * room.f_frsize:
            free = format_bytes(room.f_bavail * room.f_frsize)
            raise StepFailed(f"ageing fills {format_bytes(wanted)}, and {free} are free: set a smaller fill")
        os.mkdir(TREE_NAME, 0o755, dir_fd=root)
        seed = work.run.request.plan.seed
        report = _aged(work, AgeJob(AGED_TREE, os.fstat(root).st_dev, seed, work.cell.age.cycles, wanted))
        syncfs(root)
        os.fsync(device)
        room = os.fstatvfs(root)
    drop_caches()
    work.usable_bytes = float(room.f_bfree * room.f_frsize)
    figures = (
        Measurement(Metric.AGE, time.monotonic() - begin_s),
        Measurement(Metric.AGED_BYTES, float(report.left_bytes)),
        Measurement(Metric.AGED_FILES, float(report.files)),
    )
    return StepResult(figures)


def _aged(work: CellWork, job: AgeJob) -> AgeReport:
    find_program("bwrap")
    hidden = (os.path.realpath(os.path.dirname(work.run.folder_path)),)
    with caged(_PROGRAM, tree=AGED_TREE, readable=interpreter_places(), hidden=hidden) as command:
        running = spawn(command)
    # It must be gone before the unmount.
    with ExitStack() as stack:
        stack.callback(lambda: work.keep(work.step_number, running.wait()))
        stack.callback(running.kill)
        with suppress(BrokenPipeError):
            running.send(encode(job))
        while True:
            try:
                report = decode(AgeReport, running.receive(_POLL_S))
                break
            except TimeoutError:
                if work.run.requests.interrupting:
                    raise Interrupted from None
            except (EOFError, Mismatch):
                raise StepFailed(f"ageing failed: {ending_in_words(running.wait())}") from None
        running.wait()
    if report.event is not Stage.DONE:
        raise StepFailed(f"ageing failed: {report.why}")
    return report
