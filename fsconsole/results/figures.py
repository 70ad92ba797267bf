"""Figures of cells, names of rows, statistics over repeats, status words, warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import OF_DEVICE, Metric
from fsconsole.model.plan import ArraySpec, Cell, Plan, Setting, StepKind, Variant, array_aspects
from fsconsole.model.resolution import Reading, reading
from fsconsole.model.rounds import CachedLoad, cold_loads
from fsconsole.model.state import OPEN_STATUSES, CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.verdicts import figure_of
from fsconsole.model.workload import Layout, Workload
from fsconsole.text import GIB, counted
from fsconsole.units import format_bytes, format_bytes_exact

_WORST_FIRST = ("failed", "errors", "repaired")
CLEAN = "clean"
_LOADS = frozenset({StepKind.WORKLOAD, StepKind.DRAIN})


@dataclass(frozen=True, slots=True)
class CellFigures:
    """One cell's share of a row; workload is an index into the cell's workloads, None for all of them."""

    cell: int
    repeat: int
    attempt: int
    status: CellStatus
    reason: str
    verdict: str
    """Of the check: "clean", "repaired", "errors", "failed"; empty where none was finished."""
    measurements: tuple[Measurement, ...]
    redo: int = 0
    """0: of a planned cell; from 1: of one of a repeated round."""
    counts: bool = True
    """False where another repetition of its round counts: kept, and in no figure of the row."""

    def value(self, metric: Metric) -> float | None:
        """Return the figure of that metric, or None where the cell has none."""
        for figure in self.measurements:
            if figure.metric is metric:
                return figure.value
        return None


def readings_of(cells: Iterable[CellFigures], metric: Metric) -> dict[int, Reading]:
    """Return a row's readings by round, of the cells that count; of checks, those that found no damage.

    Of variants that came out equal a round has several cells: their mean.
    """
    found: dict[int, list[Reading]] = {}
    for cell in cells:
        is_sound = cell.counts and (metric is not Metric.CHECK or cell.verdict == CLEAN)
        if is_sound and (one := reading(metric, cell.value)) is not None:
            found.setdefault(cell.repeat, []).append(one)
    return {
        number: of[0] if len(of) == 1 else Reading(figure_of(of, metric), max(one.resolution for one in of))
        for number, of in found.items()
    }


def parts_of(cell: Cell) -> tuple[int | None, ...]:
    """Return what a cell's figures are kept apart by: its workloads where it has several, else nothing.

    A raw row has a part for each choice of settings of a workload's own, under the first that has it.
    """
    parts = cell.raw_parts if cell.variant.is_raw else tuple(range(len(cell.workloads)))
    return parts if len(parts) > 1 else (None,)


def figures_of(cell: Cell, state: CellState, workload: int | None) -> CellFigures:
    """Return a cell's figures for one of its workloads.

    What belongs to the filesystem's whole life (mkfs, extents, check, delete) stands with each workload. A
    step that failed or was stopped measured something else than what its metric says: it gives no figure. Nor does a
    load, or a delete, of which nothing tells that it ever reached the device: its rate is that of memory.
    """
    latest: dict[Metric, Measurement] = {}
    verdict = ""
    for step in state.steps:
        if step.kind is StepKind.PILOT:
            # The cell of a pilot has yet to run: these are the pilot's steps, on loads of other sizes.
            latest, verdict = {}, ""
            break
        of = cell.steps[step.number].workload if step.number < len(cell.steps) else None
        is_own = workload is None or of in (None, workload)
        if step.outcome is not Outcome.DONE or not is_own or _is_lost(cell, state, step):
            continue
        # Every step has what its device did; the columns are those of the load.
        left_out = () if step.kind in _LOADS else OF_DEVICE
        latest.update({one.metric: one for one in step.measurements if one.metric not in left_out})
        if step.kind in (StepKind.CHECK, StepKind.CRASH_VERIFY):
            verdict = worst_verdict((verdict, step.verdict))
    cost = latest.get(Metric.GENERATOR_PER_GIB)
    if cost is not None and cost.value > 0:
        latest[Metric.CPU_EFFICIENCY] = Measurement(Metric.CPU_EFFICIENCY, GIB / cost.value)
    return CellFigures(
        cell=cell.index,
        repeat=cell.repeat,
        attempt=state.attempt,
        status=state.status,
        reason=state.reason,
        verdict=verdict,
        measurements=tuple(latest.values()),
        redo=cell.redo,
    )


def worst_verdict(verdicts: tuple[str, ...]) -> str:
    """Return the worst verdict of several checks; a word that isn't known counts as bad as any."""
    given = [verdict for verdict in verdicts if verdict]
    strange = [verdict for verdict in given if verdict not in (*_WORST_FIRST, CLEAN)]
    ordered = [*strange, *(word for word in (*_WORST_FIRST, CLEAN) if word in given)]
    return ordered[0] if ordered else ""


