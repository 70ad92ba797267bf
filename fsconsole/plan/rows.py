"""Rows of the grid: every combination of checklists and every custom variant, or why it is left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from fsconsole.catalog.filesystem import NOTHING_KNOWN, Catalog, Filesystem, Known, Rule, Scope
from fsconsole.catalog.words import (
    Chosen,
    Where,
    broken_rules,
    choose,
    hidden_words,
    refusals,
    require_rules,
    to_argv,
)
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.plan import RAW, Variant
from fsconsole.plan import planfile
from fsconsole.plan.planfile import PlanFile, VariantText


@dataclass(frozen=True, slots=True)
class Row:
    """A variant, the words that tell it from others, and why it can't run, if it can't."""

    variant: Variant
    chosen: Chosen
    unavailable: str = ""

    @property
    def meaning(self) -> tuple[str, frozenset[str]]:
        """Equal for two rows that make the same filesystem."""
        return (self.variant.filesystem, self.chosen.facts)

    @property
    def name(self) -> str:
        """Its own label, or filesystem and words."""
        words = (word.label for word in self.chosen.own)
        return self.variant.label or " ".join((self.variant.filesystem, *words))


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a plan names as a row; number counts its checklists, or its variants in words."""

    row: Row
    number: int
    of_checklist: bool
    values: tuple[tuple[str, str], ...] = ()
    """(option, value) of a checklist's combination."""
    is_excluded: bool = False
    """Left out by the plan itself."""
    broken: str = ""
    """The words of the rule between options that leaves it out; empty where none does."""
    is_double: bool = False
    """An earlier candidate makes the same filesystem."""

    @property
    def is_row(self) -> bool:
        """Whether it is one of the grid's."""
        return not (self.is_excluded or self.broken or self.is_double)


def list_candidates(
    plan: PlanFile, catalog: Catalog, kernel: str = "", known: Known = NOTHING_KNOWN
) -> tuple[Candidate, ...]:
    """Return all that the plan names, in its order. Raises OptionRefused, PlanBadValue.

    kernel is the release that will mount them, empty for one of today; known are the results of trying.
    """
    candidates = []
    seen: set[tuple[str, frozenset[str]]] = set()
    for candidate in _all_named(plan, catalog, kernel, known):
        if not candidate.is_row:
            candidates.append(candidate)
            continue
        candidates.append(replace(candidate, is_double=candidate.row.meaning in seen))
        seen.add(candidate.row.meaning)
    return tuple(candidates)


def labels_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return a label for each row: the plan's own, or made from words that not all rows of the filesystem share."""
    words = [[word.label for word in row.chosen.own] for row in rows]
    shared: dict[str, set[str]] = {}
    for row, own in zip(rows, words, strict=True):
        name = row.variant.filesystem
        shared[name] = shared.get(name, set(own)) & set(own)
    return tuple(
        row.variant.label
        or " ".join(
            (row.variant.filesystem, *(word for word in own if word not in shared[row.variant.filesystem]))
        )
        for row, own in zip(rows, words, strict=True)
    )


def _all_named(plan: PlanFile, catalog: Catalog, kernel: str, known: Known) -> Iterator[Candidate]:
    """Yield the combinations of each checklist, then the variants in the tools' words."""
    for number, checklist in enumerate(plan.checklists):
        where = Where(plan.path, f"filesystem[{number}]")
        axes = (*checklist.mkfs, *checklist.mount)
        count = math.prod(len(values) for _, values in axes)
        if count > planfile.MAX_CELLS:
            wanted = f"at most {planfile.MAX_CELLS} combinations"
            raise PlanBadValue(where.path, where.key, "...", f"its values make {count} combinations", wanted)
        filesystem = catalog.get(checklist.filesystem)
        names = [name for name, _ in axes]
        for choice in product(*(values for _, values in axes)):
            values = tuple(zip(names, choice, strict=True))
            mkfs, mount = values[: len(checklist.mkfs)], values[len(checklist.mkfs) :]
            text = VariantText(
                filesystem.name,
                " ".join(_words(filesystem, Scope.MKFS, dict(mkfs))),
                ",".join(_words(filesystem, Scope.MOUNT, dict(mount))),
            )
            row, broken = _row(text, filesystem, where, kernel, known)
            yield Candidate(
                row=row,
                number=number,
                of_checklist=True,
                values=values,
                is_excluded=any(dict(values).items() >= dict(pairs).items() for pairs in checklist.exclude),
                broken=broken[0].why if broken else "",
            )
    for number, text in enumerate(plan.variants):
        where, filesystem = Where(plan.path, f"variant[{number}]"), catalog.get(text.filesystem)
        row, _ = _row(text, filesystem, where, kernel, known)
        require_rules(filesystem, row.chosen, where)
        yield Candidate(row=row, number=number, of_checklist=False)


def _words(filesystem: Filesystem, scope: Scope, values: dict[str, str]) -> Iterator[str]:
    for option in filesystem.options:
        if option.scope is scope and option.name in values:
            yield option.text(values[option.name])


def _row(
    text: VariantText, filesystem: Filesystem, where: Where, kernel: str, known: Known
) -> tuple[Row, tuple[Rule, ...]]:
    """Return the row of a variant's texts, and the rules between options that it breaks."""
    chosen = choose(filesystem, text.mkfs, text.mount, text.tune, where)
    variant = Variant(
        label=text.label,
        filesystem=filesystem.name,
        mkfs_words=to_argv(chosen.mkfs),
        mount_words=tuple(word.text for word in chosen.mount),
        tune_words=to_argv(chosen.tune),
        as_printed=text.as_printed,
        hidden_words=(*hidden_words(filesystem, chosen.mkfs, chosen.mount), *to_argv(chosen.tune)),
    )
    reasons = refusals(filesystem, chosen, kernel, known)
    return Row(variant, chosen, "; ".join(reasons)), broken_rules(filesystem, chosen)


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a plan, and sentences on what was left out and why."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def list_rows(plan: PlanFile, catalog: Catalog, kernel: str = "", known: Known = NOTHING_KNOWN) -> Rows:
    """Return the plan's rows in its order, without duplicates, with labels made from what differs.

    kernel and known are as of list_candidates. Raises OptionRefused, PlanBadValue.
    """
    return rows_of(plan, list_candidates(plan, catalog, kernel, known))


def rows_of(plan: PlanFile, candidates: Sequence[Candidate]) -> Rows:
    """Return the rows among a plan's candidates. Raises PlanBadValue."""
    named = [candidate for candidate in candidates if not candidate.is_excluded]
    rows = with_unique_labels(plan, tuple(candidate.row for candidate in named if candidate.is_row))
    if plan.raw:
        rows = (Row(Variant(label=RAW, filesystem=RAW), Chosen((), (), (), ())), *rows)
    left_out = (
        f"left out: {candidate.row.name}: {candidate.broken or 'the same variant is there already'}"
        for candidate in named
        if not candidate.is_row
    )
    # Names that the plan uses and the rows don't show.
    words = [word for each in named if not each.broken for word in each.row.chosen.own if word.given]
    renamed = [pair for checklist in plan.checklists for pair in checklist.renamed]
    old = dict.fromkeys((*renamed, *((word.given, word.text) for word in words)))
    return Rows(rows, (*left_out, *(f"{given} is read as {today}" for given, today in old)))


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
