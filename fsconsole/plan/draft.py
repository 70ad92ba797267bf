"""Drafts: a plan file with what is ticked and what is not, as a frozen value; each change makes another one.

Everything a plan file can say is kept, also what no tick shows; what is unticked keeps its values, so that ticking it
again restores them. A changed key is judged by the plan reader's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, TypeVar

import tomli_w

from fsconsole.catalog.filesystem import DEFAULT, Catalog, Scope
from fsconsole.catalog.tables import Table
from fsconsole.catalog.words import Where, choose, given_options
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import WorkloadMissing
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan import keys
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.planfile import (
    SCHEMA,
    ArrayAxis,
    Checklist,
    PlanFile,
    VariantText,
)
from fsconsole.plan.read import read_array, require_one_stripe_cache
from fsconsole.plan.read_workload import read_workloads
from fsconsole.plan.rows import Candidate, list_candidates, rows_of
from fsconsole.text import shorten_end

_Item = TypeVar("_Item")
Values = tuple[tuple[str, str], ...]
"""(option, value) pairs of one combination."""


NO_TITLE = "New plan"
"""Title of a plan while it was given none."""
_MOST_TITLE = 60
"""Columns of a title that is made of names."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan file with everything ever ticked, and the positions of what is unticked now."""

    plan: PlanFile
    off_checklists: frozenset[int] = frozenset()
    off_variants: frozenset[int] = frozenset()

    @property
    def plan_file(self) -> PlanFile:
        """The plan as it would be saved: only what is ticked, and a title of its own."""
        is_named = self.plan.title not in {NO_TITLE, _made_title(self.plan)}
        is_whole = not (self.off_checklists or self.off_variants) and all(axis.levels for axis in self.plan.arrays)
        if is_whole and (is_named or self.plan.source):
            return self.plan
        ticked = replace(
            self.plan,
            checklists=tuple(self.plan.checklists[number] for number in self.checklists),
            variants=tuple(self.plan.variants[number] for number in self.variants),
            arrays=tuple(axis for axis in self.plan.arrays if axis.levels),
            source="",
        )
        return ticked if is_named else replace(ticked, title=_made_title(ticked))

    @property
    def title(self) -> str:
        """The title that is shown: a new plan is called so until it is saved or run."""
        return NO_TITLE if self.plan.title == NO_TITLE else self.plan_file.title

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

    @property
    def filesystems(self) -> tuple[str, ...]:
        """The filesystems of the ticked checklists, each once."""
        return tuple(dict.fromkeys(self.plan.checklists[number].filesystem for number in self.checklists))


def _made_title(plan: PlanFile) -> str:
    """Return the filesystems and loads of a plan, the title of one that was given none."""
    checklists, variants = (each.filesystem for each in plan.checklists), (each.filesystem for each in plan.variants)
    names = ", ".join(dict.fromkeys((*checklists, *variants)))
    loads = ", ".join(load.name for load in plan.workloads)
    return shorten_end(f"{names}: {loads}", _MOST_TITLE) if names else NO_TITLE


Change = Callable[[], Draft]
"""Makes another draft, or raises FsconsoleError."""


def plan_to_toml(plan: PlanFile) -> str:
    """Return the text of a plan file that reads as this plan."""
    document = {keys.SCHEMA_KEY.name: SCHEMA} | keys.toml_of(plan, keys.RUN)
    tables: dict[str, object] = {
        "settings": {name: list(values) for name, values in plan.settings},
        "array": [keys.toml_of(axis, keys.ARRAY) for axis in plan.arrays],
        "filesystem": [keys.toml_of(checklist, keys.FILESYSTEM) for checklist in plan.checklists],
        "variant": [keys.toml_of(variant, keys.VARIANT) for variant in plan.variants],
        "workload": [keys.workload_toml(workload) for workload in plan.workloads],
        "after": keys.toml_of(plan.after, keys.AFTER),
    }
    return tomli_w.dumps(document | {name: said for name, said in tables.items() if said})


