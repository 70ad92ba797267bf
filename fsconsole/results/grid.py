"""The grid: one row per variant (and whatever else the plan varies), its figures over the repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.errors.runs import UnknownColumn
from fsconsole.model.events import DECIDED, PilotFinished, WarningKind
from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric, Unit, column_named, nearest_columns
from fsconsole.model.resolution import Reading, reading
from fsconsole.model.rounds import replaced_cells
from fsconsole.model.state import CellState, CellStatus, RunState, raw_depths, raw_pilot
from fsconsole.model.verdicts import figure_of
from fsconsole.model.workload import Workload
from fsconsole.results.figures import (
    CLEAN,
    CellFigures,
    Noted,
    RowKey,
    Summary,
    figures_of,
    median_of,
    parts_of,
    readings_of,
    row_names,
    summarise,
    warnings_seen,
    worst_verdict,
)
from fsconsole.results.published import beside, is_measured_with

# Durable figures set against the raw row of the same run: same device, settings and workload, no filesystem.

Grouped = dict[RowKey, list[CellFigures]]


def _with_raw_shares(grouped: Grouped) -> Grouped:
    """Return the cells of each row with their shares of the raw row's medians, in per cent; without one, as they are."""
    raw: dict[object, list[CellFigures]] = {}
    for key, cells in grouped.items():
        raw.setdefault(_place(key), []).extend(cell for cell in cells if key.variant.is_raw and cell.counts)
    shared: Grouped = {}
    for key, cells in grouped.items():
        references = () if key.variant.is_raw else _references(raw[_place(key)])
        shared[key] = []
        for cell in cells:
            durable = cell.value(Metric.DURABLE)
            shares: list[Measurement] = []
            if durable is not None:
                shares = [Measurement(share, 100 * durable / reference) for share, reference in references]
            shared[key].append(replace(cell, measurements=(*cell.measurements, *shares)))
    return shared


def _place(key: RowKey) -> tuple[object, ...]:
    """Return what a row shares with its raw row: device or array, settings, and those of its own workload."""
    own = key.workloads[key.workload or 0].settings if key.workloads else ()
    return (key.target, key.array, key.setting, own)


def _references(raw: list[CellFigures]) -> tuple[tuple[Metric, float], ...]:
    """Return a median in bytes/s for each share that can be told."""
    found = []
    for share, metric in ((Metric.OF_RAW_1, Metric.RAW_WRITE_1), (Metric.OF_RAW_N, Metric.RAW_WRITE_N)):
        values = tuple(value for cell in raw if (value := cell.value(metric)))
        if values:
            found.append((share, median_of(values)))
    return tuple(found)


# Columns by name, and how they are sorted.

DEFAULT_SORT = Metric.DURABLE
_MORE_IS_FIRST = frozenset({Unit.BYTES_PER_S, Unit.PER_SECOND})


def highest_first(metric: Metric) -> bool:
    """Return True for rates, which are sorted from the highest; all else is sorted from the lowest."""
    return metric.unit in _MORE_IS_FIRST


def columns_named(names: str) -> tuple[Metric, ...]:
    """Return the metrics of a list of names with commas between, each once. Raises UnknownColumn."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise UnknownColumn(name=names, nearest=nearest_columns(""))
    return tuple(dict.fromkeys(column_named(name) for name in wanted))


# Variants that came out equal: what was read back of them is the same, and all that differs would show in it.

_SCOPES = frozenset({"mkfs", "mount"})
_HINT = "They share a row, as rounds of one variant: drop one of them from the plan."


def _equal_keys(grouped: Grouped, cells: Sequence[CellState]) -> list[list[RowKey]]:
    """Return the keys of each row: those of which the same was read back, and each that was not wholly read back alone."""
    by_index = {cell.index: cell for cell in cells}
    alike: dict[object, list[RowKey]] = {}
    for key, figures in grouped.items():
        alike.setdefault(_outcome(key, figures, by_index) or key, []).append(key)
    return list(alike.values())


def _outcome(key: RowKey, figures: Sequence[CellFigures], by_index: Mapping[int, CellState]) -> object | None:
    """Return what tells a row from others once its filesystem is known; None where it isn't yet, or where they differ."""
    read_back = {frozenset((f.scope, f.name, f.value) for f in by_index[one.cell].features) for one in figures}
    if len(read_back) != 1 or key.variant.hidden_words is None:
        return None
    (features,) = read_back
    if {scope for scope, _, _ in features} != _SCOPES:
        return None
    nobody = replace(key.variant, label="", mkfs_words=(), mount_words=(), tune_words=(), as_printed="")
    return (replace(key, variant=nobody), features)


