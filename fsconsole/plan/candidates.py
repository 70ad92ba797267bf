"""Every combination of the checklists and every variant in words, with why it is no row of the grid, where it isn't."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from fsconsole.catalog.choose import Chosen, broken_rules, choose, refusals, require_rules
from fsconsole.catalog.effects import hidden_words
from fsconsole.catalog.filesystem import Catalog, Filesystem, Rule, Scope
from fsconsole.catalog.known import Known
from fsconsole.catalog.words import Where, to_argv
from fsconsole.errors import PlanBadValue
from fsconsole.model.variant import Variant
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

    @property
    def name(self) -> str:
        """Its own label, or filesystem and words."""
        words = (word.label for word in self.chosen.own)
        return self.variant.label or " ".join((self.variant.filesystem, *words))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the rows are to run: the kernel's release, empty for one of today, and what was found out by trying."""

    kernel: str
    known: Known


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
    """One before it comes to the same filesystem."""

    @property
    def is_row(self) -> bool:
        """Whether it is one of the grid's."""
        return not (self.is_excluded or self.broken or self.is_double)


def list_candidates(plan: PlanFile, catalog: Catalog, machine: Machine) -> tuple[Candidate, ...]:
    """Return all that the plan names, in its order. Raises OptionRefused, PlanBadValue."""
    return tuple(
        _with_doubles((*_of_checklists(plan, catalog, machine), *_of_variants(plan, catalog, machine)))
    )


def labels_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return a label for each row, made from what differs."""
    words = [[word.label for word in row.chosen.own] for row in rows]
    return with_labels([(row.variant.filesystem, row.variant.label) for row in rows], words)


def _of_checklists(plan: PlanFile, catalog: Catalog, machine: Machine) -> Iterator[Candidate]:
    for number, checklist in enumerate(plan.checklists):
        where = Where(plan.path, f"filesystem[{number}]")
        _require_countable(checklist, where)
        filesystem = catalog.get(checklist.filesystem)
        for mkfs in _combinations(checklist.mkfs):
            for mount in _combinations(checklist.mount):
                values = {**mkfs, **mount}
                row, broken = _row(_text(filesystem, mkfs, mount), catalog, where, machine)
                yield Candidate(
                    row=row,
                    number=number,
                    of_checklist=True,
                    values=tuple(values.items()),
                    is_excluded=_is_excluded(values, checklist),
                    broken=broken[0].why if broken else "",
                )


def _of_variants(plan: PlanFile, catalog: Catalog, machine: Machine) -> Iterator[Candidate]:
    for number, text in enumerate(plan.variants):
        where = Where(plan.path, f"variant[{number}]")
        row, _ = _row(text, catalog, where, machine)
        require_rules(catalog.get(text.filesystem), row.chosen, where)
        yield Candidate(row=row, number=number, of_checklist=False)


def _with_doubles(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    seen: set[tuple[str, frozenset[str]]] = set()
    for candidate in candidates:
        if not candidate.is_row:
            yield candidate
            continue
        meaning = candidate.row.meaning
        yield replace(candidate, is_double=meaning in seen)
        seen.add(meaning)


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
    return Row(variant, chosen, "; ".join(reasons)), broken_rules(filesystem, chosen)