def new_draft() -> Draft:
    """Return what a draft begins with: two filesystems, and one load that a pilot sizes, so that it fits anywhere."""
    loads = checked_workloads([{"name": "large files", "kind": WorkloadKind.CREATE.value, "threads": 4}])
    return Draft(PlanFile(NO_TITLE, loads, (Checklist("ext4"), Checklist("xfs")), repeats=5))


_MOST_TICKED = 100
"""Variants in words that are looked at, and combinations of options that they may become."""


def opened(plan: PlanFile, catalog: Catalog) -> Draft:
    """Return the draft of a plan that was read: its variants in words become ticked options where these make the same rows."""
    names = tuple(dict.fromkeys(variant.filesystem for variant in plan.variants))
    if not 0 < len(plan.variants) <= _MOST_TICKED:
        return Draft(plan)
    checklists = {
        name: _checklist_of([each for each in plan.variants if each.filesystem == name], catalog) for name in names
    }
    ticked = replace(
        plan,
        checklists=(*plan.checklists, *(each for found in checklists.values() for each in found)),
        variants=tuple(variant for variant in plan.variants if not checklists[variant.filesystem]),
    )
    try:
        before, after = ([*map(_row, rows_of(one, list_candidates(one, catalog)).rows)] for one in (plan, ticked))
    except FsconsoleError:
        # The plan itself makes no rows: what is wrong is told where they are counted.
        return Draft(plan)
    # The first row is the baseline.
    return Draft(ticked if before[:1] == after[:1] and sorted(before) == sorted(after) else plan)


def _row(row: Candidate) -> tuple[str, list[str]]:
    # Not its label: options are named in the order of the catalog.
    return row.variant.filesystem, sorted(row.chosen.facts)


def _checklist_of(variants: Sequence[VariantText], catalog: Catalog) -> tuple[Checklist, ...]:
    """Return a checklist that makes these variants of one filesystem; none where options don't say all of their words."""
    filesystem, choices = catalog.get(variants[0].filesystem), []
    for variant in variants:
        chosen = choose(filesystem, variant.mkfs, variant.mount, "", Where(PLACE, "variant"))
        given = given_options(filesystem, chosen.own_mkfs, chosen.mount)
        told = frozenset(word for each in given for word in each.words)
        if variant.tune or variant.label or variant.as_printed or told != frozenset(chosen.own):
            return ()
        choices.append({each.option: each.value for each in given})
    options = tuple(dict.fromkeys(option for choice in choices for option in choice))
    values = [tuple(dict.fromkeys(choice.get(option, DEFAULT) for choice in choices)) for option in options]
    if prod(map(len, values)) > _MOST_TICKED:
        return ()
    wanted = [tuple(choice.get(option, DEFAULT) for option in options) for choice in choices]
    names = [option.name for option in options]
    out = tuple(tuple(zip(names, made, strict=True)) for made in product(*values) if made not in wanted)
    mkfs, mount = (
        tuple((option.name, found) for option, found in zip(options, values, strict=True) if option.scope is scope)
        for scope in (Scope.MKFS, Scope.MOUNT)
    )
    return (Checklist(filesystem.name, mkfs, mount, out),)


def changed(draft: Draft, **changes: Any) -> Draft:
    """Return the draft with other parts of its plan, which no file's text describes any more; a title made of parts follows."""
    plan: PlanFile = replace(draft.plan, source="", **changes)
    is_made = plan.title == draft.plan.title == _made_title(draft.plan)
    return replace(draft, plan=replace(plan, title=_made_title(plan)) if is_made else plan)


def with_filesystem(draft: Draft, name: str) -> Draft:
    """Return the draft with one more filesystem, with the tools' own choice of all options."""
    return changed(draft, checklists=(*draft.plan.checklists, Checklist(name)))


def toggled_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with one checklist unticked, or ticked again."""
    return replace(draft, off_checklists=draft.off_checklists ^ {number})


def only_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with one checklist ticked, and all else that makes variants unticked."""
    others = frozenset(range(len(draft.plan.checklists))) - {number}
    return replace(draft, off_checklists=others, off_variants=frozenset(range(len(draft.plan.variants))))


