"""Checklists multiplied out and variants in the tools' words, made into the rows of the grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from fsconsole.catalog.choose import Chosen, broken_rules, choose, refusals, require_rules
from fsconsole.catalog.effects import hidden_words
from fsconsole.catalog.filesystem import Catalog, Filesystem, Rule, Scope
from fsconsole.catalog.known import NOTHING_KNOWN, Known
from fsconsole.catalog.words import Where, to_argv
from fsconsole.errors import PlanBadValue
from fsconsole.model.variant import RAW, Variant
from fsconsole.plan import limits
from fsconsole.plan.labels import with_labels
from fsconsole.plan.planfile import Checklist, PlanFile, VariantText


@dataclass(frozen=True, slots=True)
class Row:
    """A variant, the words that tell it from others, and why it can't run, if it can't."""

    variant: Variant
    chosen: Chosen
    unavailable: str = ""

    @property
    def meaning(self) -> tuple[str, frozenset[str]]:
        """Equal for two rows that come to the same filesystem."""
        return (self.variant.filesystem, self.chosen.facts)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the rows are to run: the kernel's release, empty for one of today, and what was found out by trying."""

    kernel: str
    known: Known


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
    machine = Machine(kernel, known)
    notes: list[str] = []
    found: list[Row] = []
    for number, checklist in enumerate(plan.checklists):
        where = Where(plan.path, f"filesystem[{number}]")
        _require_countable(checklist, where)
        for text in _texts(checklist, catalog.get(checklist.filesystem)):
            row, broken = _row(text, catalog, where, machine)
            notes.extend(f"left out: {_name(row)}: {rule.why}" for rule in broken[:1])
            found.extend(() if broken else (row,))
    for number, text in enumerate(plan.variants):
        where = Where(plan.path, f"variant[{number}]")
        row, _ = _row(text, catalog, where, machine)
        require_rules(catalog.get(text.filesystem), row.chosen, where)
        found.append(row)
    rows = with_unique_labels(plan, _without_duplicates(found, notes))
    notes.extend(_old_names(plan, found))
    return Rows((*_raw_rows(plan), *rows), tuple(notes))


def with_unique_labels(plan: PlanFile, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return rows with a label each; raises PlanBadValue where the plan gave one label to two."""
    words = [[word.label for word in row.chosen.own] for row in rows]
    labels = with_labels([(row.variant.filesystem, row.variant.label) for row in rows], words)
    for number, label in enumerate(labels):
        if label in labels[:number]:
            wanted = "a label of its own for every variant"
            raise PlanBadValue(plan.path, "variant.label", f'"{label}"', "two variants have it", wanted)
    return tuple(
        replace(row, variant=replace(row.variant, label=label))
        for row, label in zip(rows, labels, strict=True)
    )


def _texts(checklist: Checklist, filesystem: Filesystem) -> Iterator[VariantText]:
    for mkfs in _combinations(checklist.mkfs):
        for mount in _combinations(checklist.mount):
            if not _is_excluded({**mkfs, **mount}, checklist):
                yield _text(filesystem, mkfs, mount)


def _combinations(axes: tuple[tuple[str, tuple[str, ...]], ...]) -> Iterator[dict[str, str]]:
    names = [name for name, _ in axes]
    for values in product(*(values for _, values in axes)):
        yield dict(zip(names, values, strict=True))


def _require_countable(checklist: Checklist, where: Where) -> None:
    count = math.prod(len(values) for _, values in (*checklist.mkfs, *checklist.mount))
    if count > limits.MAX_CELLS:
        wanted = f"at most {limits.MAX_CELLS} combinations"
        raise PlanBadValue(where.path, where.key, "...", f"its values make {count} combinations", wanted)


def _is_excluded(values: dict[str, str], checklist: Checklist) -> bool:
    return any(
        all(values.get(name) == value for name, value in combination) for combination in checklist.exclude
    )


def _text(filesystem: Filesystem, mkfs: dict[str, str], mount: dict[str, str]) -> VariantText:
    return VariantText(
        filesystem=filesystem.name,
        mkfs=" ".join(_words(filesystem, Scope.MKFS, mkfs)),
        mount=",".join(_words(filesystem, Scope.MOUNT, mount)),
    )


def _words(filesystem: Filesystem, scope: Scope, values: dict[str, str]) -> Iterator[str]:
    for option in filesystem.options:
        if option.scope is scope and option.name in values:
            yield option.text(values[option.name])


def _old_names(plan: PlanFile, rows: list[Row]) -> tuple[str, ...]:
    """Return a sentence for each name that the plan uses and the rows don't show."""
    words = [(word.given, word.text) for row in rows for word in row.chosen.own if word.given]
    options = [pair for checklist in plan.checklists for pair in checklist.renamed]
    return tuple(f"{given} is read as {today}" for given, today in dict.fromkeys((*options, *words)))


def _row(text: VariantText, catalog: Catalog, where: Where, machine: Machine) -> tuple[Row, tuple[Rule, ...]]:
    """Return the row of a variant's texts, and the rules between options that it breaks."""
    filesystem = catalog.get(text.filesystem)
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
    reasons = refusals(filesystem, chosen, machine.kernel, machine.known)
    row = Row(variant, chosen, "; ".join(reasons))
    return row, broken_rules(filesystem, chosen)


def _name(row: Row) -> str:
    words = (word.label for word in row.chosen.own)
    return row.variant.label or " ".join((row.variant.filesystem, *words))


def _without_duplicates(rows: list[Row], notes: list[str]) -> tuple[Row, ...]:
    kept: dict[tuple[str, frozenset[str]], Row] = {}
    for row in rows:
        if row.meaning in kept:
            notes.append(f"left out: {_name(row)}: the same variant is there already")
        else:
            kept[row.meaning] = row
    return tuple(kept.values())


def _raw_rows(plan: PlanFile) -> tuple[Row, ...]:
    if not plan.raw:
        return ()
    nothing = Chosen(mkfs=(), own_mkfs=(), mount=(), tune=())
    return (Row(Variant(label=RAW, filesystem=RAW), nothing),)
