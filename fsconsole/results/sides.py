"""Runs and published tables side by side: rows that mean the same, changes in per cent, Welch's intervals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from string import ascii_uppercase

from fsconsole.errors.runs import NothingToCompare, RunsDiffer
from fsconsole.model.figures import Publication, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order, Plan
from fsconsole.model.resolution import Reading, is_difference
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import LEAST_ROUNDS, Compared, Scale, compared_apart, figure_of
from fsconsole.model.workload import Workload
from fsconsole.results.block_tables import block_title
from fsconsole.results.blocks import Block, BlockKind, BlockRow, GridChoice, blocks_of
from fsconsole.results.content import settings_note
from fsconsole.results.environment import Difference, Varied, differences, groups_of, load_signature
from fsconsole.results.figures import count_cells
from fsconsole.results.grid import GridRow, build_grid
from fsconsole.results.published import beside, ratio_column
from fsconsole.text import printable

MOST_SIDES = 26
"""Each has a letter."""
_MOST_TOLD = 6
"""Differences that a refusal names; all stand above an allowed comparison."""


@dataclass(frozen=True, slots=True)
class Side:
    """Side of a comparison: a run, several runs that agree in what is varied, or a published table."""

    letter: str
    runs: tuple[RunState, ...] = ()
    publication: Publication | None = None
    laid: tuple[Publication, ...] = ()
    """The table beside each run of the comparison, whose own scaling its numbers of threads follow."""

    @property
    def name(self) -> str:
        """Names of its runs, or that of the table."""
        runs = ", ".join(run.request.run_id for run in self.runs)
        return printable(self.publication.name if self.publication else runs)


@dataclass(frozen=True, slots=True)
class SideFigure:
    """A figure of a row on one side, and its change against the first side's."""

    column: str
    unit: str
    metric: Metric | None
    """None for a published column of its own."""
    value: float
    change: float | None = None
    """A share of the first side's (-0.15: 15 % less), of a DIFFERENCE in the unit; None where that has none, or is it."""
    scale: Scale = Scale.RATIO


@dataclass(frozen=True, slots=True)
class SideRow:
    """One row on one side: a grid row of each of its runs, or a published one."""

    side: Side
    rows: tuple[GridRow, ...] = ()
    published: PublishedRow | None = None
    n: int = 0
    """Rounds, or of several runs runs, that have a figure of the primary metric."""
    figures: tuple[SideFigure, ...] = ()
    """In the block's columns, then those of published columns of its own."""
    compared: Compared | None = None
    """With the first side in the primary metric; None for that itself, and where there is nothing to compare."""

    def figure(self, metric: Metric) -> SideFigure | None:
        """Return its figure of that metric; None without one."""
        return next((one for one in self.figures if one.metric is metric), None)


@dataclass(frozen=True, slots=True)
class SideGroup:
    """A row of the comparison: what means the same on each side, in the order of the sides."""

    name: str
    rows: tuple[SideRow, ...]

    @property
    def base(self) -> SideRow | None:
        """The first side's row; None where that has none."""
        return next((row for row in self.rows if row.side.letter == ascii_uppercase[0]), None)


@dataclass(frozen=True, slots=True)
class SideBlock:
    """Rows of one load, of the life, or raw. Intervals hold together for a family of comparisons in the primary metric."""

    name: str
    title: str
    """The name, and what the load is."""
    metric: Metric | None
    """None for published tables alone."""
    groups: tuple[SideGroup, ...]
    family: int
    same: float
    alone: tuple[str, ...] = ()
    """Rows that no row of the first run means, with the letters of their sides: "btrfs (B)"."""


def _share(own: float, other: float) -> float | None:
    """Return by what share of the other a figure differs from it; None where that is no finite number."""
    share = own / other - 1 if other else math.inf
    return share if math.isfinite(share) else None