# Barriers or a journal that one side of a comparison does without, by what was read back.

_BARRIERS, _JOURNAL = "barriers", "a journal"
_OFF = {
    ("mount", "nobarrier", "on"): _BARRIERS,
    ("mount", "barrier", "none"): _BARRIERS,
    ("mount", "fsync_mode", "nobarrier"): _BARRIERS,
    ("mount", "nointegrity", "on"): _JOURNAL,
}
_UNSAFE_HINTS = {
    _BARRIERS: "Without barriers nothing flushes the disk's cache, and a power cut may lose synced data: "
    "compare it only with other rows without barriers.",
    _JOURNAL: "Without a journal a crash may damage files, and needs a full check: "
    "compare it only with other rows without a journal.",
}


def _unsafe_sides(rows: Sequence[GridRow], cells: Sequence[CellState]) -> Iterator[Noted]:
    """Yield a warning for each variant that lacks what others of the same target, settings and workload have."""
    by_index = {cell.index: cell for cell in cells}
    blocks: dict[object, list[tuple[GridRow, frozenset[str]]]] = {}
    for row in rows:
        # One cell tells: a grid of thousands is built again while its run goes on.
        told = (by_index[index].features for index in row.indexes)
        whole = next((features for features in told if {feature.scope for feature in features} == _SCOPES), ())
        seen = {(feature.scope, feature.name, feature.value) for feature in whole}
        if seen:
            off = {_OFF[feature] for feature in seen & _OFF.keys()}
            if row.key.variant.filesystem.startswith("ext") and ("mkfs", "has_journal", "on") not in seen:
                off.add(_JOURNAL)
            blocks.setdefault(_place(row.key), []).append((row, frozenset(off)))
    found: dict[tuple[str, str], dict[int, None]] = {}
    for block in blocks.values():
        for row, lacks in block:
            for what in sorted(lacks):
                if not all(what in others for _, others in block):
                    found.setdefault((row.key.variant.label, what), {}).update(dict.fromkeys(row.indexes))
    for (label, what), indexes in found.items():
        reason = f"'{label}' runs without {what}, other rows with {'it' if what is _JOURNAL else 'them'}"
        yield Noted(WarningKind.UNSAFE_SIDE, reason, _UNSAFE_HINTS[what], tuple(indexes))


# Why a row lacks figures, in words.

_WORDS = {
    CellStatus.PENDING: "not run yet",
    CellStatus.RUNNING: "running now",
    CellStatus.FAILED: "failed",
    CellStatus.SKIPPED: "skipped",
    CellStatus.STOPPED: "stopped",
    CellStatus.UNAVAILABLE: "can't run",
    CellStatus.UNKNOWN: "interrupted: the engine died in it",
}