def _is_lost(cell: Cell, state: CellState, step: StepState) -> bool:
    """Return whether what a step has done was to be brought to the device by the next one, and that failed.

    While the next one goes on, and where the operator or the engine's death ended it, nothing speaks against the figures.
    """
    if not cell.is_closed_by_next(step.number):
        return False
    ends = [known.outcome for known in state.steps if known.number == step.number + 1]
    end = ends[0] if ends else None
    return end is Outcome.FAILED or (end is None and state.status is CellStatus.FAILED)


# What the rows of a grid are called: the variant, and whatever else tells one row from another.


@dataclass(frozen=True, slots=True)
class RowKey:
    """Key of a row: everything its cells have in common, all but the repeat."""

    target: str
    array: ArraySpec | None
    setting: Setting
    variant: Variant
    workloads: tuple[Workload, ...]
    workload: int | None
    """Index of the workload that the row is about; None where the cell has but one, or none."""
    members: tuple[str, ...] = ()
    """Paths of the devices that the array was made of."""

    @classmethod
    def of(cls, cell: Cell, workload: int | None = None) -> RowKey:
        """Return the row that a cell belongs to."""
        return cls(cell.target, cell.array, cell.setting, cell.variant, cell.workloads, workload, cell.members)


def row_names(keys: Sequence[RowKey], *, is_brief: bool = False) -> tuple[str, ...]:
    """Return a name for each key that tells it from the others.

    A name is the variant's label and the fewest further words that are needed, most telling first:
    "xfs, 128 threads". What all rows share stands in no name, but for an array's level and chunk, and that it was
    never synced: "xfs, raid5 64KiB, assume-clean"; is_brief: that neither, for whoever says it beside them all.
    """
    settings = tuple(dict.fromkeys(name for key in keys for name, _ in key.setting.values))
    words = [(*_words(key, settings), last) for key, last in zip(keys, _differences(keys), strict=True)]
    always = _ALWAYS[:1] if is_brief else _ALWAYS
    shown: list[int] = [0, *always]
    for aspect in range(1, max((len(row) for row in words), default=1)):
        if aspect not in always and _groups(words, [*shown, aspect]) > _groups(words, shown):
            shown.append(aspect)
    shown.sort()
    return tuple(", ".join(row[aspect] for aspect in shown if row[aspect]) for row in words)


def cell_names(plan: Plan, *, is_brief: bool = False) -> tuple[str, ...]:
    """Return what each cell of a plan is called, its repeat left out; is_brief as above."""
    return row_names([RowKey.of(cell) for cell in plan.cells], is_brief=is_brief)


_ALWAYS = (2, 8)
"""Level and chunk of an array, and that it was never synced: no figure stands without them."""


def _groups(words: Sequence[tuple[str, ...]], aspects: Sequence[int]) -> int:
    return len({tuple(row[aspect] for aspect in aspects) for row in words})


def _words(key: RowKey, settings: tuple[str, ...]) -> tuple[str, ...]:
    """Return a key as words, one per aspect, settings by these names; all keys give equally many."""
    variant, values = key.variant, dict(key.setting.values)
    load = _load_words(key.workloads[key.workload or 0]) if key.workloads else ("",) * _LOAD_WORDS
    if variant.is_raw:
        # Its streams are of no workload.
        load = ("",) * _LOAD_WORDS
    return (
        variant.label or variant.filesystem,
        key.target if key.array is None and not variant.is_directory else "",
        *array_aspects(key.array, len(key.members)),
        *(f"{name}={values[name]}" if name in values else "" for name in settings),
        *load,
        " ".join((variant.filesystem, *variant.mkfs_words, *variant.tune_words)),
        ",".join(variant.mount_words),
        variant.as_printed,
        f"workload {key.workload + 1}" if key.workload is not None else "",
    )