@dataclass(frozen=True, slots=True)
class SideComparison:
    """Sides, what differs between their runs, sentences on what the figures are worth, and the blocks."""

    sides: tuple[Side, ...]
    vary: tuple[Varied, ...]
    different: tuple[Difference, ...]
    """Values in the order of all runs of all sides."""
    notes: tuple[str, ...]
    blocks: tuple[SideBlock, ...]

    @property
    def run_letters(self) -> tuple[str, ...]:
        """The letter of each run's side, in the order of a difference's values."""
        return tuple(side.letter for side in self.sides for _ in side.runs)


def sides_of(given: Sequence[Sequence[RunState] | Publication], vary: Collection[Varied]) -> tuple[Side, ...]:
    """Return the sides that were given, lettered; runs given singly that agree in all that is varied become one."""
    parts: list[Sequence[RunState] | Publication] = list(given)
    single = [part[0] for part in given if not isinstance(part, Publication) and len(part) == 1]
    if vary and len(single) == len(given):
        found = [one for one in differences(single) if one.kind in vary]
        values = list(zip(*(one.values for one in found), strict=True)) if found else []
        grouped: dict[tuple[str, ...], list[RunState]] = {}
        for run, own in zip(single, values, strict=bool(found)):
            grouped.setdefault(own, []).append(run)
        parts = list(grouped.values()) if grouped else parts
    if not parts or len(parts) > MOST_SIDES:
        raise NothingToCompare(f"{len(parts)} sides are given, of at most {MOST_SIDES}")
    named = zip(ascii_uppercase, parts, strict=False)
    return tuple(
        Side(letter, publication=part) if isinstance(part, Publication) else Side(letter, tuple(part))
        for letter, part in named
    )


def compare_sides(sides: Sequence[Side], vary: Sequence[Varied] = (), columns: Sequence[Metric] = ()) -> SideComparison:
    """Return the comparison of sides with the first of them.

    Raises RunsDiffer where runs differ in what is not varied, NothingToCompare where no row of them means the same.
    """
    runs = [run for side in sides for run in side.runs]
    letters = [side.letter for side in sides for _ in side.runs]
    found = require_alike(runs, vary, letters) if runs else ()
    for side in sides:
        tables = dict.fromkeys(row.table for row in side.publication.rows) if side.publication else {}
        if len(tables) > 1 < len(sides):
            names = " or ".join(f"{side.name}-{table}" for table in tables)
            raise NothingToCompare(f"{side.name} has several tables: give {names}")
    if len(sides) == 1 and runs:
        raise NothingToCompare("all runs are on one side")
    if runs:
        plans = [run.request.plan for run in runs]
        sides = [_laid(side, side.publication, plans) if side.publication is not None else side for side in sides]
    blocks = _blocks(sides, vary, columns) if runs else (_of_publications(sides, columns),)
    is_runs_alone = all(side.runs for side in sides)
    if is_runs_alone and not any(len(group.rows) > 1 for block in blocks for group in block.groups):
        raise NothingToCompare("no row of one side means the same as a row of another")
    return SideComparison(tuple(sides), tuple(vary), found, _notes(sides, vary, found), blocks)


def _laid(side: Side, of: Publication, plans: Sequence[Plan]) -> Side:
    """Return the side of a table as it may stand beside runs of these plans."""
    return replace(side, publication=beside(of, plans), laid=tuple(beside(of, plans, own) for own in plans))


def require_alike(
    runs: Sequence[RunState], vary: Collection[Varied], letters: Sequence[str] = ()
) -> tuple[Difference, ...]:
    """Return in what runs differ; without letters they are A, B, ... Raises RunsDiffer where that is not varied."""
    letters = letters or [ascii_uppercase[number % MOST_SIDES] for number in range(len(runs))]
    found = differences(runs)
    if refused := [one for one in found if one.kind and one.is_known and one.kind not in vary]:
        wanted = [kind for kind in Varied if kind in vary or any(one.kind is kind for one in refused)]
        told = [difference_words(one, letters) for one in refused]
        told[_MOST_TOLD:] = [f"and {len(told) - _MOST_TOLD} more facts"] if len(told) > _MOST_TOLD else []
        raise RunsDiffer("; ".join(told), ",".join(kind.value for kind in wanted))
    return found


