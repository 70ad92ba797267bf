"""Rows of the grid: every combination of checklists and every custom variant, or why it is left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from fsconsole.catalog.filesystem import NOTHING_KNOWN, Catalog, Filesystem, Known, Scope
from fsconsole.catalog.tables import nearest_words
from fsconsole.catalog.words import (
    Chosen,
    Where,
    broken_rules,
    choose,
    hidden_words,
    refusals,
    require_rules,
    split_flags,
    to_argv,
)
from fsconsole.errors.targets import BadQuantity, PlanBadValue
from fsconsole.model.plan import RAW, Variant
from fsconsole.plan import planfile
from fsconsole.plan.arrays import BLOCK_BYTES, Geometry
from fsconsole.plan.lines import line_of
from fsconsole.plan.planfile import PlanFile, VariantText
from fsconsole.units import format_bytes_exact, parse_bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variant that a plan names, and why it can't run or is no row of the grid."""

    variant: Variant
    chosen: Chosen
    """The words that tell it from others."""
    unavailable: str = ""
    number: int = -1
    """Counts the plan's checklists, or its variants in words; -1 for the raw row."""
    of_checklist: bool = False
    values: tuple[tuple[str, str], ...] = ()
    """(option, value) of a checklist's combination."""
    is_excluded: bool = False
    """Left out by the plan itself."""
    broken: str = ""
    """The words of the rule between options that leaves it out; empty where none does."""
    is_double: bool = False
    """An earlier candidate makes the same filesystem."""
    added: frozenset[str] = frozenset()
    """Labels of the words that the plan's stripes gave it."""

    @property
    def is_row(self) -> bool:
        """True if it is one of the grid's."""
        return not (self.is_excluded or self.broken or self.is_double)

    @property
    def meaning(self) -> tuple[str, frozenset[str]]:
        """Equal for two that make the same filesystem."""
        return (self.variant.filesystem, self.chosen.facts)

    def name_without(self, shared: Collection[str] = ()) -> str:
        """Return its own label, or filesystem and words but for the shared ones."""
        words = (word.label for word in self.chosen.own if word.label not in shared)
        return self.variant.label or " ".join((self.variant.filesystem, *words))


def list_candidates(
    plan: PlanFile, catalog: Catalog, kernel: str = "", known: Known = NOTHING_KNOWN
) -> tuple[Candidate, ...]:
    """Return all that the plan names, in its order. Raises OptionRefused, PlanBadValue.

    kernel is the release that will mount them, empty for one of today; known are the results of trying.
    """
    candidates = []
    seen: set[tuple[str, frozenset[str]]] = set()
    for candidate in _all_named(plan, catalog, kernel, known):
        candidates.append(replace(candidate, is_double=candidate.is_row and candidate.meaning in seen))
        if candidate.is_row:
            seen.add(candidate.meaning)
    return tuple(candidates)


def labels_of(rows: Sequence[Candidate]) -> tuple[str, ...]:
    """Return a label for each row: the plan's own, or made from words that not all rows of the filesystem share.

    The only row of a filesystem shows all of its words: without them it would pass for the defaults.
    """
    shared = shared_words(rows)
    return tuple(row.name_without(shared[row.variant.filesystem]) for row in rows)