def _differences(keys: Sequence[RowKey]) -> Iterator[str]:
    """Yield for each key what its loads differ in from those of other keys: "read 48 threads", of those not its own."""
    texts = {loads: tuple(map(_all_words, loads)) for loads in dict.fromkeys(key.workloads for key in keys)}
    alike = len({tuple(map(len, of)) for of in texts.values()}) == 1
    differing = [
        {place for place, values in enumerate(zip(*same, strict=True)) if len(set(values)) > 1}
        for same in (zip(*texts.values(), strict=True) if alike else ())
    ]
    known: dict[tuple[tuple[Workload, ...], int], str] = {}
    for key in keys:
        # A raw row has no words of a load of its own.
        own = -1 if key.variant.is_raw else key.workload or 0
        if (key.workloads, own) not in known:
            told = []
            for number, (load, words) in enumerate(zip(key.workloads, texts[key.workloads], strict=True)):
                places = (differing[number] if alike else {*range(len(words))}) - (_OWN if number == own else set())
                told += [" ".join((load.name, *(words[place] for place in sorted(places - {0}))))] if places else []
            known[key.workloads, own] = " + ".join(told)
        yield known[key.workloads, own]


@lru_cache(maxsize=256)
def _all_words(load: Workload) -> tuple[str, ...]:
    return (*_load_words(load), load.kind.value, *(f"{name}={value}" for name, value in load.settings))


_LOAD_WORDS = 8
"""How many words _load_words() returns."""
_OWN = {*range(_LOAD_WORDS)}
"""Their places in _all_words(): a row's name has them of its own load already."""


def _load_words(workload: Workload) -> tuple[str, ...]:
    return (
        workload.name,
        counted(workload.threads, "thread"),
        f"{format_bytes_exact(workload.file_size_bytes)} files",
        f"{format_bytes_exact(workload.block_size_bytes)} blocks",
        counted(workload.files, "file"),
        _directories(workload),
        f"{workload.data.value} data",
        "cold" if workload.cold else "",
    )


def _directories(workload: Workload) -> str:
    directories = workload.directories
    if directories.layout is Layout.PER_COUNT:
        return f"{directories.files_per_directory} files per directory"
    return {Layout.ONE: "one directory", Layout.PER_THREAD: "a directory per thread"}[directories.layout]


# The few statistics of the grid: median, number and spread of repeated figures.


@dataclass(frozen=True, slots=True)
class Summary:
    """Repeated figures of one kind, in their base unit, with the raw values in the order they were taken."""

    values: tuple[float, ...]
    median: float
    spread_percent: float | None
    """None where spread_percent() has none."""

    @property
    def n(self) -> int:
        """Number of figures."""
        return len(self.values)


def summarise(values: tuple[float, ...]) -> Summary:
    """Return median, n and spread of at least one value. Raises ValueError for none."""
    if not values:
        raise ValueError("no values to summarise")
    return Summary(values, median_of(values), spread_percent(values))


def median_of(values: tuple[float, ...]) -> float:
    """Return the middle value, or what lies between the middle two, of at least one value."""
    ordered = sorted(values)
    upper = len(ordered) // 2
    # Halves first: the sum of two figures of a run from elsewhere may be no finite number.
    return ordered[upper] if len(ordered) % 2 else ordered[upper - 1] / 2 + ordered[upper] / 2


def spread_percent(values: tuple[float, ...]) -> float | None:
    """Return (max - min) / median in per cent; None for fewer than two values or a median of zero.

    The full range, not a trimmed one or a deviation: with the three to five repeats of a plan, every
    estimator that leaves values out hides just the one that should make a reader doubt.
    """
    if len(values) < 2:
        return None
    median = median_of(values)
    if median == 0:
        return None
    spread = 100 * ((max(values) - min(values)) / abs(median))
    return spread if math.isfinite(spread) else None


# What a check costs per byte and per inode in use: an admin's disk will be fuller than a benchmark's.

_LEAST_FULL = 0.10
_LEAST = {Metric.USED: 1, Metric.INODES: 1000}
"""Of fewer inodes a check's time is that of everything else."""


@dataclass(frozen=True, slots=True)
class CheckCost:
    """Seconds (CHECK) or bytes of memory (CHECK_RSS) per byte (USED) or inode (INODES) in use, as a range."""

    metric: Metric
    per: Metric
    least: float
    most: float