def difference_words(one: Difference, letters: Sequence[str]) -> str:
    """Return a difference in words: "kernel (A 6.1.0; B, C 6.18.0)"; a letter that is both stands with both."""
    told = []
    for value, names in groups_of(one.values, letters):
        told.append(
            f"{', '.join(dict.fromkeys(names.split(', ')))} {value or ('not known' if one.kind is Varied.TOOLS else '(none)')}"
        )
    return f"{one.name} ({'; '.join(told)})"


# What the figures are worth, in sentences.


def _notes(sides: Sequence[Side], vary: Sequence[Varied], found: Sequence[Difference]) -> tuple[str, ...]:
    notes = []
    runs = [run for side in sides for run in side.runs]
    several = [side for side in sides if len(side.runs) > 1]
    if several:
        notes.append("Several runs are a side: n counts runs, and intervals are of scatter between runs (Welch).")
        if any(0 < len(side.runs) < LEAST_ROUNDS for side in sides):
            notes.append(f"Verdicts need {LEAST_ROUNDS} runs on each side.")
    elif len(runs) > 1:
        boots = {started.boot_id for run in runs for started in run.started}
        each = "one boot each" if len(boots) >= len(runs) else "one run each, of the same boot"
        notes.append(
            f"Runs share no rounds: Welch's intervals, {each}. What another boot or run would change is not in them."
        )
    notes += [
        f"--vary {kind.value}: nothing of it differs." for kind in vary if all(one.kind is not kind for one in found)
    ]
    for side in several:
        own = [one.name for one in differences(side.runs) if one.kind and one.is_known]
        notes += [f"The runs of {side.letter} differ among themselves in {', '.join(own)}."] if own else []
    for side in sides:
        notes += [f"{side.letter}: {words}" for run in side.runs if (words := _no_verdicts(run, len(side.runs)))]
    told: dict[str, list[str]] = {}
    for side in sides:
        if of := side.publication:
            words = f"{of.source}, {of.date}: not ranked, no verdicts. {of.workload}; {of.machine}. {of.scaled}".strip()
            set_here = {name for run in runs for cell in run.request.plan.cells for name, _ in cell.setting.values}
            told.setdefault(f"{words} {settings_note(of, set_here)}" if set_here else words, []).append(side.letter)
    notes += [f"{', '.join(letters)}: published by {words}" for words, letters in told.items()]
    unknown = [one.name for one in found if one.kind and not one.is_known]
    notes += [f"Not known of every run: {', '.join(unknown)}."] if unknown else []
    return tuple(map(printable, notes))


def _no_verdicts(run: RunState, of_side: int) -> str:
    """Return why a run's figures bear no verdicts; empty where they do."""
    if run.is_open:
        return f"{count_cells(run).words}: verdicts follow after the last."
    if of_side == 1 and run.request.plan.order is not Order.ROUNDS:
        return "its cells were not run in rounds, so what drifts is in its scatter: no verdicts."
    return ""


# Rows that mean the same.

_Aspects = tuple[tuple[Varied | None, object], ...]


