"""What a run's earlier attempts wrote on its targets, and what of it can be told from anybody else's data."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.observation import Outcome
from fsconsole.model.plan import Cell
from fsconsole.model.state import RunState, StepState
from fsconsole.model.step import StepKind

_WRITING = frozenset({StepKind.EQUALISE, StepKind.ARRAY, StepKind.MKFS, StepKind.RAW_WRITE})
_ENDED_WITHIN = "its engine was ended while it wiped the device"
_CUT_SHORT = "the step that wiped it was cut short, or failed"
_NO_PROOF = "nothing on it tells what the run wrote there from what others may have written since"


@dataclass(frozen=True, slots=True)
class PastWrites:
    """What is known of each target by its path; one that was agreed upon since its last write is in none of these."""

    begun: frozenset[str]
    """Written on by this run."""
    made: dict[str, str]
    """The UUID of the filesystem that must be on it."""
    left: dict[str, str]
    """The digest of what must be on it, as ContentSample has it: a former member of an array that was taken apart."""
    uncertain: dict[str, str]
    """Why what is on it can't be told from foreign data, as a clause."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A step that wrote on a target itself."""

    attempt: int
    cell: Cell
    step: StepState


def past_writes(state: RunState) -> PastWrites:
    """Return what a run's earlier attempts have left on its targets, by its journal."""
    writes, newest = _last_writes(state), _newest_attempts(state)
    # An earlier attempt at a cell that was begun once more leaves anything: its steps are no longer known.
    known = {path: write for path, write in writes.items() if write.attempt == newest[path]}
    made = {path: write.cell.uuid for path, write in known.items() if _is_filesystem(write)}
    left = {path: digest for path, write in known.items() if (digest := _left_digest(state, path, write))}
    told = made.keys() | left.keys()
    uncertain = {path: _why(write) for path, write in writes.items() if path not in told}
    return PastWrites(frozenset(writes), made, left, uncertain)


def _last_writes(state: RunState) -> dict[str, _Write]:
    """Return the last write on each target since it was agreed upon, by its path; of an array on each member."""
    cells = state.request.plan.cells
    agreed = {target.path: target.agreed_attempt for target in state.request.targets}
    writes = [
        _Write(known.attempt, cells[known.index], step)
        for known in state.cells
        for step in known.steps
        if step.kind in _WRITING
    ]
    # The clock begins anew with each boot, but an attempt lies within one.
    writes.sort(key=lambda write: (write.attempt, write.step.started_monotonic_ns))
    return {
        path: write for write in writes for path in write.cell.devices if write.attempt >= agreed.get(path, 1)
    }


def _newest_attempts(state: RunState) -> dict[str, int]:
    """Return the last attempt at any cell on each target, whether it wrote or not."""
    newest: dict[str, int] = {}
    for known in state.cells:
        for path in state.request.plan.cells[known.index].devices:
            newest[path] = max(known.attempt, newest.get(path, 0))
    return newest


def _is_filesystem(write: _Write) -> bool:
    """Return whether a write left a filesystem; a step without an end, or with a bad one, leaves anything."""
    is_done = write.step.outcome is Outcome.DONE
    return write.cell.array is None and write.step.kind is StepKind.MKFS and is_done


def _left_digest(state: RunState, path: str, write: _Write) -> str:
    """Return what an array left on a member when it was taken apart, the cell's last act on it; else nothing.

    A cell's array is the last to write on its members: none of its steps comes after. They keep the middle of a
    filesystem and no UUID, so the content is the proof, as it is where consent is given.
    """
    if write.cell.array is None:
        return ""
    member = write.cell.members.index(path)
    found = [seen.content_digest for seen in state.cells[write.cell.index].left if seen.member == member]
    return found[-1] if found else ""


def _why(write: _Write) -> str:
    if write.step.outcome is None:
        return _ENDED_WITHIN
    return _NO_PROOF if write.step.outcome is Outcome.DONE else _CUT_SHORT