def check_costs(cells: Sequence[CellFigures]) -> tuple[CheckCost, ...]:
    """Return the costs of a row's checks; none of cells less than 10 % full, or where a check found damage.

    Least: what the filled filesystem's check took beyond that of the empty one, which is right if that part stays as
    it is on a larger device. Most: all that it took, which is right if that part grows like the rest.
    """
    full = [
        cell
        for cell in cells
        if cell.verdict == CLEAN
        and (cell.value(Metric.USED) or 0) >= _LEAST_FULL * (cell.value(Metric.USABLE) or math.inf)
    ]
    costs = []
    for metric, of_empty in (
        (Metric.CHECK, Metric.CHECK_EMPTY),
        (Metric.CHECK_RSS, Metric.CHECK_EMPTY_RSS),
    ):
        for per, least in _LEAST.items():
            bounds = [
                (max(0.0, filled - empty) / amount, filled / amount)
                for cell in full
                if (filled := cell.value(metric))
                and (empty := cell.value(of_empty))
                and (amount := cell.value(per) or 0) >= least
            ]
            if bounds:
                costs.append(CheckCost(metric, per, min(bounds)[0], max(most for _, most in bounds)))
    return tuple(costs)


# Status of runs and cells in words.

_WORDS = {status: status.value for status in CellStatus} | {
    CellStatus.UNKNOWN: "interrupted",
    CellStatus.UNAVAILABLE: "can't run",
}


def cell_word(status: CellStatus) -> str:
    """Return a cell's status in a word."""
    return _WORDS[status]


def as_left(state: RunState, *, alive: bool) -> RunState:
    """Return a run as it is: a cell that runs by the journal is interrupted where no engine lives."""
    if alive or all(cell.status is not CellStatus.RUNNING for cell in state.cells):
        return state
    cells = (
        replace(cell, status=CellStatus.UNKNOWN) if cell.status is CellStatus.RUNNING else cell for cell in state.cells
    )
    return replace(state, cells=tuple(cells))


@dataclass(frozen=True, slots=True)
class CellCount:
    """Cells of a run: those that can run, how many of them have ended, whatever end, those that can't run, and those of repeated rounds."""

    ended: int
    able: int
    unable: int
    repeated: int = 0

    @property
    def left(self) -> int:
        """Cells that have yet to end."""
        return self.able - self.ended

    @property
    def words(self) -> str:
        """The same in words: "2 of 5 cells, 3 can't run"."""
        return f"{self.ended} of {counted(self.able, 'cell')}{self.other_words}"

    @property
    def other_words(self) -> str:
        """Suffix for repeated and unavailable cells: " (10 planned + 2 repeated), 3 can't run"; empty if there are none."""
        unable = f", {self.unable:,} {cell_word(CellStatus.UNAVAILABLE)}" if self.unable else ""
        return f"{repeated_words(self.able, self.repeated)}{unable}"


def repeated_words(cells: int, repeated: int) -> str:
    """Return why there are more cells than were planned, as a suffix: " (10 planned + 2 repeated)"; empty if there are not."""
    return f" ({cells - repeated:,} planned + {repeated:,} repeated)" if repeated else ""


def count_cells(state: RunState) -> CellCount:
    """Return a run's cells counted; one that can't run has not ended, since it never was to begin."""
    # The engine goes over those too: for a moment they are running.
    planned = state.request.plan.cells
    able = [
        cell
        for cell in state.cells
        if cell.status is not CellStatus.UNAVAILABLE and not planned[cell.index].unavailable
    ]
    ended = sum(cell.status not in OPEN_STATUSES for cell in able)
    return CellCount(ended, len(able), len(state.cells) - len(able), sum(cell.redo > 0 for cell in planned))


def cells_in_words(state: RunState) -> str:
    """Return the cells counted by status: "4 cells: 2 done, 1 failed, 1 pending", and what ended the run early."""
    numbers = {status: sum(cell.status is status for cell in state.cells) for status in CellStatus}
    words = ", ".join(f"{number} {cell_word(status)}" for status, number in numbers.items() if number)
    repeated = count_cells(state).repeated
    total = counted(len(state.cells), "cell") + repeated_words(len(state.cells), repeated)
    early = next(
        (f"; {look.words}" for look in state.looks if look.decided and look.round < state.request.plan.repeats), ""
    )
    return f"{total}: {words}{early}" if words else total


RESUME = ": fsconsole resume "
"""Between a run's standing and its name, where it can be resumed."""


