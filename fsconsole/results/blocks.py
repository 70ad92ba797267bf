"""Blocks of the grid: one per workload, one for the filesystem's life, one for raw rows; each with its own columns, order and verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations

from fsconsole.errors.runs import TooManyPairs, UnknownBaseline, UnknownColumn
from fsconsole.model.metrics import Metric, column_named
from fsconsole.model.plan import Order, Plan
from fsconsole.model.resolution import Reading
from fsconsole.model.state import RunState
from fsconsole.model.statistics import ALPHA, LOOKS
from fsconsole.model.verdicts import LEAST_ROUNDS, MOST_PAIRED, Compared, Scale, Verdict, compared, figure_of
from fsconsole.model.workload import Workload
from fsconsole.results.axes import aspects_of, common_words, numbered, plain, telling_axes
from fsconsole.results.columns import belongs, columns_of, figures_in, primary_of
from fsconsole.results.compare import alpha_of
from fsconsole.results.content import scale_for
from fsconsole.results.figures import row_names
from fsconsole.results.grid import Grid, GridRow, highest_first
from fsconsole.results.requirements import Judged, requirements_of
from fsconsole.text import counted, printable

BY_NAME, BY_CHANGE = "variant", "change"
"""Names to sort by beside columns and axes."""


class BlockKind(str, Enum):
    """Subjects of a block's figures."""

    LOAD = "load"
    LIFE = "life"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class GridChoice:
    """Request for a grid; empty fields: as the plan and the metrics have it."""

    sort_by: str = ""
    """Column or axis, or "variant", or "change"."""
    is_reversed: bool = False
    baseline: str = ""
    """Label of a variant ("xfs"), or an axis with a value ("read_ahead=128KiB")."""
    all_pairs: bool = False
    with_redone: bool = False
    """For build_grid(): figures of rounds that ran again too; no verdict uses them."""
    columns: tuple[Metric, ...] = ()
    look: int = 0
    """Round of a look, for `repeats = "auto"`: verdicts on the rounds up to it, though others are still to run."""


AS_PLANNED = GridChoice()


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One row of a block."""

    row: GridRow
    name: str
    """Short: what all rows share is said once in Block.common."""
    axes: tuple[str, ...]
    """Its values of the block's axes."""
    is_baseline: bool = False
    is_control: bool = False
    compared: Compared | None = None
    """None for baselines, rows without one, and as long as there are no verdicts."""
    required: tuple[Judged, ...] = ()
    """Limits that the plan sets for its load, with the row's answers."""

    @property
    def title(self) -> str:
        """Name with the values of the axes: "xfs, 4, 128KiB"."""
        return ", ".join(filter(None, (self.name, *self.axes)))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows of a block compared with each other, of all pairs."""

    row: str
    other: str
    compared: Compared


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one load, of the life or raw, in order, with their comparison in one primary metric."""

    kind: BlockKind
    name: str
    """Of the load; "filesystem" or "raw device"."""
    load: Workload | None
    metric: Metric
    """Primary one: what is compared, and sorted by unless chosen otherwise."""
    columns: tuple[Metric, ...]
    axes: tuple[str, ...]
    rows: tuple[BlockRow, ...]
    baseline: str = ""
    """In words: "xfs", "read_ahead=128KiB"; empty where no other row can be compared with it."""
    family: int = 0
    """Comparisons that the intervals hold for together."""
    same: float = 0.10
    """Share within which a difference is the same."""
    common: tuple[str, ...] = ()
    """Options that all rows of a filesystem share: "xfs: -m reflink=0; logbsize=256k"."""
    notes: tuple[str, ...] = ()
    """Why there are no verdicts (yet), that the baseline was chosen after the run, ..., in sentences."""
    pairs: tuple[Pair, ...] = ()
    """Of --all-pairs, else empty."""
    aged: str = ""
    """Ageing of its filesystems before the first load: "3 cycles to 70 %"; empty where there was none."""
    sorted_by: str = ""
    """Column, axis, "variant" or "change" that was chosen to sort by, where the block has it; empty: axes, then metric."""

    @property
    def is_compared(self) -> bool:
        """True if at least one row was compared, decided or not."""
        return any(row.compared is not None for row in self.rows)