def _row_notes(cells: Sequence[CellFigures]) -> tuple[str, ...]:
    """Return one sentence per way in which cells of a row did not come to their end.

    "can't run: mkfs.xfs is not installed" where that holds for all of them, "2 of 3 not run yet" else. Cells that no
    verdict needed any more are not counted.
    """
    cells = [cell for cell in cells if cell.status is not CellStatus.SKIPPED or not cell.reason.startswith(DECIDED)]
    unfinished = [cell for cell in cells if cell.status is not CellStatus.DONE]
    counted = Counter(": ".join(filter(None, (_WORDS[cell.status], cell.reason))) for cell in unfinished)
    return tuple(
        sentence if number == len(cells) else f"{number} of {len(cells)} {sentence}"
        for sentence, number in counted.items()
    )


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row; a metric that no cell of it has is absent from figures."""

    name: str
    key: RowKey
    cells: tuple[CellFigures, ...]
    """In the order in which the plan runs them, those without figures too."""
    figures: tuple[tuple[Metric, Summary], ...]
    verdict: str
    """The worst verdict of its checks; empty where none was finished."""
    notes: tuple[str, ...]
    """Why figures are missing, in words; empty where none is."""
    printed: tuple[str, ...] = ()
    """Names in publications, and the variants that came out equal to it."""
    with_redone: bool = False
    """True if its figures are those of rounds that ran again, too."""

    @property
    def id(self) -> str:
        """Key that tells it from the other rows of its run, however far that has come."""
        return f"{min(self.indexes)}/{'' if self.key.workload is None else self.key.workload}"

    @property
    def indexes(self) -> tuple[int, ...]:
        """The plan's indexes of its cells."""
        return tuple(dict.fromkeys(cell.cell for cell in self.cells))

    def figure(self, metric: Metric) -> Summary | None:
        """Return the summary of that metric, or None where no cell has it."""
        return next((summary for known, summary in self.figures if known is metric), None)

    def value(self, metric: Metric) -> float | None:
        """Return the median of that metric, or None where no cell has it."""
        return summary.median if (summary := self.figure(metric)) is not None else None

    def readings(self, metric: Metric) -> dict[int, Reading]:
        """Return its sound figures by round, for comparison."""
        return readings_of(self.cells, metric)

    def estimate(self, metric: Metric) -> float | None:
        """Return the figure to show: the geometric mean of its rounds, or their mean (as verdicts.figure_of)."""
        cells = [cell for cell in self.cells if cell.counts or self.with_redone]
        if metric is Metric.CHECK:
            # As in comparisons: one that found damage took another time. Where all did, theirs.
            cells = [cell for cell in cells if cell.verdict == CLEAN] or cells
        known = [one for cell in cells if (one := reading(metric, cell.value)) is not None]
        return figure_of(known, metric) if known else None

    def is_of(self, published: PublishedRow, load: Workload | None) -> bool:
        """Return whether a published row is of this one in the block of that load; None: in another block."""
        name, loads = load.name if load is not None else "", self.key.workloads
        if published.as_printed not in self.printed or published.load not in ("", name):
            return False
        of_load = loads[self.key.workload or 0].settings if load is not None and loads else ()
        if not is_measured_with(published, dict(self.key.setting.values) | dict(of_load)):
            return False
        own = loads[self.key.workload or 0].threads if load is not None and loads else 0
        return 0 in (published.threads, own) or published.threads == own


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows in the order of sorted_by; warnings name cells, so that each is found in the journal."""

    rows: tuple[GridRow, ...]
    sorted_by: Metric
    warnings: tuple[Noted, ...]
    publication: Publication | None = None
    """Published table beside it: shown, and never ranked."""


_SPREAD_LIMIT_PERCENT = 10.0
_SPREAD_HINT = "Find what else used the device or the CPUs; run more rounds before comparing close rows."


def build_grid(
    state: RunState,
    *,
    sort_by: Metric = DEFAULT_SORT,
    publication: Publication | None = None,
    with_redone: bool = False,
) -> Grid:
    """Return the grid of a run as far as it has come; with_redone: its figures are those of replaced rounds too."""
    grouped: dict[RowKey, list[CellFigures]] = {}
    replaced = replaced_cells(state)
    for cell, cell_state in zip(state.request.plan.cells, state.cells, strict=True):
        for part in parts_of(cell):
            figures = replace(figures_of(cell, cell_state, part), counts=cell.index not in replaced)
            grouped.setdefault(RowKey.of(cell, part), []).append(figures)
    grouped = _with_raw_shares(grouped)
    named = zip(grouped, row_names(tuple(grouped)), strict=True)
    names = {key: name + _depth_words(pilot_of(state, key, grouped[key][0].cell)) for key, name in named}
    alike = _equal_keys(grouped, state.cells)
    rows = [
        _row(names[keys[0]], keys, [cell for key in keys for cell in grouped[key]], with_redone=with_redone)
        for keys in alike
    ]
    warnings, order = list(warnings_seen(state)), {key: number for number, key in enumerate(grouped)}
    joined = [(order[keys[1]], keys[1:], row) for keys, row in zip(alike, rows, strict=True) if keys[1:]]
    for _, others, row in sorted(joined, key=lambda one: one[0]):
        reasons = [f"'{names[other]}' came out equal to '{row.name}'" for other in others]
        warnings += [Noted(WarningKind.EQUAL, reason, _HINT, row.indexes) for reason in reasons]
    warnings += _unsafe_sides(rows, state.cells)
    for row in rows:
        known = row.figure(DEFAULT_SORT)
        spread = known.spread_percent if known is not None else None
        if spread is not None and spread > _SPREAD_LIMIT_PERCENT:
            reason = f"rounds of '{row.name}': durable figures lie {spread:.0f} % apart"
            warnings.append(Noted(WarningKind.SPREAD, reason, _SPREAD_HINT, row.indexes))
    found = beside(publication, [state.request.plan]) if publication is not None else None
    return Grid(_sorted(rows, sort_by), sort_by, tuple(warnings), found)


def pilot_of(state: RunState, key: RowKey, index: int) -> PilotFinished | None:
    """Return the pilot of a raw row, of which index is a cell; None for other rows, and where there was none."""
    cells = state.request.plan.cells
    return raw_pilot(state.pilots, cells, cells[index]) if key.variant.is_raw else None


def _depth_words(pilot: PilotFinished | None) -> str:
    """Return the depth that a raw row's pilot chose: ", depth 4", or ", depth 4, reads 16"."""
    depths = raw_depths(pilot) if pilot else {}
    written, of_reads = depths.get("write"), depths.get("read")
    words = f", depth {written}" if written else ""
    return words if of_reads in (written, None) else f"{words}, reads {of_reads}"