def status_words(state: RunState, *, alive: bool, read_only: bool = False, is_imported: bool = False) -> str:
    """Return a run's standing; alive says whether an engine holds its lock, read_only whether its disk takes no writes."""
    if is_imported:
        return f"imported, {_as_exported(state)}"
    resume = f"{RESUME}{state.request.run_id}"
    # An engine whose run is finished holds its lock for a moment more.
    if state.status is RunStatus.FINISHED:
        return _ended(state, resume)
    if alive:
        has_started = state.status in (RunStatus.RUNNING, RunStatus.PAUSED)
        return f"{state.status.value}: {place(state)}" if has_started else "starting"
    if state.status is RunStatus.NEW:
        return f"never started{resume}"
    if read_only:
        return (
            f"ended {_place_of_death(state)}, and could not say why: its disk is read-only now; "
            f"copy its folder to another disk, then {resume.removeprefix(': ')} --runs DIR"
        )
    return f"engine died {_place_of_death(state)}{resume}"


def _as_exported(state: RunState) -> str:
    """Return the standing of a run that can't be resumed here; one whose engine lived or had died was not over."""
    if state.status is RunStatus.FINISHED:
        return _ended(state, "")
    return f"exported after {count_cells(state).words}"


def place(state: RunState) -> str:
    """Return what is being done right now: "drain of cell 2 of 8", "between cells"."""
    if state.current_cell is None:
        return "between cells"
    step = state.current_step
    cell = f"cell {state.current_cell + 1} of {len(state.cells)}"
    return f"{step.kind.words} of {cell}" if step is not None else cell


def _ended(state: RunState, resume: str) -> str:
    """Return how a run ended; of one that was stopped with the words on how it is resumed behind it."""
    if state.outcome is Outcome.DONE:
        return f"finished: {state.reason}" if state.reason else "finished"
    if state.outcome is not Outcome.STOPPED:
        return f"failed: {state.reason}" if state.reason else "failed"
    stopped = [cell for cell in state.cells if cell.status is CellStatus.STOPPED]
    if stopped:
        return f"stopped {_where(stopped[-1])}{resume}"
    return f"stopped after {count_cells(state).words}{resume}"


def _place_of_death(state: RunState) -> str:
    left = [cell for cell in state.cells if cell.status in (CellStatus.RUNNING, CellStatus.UNKNOWN)]
    return _where(left[-1]) if left else "between cells"


def _where(cell: CellState) -> str:
    """Return "in drain of cell 2", by the last step that the cell began."""
    number = f"cell {cell.index + 1}"
    open_steps = [step for step in cell.steps if step.outcome is not Outcome.DONE]
    return f"in {open_steps[-1].kind.words} of {number}" if open_steps else f"in {number}"


# The warnings over a grid: those that the run raised, and those that only its repeats can show.


@dataclass(frozen=True, slots=True)
class Noted:
    """One warning with the cells that it is about (plan indexes, from 0); no cells: the whole run."""

    kind: WarningKind
    reason: str
    hint: str
    cells: tuple[int, ...]


_REPEATED_HINT = "Nothing to do: its last finished repetition counts. CSV and JSON keep the replaced cells."


_COLD_HINT = "Set direct = true, or turn free page reporting off (`fsconsole doctor` says how)."


def _cold_words(load: CachedLoad) -> str:
    if load.reported_bytes is None:
        return f"'{load.workload}' needed over twice its row's median of CPU per GiB; the hypervisor takes free memory back"
    taken, moved = format_bytes(load.reported_bytes), format_bytes(load.moved_bytes)
    since = " since boot" if load.is_since_boot else ""
    return f"the hypervisor took {taken} of free memory back{since}; '{load.workload}' moved {moved}"


def warnings_seen(state: RunState) -> tuple[Noted, ...]:
    """Return what the run warned of, each reason once, in the order of WarningKind."""
    cells: dict[tuple[WarningKind, str, str], list[int]] = {}
    for again in state.repeated:
        reason = f"round {again.repeat} ran again: {again.reason}"
        rounds = [cell.index for cell in state.request.plan.cells if cell.repeat == again.repeat]
        cells[WarningKind.ROUND_REPEATED, reason, _REPEATED_HINT] = rounds
    for load in cold_loads(state):
        cells.setdefault((WarningKind.MEMORY_COLD, _cold_words(load), _COLD_HINT), []).append(load.cell)
    for index, raised in ((None, state.warnings), *((cell.index, cell.warnings) for cell in state.cells)):
        for warning in raised:
            listed = cells.setdefault((warning.kind, warning.reason, warning.hint), [])
            listed += [index] if index is not None and index not in listed else []
    order = list(WarningKind)
    noted = [Noted(kind, reason, hint, tuple(listed)) for (kind, reason, hint), listed in cells.items()]
    return tuple(sorted(noted, key=lambda warning: order.index(warning.kind)))
