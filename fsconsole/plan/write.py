"""Writes a plan file: what is read back from the text equals what was written."""

from __future__ import annotations

import tomli_w

from fsconsole.plan.keys import AFTER, ARRAY, FILESYSTEM, RUN, SCHEMA_KEY, VARIANT, WORKLOAD, toml_of
from fsconsole.plan.planfile import SCHEMA, PlanFile


def plan_to_toml(plan: PlanFile) -> str:
    """Return the text of a plan file that reads as this plan."""
    document = {SCHEMA_KEY.name: SCHEMA} | toml_of(plan, RUN)
    tables: dict[str, object] = {
        "settings": {name: list(values) for name, values in plan.settings},
        "array": [toml_of(axis, ARRAY) for axis in plan.arrays],
        "filesystem": [toml_of(checklist, FILESYSTEM) for checklist in plan.checklists],
        "variant": [toml_of(variant, VARIANT) for variant in plan.variants],
        "workload": [toml_of(workload, WORKLOAD) for workload in plan.workloads],
        "after": toml_of(plan.after, AFTER),
    }
    return tomli_w.dumps(document | {name: said for name, said in tables.items() if said})
