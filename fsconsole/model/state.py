"""A run as folded from its journal: what live view, attach, results and replay all look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from fsconsole.model.events import (
    CommandFinished,
    DeviceLeft,
    FeatureSeen,
    InCell,
    LookTaken,
    Outcome,
    PilotFinished,
    RoundRepeated,
    RunStarted,
    SettingTaken,
    TargetAccepted,
    WarningRaised,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.sample import Sample


class CellStatus(str, Enum):
    """Status of a cell; UNKNOWN: started, without an end, and the engine is gone."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


OPEN_STATUSES = frozenset({CellStatus.PENDING, CellStatus.RUNNING, CellStatus.UNKNOWN, CellStatus.STOPPED})
"""Cells that an engine takes up; what was reported done, failed or skipped stays as it is."""


class RunStatus(str, Enum):
    """Status of a run by its journal; the lock tells whether a RUNNING one is alive."""

    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class StepState:
    """A step of the cell's latest attempt; outcome None: started and not finished."""

    number: int
    kind: StepKind
    title: str
    started_monotonic_ns: int
    outcome: Outcome | None = None
    elapsed_s: float = 0.0
    reason: str = ""
    verdict: str = ""
    commands: tuple[CommandFinished, ...] = ()
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldSetting:
    """A setting that a run has changed and not restored; seen is what it was right after the write, if read."""

    taken: SettingTaken
    seen: str = ""


@dataclass(frozen=True, slots=True)
class CellState:
    """A cell of the plan with what is known of its latest attempt."""

    index: int
    status: CellStatus = CellStatus.PENDING
    attempt: int = 0
    reason: str = ""
    steps: tuple[StepState, ...] = ()
    features: tuple[FeatureSeen, ...] = ()
    warnings: tuple[WarningRaised, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """(path, value) of each setting that it wrote, as read back then and before loads, no pair twice."""
    left: tuple[DeviceLeft, ...] = ()
    """Of its devices, once it is over."""

    def value(self, metric: Metric) -> float | None:
        """Return the cell's last figure of that metric, or None where it has none."""
        for step in reversed(self.steps):
            for measurement in step.measurements:
                if measurement.metric is metric:
                    return measurement.value
        return None


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything known of a run."""

    request: RunRequest
    status: RunStatus = RunStatus.NEW
    started: tuple[RunStarted, ...] = ()
    targets: tuple[TargetAccepted, ...] = ()
    cells: tuple[CellState, ...] = ()
    current_cell: int | None = None
    last_sample: Sample | None = None
    settings: tuple[HeldSetting, ...] = ()
    """In the order in which they were taken; a living engine still holds them, a dead one has left them."""
    pilots: tuple[PilotFinished, ...] = ()
    repeated: tuple[RoundRepeated, ...] = ()
    looks: tuple[LookTaken, ...] = ()
    """Of `repeats = "auto"`; its verdicts are those of the last one."""
    warnings: tuple[WarningRaised, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    hint: str = ""
    exit_code: int | None = None
    stops_after: bool = False
    """True if whoever asked last wants it to stop after its cell."""
    stops_now: bool = False
    """True after a stop at once was asked for; it can't be undone."""

    @property
    def is_open(self) -> bool:
        """True if a cell is still to be run, or to be finished."""
        return any(cell.status in OPEN_STATUSES for cell in self.cells)

    @property
    def running_cell(self) -> InCell | None:
        """The current cell with its attempt, as a skip names it; None between cells."""
        return None if self.current_cell is None else InCell(self.current_cell, self.cells[self.current_cell].attempt)

    @property
    def current_step(self) -> StepState | None:
        """The step that is going on, or None between steps."""
        if self.current_cell is None:
            return None
        steps = self.cells[self.current_cell].steps
        return steps[-1] if steps and steps[-1].outcome is None else None


RAW_DEPTH = "raw {} depth"
"""Name of what a raw row's pilot settles, with "write" or "read"."""


def raw_pilot(pilots: Sequence[PilotFinished], cells: Sequence[Cell], cell: Cell) -> PilotFinished | None:
    """Return a run's pilot of raw streams on a cell's device or array; cells are the run's."""
    for pilot in pilots:
        known = cells[pilot.cell] if 0 <= pilot.cell < len(cells) else None
        is_raw = any(each.name == RAW_DEPTH.format("write") for each in pilot.settled)
        if is_raw and known and (known.target, known.array, known.members) == (cell.target, cell.array, cell.members):
            return pilot
    return None


def raw_depths(pilot: PilotFinished) -> dict[str, int]:
    """Return the depths of "write" and "read" that a pilot chose, where it was one of raw streams."""
    return {
        act: each.value for each in pilot.settled for act in ("write", "read") if each.name == RAW_DEPTH.format(act)
    }
