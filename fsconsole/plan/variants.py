"""The rows of the grid: what a plan names, without what is left out, and sentences on that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsconsole.catalog.choose import Chosen
from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.known import NOTHING_KNOWN, Known
from fsconsole.errors import PlanBadValue
from fsconsole.model.variant import RAW, Variant
from fsconsole.plan.candidates import Candidate, Machine, Row, labels_of, list_candidates
from fsconsole.plan.planfile import PlanFile


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a plan, and sentences on what was left out and why."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def list_rows(plan: PlanFile, catalog: Catalog, kernel: str = "", known: Known = NOTHING_KNOWN) -> Rows:
    """Return the plan's rows in its order, without duplicates, with labels made from what differs.

    kernel is the release that will mount them; empty means one of today. known is what was found out by trying.
    Raises OptionRefused, PlanBadValue.
    """
    return rows_of(plan, list_candidates(plan, catalog, Machine(kernel, known)))


def rows_of(plan: PlanFile, candidates: Sequence[Candidate]) -> Rows:
    """Return the rows among a plan's candidates. Raises PlanBadValue."""
    named = [candidate for candidate in candidates if not candidate.is_excluded]
    rows = with_unique_labels(plan, tuple(candidate.row for candidate in named if candidate.is_row))
    notes = (*(_note(candidate) for candidate in named if not candidate.is_row), *_old_names(plan, named))
    return Rows((*_raw_rows(plan), *rows), notes)


def with_unique_labels(plan: PlanFile, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return rows with a label each; raises PlanBadValue where the plan gave one label to two."""
    labels = labels_of(rows)
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            wanted = "a label of its own for every variant"
            raise PlanBadValue(plan.path, "variant.label", f'"{label}"', "two variants have it", wanted)
        seen.add(label)
    return tuple(
        replace(row, variant=replace(row.variant, label=label))
        for row, label in zip(rows, labels, strict=True)
    )


def _note(candidate: Candidate) -> str:
    return f"left out: {candidate.row.name}: {candidate.broken or 'the same variant is there already'}"


def _old_names(plan: PlanFile, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return a sentence for each name that the plan uses and the rows don't show."""
    rows = [candidate.row for candidate in candidates if not candidate.broken]
    words = [(word.given, word.text) for row in rows for word in row.chosen.own if word.given]
    options = [pair for checklist in plan.checklists for pair in checklist.renamed]
    return tuple(f"{given} is read as {today}" for given, today in dict.fromkeys((*options, *words)))


def _raw_rows(plan: PlanFile) -> tuple[Row, ...]:
    if not plan.raw:
        return ()
    nothing = Chosen(mkfs=(), own_mkfs=(), mount=(), tune=())
    return (Row(Variant(label=RAW, filesystem=RAW), nothing),)