def shared_words(rows: Sequence[Candidate]) -> dict[str, tuple[str, ...]]:
    """Return by filesystem the words that the labels of its rows leave out, in their order."""
    shared: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(row.variant.filesystem for row in rows):
        found = [row for row in rows if row.variant.filesystem == name]
        words = [frozenset(word.label for word in row.chosen.own) for row in found]
        left_out = frozenset.intersection(*words) if len(found) > 1 else found[0].added
        shared[name] = tuple(word.label for word in found[0].chosen.own if word.label in left_out)
    return shared


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
        stripes = _stripes(plan, filesystem)
        names = [name for name, _ in axes]
        for choice in product(*(values for _, values in axes)):
            values = tuple(zip(names, choice, strict=True))
            mkfs, mount = values[: len(checklist.mkfs)], values[len(checklist.mkfs) :]
            text = VariantText(
                filesystem.name,
                " ".join(_words(filesystem, Scope.MKFS, dict(mkfs))),
                ",".join(_words(filesystem, Scope.MOUNT, dict(mount))),
            )
            candidate = _candidate(text, stripes, filesystem, where, kernel=kernel, known=known)
            broken = broken_rules(filesystem, candidate.chosen)
            yield replace(
                candidate,
                number=number,
                of_checklist=True,
                values=values,
                is_excluded=any(dict(values).items() >= dict(pairs).items() for pairs in checklist.exclude),
                broken=broken[0].why if broken else "",
            )
    for number, text in enumerate(plan.variants):
        where, filesystem = Where(plan.path, f"variant[{number}]"), catalog.get(text.filesystem)
        candidate = _candidate(text, _stripes(plan, filesystem), filesystem, where, kernel=kernel, known=known)
        require_rules(filesystem, candidate.chosen, where)
        yield replace(candidate, number=number)


_TAKE_STRIPES = frozenset({"ext2", "ext3", "ext4", "xfs"})
_STRIPES = frozenset({"stride", "stripe_width", "su", "sw", "sunit", "swidth", "noalign"})


def _stripes(plan: PlanFile, filesystem: Filesystem) -> Geometry | None:
    """Return the stripes that the plan names, for filesystems whose mkfs takes such words."""
    takes = plan.stripe_chunk_bytes and filesystem.name in _TAKE_STRIPES
    return Geometry(plan.stripe_chunk_bytes, plan.stripe_data_disks) if takes else None


def _striped(text: VariantText, stripes: Geometry | None, filesystem: Filesystem, where: Where) -> VariantText:
    """Return a variant with the words for these stripes, unless it has some of its own.

    Those of mke2fs count in blocks, and it makes small ones on small devices unless they are named.
    """
    if stripes is None:
        return text
    words = split_flags(text.mkfs, filesystem.mkfs_flags, where.below("mkfs"))
    # Those of the log of xfs (-l su) are others.
    if any(word.flag in ("-E", "-d") and word.key in _STRIPES for word in words):
        return text
    if text.filesystem == "xfs":
        own = stripes.xfs_words
    else:
        block = next((word.text for word in words if word.flag == "-b"), "")
        own = stripes.ext4_words_of(int(block)) if block.isdecimal() else f"-b {BLOCK_BYTES} {stripes.ext4_words}"
    return replace(text, mkfs=f"{text.mkfs} {own}".strip())


def _words(filesystem: Filesystem, scope: Scope, values: dict[str, str]) -> Iterator[str]:
    for option in filesystem.options:
        if option.scope is scope and option.name in values and option.has_words(values[option.name]):
            yield option.text(values[option.name])


