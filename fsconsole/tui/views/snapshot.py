"""A run at one instant, with all that the Run screen shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.analysis.eta import mean_cell_s
from fsconsole.analysis.names import cell_names
from fsconsole.journal.folder import RunFolder
from fsconsole.model.array_words import ASSUME_CLEAN
from fsconsole.model.measurement import Metric
from fsconsole.model.plan import Plan
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellState, RunState, RunStatus
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of
from fsconsole.tui.views.history import History


@dataclass(frozen=True, slots=True)
class Names:
    """What the cells are called, printable, and how many columns the longest name takes."""

    texts: tuple[str, ...]
    widest: int
    brief: tuple[str, ...]
    """Without what the run's title says of all of them."""
    of_all: str
    """What that is: that no array was ever synced; empty where some were, or there are none."""

    def text(self, index: int, width: int) -> str:
        """Return a cell's name, the brief one where the longest of the others don't fit."""
        return self.texts[index] if self.widest <= width else self.brief[index]


@dataclass(frozen=True, slots=True)
class Known:
    """What the cells that are over tell: seconds that one takes, and the raw rows' rates in bytes/s, 0 without one."""

    cell_s: float
    raw_write_bytes_s: float
    raw_read_bytes_s: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one look at a run's journal and lock found."""

    folder: RunFolder
    state: RunState
    names: Names
    known: Known
    sample: Sample | None
    history: History
    alive: bool
    read_only: bool = False
    """Whether its disk takes no writes; asked of a dead run alone."""

    @property
    def finished(self) -> bool:
        """Whether its engine has said its last word."""
        return self.state.status is RunStatus.FINISHED

    @property
    def dead(self) -> bool:
        """Whether its engine is gone without a word; a run that never began counts too."""
        return not self.alive and not self.finished


_RAW_WRITES = (Metric.RAW_WRITE_1, Metric.RAW_WRITE_N)
_RAW_READS = (Metric.RAW_READ_1, Metric.RAW_READ_N, Metric.READTEST)


def known_of(state: RunState) -> Known:
    """Return what the cells tell by now; a long run takes a while."""
    raw = [
        cell
        for cell, planned in zip(state.cells, state.request.plan.cells, strict=True)
        if planned.variant.is_raw
    ]
    return Known(mean_cell_s(state), _highest(raw, _RAW_WRITES), _highest(raw, _RAW_READS))


def _highest(cells: Sequence[CellState], metrics: Sequence[Metric]) -> float:
    figures = (cell.value(metric) for cell in cells for metric in metrics)
    return max((figure for figure in figures if figure is not None), default=0.0)


def names_of(plan: Plan) -> Names:
    """Return the names of a plan's cells; a long plan takes a while."""
    texts = tuple(printable(name) for name in cell_names(plan))
    is_unsynced = bool(plan.cells) and all(cell.array and cell.array.assume_clean for cell in plan.cells)
    brief = tuple(printable(name) for name in cell_names(plan, is_brief=True)) if is_unsynced else texts
    return Names(texts, max(map(cells_of, texts), default=0), brief, ASSUME_CLEAN if is_unsynced else "")
