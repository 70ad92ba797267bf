"""Requirements of a plan: one-sided 95 % bounds of the rows' rounds against its limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import RequirementsMissed, RequirementsUndecided
from fsconsole.model.load import bucket_bounds_ns, bucket_of
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.resolution import Reading, reading
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.statistics import lower_bound, upper_bound
from fsconsole.model.thresholds import BEYOND, LARGEST, Comparator, Requirement
from fsconsole.model.verdicts import LEAST_ROUNDS, LEAST_STEPS, has_ratio, is_rate
from fsconsole.results.figures import CellFigures, row_names
from fsconsole.results.grid import Grid, GridRow
from fsconsole.text import printable
from fsconsole.units import format_bytes, format_rate, format_seconds, significant

_METRICS = {metric.value: metric for metric in Metric}
_LARGEST_LOG = 500.0
"""A bound stays a finite number, also of a journal with figures that no disk has."""


class Answer(str, Enum):
    """True if a row meets a requirement."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judged:
    """A requirement and a row's answer; low and high are one-sided 95 % bounds in the metric's base unit."""

    requirement: Requirement
    answer: Answer
    n: int
    """Rounds with a figure."""
    low: float | None = None
    """None, as high, where nothing can be said; why says the reason."""
    high: float | None = None
    why: str = ""
    """Why it is undecided, as a clause; empty where the bounds lie on both sides of the limit, and for other answers."""

    @property
    def words(self) -> str:
        """The bound that decides: "at most 7.94 ms", "at least 12.1 ms"; both where they don't; or the reason."""
        if self.low is None or self.high is None:
            return self.why
        unit, limit = Metric(self.requirement.column).unit, self.requirement.limit
        low, high = (_amount(unit, bound, limit) for bound in (self.low, self.high))
        if self.answer is Answer.UNDECIDED:
            return f"{low} to {high}"
        is_below = (self.answer is Answer.YES) == (self.requirement.comparator is Comparator.AT_MOST)
        return f"at most {high}" if is_below else f"at least {low}"


@dataclass(frozen=True, slots=True)
class RunRequirements:
    """All requirements of a run: of each row that has any, by the row's id; answer is of the run."""

    rows: dict[str, tuple[Judged, ...]]
    answer: Answer | None
    """YES: at least one variant, with its settings and array, meets all of all its loads. None: nothing is required."""
    meeting: tuple[str, ...] = ()
    """Names of the variants, with what else differs, that meet everything."""


def has_requirements(state: RunState) -> bool:
    """Return whether the plan of a run requires anything."""
    return any(load.require for cell in state.request.plan.cells for load in cell.workloads)


def requirements_of(state: RunState, grid: Grid) -> RunRequirements:
    """Return whether the rows of a run meet what is required; undecided before its last cell is over."""
    is_over = not state.is_open
    rows: dict[str, tuple[Judged, ...]] = {}
    lives: dict[object, list[tuple[GridRow, Judged]]] = {}
    for row in grid.rows:
        load = row.key.workloads[row.key.workload or 0] if row.key.workloads else None
        if load is None or not load.require or row.key.variant.is_raw:
            continue
        rows[row.id] = tuple(_judged(one, row, is_over=is_over) for one in load.require)
        # What can't run here neither meets nor misses anything.
        if any(cell.status is not CellStatus.UNAVAILABLE for cell in row.cells):
            lives.setdefault(row.indexes, []).extend((row, one) for one in rows[row.id])
    answers = {place: _together(one.answer for _, one in judged) for place, judged in lives.items()}
    # Without a load's name: what meets them is a filesystem, under all its loads.
    names = row_names([replace(judged[0][0].key, workload=None) for judged in lives.values()])
    meeting = (name for name, answer in zip(names, answers.values(), strict=True) if answer is Answer.YES)
    answer = None
    if rows:
        found = set(answers.values())
        answer = Answer.YES if Answer.YES in found else Answer.NO if found == {Answer.NO} else Answer.UNDECIDED
    return RunRequirements(rows, answer, tuple(dict.fromkeys(meeting)))


def _together(answers: Iterable[Answer]) -> Answer:
    """Return one answer for all requirements of a filesystem's life."""
    found = set(answers)
    return next((one for one in (Answer.NO, Answer.UNDECIDED) if one in found), Answer.YES)


def _judged(requirement: Requirement, row: GridRow, *, is_over: bool) -> Judged:
    rounds: dict[int, list[tuple[Reading, float | None]]] = {}
    metric, count_metric = (_METRICS.get(name) for name in (requirement.column, requirement.count_column))
    if metric is None:
        return Judged(requirement, Answer.UNDECIDED, 0, why="no such column")
    for cell in row.cells:
        if cell.counts and (found := reading(metric, cell.value)) is not None:
            calls = cell.value(count_metric) if count_metric is not None else None
            rounds.setdefault(cell.repeat, []).append((found, calls))
    n = len(rounds)
    if why := _unfit(requirement, row.cells, list(rounds.values()), is_over=is_over):
        return Judged(requirement, Answer.UNDECIDED, n, why=why)
    readings = [[one for one, _ in of] for of in rounds.values()]
    limit = requirement.value if requirement.percent is None else requirement.edge_ns / 1e6
    is_ratio = limit > 0 and has_ratio([one for of in readings for one in of], metric)
    ends = [[_ends(requirement, metric, one) for one in of] for of in readings]

    def from_limit(value: float) -> float:
        return math.log(value) - math.log(limit) if is_ratio else value - limit

    def to_value(distance: float) -> float:
        return limit * math.exp(max(-_LARGEST_LOG, min(distance, _LARGEST_LOG))) if is_ratio else limit + distance

    # Of variants that came out equal, a round's outermost figures.
    low = lower_bound([from_limit(min(end for end, _ in of)) for of in ends])
    high = upper_bound([from_limit(max(end for _, end in of)) for of in ends])
    is_most = requirement.comparator is Comparator.AT_MOST
    meets, misses = (high <= 0, low > 0) if is_most else (low >= 0, high < 0)
    answer = Answer.YES if meets else Answer.NO if misses else Answer.UNDECIDED
    return Judged(requirement, answer, n, to_value(low), to_value(high))