def toggled_variant(draft: Draft, number: int) -> Draft:
    """Return the draft with one variant in words unticked, or ticked again."""
    return replace(draft, off_variants=draft.off_variants ^ {number})


def doubled_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with a second checklist like this one at the end, to be ticked otherwise."""
    again = replace(draft.plan.checklists[number], renamed=())
    return changed(draft, checklists=(*draft.plan.checklists, again))


def dropped_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft with one checklist unticked."""
    return replace(draft, off_checklists=draft.off_checklists | {number})


def removed_checklist(draft: Draft, number: int) -> Draft:
    """Return the draft without one of several checklists of a filesystem; the only one of it is unticked."""
    checklists = draft.plan.checklists
    if sum(each.filesystem == checklists[number].filesystem for each in checklists) == 1:
        return dropped_checklist(draft, number)
    left = changed(draft, checklists=_spliced(checklists, number))
    return replace(left, off_checklists=_without(draft.off_checklists, number))


def _without(positions: frozenset[int], number: int) -> frozenset[int]:
    """Return positions after the item of this number was removed."""
    return frozenset(each - (each > number) for each in positions if each != number)


def values_of(checklist: Checklist, scope: Scope, option: str) -> tuple[str, ...]:
    """Return the values that an option shall take; none where it is not given at all."""
    axes = checklist.mkfs if scope is Scope.MKFS else checklist.mount
    return dict(axes).get(option, ())


def with_values(draft: Draft, number: int, scope: Scope, option: str, values: tuple[str, ...]) -> Draft:
    """Return the draft with an option's values; without any the tools decide."""
    old = draft.plan.checklists[number]
    axes = dict(getattr(old, scope.value))
    axes.pop(option, None) if not values else axes.__setitem__(option, values)
    kept = tuple(pairs for pairs in old.exclude if all(name != option or value in values for name, value in pairs))
    new: dict[str, Any] = {scope.value: tuple(axes.items()), "exclude": kept, "renamed": ()}
    return _with_checklist(draft, number, replace(old, **new))


def toggled_combination(draft: Draft, number: int, values: Values) -> Draft:
    """Return the draft with one combination of a checklist excluded, or not any more.

    The only combination there is can't be excluded: its checklist is unticked instead.
    """
    checklist = draft.plan.checklists[number]
    compared = [(name, each) for name, each in (*checklist.mkfs, *checklist.mount) if len(each) > 1]
    names = [name for name, _ in compared]
    own = tuple(pair for pair in values if pair[0] in names)
    matching = tuple(pairs for pairs in checklist.exclude if _holds(pairs, values))
    if not compared and not matching:
        return dropped_checklist(draft, number)
    if not matching:
        return _with_checklist(draft, number, replace(checklist, exclude=(*checklist.exclude, own)))
    kept = tuple(pairs for pairs in checklist.exclude if pairs not in matching)
    # An exclusion that left out others too still has to leave out those.
    others = (tuple(zip(names, choice, strict=True)) for choice in product(*(each for _, each in compared)))
    still = tuple(
        other
        for other in others
        if other != own
        and any(_holds(pairs, (*values, *other)) for pairs in matching)
        and not any(_holds(pairs, (*values, *other)) for pairs in kept)
    )
    return _with_checklist(draft, number, replace(checklist, exclude=(*kept, *still)))


def _holds(pairs: Values, values: Values) -> bool:
    """Tell whether an exclusion meets a combination; of a name given twice the last value counts."""
    return dict(values).items() >= dict(pairs).items()


def _with_checklist(draft: Draft, number: int, checklist: Checklist) -> Draft:
    return changed(draft, checklists=_spliced(draft.plan.checklists, number, checklist))


def _spliced(items: Sequence[_Item], number: int, *instead: _Item) -> tuple[_Item, ...]:
    """Return items with others instead of the one of this number; one behind the last is added."""
    return (*items[:number], *instead, *items[number + 1 :])


