"""Published figures as they may stand beside a run: as printed, or as ratios where the run was scaled.

A rate or a time of other sizes on another machine invites a comparison that means nothing. What a study found is how
its rows differ, which is a ratio.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from fsconsole.errors.targets import BadQuantity
from fsconsole.model.figures import Measurement, Publication, PublishedFigure, PublishedRatio, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Keep, Plan
from fsconsole.units import parse_bytes, significant

_SAME_FILES = frozenset({Keep.FILE_SIZE, Keep.FILL})
STANDING = {
    # An allocator is called for one file, of so many bytes: its extents follow the file's size, not the number of files.
    Metric.EXTENTS_MEAN: _SAME_FILES,
    Metric.EXTENTS_MEDIAN: _SAME_FILES,
    Metric.EXTENTS_MAX: _SAME_FILES,
    Metric.EXTENT_SIZE_MEDIAN: _SAME_FILES,
    # A share of files with more than one extent, likewise.
    Metric.NON_CONTIGUOUS: _SAME_FILES,
}
"""Figures that stand as printed beside a scaled run, with what its scaling must have kept.

All others don't: rates and times, what counts pages, inodes or bytes in memory (they follow threads and RAM), and shares
of CPU (they follow the device's speed)."""


def beside(of: Publication, plans: Sequence[Plan], own: Plan | None = None) -> Publication:
    """Return the publication as it may stand beside runs of these plans; the first one's baseline is its baseline.

    own is the one whose scaling its numbers of threads follow, by default the first.
    """
    scaled = [plan for plan in plans if plan.is_scaled]
    if not scaled:
        return of
    kept = {plan.scaling.keep if plan.scaling is not None else Keep.THREADS for plan in scaled}
    words = _baseline_words(plans[0])
    tables: dict[tuple[str, str], list[PublishedRow]] = {}
    for row in of.rows:
        tables.setdefault((row.table, row.load), []).append(row)
    bases = {key: _base_of(rows, words) for key, rows in tables.items()}
    scaling = (own or plans[0]).scaling
    threads = dict(scaling.threads) if scaling is not None else {}
    memory = _memory_of(own or plans[0])
    rows = tuple(
        replace(
            _as_ratios(row, bases[row.table, row.load], kept),
            threads=threads.get(row.threads, row.threads),
            settings=tuple((name, memory if memory and name == "memory" else value) for name, value in row.settings),
        )
        for row in of.rows
    )
    return replace(of, rows=rows, scaled=_why(plans[0], rows))


def _memory_of(plan: Plan) -> str:
    """Return the memory that all loads of a plan have whose data were scaled with it; empty for other plans."""
    if plan.scaling is None or plan.scaling.keep is not Keep.DATA_TO_RAM:
        return ""
    values = {dict(cell.setting.values).get("memory", "") for cell in plan.cells}
    return values.pop() if len(values) == 1 else ""


def is_measured_with(published: PublishedRow, values: Mapping[str, str]) -> bool:
    """Return whether a published row is of these settings; what it doesn't name it may have been measured without."""
    known = dict(published.settings)
    return all(name in known and _amount(known[name]) == _amount(value) for name, value in values.items())


def _amount(value: str) -> int | str:
    """Return a setting's value, of a size its bytes: "2MiB" is "2048KiB"."""
    try:
        return parse_bytes(value)
    except BadQuantity:
        return value


def _baseline_words(plan: Plan) -> frozenset[str]:
    variants = [cell.variant for cell in plan.cells if cell.variant.label == plan.baseline]
    return frozenset(words for variant in variants for words in (variant.as_printed, variant.label) if words)


def _base_of(rows: Sequence[PublishedRow], words: Collection[str]) -> PublishedRow:
    """Return the row of a table that stands for the run's baseline, or its first one."""
    return next((row for row in rows if row.as_printed in words), rows[0])


def _as_ratios(row: PublishedRow, base: PublishedRow, kept: Collection[Keep]) -> PublishedRow:
    stay = [one for one in row.figures if STANDING.get(one.metric, frozenset()).issuperset(kept)]
    own = [one for one in row.others if set(one.stands).issuperset(kept)]
    if row.base_name:
        base = replace(base, as_printed=row.base_name, figures=row.base, others=())
    ratios = (
        *_ratios([one for one in row.figures if one not in stay], base),
        *_own_ratios([one for one in row.others if one not in own], base),
    )
    return replace(row, figures=tuple(stay), others=tuple(own), ratios=ratios)


def _ratios(figures: Sequence[Measurement], base: PublishedRow) -> Iterator[PublishedRatio]:
    for one in figures:
        if of := base.value(one.metric):
            yield PublishedRatio(one.metric.column, one.value / of, base.as_printed, one.metric)


def _own_ratios(figures: Sequence[PublishedFigure], base: PublishedRow) -> Iterator[PublishedRatio]:
    for one in figures:
        if of := base.other(one.column):
            yield PublishedRatio(one.column, one.value / of, base.as_printed)


def _why(plan: Plan, rows: Sequence[PublishedRow]) -> str:
    """Return in a sentence what stands beside a scaled run."""
    to = dict.fromkeys(ratio.to for row in rows for ratio in row.ratios)
    by = f" by {significant(plan.scaling.least)}" if plan.scaling is not None and plan.scaling.is_scaled else ""
    of = f"the published row {next(iter(to))}" if len(to) == 1 else "a published row each"
    return f"Loads are scaled{by}: published figures with x are ratios to {of}, never MB/s or seconds."


def ratio_column(column: str) -> str:
    """Return the head of a column of ratios, in which nothing else stands."""
    return f"{column} ratio"


def ratio_text(ratio: float) -> str:
    """Return a ratio as a cell has it: "1.03x"."""
    return f"{significant(ratio)}x"
