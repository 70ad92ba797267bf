"""Published figures as they may stand beside a run: as printed, or as ratios where its sizes are others.

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
    Metric.INODES: frozenset({Keep.FILES}),
}
"""Figures that stand as printed beside a run of other sizes, with any of what it must have kept.

All others don't: rates and times, what counts pages, inodes or bytes in memory (they follow threads and RAM), and shares
of CPU (they follow the device's speed)."""


def beside(of: Publication, plans: Sequence[Plan], own: Plan | None = None) -> Publication:
    """Return the publication as it may stand beside runs of these plans; the first one's baseline is its baseline.

    own is the one whose scaling its numbers of threads follow, by default the first. One that was laid already stays.
    """
    kept = [one for plan in plans if (one := _kept(of, plan)) != _ALL]
    if not kept or of.scaled:
        return of
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
    # The row that others are compared with has no ratio, and may have nothing else.
    rows = tuple(row for row in rows if row.figures or row.others or row.ratios)
    return replace(of, rows=rows, scaled=_why(of, plans, rows))


_ALL = frozenset(Keep)
_LOADS = _ALL - {Keep.FILL}


def _kept(of: Publication, plan: Plan) -> frozenset[Keep]:
    """Return what a run has as the study had it: of a scaled one what its scaling kept."""
    if plan.is_scaled:
        return frozenset({plan.scaling.keep if plan.scaling is not None else Keep.THREADS})
    if of.copies_own_files:
        return frozenset({Keep.THREADS})
    return _LOADS if _is_on_another_device(of, plan) else _ALL


def _is_on_another_device(of: Publication, plan: Plan) -> bool:
    return of.device_bytes > 0 and abs(plan.device_bytes / of.device_bytes - 1) > _NEAR


_NEAR = 0.1
"""Share by which devices of one size differ: 10 TB are 10.0e12 bytes of one maker, and 9.77e12 of a RAID."""


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


def _as_ratios(row: PublishedRow, base: PublishedRow, kept: Sequence[frozenset[Keep]]) -> PublishedRow:
    def stands(with_any: Collection[Keep]) -> bool:
        return all(not one.isdisjoint(with_any) for one in kept)

    stay = [one for one in row.figures if stands(STANDING.get(one.metric, frozenset()))]
    own = [one for one in row.others if stands(one.stands)]
    if row.full_name == row.base_name if row.base_name else row is base:
        # A ratio to itself tells nothing.
        return replace(row, figures=tuple(stay), others=tuple(own))
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


def _why(of: Publication, plans: Sequence[Plan], rows: Sequence[PublishedRow]) -> str:
    """Return a sentence: why printed figures are left out, and what is shown instead."""
    to = dict.fromkeys(ratio.to for row in rows for ratio in row.ratios)
    row = f"the published row {next(iter(to))}" if len(to) == 1 else "a published row each"
    stands = f"published figures with x are ratios to {row}, never MB/s or seconds"
    if not to:
        stands = "only what is the same here stands" if rows else "nothing of it stands here"
        stands += ": its rates and times have no other row to be ratios to"
    return f"{_cause(of, plans)}: {stands}."


def _cause(of: Publication, plans: Sequence[Plan]) -> str:
    plan = plans[0]
    if any(one.is_scaled for one in plans):
        by = f" by {significant(plan.scaling.least)}" if plan.scaling is not None and plan.scaling.is_scaled else ""
        return f"Loads are scaled{by}"
    return "It copied files of its own" if of.copies_own_files else "Its device had another size"


def ratio_column(column: str) -> str:
    """Return the head of a column of ratios, in which nothing else stands."""
    return f"{column} ratio"


def ratio_text(ratio: float) -> str:
    """Return a ratio as a cell has it: "1.03x"."""
    return f"{significant(ratio)}x"
