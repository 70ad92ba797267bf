"""Every combination of the checklists and every variant in words, with why it is no row of the grid, where it isn't."""

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
from fsconsole.plan.planfile import Checklist, PlanFile, VariantText

# Names of rows, made from only what differs between the rows of one filesystem.


def with_labels(given: Sequence[tuple[str, str]], words: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a label for each row of (filesystem, label of its own or ""), with words[i] those of row i.

    A label of the plan's own is kept. Words that all rows of a filesystem share are not named.
    """
    shared = {filesystem: _shared(given, words, filesystem) for filesystem in {name for name, _ in given}}
    return tuple(
        label or _label(filesystem, words[number], shared[filesystem])
        for number, (filesystem, label) in enumerate(given)
    )


def _shared(
    given: Sequence[tuple[str, str]], words: Sequence[Sequence[str]], filesystem: str
) -> frozenset[str]:
    sets = [set(words[number]) for number, (name, _) in enumerate(given) if name == filesystem]
    return frozenset(set.intersection(*sets))


def _label(filesystem: str, words: Sequence[str], shared: frozenset[str]) -> str:
    return " ".join((filesystem, *(word for word in words if word not in shared)))


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
    if count > planfile.MAX_CELLS:
        wanted = f"at most {planfile.MAX_CELLS} combinations"
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


# The rows of the grid: what a plan names, without what is left out, and sentences on that.


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
