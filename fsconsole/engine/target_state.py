"""State of a run's target between two proofs: whose content it holds, and all that the next proof compares."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.device import Device, Fingerprint, Identity
from fsconsole.model.plan import StepKind
from fsconsole.model.state import OPEN_STATUSES, CellState, RunState, StepState

_WRITING = frozenset({StepKind.EQUALISE, StepKind.ARRAY, StepKind.MKFS, StepKind.RAW_PILOT, StepKind.RAW_WRITE})
_KILLED = "the engine was killed in the middle of a cell, so what it left is not known"
_NOT_TAKEN = "what the run left on it could not be read"


@dataclass(frozen=True, slots=True)
class Agreed:
    """Content that the operator agreed to lose. This run has written nothing since."""

    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Ours:
    """Content of a cell in progress."""

    counters: tuple[str, ...] = ()
    """The kernel's counts of writes after the last command of the cell; empty while a command writes."""


@dataclass(frozen=True, slots=True)
class Left:
    """Content as the run's last cell left it."""

    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Unknown:
    """Content that may be somebody else's: new consent is needed, unless the counters have not moved since."""

    reason: str = _NOT_TAKEN
    """A clause."""
    counters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """The last proof of a target: which device it was, when, and the kernel's counts of writes then."""

    device: Device
    identity: Identity
    counters: tuple[str, ...]
    time_s: float
    """time.monotonic()."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """State of one target, or of an array that a cell has made."""

    content: Agreed | Ours | Left | Unknown
    proof: Proof | None = None


KILLED = Unknown(_KILLED)


def initial_states(state: RunState) -> dict[str, TargetState]:
    """Return the state of each target by its path, as the journal has it; an array's cell counts for each member."""
    cells = state.request.plan.cells
    consented = {target.path: target.agreed_attempt for target in state.request.targets}
    newest_attempt: dict[str, int] = {}
    writes: list[tuple[CellState, StepState]] = []
    for cell in state.cells:
        for path in cells[cell.index].devices:
            newest_attempt[path] = max(cell.attempt, newest_attempt.get(path, 0))
        writes += [(cell, step) for step in cell.steps if step.kind in _WRITING]
    # The monotonic clock restarts with each boot, but an attempt lies within one boot.
    writes.sort(key=lambda write: (write[0].attempt, write[1].started_monotonic_ns))
    states = {target.path: TargetState(Agreed(target.fingerprint)) for target in state.request.targets}
    for cell, _ in writes:
        for number, path in enumerate(cells[cell.index].devices):
            if cell.attempt >= consented.get(path, 1):
                is_newest = cell.attempt == newest_attempt[path]
                states[path] = TargetState(_content_after(cell, number, is_newest=is_newest))
    return states


def _content_after(cell: CellState, device: int, *, is_newest: bool) -> Left | Unknown:
    left = [seen.fingerprint for seen in cell.left if seen.device == device]
    # A cell that was started again may have left anything: its earlier steps are no longer known.
    if left and is_newest:
        return Left(left[-1])
    return KILLED if cell.status in OPEN_STATUSES else Unknown()