def blocks_of(state: RunState, grid: Grid, choice: GridChoice = AS_PLANNED) -> tuple[Block, ...]:
    """Return the blocks of a grid: workloads in the plan's order, then the life of the filesystem, then raw rows.

    Raises UnknownColumn for a sort_by, UnknownBaseline for a baseline that no block has, TooManyPairs.
    """
    plan = state.request.plan
    rows = sorted(grid.rows, key=lambda row: (min(row.indexes), row.key.workload or 0))
    parts: dict[int, list[GridRow]] = {}
    for row in rows:
        if not row.key.variant.is_raw:
            parts.setdefault(row.key.workload or 0, []).append(row)
    blocks = [_bare(BlockKind.LOAD, part, of, plan) for part, of in sorted(parts.items()) if of[0].key.workloads]
    if any(belongs(metric, None) for row in parts.get(0, ()) for metric, _ in row.figures):
        blocks.append(_bare(BlockKind.LIFE, 0, parts[0], plan))
    raw = [row for row in rows if row.key.variant.is_raw]
    blocks += [_bare(BlockKind.RAW, 0, raw, plan)] if raw else []
    against = _against(plan, blocks, choice)
    by = _column_to_sort_by(blocks, choice)
    common = common_words([row.key for row in rows if not row.key.variant.is_raw])
    gate = gate_of(state, choice)
    required = requirements_of(state, grid).rows
    filled = []
    anywhere = {metric for row in rows for metric, _ in row.figures}
    for block in blocks:
        is_raw = block.kind is BlockKind.RAW
        own = [row.row for row in block.rows]
        columns = columns_of(block.load, own, grid.publication, is_raw=is_raw)
        if choice.columns:
            present = figures_in(block.load, own, is_raw=is_raw)
            # A column of which the run has no figure is shown without any.
            columns = tuple(
                metric
                for metric in choice.columns
                if metric in present
                or (metric not in anywhere and belongs(metric, block.load, own[0].key.workloads, is_raw=is_raw))
            )
        whole = replace(block, columns=columns, common=() if is_raw else common)
        whole = whole if is_raw else _compared(whole, plan, against.of(block), choice, gate)
        if required and block.kind is BlockKind.LOAD:
            limited = (replace(row, required=required.get(row.row.id, ())) for row in whole.rows)
            whole = replace(whole, rows=tuple(limited))
        filled.append(_sorted(whole, choice, by))
    return tuple(filled)


# Rows with their names and axes.


def _bare(kind: BlockKind, part: int, rows: Sequence[GridRow], plan: Plan) -> Block:
    """Return a block of rows in the plan's order, before anything is compared."""
    load = rows[0].key.workloads[part] if kind is BlockKind.LOAD else None
    aspects = [aspects_of(row.key, part if kind is BlockKind.LOAD else None) for row in rows]
    axes = telling_axes(aspects)
    listed = [
        BlockRow(row, row.key.variant.label or row.key.variant.filesystem, tuple(one.get(name, "") for name in axes),
                 is_control=row.key.variant.is_control)
        for row, one in zip(rows, aspects, strict=True)
    ]  # fmt: skip
    if len({(row.name, row.axes) for row in listed}) < len(listed):
        # No plan makes such rows; a run from elsewhere may have them.
        told = row_names([row.key for row in rows])
        listed = [replace(row, name=name) for row, name in zip(listed, told, strict=True)]
    name = {BlockKind.LIFE: "filesystem", BlockKind.RAW: "raw device"}.get(kind) or (load.name if load else "")
    metric = Metric.RAW_WRITE_1 if kind is BlockKind.RAW else primary_of(plan.primary, load, rows)
    ages = (cell.age.words for cell in plan.cells if cell.age is not None and kind is not BlockKind.RAW)
    return Block(kind, name, load, metric, (), axes, tuple(listed), same=plan.same, aged=next(ages, ""))


