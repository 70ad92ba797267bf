"""A run at one instant, with all that the Run screen shows of it."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.analysis.names import cell_names
from fsconsole.journal.folder import RunFolder
from fsconsole.model.plan import Plan
from fsconsole.model.sample import Sample
from fsconsole.model.state import RunState, RunStatus
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of
from fsconsole.tui.views.history import History


@dataclass(frozen=True, slots=True)
class Names:
    """What the cells are called, printable, and how many columns the longest name takes."""

    texts: tuple[str, ...]
    widest: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one look at a run's journal and lock found."""

    folder: RunFolder
    state: RunState
    names: Names
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


def names_of(plan: Plan) -> Names:
    """Return the names of a plan's cells; a long plan takes a while."""
    texts = tuple(printable(name) for name in cell_names(plan))
    return Names(texts, max(map(cells_of, texts), default=0))
