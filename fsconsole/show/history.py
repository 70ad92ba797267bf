"""The history of a run as curves: the current cell, its ghost, and the last minute, in bounded memory.

A cell's curve has a bounded number of slots; where a cell outlasts them, two become one with the higher of each figure,
so that a peak is never lost and hours cost as much as minutes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import Point, point_of
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import ASSUME_CLEAN, Cell, Plan, StepKind
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.results.figures import cell_names
from fsconsole.show.charts import Ring
from fsconsole.show.minute import Figures, Minute, highest
from fsconsole.show.progress import begun_ns, mean_cell_s
from fsconsole.show.race import Ranking
from fsconsole.text import cells_of, printable

MAX_SLOTS = 480
FIRST_SLOT_S = 0.25
"""The fastest sampling is 4 Hz: at first each sample has a slot of its own."""
MINUTE_S = 60.0
MOST_RECENT = 360
"""A minute and a half at 4 Hz."""

DEVICE, APP, PENDING, CPU = range(4)
"""Places in a slot's figures: bytes/s of the devices and of the application, bytes dirty, CPU in percent; the highest of each."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The curve of one cell: seconds since its beginning, ascending, with the highest figures from there on."""

    cell: int
    slot_s: float
    points: tuple[tuple[float, Figures], ...]


@dataclass(frozen=True, slots=True)
class History:
    """Data of plots; best are the highest rates seen, in bytes/s, 0 where there are none."""

    current: Trace | None = None
    ghost: Trace | None = None
    """Of the last finished cell of the same variant."""
    recent: tuple[Sample, ...] = ()
    """The last minute whole, ascending, without the figures per CPU."""
    minute: Mapping[str, Ring] = field(default_factory=dict)
    """The same of the gauges that have a ring, by their labels."""
    best_write_bytes_s: float = 0.0
    best_read_bytes_s: float = 0.0


