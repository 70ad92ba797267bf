"""Workloads, settings and the other keys of a draft, each checked by the plan reader's own code as it is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import tomli
import tomli_w

from fsconsole.catalog.tables import Table
from fsconsole.errors import PlanBadValue
from fsconsole.model.workload import WorkloadKind
from fsconsole.plan.planfile import Checklist, PlanFile, WorkloadPlan
from fsconsole.plan.read_arrays import require_one_stripe_cache
from fsconsole.plan.read_workload import read_workloads
from fsconsole.plan.reader import parse_plan
from fsconsole.plan.settings import NAMES, read_setting_axes
from fsconsole.plan.writer import plan_to_toml, workload_table
from fsconsole.tui.draft import Draft, changed
from fsconsole.units import MIB

PLACE = "the plan"
"""Stands for a file's name in errors about a draft."""
STARTS: tuple[tuple[WorkloadKind, str, dict[str, object]], ...] = (
    (WorkloadKind.CREATE, "write new files", {"threads": 4, "file_size": "256MiB"}),
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
    return [workload_table(workload) for workload in draft.plan.workloads]


def checked_workloads(tables: Sequence[Mapping[str, object]]) -> tuple[WorkloadPlan, ...]:
    """Return workloads as the plan reader takes them. Raises PlanUnknownKey, PlanBadValue."""
    numbered = (Table(PLACE, f"workload[{number}]", table) for number, table in enumerate(tables))
    return read_workloads(tuple(numbered))


def with_workloads(draft: Draft, tables: Sequence[Mapping[str, object]]) -> Draft:
    """Return the draft with these workloads; the same errors."""
    return changed(draft, replace(draft.plan, workloads=checked_workloads(tables)))


def start_of(kind: WorkloadKind, others: Sequence[WorkloadPlan]) -> dict[str, object]:
    """Return what a new workload of a kind begins with, under a name of its own."""
    begin = next((values for known, _, values in STARTS if known is kind), {})
    return {"name": _free_name(kind.value, others), "kind": kind.value, **begin}


def doubled_workload(draft: Draft, number: int) -> Draft:
    """Return the draft with a workload like this one behind it; the same errors."""
    tables = workload_tables(draft)
    name = _free_name(draft.plan.workloads[number].name, draft.plan.workloads)
    return with_workloads(
        draft, [*tables[: number + 1], {**tables[number], "name": name}, *tables[number + 1 :]]
    )


def removed_workload(draft: Draft, number: int) -> Draft:
    """Return the draft without a workload. Raises as above where another one works on its files."""
    tables = workload_tables(draft)
    if len(tables) == 1:
        raise PlanBadValue(PLACE, "workload", "[]", "there is none", "at least one [[workload]]")
    return with_workloads(draft, [*tables[:number], *tables[number + 1 :]])


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
    wanted = {key: list(kept[key]) for key in NAMES if kept.get(key)}
    table = Table(PLACE, "settings", wanted)
    require_one_stripe_cache(table, draft.plan.arrays)
    return changed(draft, replace(draft.plan, settings=read_setting_axes(table)))


def checked_setting(name: str, value: str) -> str:
    """Return one value of a setting as the plan would have it. Raises PlanBadValue."""
    ((_, (found,)),) = read_setting_axes(Table(PLACE, "settings", {name: [value]}))
    return found


def with_key(draft: Draft, key: str, value: object) -> Draft:
    """Return the draft with another value of a key at the top of a plan file, or below [after] ("after.check").

    Raises PlanBadValue.
    """
    document = tomli.loads(plan_to_toml(_smallest(draft.plan)))
    place, _, name = key.rpartition(".")
    (document[place] if place else document)[name] = value
    read = parse_plan(tomli_w.dumps(document), PLACE)
    kept = draft.plan
    whole = replace(
        read,
        workloads=kept.workloads,
        checklists=kept.checklists,
        variants=kept.variants,
        settings=kept.settings,
        arrays=kept.arrays,
        path=kept.path,
    )
    return changed(draft, whole)


def _smallest(plan: PlanFile) -> PlanFile:
    """Return the plan with something to do whatever is ticked, so that it is one key alone that is judged."""
    load = WorkloadPlan("load", WorkloadKind.CREATE, (1,), file_size_bytes=MIB)
    return replace(
        plan, workloads=(load,), checklists=(Checklist("ext4"),), variants=(), settings=(), arrays=()
    )


def _free_name(name: str, others: Sequence[WorkloadPlan]) -> str:
    taken = {workload.name for workload in others}
    candidates = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)