PLACE = "the plan"
"""The file name in errors about a draft."""
STARTS: tuple[tuple[WorkloadKind, str, dict[str, object]], ...] = (
    (WorkloadKind.CREATE, "write new files", {"threads": 4, "size": "auto"}),
    (WorkloadKind.APPEND, "add to files that are there", {"threads": 4, "file_size": "16MiB"}),
    (WorkloadKind.READ, "read whole files, from a cold cache", {"threads": 4, "cold": True}),
    (WorkloadKind.RANDOM_READ, "read blocks at random places", {"threads": 4, "cold": True, "duration": "30s",
                                                               "block_size": "4KiB", "end": "at-once"}),
    (WorkloadKind.RANDOM_WRITE, "write blocks at random places", {"threads": 4, "duration": "30s",
                                                                 "block_size": "4KiB", "end": "at-once"}),
    (WorkloadKind.STAT, "ask for sizes and times of files", {"threads": 4, "cold": True}),
    (WorkloadKind.DELETE, "remove files", {"threads": 4}),
    (WorkloadKind.MIX, "several of these, drawn by weight",
     {"threads": 4, "duration": "30s", "file_size": "1MiB", "weights": {"read": 3, "create": 1}}),
)  # fmt: skip
"""Kinds that can be added, with a line on each and the figures that they begin with."""


def workload_tables(draft: Draft) -> list[dict[str, object]]:
    """Return the draft's workloads as a plan file has them."""
    return [keys.workload_toml(workload) for workload in draft.plan.workloads]


def checked_workloads(tables: Sequence[Mapping[str, object]]) -> tuple[Workload, ...]:
    """Return workloads as the plan reader takes them. Raises PlanUnknownKey, PlanBadValue."""
    numbered = (Table(PLACE, f"workload[{number}]", table) for number, table in enumerate(tables))
    return read_workloads(tuple(numbered))


def with_workloads(draft: Draft, tables: Sequence[Mapping[str, object]]) -> Draft:
    """Return the draft with these workloads; the same errors."""
    return changed(draft, workloads=checked_workloads(tables))


def start_of(kind: WorkloadKind, others: Sequence[Workload]) -> dict[str, object]:
    """Return what a new workload of a kind begins with, under a name of its own."""
    begin = next((values for known, _, values in STARTS if known is kind), {})
    return {"name": _free_name(kind.value, others), "kind": kind.value, **begin}


def doubled_workload(draft: Draft, number: int) -> Draft:
    """Return the draft with a workload like this one behind it; the same errors."""
    tables = workload_tables(draft)
    name = _free_name(draft.plan.workloads[number].name, draft.plan.workloads)
    return with_workloads(draft, _spliced(tables, number, tables[number], {**tables[number], "name": name}))


def removed_workload(draft: Draft, number: int) -> Draft:
    """Return the draft without a workload. Raises as above where another one works on its files."""
    tables = workload_tables(draft)
    if len(tables) == 1:
        raise WorkloadMissing(PLACE)
    return with_workloads(draft, _spliced(tables, number))


def moved_workload(draft: Draft, number: int, step: int) -> Draft:
    """Return the draft with a workload moved by one place; the same errors."""
    tables, other = workload_tables(draft), number + step
    if not 0 <= other < len(tables):
        return draft
    tables[number], tables[other] = tables[other], tables[number]
    return with_workloads(draft, tables)


def with_setting(draft: Draft, name: str, values: tuple[str, ...]) -> Draft:
    """Return the draft with a setting's values, none to leave it as the machine has it. Raises PlanBadValue."""
    kept = {**dict(draft.plan.settings), name: values}
    wanted = {key: list(kept[key]) for key in keys.SETTING_NAMES if kept.get(key)}
    table = Table(PLACE, "settings", wanted)
    require_one_stripe_cache(table, draft.plan.arrays)
    return changed(draft, settings=keys.read_settings(table))


def checked_setting(name: str, value: str) -> str:
    """Return one value of a setting as the plan would have it. Raises PlanBadValue."""
    ((_, (found,)),) = keys.read_settings(Table(PLACE, "settings", {name: [value]}))
    return found