_PLACES = {metric: place for place, metric in enumerate(Metric)}


def _row(name: str, keys: Sequence[RowKey], cells: Sequence[CellFigures], *, with_redone: bool) -> GridRow:
    """Return the row of the first key, with those that came out equal to it."""
    found: dict[Metric, list[float]] = {}
    counted = [cell for cell in cells if cell.counts]
    for cell in cells if with_redone else counted:
        for measurement in cell.measurements:
            found.setdefault(measurement.metric, []).append(measurement.value)
    figures = tuple((metric, summarise(tuple(found[metric]))) for metric in sorted(found, key=_PLACES.__getitem__))
    verdict = worst_verdict(tuple(cell.verdict for cell in cells))
    printed = dict.fromkeys(key.variant.as_printed for key in keys if key.variant.as_printed)
    return GridRow(name, keys[0], tuple(cells), figures, verdict, _row_notes(counted), tuple(printed), with_redone)


def _grid_place(row: GridRow) -> tuple[int, int]:
    """Return a row's place in the plan's order."""
    return (min(cell.cell for cell in row.cells), row.key.workload or 0)


def _sorted(rows: list[GridRow], metric: Metric) -> tuple[GridRow, ...]:
    """Sort by medians; the sort is stable, so that equal rows stay in the plan's order."""
    having = [(value, row) for row in rows if (value := row.value(metric)) is not None]
    having.sort(key=lambda pair: pair[0], reverse=highest_first(metric))
    lacking = [row for row in rows if row.value(metric) is None]
    return (*(row for _, row in having), *lacking)