# Baselines: a variant at equal axes, or a value of one axis at equal everything else.


@dataclass(frozen=True, slots=True)
class _Against:
    """Baseline of rows: a variant, or else the value of an axis; words name either."""

    words: str
    label: str = ""
    axis: str = ""
    value: str = ""
    is_planned: bool = True
    is_only: bool = False
    """True for the one variant of a plan: each block compares the values of its first axis with the lowest."""

    def of(self, block: Block) -> _Against:
        """Return it as it is for a block."""
        if not self.is_only or not block.axes:
            return self
        axis, value = block.axes[0], min((row.axes[0] for row in block.rows), key=numbered)
        return replace(self, words=f"{axis}={value}", axis=axis, value=value)


def _against(plan: Plan, blocks: Sequence[Block], choice: GridChoice) -> _Against:
    """Return the baseline that was chosen, or the plan's. Raises UnknownBaseline."""
    rows = [row.row for block in blocks if block.kind is not BlockKind.RAW for row in block.rows]
    # By label the filesystem, whose name a row without a label has.
    labels = {label: row.key.variant.filesystem for row in rows for label in _labels(row, plan)}
    planned = plan.baseline if plan.baseline in labels else next(iter(labels), "")
    asked = choice.baseline.strip()
    as_planned = _Against(planned or labels.get(planned, ""), planned, is_only=len(labels) == 1)
    wanted = asked or plan.against
    # A filesystem's name stands for its only row, as in a plan.
    alone = [label for label, filesystem in labels.items() if filesystem == wanted]
    wanted = alone[0] if len(alone) == 1 and wanted not in labels else wanted
    if wanted in ("", planned):
        return as_planned
    if wanted in labels:
        return _Against(wanted, wanted, is_planned=False)
    name, _, value = wanted.partition("=")
    known: dict[tuple[str, str], None] = {}
    for block in blocks:
        for place, axis in enumerate(block.axes):
            for row in () if block.kind is BlockKind.RAW else block.rows:
                if plain(axis) == plain(name) and numbered(row.axes[place]) == numbered(value.strip()):
                    words = f"{axis}={row.axes[place]}"
                    return _Against(words, axis=axis, value=row.axes[place], is_planned=wanted == plan.against)
                known[axis, row.axes[place]] = None
    if not asked:
        # Its rows have not run yet.
        return as_planned
    values = (f"{axis}={of}" for axis, of in sorted(known, key=lambda one: (one[0], numbered(one[1]))))
    raise UnknownBaseline(name=wanted, known=", ".join([*labels, *values][:_BASELINES_TOLD]))


_BASELINES_TOLD = 8


def _labels(row: GridRow, plan: Plan) -> tuple[str, ...]:
    """Return the labels of a row's variants: of several that came out equal."""
    return tuple(dict.fromkeys(plan.cells[index].variant.label for index in row.indexes))


@dataclass(frozen=True, slots=True)
class Gate:
    """Why nothing is compared yet (empty where it is), and at which level."""

    why: str = ""
    alpha: float = ALPHA


def gate_of(state: RunState, choice: GridChoice = AS_PLANNED) -> Gate:
    """Return why a run has no verdicts yet, or the level at which it has them."""
    plan = state.request.plan
    if plan.order is not Order.ROUNDS:
        return Gate(f'No verdicts: order = "{plan.order.value}" has no rounds; set order = "rounds" in the plan.')
    if plan.repeats < LEAST_ROUNDS:
        return Gate(f"No verdicts: they need at least {LEAST_ROUNDS} rounds; 5 is the default.")
    if not choice.look and state.is_open:
        of_auto = f"round {LOOKS[0]}, {LOOKS[1]} or {LOOKS[2]}"
        return Gate(f"Verdicts follow after {of_auto if plan.is_auto else 'the last round'}.")
    return Gate(alpha=alpha_of(state, choice.look))