def _aspects(state: RunState, block: Block, row: BlockRow) -> _Aspects:
    """Return all that tells a row from others of its block, each with what --vary calls it."""
    key, targets = row.row.key, state.request.plan.targets
    variant = key.variant
    loads = (block.load,) if block.load is not None else key.workloads if block.kind is BlockKind.LIFE else ()
    signatures = [[pair for pair in load_signature(load) if pair[0] != "settings"] for load in loads]
    words = (variant.filesystem, variant.mkfs_words, variant.tune_words, variant.mount_words, variant.is_control)
    return (
        (None, targets.index(key.target) if key.target in targets else -1),
        (Varied.VARIANT, words),
        (Varied.DEVICE, str(key.array)),
        (Varied.SETTINGS, (key.setting.values, *(load.settings for load in loads))),
        (Varied.WORKLOAD, str(signatures)),
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """A run's row with what it means."""

    row: BlockRow
    aspects: _Aspects


def _matches(base: Sequence[_Named], other: Sequence[_Named], vary: Collection[Varied]) -> dict[int, _Named]:
    """Return the rows of another run that mean the same, by the places of the base's.

    Equal in everything; else equal but for what is varied and of one name; else the only ones equal but for that.
    """

    def whole(one: _Named) -> object:
        return one.aspects

    def rest(one: _Named) -> object:
        return tuple(pair for pair in one.aspects if pair[0] not in vary)

    def named(one: _Named) -> object:
        return rest(one), one.row.name, one.row.axes

    found: dict[int, _Named] = {}
    taken: set[int] = set()
    for key_of in (whole, named, rest):
        pools: tuple[dict[object, list[int]], ...] = ({}, {})
        for pool, rows, gone in zip(pools, (base, other), (found.keys(), taken), strict=True):
            for place, one in enumerate(rows):
                if place not in gone:
                    pool.setdefault(key_of(one), []).append(place)
        for key, places in pools[0].items():
            theirs = pools[1].get(key, [])
            if len(places) == len(theirs) == 1:
                found[places[0]] = other[theirs[0]]
                taken.add(theirs[0])
    return found


# Blocks of several runs, with changes and intervals.


def _blocks(sides: Sequence[Side], vary: Collection[Varied], columns: Sequence[Metric]) -> tuple[SideBlock, ...]:
    """Return the blocks of the first run, with the rows of the others and of published tables that mean the same."""
    states = [run for side in sides for run in side.runs]
    publication = next((side.publication for side in sides if side.publication is not None), None)
    first_run, *other_runs = (_blocks_of(state, publication, columns) for state in states)
    every = [first_run, *(_placed(of, first_run) for of in other_runs)]
    letters = [side.letter for side in sides for _ in side.runs]
    first, *others = [
        _block(sides, states, [known.get(place) for known in every], block, vary) for place, block in every[0].items()
    ] or [SideBlock("", "", None, (), 0, 0.0)]
    alone = {
        f"'{block.name}' ({letter})": None
        for letter, known in zip(letters, every, strict=True)
        for place, block in known.items()
        if place not in every[0]
    }
    return _each_published_once((replace(first, alone=(*first.alone, *map(printable, alone))), *others))


def _each_published_once(blocks: Sequence[SideBlock]) -> tuple[SideBlock, ...]:
    """Return blocks in which no published row stands again with figures that it had before.

    Several rows of a run may be it, of other devices or arrays, and one of any load is of all of them.
    """
    told: set[tuple[str, int, SideFigure]] = set()

    def is_new(row: SideRow) -> bool:
        figures = {(row.side.letter, id(row.published), replace(one, change=None)) for one in row.figures}
        is_told = row.published is not None and figures <= told
        told.update(figures)
        return not is_told

    return tuple(
        replace(
            block,
            groups=tuple(replace(one, rows=tuple(row for row in one.rows if is_new(row))) for one in block.groups),
        )
        for block in blocks
    )


def _block(
    sides: Sequence[Side],
    states: Sequence[RunState],
    theirs: Sequence[Block | None],
    block: Block,
    vary: Collection[Varied],
) -> SideBlock:
    """Return one block of the first run beside those of all runs."""
    named = [
        [_Named(row, _aspects(state, own, row)) for row in own.rows] if own is not None else []
        for state, own in zip(states, theirs, strict=True)
    ]
    base = named[0]
    matched = [_matches(base, rows, vary) for rows in named]
    compared_sides = sum(bool(side.runs) for side in sides) - 1
    family = 0 if block.kind is BlockKind.RAW else len(base) * compared_sides
    metrics = tuple(dict.fromkeys((block.metric, *block.columns)))
    unit = _Unit.RUN if any(len(side.runs) > 1 for side in sides) else _Unit.ROUND
    groups = []
    for number, one in enumerate(base):
        of_runs = iter(matched)
        meant = [
            (run, known[number].row.row, own.load)
            for run, (known, own) in enumerate(zip(matched, theirs, strict=True))
            if number in known and own is not None
        ]
        rows = []
        for side in sides:
            held = [known[number].row.row for _ in side.runs if number in (known := next(of_runs))]
            rows.append(_side_row(side, held, meant, metrics, unit))
        groups.append(_group(one.row.title, rows, block, family, unit))
    alone: dict[str, list[str]] = {}
    letters = [side.letter for side in sides for _ in side.runs]
    others = (
        f"{letter}: {block_title(own)}"
        for letter, own in zip(letters, theirs, strict=True)
        if own is not None and own.name != block.name
    )
    for letter, known, own_rows in zip(letters, matched, named, strict=True):
        there = set(map(id, known.values()))
        for own_row in own_rows:
            if id(own_row) not in there and letter not in alone.setdefault(printable(own_row.row.title), []):
                alone[printable(own_row.row.title)].append(letter)
    return SideBlock(
        name=printable(block.name),
        title=block_title(block) + "".join(f"; {one}" for one in dict.fromkeys(others)),
        metric=block.metric,
        groups=tuple(groups),
        family=family,
        same=block.same,
        alone=tuple(f"{name} ({', '.join(of)})" for name, of in alone.items() if of),
    )


_Places = dict[tuple[BlockKind, int], Block]
"""Blocks by kind and number among those of one kind."""


def _blocks_of(state: RunState, publication: Publication | None, columns: Sequence[Metric]) -> _Places:
    """Return a run's blocks by their kinds and by their places among those of one kind."""
    found: _Places = {}
    for block in blocks_of(state, build_grid(state, publication=publication), GridChoice(columns=tuple(columns))):
        found[block.kind, sum(kind is block.kind for kind, _ in found)] = block
    return found


def _placed(blocks: _Places, first: _Places) -> _Places:
    """Return a run's blocks at the places of those of the first run: a load at that of the same name, wherever it stood."""

    def whole(block: Block) -> object:
        return block.kind, block.name, load_signature(block.load) if block.load is not None else ()

    def named(block: Block) -> object:
        return block.kind, block.name

    found: _Places = {}
    left = list(blocks.items())
    for key_of in (whole, named):
        places = {key_of(block): place for place, block in first.items() if place not in found}
        for one in tuple(left):
            if (place := places.pop(key_of(one[1]), None)) is not None:
                found[place] = one[1]
                left.remove(one)
    for (kind, number), block in left:
        own = (number, *range(len(first) + len(blocks)))
        found[kind, next(place for place in own if (kind, place) not in found)] = block
    return found


class _Unit(Enum):
    """Repeated unit: rounds of one run, or, where a side has several, runs."""

    ROUND = "round"
    RUN = "run"


def _side_row(
    side: Side,
    rows: Sequence[GridRow],
    meant: Sequence[tuple[int, GridRow, Workload | None]],
    metrics: Sequence[Metric],
    unit: _Unit,
) -> SideRow | None:
    """Return a side's row with its figures; None where it has none. The first metric is the primary one.

    meant are the runs that have the row, by their places, with it and the load of its block: the first decides.
    """
    if side.publication is not None:
        shown = side.publication.rows
        found = (
            row
            for run, own, load in meant
            for row, beside_it in zip(shown, side.laid[run].rows, strict=True)
            if own.is_of(beside_it, load)
        )
        published = next(found, None)
        return _published_row(side, published, metrics) if published else None
    readings = {metric: _readings(rows, metric, unit) for metric in metrics}
    figures = (
        SideFigure(metric.column, metric.unit.value, metric, figure_of(known, metric))
        for metric, known in readings.items()
        if known
    )
    return SideRow(side, tuple(rows), n=len(readings[metrics[0]]), figures=tuple(figures)) if rows else None


def _published_row(side: Side, row: PublishedRow, metrics: Sequence[Metric]) -> SideRow:
    known = ((metric, row.value(metric)) for metric in metrics)
    figures = [SideFigure(one.column, one.unit.value, one, value) for one, value in known if value is not None]
    figures += [SideFigure(printable(one.column), printable(one.unit), None, one.value) for one in row.others]
    # Under a head of its own: nothing else stands in it, and no change is computed from it.
    wanted = (one for one in row.ratios if one.metric is None or one.metric in metrics)
    figures += [SideFigure(ratio_column(printable(one.column)), "x", None, one.ratio) for one in wanted]
    return SideRow(side, published=row, figures=tuple(figures))


def _readings(rows: Sequence[GridRow], metric: Metric, unit: _Unit) -> list[Reading]:
    """Return a reading of each unit."""
    of_runs = [list(row.readings(metric).values()) for row in rows]
    if unit is _Unit.ROUND:
        return [one for of in of_runs for one in of]
    return [Reading(figure_of(of, metric), max(one.resolution for one in of)) for of in of_runs if of]


def _group(
    name: str,
    rows: Iterable[SideRow | None],
    block: Block | None = None,
    family: int = 0,
    unit: _Unit = _Unit.ROUND,
) -> SideGroup:
    """Return rows with their changes against the first side's; runs of a block also with intervals for the family."""
    there = [row for row in rows if row is not None]
    group = SideGroup(printable(name), tuple(there))
    if (base := group.base) is None:
        return group
    is_over = not any(_no_verdicts(run, len(row.side.runs)) for row in there for run in row.side.runs)
    own = _readings(base.rows, block.metric, unit) if block is not None and base.rows and family and is_over else []
    others = []
    for row in there[1:]:
        figures = tuple(_changed(one, base) for one in row.figures)
        compared = None
        if block is not None and row.rows:
            of = _readings(row.rows, block.metric, unit)
            compared = compared_apart(of, own, block.metric, family=max(1, family), same=block.same)
        if compared is not None and block is not None:
            told = replace(figures[0], change=compared.change, scale=compared.scale)
            figures = (told, *figures[1:])
        others.append(replace(row, figures=figures, compared=compared))
    return replace(group, rows=(base, *others))


def _changed(one: SideFigure, base: SideRow) -> SideFigure:
    """Return a figure with its change against that of the same column of the first side."""
    key = (one.metric, one.column, one.unit)
    other = next((known.value for known in base.figures if (known.metric, known.column, known.unit) == key), None)
    if other is None:
        return one
    if one.metric is not None and is_difference(one.metric):
        return replace(one, change=one.value - other, scale=Scale.DIFFERENCE)
    return replace(one, change=_share(one.value, other))


def _of_publications(sides: Sequence[Side], columns: Sequence[Metric]) -> SideBlock:
    """Return the rows of published tables by their own words."""
    known = [(side, side.publication) for side in sides if side.publication is not None]
    printed = dict.fromkeys(row.name for _, of in known for row in of.rows)
    metrics = tuple(columns) or tuple(dict.fromkeys(metric for _, of in known for metric in of.metrics))
    groups = []
    for words in printed:
        found = ((side, row) for side, of in known for row in of.rows if row.name == words)
        groups.append(_group(words, [_published_row(side, row, metrics) for side, row in found]))
    title = printable(known[0][1].title)
    return SideBlock("published", title, None, tuple(groups), 0, 0.0)