def _candidate(  # noqa: PLR0913 (each is a fact of its own)
    text: VariantText, stripes: Geometry | None, filesystem: Filesystem, where: Where, *, kernel: str, known: Known
) -> Candidate:
    striped = _striped(text, stripes, filesystem, where)
    chosen = choose(filesystem, striped.mkfs, text.mount, text.tune, where)
    said = chosen.own_mkfs if striped is text else split_flags(text.mkfs, filesystem.mkfs_flags, where)
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
    added = frozenset(word.label for word in chosen.own_mkfs if word not in said)
    return Candidate(variant, chosen, "; ".join(reasons), added=added)


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a plan, and sentences on what was left out and why."""

    rows: tuple[Candidate, ...]
    notes: tuple[str, ...]

    def baseline_of(self, plan: PlanFile) -> tuple[str, str]:
        """Return label and axis value of the baseline among its rows. Raises PlanBadValue."""
        variants = (row.variant for row in self.rows)
        return baseline_of(plan, [one.label for one in variants if not one.is_raw and not one.is_control])


def baseline_of(plan: PlanFile, labels: Sequence[str]) -> tuple[str, str]:
    """Return the label of a plan's baseline, and the axis value that verdicts compare with in its place; empty: none.

    The name of a filesystem with a single row stands for that row, whatever its options.
    Raises PlanBadValue where the plan names neither one of these labels nor a value of one of its axes.
    """
    first, wanted = next(iter(labels), ""), plan.baseline.strip()
    if not wanted or wanted in labels:
        return wanted or first, ""
    of_filesystem = [label for label in labels if label.startswith(f"{wanted} ")]
    if len(of_filesystem) == 1:
        return of_filesystem[0], ""
    axes = _axes(plan)
    name, _, value = (part.strip() for part in wanted.partition("="))
    if any(_sized(value) == _sized(known) for known in axes.get(name.replace("-", "_"), ())):
        return first, wanted
    known = [*labels, *(f"{axis}={of}" for axis, values in axes.items() for of in values)]
    path = f"{plan.path}:{line_of(plan.source, 'baseline')}" if plan.source else plan.path
    why = "no variant has this label, and no axis this value"
    raise PlanBadValue(path, "baseline", f'"{plan.baseline}"', why, f"one of {nearest_words(wanted, known)}")


def _axes(plan: PlanFile) -> dict[str, tuple[str, ...]]:
    """Return the axes of a plan with their values as text, by the names that results have for them."""
    axes: dict[str, dict[str, None]] = {name: dict.fromkeys(values) for name, values in plan.settings}
    for load in plan.workloads:
        axes.setdefault("threads", {}).update(dict.fromkeys(map(str, load.thread_counts)))
        axes.setdefault("block_size", {}).update(dict.fromkeys(map(format_bytes_exact, load.block_sizes)))
    for array in plan.arrays:
        axes.setdefault("level", {}).update(dict.fromkeys(array.levels))
        axes.setdefault("chunk", {}).update(dict.fromkeys(map(format_bytes_exact, array.chunks_bytes)))
        axes.setdefault("members", {}).update(dict.fromkeys(map(str, array.members)))
    return {name: tuple(values) for name, values in axes.items() if len(values) > 1}


def _sized(value: str) -> int | str:
    try:
        return parse_bytes(value)
    except BadQuantity:
        return value


def rows_of(plan: PlanFile, candidates: Sequence[Candidate]) -> Rows:
    """Return the rows among a plan's candidates, with a label each, which none shares. Raises PlanBadValue."""
    named = [candidate for candidate in candidates if not candidate.is_excluded]
    unlabelled = [candidate for candidate in named if candidate.is_row]
    rows = [Candidate(Variant(label=RAW, filesystem=RAW), Chosen((), (), (), ()))] if plan.raw else []
    seen: set[str] = set()
    labels = labels_of(unlabelled)
    baseline, _ = baseline_of(plan, labels)
    for row, label in zip(unlabelled, labels, strict=True):
        if label in seen:
            wanted = "a label of its own for every variant"
            raise PlanBadValue(plan.path, "variant.label", f'"{label}"', "two variants have it", wanted)
        seen.add(label)
        rows.append(replace(row, variant=replace(row.variant, label=label)))
        if plan.control and label == baseline:
            control = replace(rows[-1].variant, label=f"{label} (control)", is_control=True)
            seen.add(control.label)
            rows.append(replace(rows[-1], variant=control))
    left_out = (
        f"left out: {candidate.name_without()}: {candidate.broken or 'the same variant is there already'}"
        for candidate in named
        if not candidate.is_row
    )
    # Names that the plan uses and the rows don't show.
    words = [word for each in named if not each.broken for word in each.chosen.own if word.given]
    renamed = [pair for checklist in plan.checklists for pair in checklist.renamed]
    old = dict.fromkeys((*renamed, *((word.given, word.text) for word in words)))
    return Rows(tuple(rows), (*left_out, *(f"{given} is read as {today}" for given, today in old)))