def _unfit(
    requirement: Requirement,
    cells: Sequence[CellFigures],
    rounds: Sequence[Sequence[tuple[Reading, float | None]]],
    *,
    is_over: bool,
) -> str:
    """Return why nothing can be said of a row; empty where something can."""
    if not is_over:
        return "the run is not over"
    if not 0 <= requirement.value <= LARGEST:
        return "no such limit"
    if not rounds:
        return "no figures" if any(cell.status is CellStatus.DONE for cell in cells) else cells[0].status.value
    if len(rounds) < LEAST_ROUNDS:
        return f"n {len(rounds)}, {LEAST_ROUNDS} rounds needed"
    if requirement.percent is None:
        return ""
    needed = -(-100 * BEYOND // (100 - requirement.percent))
    fewest = min(calls or 0 for of in rounds for _, calls in of)
    return "" if fewest >= needed else f"{fewest:,.0f} calls, p{requirement.percent} needs {needed:,} a round"


def _ends(requirement: Requirement, metric: Metric, of: Reading) -> tuple[float, float]:
    """Return between which values a round's figure lies.

    A percentile's bucket, cut at the limit by exact counts; a rate within the resolution of its time, which of a load too
    short for a verdict may be all of it: then at most LEAST_STEPS times the rate.
    """
    value = of.value
    if is_rate(metric) and value > 0:
        step = of.resolution / value
        return value / (1 + step), value * min(LEAST_STEPS, 1 / (1 - step) if step < 1 else LEAST_STEPS)
    if requirement.percent is None:
        return value, value
    value_ns = round(2e6 * value) / 2
    low, above = bucket_bounds_ns(bucket_of(int(value_ns)))
    edge_ns, high = requirement.edge_ns, above - 1
    low, high = (low, min(high, edge_ns)) if value_ns <= edge_ns else (max(low, edge_ns + 1), high)
    return low / 1e6, high / 1e6


def _amount(unit: Unit, value: float, limit: str) -> str:
    """Return a bound; that of a latency is in us where its limit is."""
    if unit is Unit.BYTES_PER_S:
        return format_rate(value)
    if unit is Unit.BYTES:
        return format_bytes(value)
    if unit is Unit.SECONDS:
        return format_seconds(value)
    if unit is Unit.MILLISECONDS and limit.endswith("us"):
        return f"{significant(1000 * value)} us"
    return significant(value) if unit is Unit.COUNT else f"{significant(value)} {unit.value}"


# In words.


def limit_sentences(titled: Sequence[tuple[str, Sequence[Judged]]]) -> tuple[str, ...]:
    """Return a sentence for each requirement of one load: which rows meet it, with their bounds. All printable.

    "fsync p99 <= 10ms: met by xfs (at most 7.94 ms); missed by ext4 (at least 12.1 ms); undecided for btrfs (8.1 ms to 12 ms)."
    """
    by_words: dict[str, dict[Answer, list[str]]] = {}
    for title, judged in titled:
        for one in judged:
            by_words.setdefault(one.requirement.words, {}).setdefault(one.answer, []).append(f"{title} ({one.words})")
    said = []
    for words, answers in by_words.items():
        parts = [f"{lead} {', '.join(answers[answer])}" for answer, lead in _LEADS.items() if answer in answers]
        said.append(printable(f"{words}: {'; '.join(parts)}."))
    return tuple(said)


_LEADS = {Answer.YES: "met by", Answer.NO: "missed by", Answer.UNDECIDED: "undecided for"}


def row_sentences(judged: Sequence[Judged]) -> tuple[str, ...]:
    """Return a sentence for each requirement of one row: "requires fsync p99 <= 10ms: yes, at most 7.94 ms". All printable."""
    return tuple(printable(f"requires {one.requirement.words}: {one.answer.value}, {one.words}") for one in judged)


def run_sentence(found: RunRequirements) -> str:
    """Return what all requirements of a run come to; empty where nothing is required. Printable."""
    if found.answer is None:
        return ""
    if found.answer is Answer.YES:
        return printable(f"All requirements are met by {', '.join(found.meeting)}.")
    return (
        "No row meets all requirements."
        if found.answer is Answer.NO
        else "Undecided: no row certainly meets all requirements."
    )


def ending_of(found: RunRequirements) -> FsconsoleError | None:
    """Return the error, with its exit code, that a run's end is; None where a row meets everything, or nothing is required."""
    if found.answer is Answer.NO:
        return RequirementsMissed()
    return RequirementsUndecided() if found.answer is Answer.UNDECIDED else None