class Tracer:
    """Collects one cell's curve, in whatever order its points come."""

    def __init__(self, cell: int, began_ns: int) -> None:
        self.cell = cell
        self.began_ns = began_ns
        self._slot_s = FIRST_SLOT_S
        self._slots: dict[int, Figures] = {}

    def add(self, point: Point) -> None:
        """Take a point; one from before the cell's beginning belongs to an earlier attempt."""
        at_s = (point.monotonic_ns - self.began_ns) / 1e9
        if at_s < 0:
            return
        while at_s / self._slot_s >= MAX_SLOTS:
            former, self._slots = self._slots, {}
            self._slot_s *= 2
            for slot, figures in former.items():
                self._put(slot // 2, figures)
        self._put(int(at_s / self._slot_s), _figures(point))

    def trace(self) -> Trace:
        """Return the curve as it is now."""
        points = tuple((slot * self._slot_s, self._slots[slot]) for slot in sorted(self._slots))
        return Trace(self.cell, self._slot_s, points)

    def _put(self, slot: int, figures: Figures) -> None:
        known = self._slots.get(slot)
        self._slots[slot] = figures if known is None else highest(known, figures)


class Keeper:
    """Keeps the history of a run: new points as they come, old ones from the latest backwards."""

    def __init__(self) -> None:
        self._current: Tracer | None = None
        self._recent: deque[Sample] = deque(maxlen=MOST_RECENT)
        self._minute = Minute()
        self._best = (0.0, 0.0)
        self._oldest_ns: int | None = None
        self.ghost: Trace | None = None

    @property
    def cell(self) -> int | None:
        """The cell whose curve is kept."""
        return None if self._current is None else self._current.cell

    def add(self, samples: Iterable[Sample], state: RunState) -> None:
        """Take new samples, in their order."""
        for sample in samples:
            self._recent.append(replace(sample, per_cpu=()))
            self._minute.add(sample)
            point = point_of(sample)
            if sample.step != StepKind.EQUALISE.value:
                # Zeros may be counted twice there: see best_before().
                self.add_best(point.write_bytes_s, point.read_bytes_s)
            if point.cell is None:
                continue
            current, began = self._current, began_ns(state, point.cell)
            if current is None or (current.cell, current.began_ns) != (point.cell, began):
                # The same cell with another start: an earlier attempt is no part of its curve.
                current = self._current = Tracer(point.cell, began)
            current.add(point)

    def add_minute(self, samples: Iterable[Sample]) -> None:
        """Take the samples before those that were taken, ascending, for the last minute alone."""
        kept = [*(replace(sample, per_cpu=()) for sample in samples), *self._recent]
        self._recent, self._minute = deque(kept, maxlen=MOST_RECENT), Minute()
        for sample in self._recent:
            self._minute.add(sample)

    def add_older(self, points: Iterable[Point], state: RunState) -> bool:
        """Take old points, the latest first; return whether older ones would still be of use."""
        for point in points:
            if self._oldest_ns is not None and point.monotonic_ns > self._oldest_ns:
                # The clock begins anew with each boot: what was before it fits no curve.
                return False
            self._oldest_ns = point.monotonic_ns
            if point.cell is not None and not self._put_older(point, state):
                return False
        return True

    def add_past(self, points: Iterable[Point], state: RunState) -> None:
        """Take what stands for the past of a cell, in whatever order, all since the machine was booted."""
        for point in points:
            self._put_older(point, state)

    def add_best(self, write_bytes_s: float | None, read_bytes_s: float | None) -> None:
        """Take the highest rates of what was sampled before, whatever cell it belongs to."""
        write, read = self._best
        self._best = max(write, write_bytes_s or 0.0), max(read, read_bytes_s or 0.0)

    def history(self) -> History:
        """Return what is kept, as a value."""
        newest_ns = self._recent[-1].monotonic_ns if self._recent else 0
        since_ns = newest_ns - int(MINUTE_S * 1e9)
        return History(
            current=self._current.trace() if self._current is not None else None,
            ghost=self.ghost,
            recent=tuple(one for one in self._recent if since_ns <= one.monotonic_ns <= newest_ns),
            minute=self._minute.rings(),
            best_write_bytes_s=self._best[0],
            best_read_bytes_s=self._best[1],
        )

    def _put_older(self, point: Point, state: RunState) -> bool:
        """Return whether a point's cell is the one that is kept."""
        cell = point.cell
        if cell is None:
            return True
        if self._current is None:
            self._current = Tracer(cell, began_ns(state, cell))
        if cell == self._current.cell:
            self._current.add(point)
        return cell == self._current.cell


def ghost_of(state: RunState, cell: int) -> int | None:
    """Return the last finished cell of the same variant on the same device with the same load; None without one."""
    cells = state.request.plan.cells
    wanted = _alike(cells[cell])
    others = (one.index for one in reversed(state.cells) if one.status is CellStatus.DONE and one.index != cell)
    return next((index for index in others if _alike(cells[index]) == wanted), None)


def _alike(cell: Cell) -> tuple[object, ...]:
    return cell.variant, cell.target, cell.array, cell.members, cell.setting, cell.workloads


def trace_of(points: Iterable[Point], cell: int, began: int) -> Trace:
    """Return a finished cell's curve; began is its start by CLOCK_MONOTONIC in ns."""
    tracer = Tracer(cell, began)
    for point in points:
        tracer.add(point)
    return tracer.trace()


def began_ns(state: RunState, cell: int) -> int:
    """Return when a cell began, by its first step; 0, the boot, where no step of it is known."""
    return begun_ns(state.cells[cell]) if 0 <= cell < len(state.cells) else 0


def figures_of(sample: Sample) -> Figures:
    """Return a sample's figures, as a curve has them."""
    return _figures(point_of(sample))


def _figures(point: Point) -> Figures:
    device = None if point.write_bytes_s is None else point.write_bytes_s + (point.read_bytes_s or 0.0)
    return device, point.load_bytes_s, point.pending_bytes, point.cpu_percent


@dataclass(frozen=True, slots=True)
class Names:
    """Printable names of the cells, and the width of the longest."""

    texts: tuple[str, ...]
    widest: int
    brief: tuple[str, ...]
    """Without what the run's title says of all of them."""
    of_all: str
    """Label of arrays that were never synced; empty where some were, or there are none."""

    def text(self, index: int, width: int) -> str:
        """Return a cell's name, the brief one where the longest of the others don't fit."""
        return self.texts[index] if self.widest <= width else self.brief[index]


@dataclass(frozen=True, slots=True)
class CellEstimates:
    """Figures of finished cells: seconds for one, and the raw rows' rates in bytes/s, 0 without one."""

    cell_s: float
    raw_write_bytes_s: float
    raw_read_bytes_s: float


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """Result of one look at a run's journal and lock."""

    folder: RunFolder
    state: RunState
    names: Names
    known: CellEstimates
    sample: Sample | None
    history: History
    alive: bool
    ranking: Ranking | None = None
    """Ranking so far; None where there is nothing to rank."""
    read_only: bool = False
    """True if its disk takes no writes; asked of a dead run alone."""
    is_imported: bool = False
    """True if it is another machine's, which is never resumed here."""
    file_gone: str = ""
    """The file of its scratch device, where that was removed: then it can't be resumed. Asked where no engine lives."""

    @property
    def finished(self) -> bool:
        """True if the run is over by its journal."""
        return self.state.status is RunStatus.FINISHED

    @property
    def dead(self) -> bool:
        """True if its engine died; a run that never started counts too."""
        return not self.alive and not self.finished


def known_of(state: RunState) -> CellEstimates:
    """Return what the cells tell by now; a long run takes a while."""
    planned = zip(state.cells, state.request.plan.cells, strict=True)
    raw = [cell for cell, one in planned if one.variant.is_raw]

    def highest(*metrics: Metric) -> float:
        return max((cell.value(metric) or 0.0 for cell in raw for metric in metrics), default=0.0)

    writes = highest(Metric.RAW_WRITE_1, Metric.RAW_WRITE_N)
    reads = highest(Metric.RAW_READ_1, Metric.RAW_READ_N, Metric.READTEST)
    return CellEstimates(mean_cell_s(state), writes, reads)


def names_of(plan: Plan) -> Names:
    """Return the names of a plan's cells; a long plan takes a while."""
    texts = tuple(printable(name) for name in cell_names(plan))
    is_unsynced = bool(plan.cells) and all(cell.array and cell.array.assume_clean for cell in plan.cells)
    brief = tuple(printable(name) for name in cell_names(plan, is_brief=True)) if is_unsynced else texts
    return Names(texts, max(map(cells_of, texts), default=0), brief, ASSUME_CLEAN if is_unsynced else "")