def _compared(block: Block, plan: Plan, against: _Against, choice: GridChoice, gate: Gate) -> Block:
    """Return a block with its baselines marked, and each other row compared with its own, if the gate is open.

    Raises TooManyPairs.
    """
    at = block.axes.index(against.axis) if against.axis and against.axis in block.axes else None
    if against.axis and at is None:
        return replace(block, notes=(f"Nothing to compare: {against.axis} is the same in all rows.",))
    if choice.all_pairs and len(block.rows) > MOST_PAIRED:
        raise TooManyPairs(block=block.name, rows=len(block.rows), most=MOST_PAIRED)
    labels = [_labels(row.row, plan) for row in block.rows]
    groups: dict[object, list[int]] = {}
    for place, row in enumerate(block.rows):
        key = row.axes if at is None else (row.name, *row.axes[:at], *row.axes[at + 1 :])
        groups.setdefault(key, []).append(place)
    bases: dict[int, int] = {}
    for places in groups.values():
        for place in places:
            row = block.rows[place]
            if against.label in labels[place] if at is None else row.axes[at] == against.value:
                bases |= dict.fromkeys(places, place)
                break
    # The family is what was planned: rows of variants that came out equal count for each of them.
    counts = [len(one) for one in labels]
    if choice.all_pairs:
        family = _pairs(sum(counts))
    elif against.is_planned:
        family = sum(counts) - len(set(bases.values()))
    else:
        family = sum(_pairs(sum(counts[place] for place in places)) for places in groups.values())
    rows = tuple(replace(row, is_baseline=bases.get(place) == place) for place, row in enumerate(block.rows))
    block = replace(block, rows=rows, baseline=against.words if bases and family else "", family=family)
    if not family or gate.why:
        return replace(block, notes=(gate.why,) if family else ())
    notes = tuple(_interval_notes(family, against, choice, gate))
    return _with_verdicts(replace(block, notes=notes), bases, choice, gate)


def _interval_notes(family: int, against: _Against, choice: GridChoice, gate: Gate) -> Iterator[str]:
    """Yield for what the intervals of a block hold, where that isn't its planned rows at 95 %."""
    if choice.all_pairs:
        yield f"Intervals hold for all {family} pairs together."
    elif not against.is_planned:
        yield f"Baseline chosen after the run: intervals are corrected over all {family} pairs."
    if gate.alpha != ALPHA:
        level = f"{100 * (1 - gate.alpha):g} %"
        yield f"Rounds are auto: the intervals are at {level}, so that all looks together err in 5 %."


def _with_verdicts(block: Block, bases: Mapping[int, int], choice: GridChoice, gate: Gate) -> Block:
    """Return a block with its rows compared; bases are places of rows with that of their baseline."""
    rows = block.rows
    readings = [_readings(row.row, block.metric, choice.look) for row in rows]

    def compare(own: int, other: int) -> Compared | None:
        of = (readings[own], readings[other])
        return compared(*of, block.metric, family=block.family, same=block.same, alpha=gate.alpha)

    told = tuple(
        row if bases.get(place, place) == place else replace(row, compared=compare(place, bases[place]))
        for place, row in enumerate(rows)
    )
    pairs = (
        (rows[own].title, rows[other].title, compare(own, other))
        for other, own in (combinations(range(len(rows)), 2) if choice.all_pairs else ())
    )
    return replace(
        block,
        rows=told,
        notes=(*block.notes, *_uneven_notes(told, bases, block.metric)),
        pairs=tuple(Pair(own, other, found) for own, other, found in pairs if found is not None),
    )


def compared_figure(row: BlockRow, metric: Metric) -> float | None:
    """Return a row's figure beside verdicts: of the rounds that were compared, or, of a baseline, that could be."""
    if row.compared is not None:
        return row.compared.own
    readings = row.row.readings(metric)
    return figure_of(readings.values(), metric) if readings else row.row.estimate(metric)


