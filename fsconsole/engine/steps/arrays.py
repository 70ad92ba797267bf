"""A cell's own array: made of proved members, waited for, and taken apart however the cell ends."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from fsconsole.devices.content import probe_signatures
from fsconsole.devices.md import SyncState, is_left_empty, sync_state
from fsconsole.devices.uses import read_arrays
from fsconsole.engine import cautions
from fsconsole.engine.arrays import OwnArray, dismantle, in_words, require_own
from fsconsole.engine.hangs import patience_s
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.errors.runs import KernelUnreadable
from fsconsole.errors.targets import ArrayLeft, DeviceChanged
from fsconsole.model.events import MemberLeft
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import ArraySpec, Step
from fsconsole.model.sample import StepProgress
from fsconsole.plan.arrays import ARRAY_NAME, resyncs
from fsconsole.plan.expand import array_uuid
from fsconsole.plan.steps import stop_command
from fsconsole.preflight.machine import require_free_array_name
from fsconsole.telemetry.block import ended_io
from fsconsole.units import format_elapsed

# Whether md still gets on with bringing a new array in step: nobody of ours waits for a disk that hangs in a resync.


class Stillness:
    """How long no I/O of an array's members has ended."""

    def __init__(self, members: Sequence[str]) -> None:
        self._names = tuple(os.path.basename(os.path.realpath(path)) for path in members)
        self._seen: object = None
        self._since_s = 0.0

    def require_less(self, state: SyncState) -> None:
        """Let a resync pass that moves, or that is not at work at all. Raises StepFailed."""
        now_s, seen = time.monotonic(), ended_io(self._names)
        if seen != self._seen or not state.is_at_work:
            self._seen, self._since_s = seen, now_s
        still_s = now_s - self._since_s
        if still_s >= patience_s():
            words = f"no I/O of its members has ended for {format_elapsed(still_s)}"
            raise StepFailed(f"{words}: one of them hangs")


_POLL_S = 0.2


def make(work: CellWork, step: Step) -> StepResult:
    """Make the array, each member proved right before; from here on it is due to be taken apart."""
    cell, prover = work.cell, work.run.prover
    require_free_array_name()
    if is_left_empty(ARRAY_NAME):
        # Nothing is lost with it, and mdadm would call the name "already in use".
        work.command(stop_command(cell.target))
    work.stack.callback(_dismantle, work)
    (argv,) = step.commands
    with prover.wiping(cell, argv, cell.members):
        work.command(argv)
    # As long as it is open md stops it for nobody: its number can't become another array's.
    work.stack.callback(os.close, os.open(cell.target, os.O_RDONLY | os.O_CLOEXEC))
    require_own(cell.target, _uuid(work), cell.members)
    work.run.sampler.watch_device(ARRAY_NAME)
    cautions.about_array(work)
    if not resyncs(_spec(work)):
        _will_tell_end(work)
    return StepResult(verdict=in_words(probe_signatures(work.run.executor, cell.target)))


def wait_until_in_step(work: CellWork, _step: Step) -> StepResult:
    """Wait for the first resync, or rebuild, of the new array."""
    begun_s = time.monotonic()
    stillness = Stillness(work.cell.members)
    while not (state := sync_state(ARRAY_NAME)).is_in_step:
        if work.run.wishes.interrupting:
            raise Interrupted
        _require_healthy(state, len(work.cell.members))
        stillness.require_less(state)
        work.run.sampler.tell_progress(_progress(state))
        time.sleep(_POLL_S)
    _will_tell_end(work)
    return StepResult((Measurement(Metric.ARRAY_SYNC, time.monotonic() - begun_s),))


def take_apart(work: CellWork, _step: Step) -> StepResult:
    """Give back what the cell took on the array, then take the array itself apart."""
    work.run.wishes.cell_releases()
    work.stack.close()
    return StepResult()


def _will_tell_end(work: CellWork) -> None:
    """Have the members that the array lacks told right before it is taken apart, however the cell ends.

    Only once it is in step: md makes a raid5 by rebuilding one of its members.
    """
    work.stack.callback(cautions.about_end, work, work.run.known_of_all)


def _progress(state: SyncState) -> StepProgress:
    """Return how far the resync is, by /proc/mdstat: sysfs goes on in steps of a sixteenth (drivers/md/md.c)."""
    try:
        (array,) = [array for array in read_arrays() if array.name == ARRAY_NAME]
    except (OSError, KernelUnreadable, ValueError):
        return StepProgress(state.done_percent)
    if array.progress_percent is None:
        return StepProgress(state.done_percent)
    return StepProgress(array.progress_percent, None if array.finish_min is None else array.finish_min * 60)


def _require_healthy(state: SyncState, wanted: int) -> None:
    if state.faulty:
        raise StepFailed(f"the array lost the member {', '.join(state.faulty)} before it was in step")
    if len(state.members) < wanted:
        # Without the member it would be waited for without end.
        left = f"{len(state.members)} of its {wanted} members"
        raise StepFailed(f"the array lost a member before it was in step: it has {left}")


def _dismantle(work: CellWork) -> None:
    """Stop the cell's array, clear its members, and note what is left on them. Raises ArrayLeft."""
    cell, prover, was_whole = work.cell, work.run.prover, _is_whole(work)
    work.run.sampler.unwatch_device(ARRAY_NAME)
    changed = prover.changed(cell.members)
    own = OwnArray(frozenset({_uuid(work)}), tuple(path for path in cell.members if path not in changed))
    left = [f"{path} is another device now, or gone: {why}" for path, why in changed.items()]
    left += dismantle(own, work.release_command)
    prover.has_gone(cell)
    if left:
        raise ArrayLeft(cell.target, "; ".join(left))
    if was_whole:
        _note_left(work)


def _is_whole(work: CellWork) -> bool:
    """Return whether all members are still in the array, so that nobody else can have written on one."""
    try:
        require_own(work.cell.target, _uuid(work), work.cell.members)
    except DeviceChanged:
        return False
    return True


def _note_left(work: CellWork) -> None:
    """Journal what the array has left on each member; what a failing one holds stays uncertain."""
    for number, path in enumerate(work.cell.members):
        try:
            digest = work.run.prover.has_left(path)
        except OSError:
            continue
        work.run.journal.record(MemberLeft(work.cell.index, work.run.attempt, number, digest), durable=True)


def _spec(work: CellWork) -> ArraySpec:
    spec = work.cell.array
    if spec is None:
        raise ValueError("only a cell on an array of its own has this step")
    return spec


def _uuid(work: CellWork) -> str:
    return array_uuid(work.run.request.run_id, work.cell.index)