def with_key(draft: Draft, key: str, value: object) -> Draft:
    """Return the draft with another value of a key at the top of a plan file, or below [after] ("after.check").

    Raises PlanBadValue.
    """
    place, _, name = key.rpartition(".")
    declared = [each for each in (keys.AFTER if place else keys.RUN) if each.name == name]
    found = keys.read_keys(Table(PLACE, place, {name: value}), declared)
    return changed(draft, after=replace(draft.plan.after, **found)) if place else changed(draft, **found)


def _free_name(name: str, others: Sequence[Workload]) -> str:
    taken = {workload.name for workload in others}
    candidates = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


NO_ARRAY = ArrayAxis(())
"""A table without a level is kept while its other keys are ticked, and comes into no plan file."""
YES = "yes"

Words = Mapping[str, tuple[str, ...]]
"""The values of each key as they are typed; a key that is left as it comes is absent."""


def array_at(plan: PlanFile, number: int) -> ArrayAxis:
    """Return one table of arrays; behind the last it is one that says nothing yet."""
    return plan.arrays[number] if number < len(plan.arrays) else NO_ARRAY


def words_of(axis: ArrayAxis) -> dict[str, tuple[str, ...]]:
    """Return the values of a table as words."""
    said = keys.toml_of(axis, keys.ARRAY)
    return {name: tuple(map(str, values)) if isinstance(values, list) else (YES,) for name, values in said.items()}


def checked_array_value(name: str, value: str) -> str:
    """Return one value of a key as the plan would have it. Raises PlanBadValue."""
    said = {"level": keys.LEVELS_OF[name]} | {name: (value,)}
    return words_of(_read(said, 0))[name][0]


def with_array(draft: Draft, number: int, name: str, values: tuple[str, ...]) -> Draft:
    """Return the draft with the values of a key, none to leave it as it comes. Raises PlanBadValue."""
    said = {key: each for key, each in words_of(array_at(draft.plan, number)).items() if key != name}
    said |= {name: values} if values else {}
    # Without a level yet, any that has what is ticked will do.
    axis = _read({"level": LEVELS} | said, number)
    taken = axis if "level" in said else replace(axis, levels=())
    return _with_tables(draft, number, (taken,))


def doubled_array(draft: Draft, number: int) -> Draft:
    """Return the draft with a second table like this one behind it, to be ticked otherwise."""
    axis = array_at(draft.plan, number)
    return _with_tables(draft, number, (axis, axis)) if axis.levels else draft


def removed_array(draft: Draft, number: int) -> Draft:
    """Return the draft without a table of arrays."""
    return _with_tables(draft, number, ())


def _with_tables(draft: Draft, number: int, instead: tuple[ArrayAxis, ...]) -> Draft:
    spliced = _spliced(draft.plan.arrays, number, *instead)
    arrays = tuple(axis for axis in spliced if axis != NO_ARRAY)
    settings = Table(PLACE, "settings", {name: list(values) for name, values in draft.plan.settings})
    require_one_stripe_cache(settings, arrays)
    return changed(draft, arrays=arrays)


def _read(said: Words, number: int) -> ArrayAxis:
    table = {key.name: key.kind.typed(",".join(said[key.name])) for key in keys.ARRAY if key.name in said}
    return read_array(Table(PLACE, f"array[{number}]", table))


def with_variant(draft: Draft, number: int, variant: VariantText) -> Draft:
    """Return the draft with a variant in this place, ticked; one behind the last is added."""
    with_it = changed(draft, variants=_spliced(draft.plan.variants, number, variant))
    return replace(with_it, off_variants=draft.off_variants - {number})


def doubled_variant(draft: Draft, number: int) -> Draft:
    """Return the draft with the same words at the end once more, to be changed."""
    variants = draft.plan.variants
    return with_variant(draft, len(variants), replace(variants[number], label=""))


def removed_variant(draft: Draft, number: int) -> Draft:
    """Return the draft without a variant; the others stay ticked and unticked as they were."""
    left = changed(draft, variants=_spliced(draft.plan.variants, number))
    return replace(left, off_variants=_without(draft.off_variants, number))
