"""Steps of a what-if array: create, wait for its resync, stop."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from fsconsole.devices.md import SyncState, is_left_empty, sync_state
from fsconsole.devices.snapshot import read_arrays
from fsconsole.engine import warnings_machine
from fsconsole.engine.arrays import OwnArray, dismantle, require_own
from fsconsole.engine.hangs import hang_timeout_s
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.errors.targets import ArrayLeft, DeviceChanged
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step
from fsconsole.model.sample import StepProgress
from fsconsole.plan.arrays import ARRAY_NAME, resyncs
from fsconsole.plan.expand import array_uuid
from fsconsole.plan.steps import stop_command
from fsconsole.preflight.machine import require_free_array_name
from fsconsole.telemetry.block import ended_io
from fsconsole.units import format_elapsed

_POLL_S = 0.2


def make(work: CellWork, step: Step) -> StepResult:
    """Create the array, each member proved right before; from here on it must be stopped."""
    cell = work.cell
    require_free_array_name()
    if is_left_empty(ARRAY_NAME):
        # An empty array under this name: nothing is lost, and mdadm would refuse the name as "already in use".
        work.command(stop_command(cell.target))
    work.stack.callback(_dismantle, work)
    (argv,) = step.commands
    work.wipe(argv, cell.members)
    # While it is open, md lets nobody stop it: its number can't become another array's.
    work.stack.callback(os.close, os.open(cell.target, os.O_RDONLY | os.O_CLOEXEC))
    require_own(cell.target, _uuid(work), cell.members)
    work.run.sampler.gauges.devices.watch(ARRAY_NAME)
    warnings_machine.about_array(work)
    if cell.array is not None and not resyncs(cell.array):
        _will_tell_end(work)
    return StepResult()


def wait_until_in_step(work: CellWork, _step: Step) -> StepResult:
    """Wait for the new array's first resync or rebuild."""
    started_s = progress_s = time.monotonic()
    names = tuple(os.path.basename(os.path.realpath(path)) for path in work.cell.members)
    completed: object = None
    while not (state := sync_state(ARRAY_NAME)).is_in_step:
        if work.run.requests.interrupting:
            raise Interrupted
        if state.faulty:
            raise StepFailed(f"the array lost the member {', '.join(state.faulty)} before it was in sync")
        if len(state.members) < len(names):
            # The wait would never end without it.
            left = f"{len(state.members)} of its {len(names)} members"
            raise StepFailed(f"the array lost a member before it was in sync: it has {left}")
        # A disk that hangs in a resync keeps no process of ours waiting.
        now_s, seen = time.monotonic(), ended_io(names)
        if seen != completed or not state.is_at_work:
            completed, progress_s = seen, now_s
        if now_s - progress_s >= hang_timeout_s():
            words = f"no I/O of its members has completed for {format_elapsed(now_s - progress_s)}"
            raise StepFailed(f"{words}: one of them hangs")
        work.run.sampler.tell_progress(_progress(state))
        time.sleep(_POLL_S)
    _will_tell_end(work)
    return StepResult((Measurement(Metric.ARRAY_SYNC, time.monotonic() - started_s),))


def _will_tell_end(work: CellWork) -> None:
    """Warn of missing members right before the array is stopped, however the cell ends.

    Only once it is in sync: md creates a raid5 by rebuilding one of its members.
    """
    work.stack.callback(warnings_machine.about_end, work, work.run.known_of_all)


def _progress(state: SyncState) -> StepProgress:
    """Return the resync's progress from /proc/mdstat: sysfs advances in sixteenths only (drivers/md/md.c)."""
    try:
        (array,) = [array for array in read_arrays() if array.name == ARRAY_NAME]
    except (OSError, KernelUnreadable, ValueError):
        return StepProgress(state.done_percent)
    if array.progress_percent is None:
        return StepProgress(state.done_percent)
    return StepProgress(array.progress_percent, None if array.finish_min is None else array.finish_min * 60)


def _dismantle(work: CellWork) -> None:
    """Stop the cell's array, clear its members, and journal what remains on them. Raises ArrayLeft."""
    cell, prover, was_whole = work.cell, work.run.prover, False
    with suppress(DeviceChanged):
        require_own(cell.target, _uuid(work), cell.members)
        was_whole = True
    work.run.sampler.gauges.devices.unwatch(ARRAY_NAME)
    changed = prover.changed(cell.members)
    own = OwnArray(frozenset({_uuid(work)}), tuple(path for path in cell.members if path not in changed))
    left = [f"{path} is another device now, or gone: {why}" for path, why in changed.items()]
    left += dismantle(own, work.release_command)
    prover.note_gone(cell)
    if left:
        raise ArrayLeft(cell.target, "; ".join(left))
    # A member outside of the array may have been written by somebody else.
    for path in () if was_whole else cell.members:
        prover.doubt(path)


def _uuid(work: CellWork) -> str:
    return array_uuid(work.run.request.run_id, work.cell.index)
