"""A plan in the making: what is ticked and what is not, as a frozen value over a plan file.

Everything a plan file can say is kept, also what no tick shows; what is unticked stays where it was, so that ticking it
again brings it back as it stood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from fsconsole.catalog.filesystem import Scope
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.planfile import Checklist, PlanFile, Scale, ScaleKind, WorkloadPlan
from fsconsole.plan.writer import plan_to_toml
from fsconsole.units import MIB

Values = tuple[tuple[str, str], ...]
"""(option, value) pairs of one combination."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan file with all that was ever ticked, and the positions of what is unticked now."""

    plan: PlanFile
    off_checklists: frozenset[int] = frozenset()
    off_variants: frozenset[int] = frozenset()

    @property
    def plan_file(self) -> PlanFile:
        """The plan as it would be saved: only what is ticked."""
        if not self.off_checklists and not self.off_variants and all(a.levels for a in self.plan.arrays):
            return self.plan
        return replace(
            self.plan,
            checklists=tuple(self.plan.checklists[number] for number in self.checklists),
            variants=tuple(self.plan.variants[number] for number in self.variants),
            arrays=tuple(axis for axis in self.plan.arrays if axis.levels),
            source="",
        )

    @property
    def text(self) -> str:
        """The plan file's text: as it was read, comments and all, while nothing is changed."""
        return self.plan_file.source or plan_to_toml(self.plan_file)

    @property
    def checklists(self) -> tuple[int, ...]:
        """Positions of the ticked checklists."""
        return tuple(n for n in range(len(self.plan.checklists)) if n not in self.off_checklists)

    @property
    def variants(self) -> tuple[int, ...]:
        """Positions of the ticked variants in the tools' words."""
        return tuple(n for n in range(len(self.plan.variants)) if n not in self.off_variants)

    def is_ticked(self, filesystem: str) -> bool:
        """Whether a checklist of this filesystem is ticked."""
        return any(self.plan.checklists[number].filesystem == filesystem for number in self.checklists)


Change = Callable[[], Draft]
"""Makes another draft, or raises FsconsoleError."""


def new_draft() -> Draft:
    """Return what a draft begins with: two filesystems, one load that fits anywhere, three repeats."""
    load = WorkloadPlan("large files", WorkloadKind.CREATE, (4,), file_size_bytes=512 * MIB)
    checklists = (Checklist("ext4"), Checklist("xfs"))
    return Draft(PlanFile("New plan", (load,), checklists, repeats=3, scale=Scale(ScaleKind.FIT)))


def changed(draft: Draft, plan: PlanFile) -> Draft:
    """Return the draft with another plan in it, which no file's text describes any more."""
    return replace(draft, plan=replace(plan, source=""))


def toggled_filesystem(draft: Draft, name: str) -> Draft:
    """Return the draft with all checklists of a filesystem unticked, or ticked, or with a first one."""
    own = frozenset(n for n, each in enumerate(draft.plan.checklists) if each.filesystem == name)
    if draft.is_ticked(name):
        return replace(draft, off_checklists=draft.off_checklists | own)
    if own:
        return replace(draft, off_checklists=draft.off_checklists - own)
    return changed(draft, replace(draft.plan, checklists=(*draft.plan.checklists, Checklist(name))))


def toggled_variant(draft: Draft, number: int) -> Draft:
    """Return the draft with one variant in words unticked, or ticked again."""
    return replace(draft, off_variants=draft.off_variants ^ {number})


def doubled_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with a second checklist like this one at the end, to be ticked otherwise."""
    again = replace(draft.plan.checklists[number], renamed=())
    return changed(draft, replace(draft.plan, checklists=(*draft.plan.checklists, again)))


def dropped_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with one checklist unticked."""
    return replace(draft, off_checklists=draft.off_checklists | {number})


def values_of(checklist: Checklist, scope: Scope, option: str) -> tuple[str, ...]:
    """Return the values that an option shall take; none where it is not given at all."""
    return dict(checklist.mkfs if scope is Scope.MKFS else checklist.mount).get(option, ())


def with_values(draft: Draft, number: int, scope: Scope, option: str, values: tuple[str, ...]) -> Draft:
    """Return the draft with an option's values; without any the tools decide."""
    old = draft.plan.checklists[number]
    axes = dict(old.mkfs if scope is Scope.MKFS else old.mount)
    axes.pop(option, None) if not values else axes.__setitem__(option, values)
    kept = tuple(
        pairs for pairs in old.exclude if all(name != option or value in values for name, value in pairs)
    )
    pairs = tuple(axes.items())
    new = replace(old, mkfs=pairs) if scope is Scope.MKFS else replace(old, mount=pairs)
    return _with_checklist(draft, number, replace(new, exclude=kept, renamed=()))


def toggled_combination(draft: Draft, number: int, values: Values) -> Draft:
    """Return the draft with one combination of a checklist excluded, or not any more.

    The only combination there is can't be excluded: its checklist is unticked instead.
    """
    checklist = draft.plan.checklists[number]
    compared = _compared(checklist)
    matching = tuple(pairs for pairs in checklist.exclude if _holds(pairs, values))
    if not compared and not matching:
        return dropped_checklist(draft, number)
    if not matching:
        own = tuple(pair for pair in values if pair[0] in compared)
        return _with_checklist(draft, number, replace(checklist, exclude=(*checklist.exclude, own)))
    kept = tuple(pairs for pairs in checklist.exclude if pairs not in matching)
    # An exclusion that left out others too still has to leave out those.
    others = (other for other in _combinations(checklist) if other != _only(values, compared))
    still = tuple(
        other
        for other in others
        if any(_holds(pairs, (*values, *other)) for pairs in matching)
        and not any(_holds(pairs, (*values, *other)) for pairs in kept)
    )
    return _with_checklist(draft, number, replace(checklist, exclude=(*kept, *still)))


def _compared(checklist: Checklist) -> tuple[str, ...]:
    return tuple(name for name, values in (*checklist.mkfs, *checklist.mount) if len(values) > 1)


def _combinations(checklist: Checklist) -> tuple[Values, ...]:
    """Return all choices among the options that are compared; the others are the same in each."""
    axes = [(name, values) for name, values in (*checklist.mkfs, *checklist.mount) if len(values) > 1]
    names = [name for name, _ in axes]
    return tuple(tuple(zip(names, choice, strict=True)) for choice in product(*(each for _, each in axes)))


def _only(values: Values, names: tuple[str, ...]) -> Values:
    return tuple(pair for pair in values if pair[0] in names)


def _holds(pairs: Values, values: Values) -> bool:
    """Tell whether an exclusion meets a combination; of a name given twice the last value counts."""
    given = dict(values)
    return all(given.get(name) == value for name, value in pairs)


def _with_checklist(draft: Draft, number: int, checklist: Checklist) -> Draft:
    kept = (*draft.plan.checklists[:number], checklist, *draft.plan.checklists[number + 1 :])
    return changed(draft, replace(draft.plan, checklists=kept))