def _uneven_notes(rows: Sequence[BlockRow], bases: Mapping[int, int], metric: Metric) -> Iterator[str]:
    """Yield a sentence for each row whose change contradicts the figures, as its baseline finished other rounds too."""
    for place, row in enumerate(rows):
        found, base = row.compared, bases.get(place)
        shown = compared_figure(rows[base], metric) if base is not None else None
        if found is None or base is None or shown is None or found.below is not None:
            continue
        is_agreed = math.isclose(found.own, shown, rel_tol=1e-9) or (found.own - shown) * found.change >= 0
        is_nothing = found.scale is Scale.RATIO and abs(found.change) < _NO_CHANGE
        if is_agreed or (is_nothing and found.verdict in _UNDECIDED):
            continue
        scale = scale_for(metric, (found.own, found.other))
        figures = " and ".join(scale.text(value) for value in (found.own, found.other))
        unit = f" {scale.unit}" if scale.unit else ""
        both = f"{row.title} and {rows[base].title}"
        rounds = counted(found.n, "round")
        yield printable(f"{both} are compared over the {rounds} that both finished, with figures of {figures}{unit}.")


_NO_CHANGE = 0.005
"""Share that is printed as 0, unless it is decided."""
_UNDECIDED = (None, Verdict.SAME, Verdict.UNDECIDED)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _readings(row: GridRow, metric: Metric, look: int) -> Mapping[int, Reading]:
    found = row.readings(metric)
    return {number: one for number, one in found.items() if number <= look} if look else found


# Order of rows.


def _column_to_sort_by(blocks: Sequence[Block], choice: GridChoice) -> Metric | None:
    """Return the column that was chosen to sort by; None for an axis, for other names, and for none. Raises UnknownColumn."""
    axes = dict.fromkeys(axis for block in blocks for axis in block.axes)
    if plain(choice.sort_by) in ("", BY_NAME, BY_CHANGE, *map(plain, axes)):
        return None
    try:
        return column_named(choice.sort_by)
    except UnknownColumn as error:
        raise UnknownColumn(name=error.name, nearest=", ".join((*axes, error.nearest))) from error


def _sorted(block: Block, choice: GridChoice, by: Metric | None) -> Block:
    """Return a block in its order: by axes, then by the primary metric, best first; or as chosen."""
    loads = block.rows[0].row.key.workloads
    is_own = by is not None and belongs(by, block.load, loads, is_raw=block.kind is BlockKind.RAW)
    metric = by if by is not None and is_own else block.metric
    is_reversed, wanted = choice.is_reversed, plain(choice.sort_by)
    figures = [row.row.estimate(metric) for row in block.rows]
    if is_changed := wanted == BY_CHANGE and block.is_compared:
        figures = [row.compared.change if row.compared else 0.0 if row.is_baseline else None for row in block.rows]
    having = [(value, row) for value, row in zip(figures, block.rows, strict=True) if value is not None]
    having.sort(key=lambda pair: pair[0], reverse=highest_first(metric) != is_reversed)
    rows = [row for _, row in having]
    rows += [row for value, row in zip(figures, block.rows, strict=True) if value is None]
    if is_own or is_changed:
        return replace(block, rows=tuple(rows), sorted_by=metric.column if is_own else BY_CHANGE)
    axes = list(map(plain, block.axes))
    if wanted == BY_NAME or wanted in axes:
        at = axes.index(wanted) if wanted in axes else None
        rows.sort(key=lambda row: numbered(row.name if at is None else row.axes[at]), reverse=is_reversed)
        return replace(block, rows=tuple(rows), sorted_by=wanted if at is None else block.axes[at])
    if block.baseline.partition("=")[0] in block.axes:
        # Rows that are compared stand together.
        place = {row.name: number for number, row in reversed(list(enumerate(block.rows)))}
        rows.sort(key=lambda row: (place[row.name], *map(numbered, row.axes)))
    else:
        rows.sort(key=lambda row: tuple(map(numbered, row.axes)))
    return replace(block, rows=tuple(rows))
