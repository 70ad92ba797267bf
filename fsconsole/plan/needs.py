"""How large a device must be, and may be, for a plan to make sense on it."""

from __future__ import annotations

from fsconsole.catalog.filesystem import Catalog
from fsconsole.plan.axes import workload_choices
from fsconsole.plan.planfile import PlanFile, ScaleKind
from fsconsole.plan.scale import scaled, written_bytes


def least_bytes(plan: PlanFile, catalog: Catalog) -> int:
    """Return the size below which no cell of the plan can run: the smallest filesystem, the smallest load.

    What an array can hold is said of each cell; a member may well be smaller than a filesystem, or larger.
    """
    if plan.arrays:
        return 1
    filesystems = [catalog.get(name).min_bytes for name in _names(plan)]
    if plan.scale.kind is ScaleKind.FIT:
        return min(filesystems, default=1)
    loads = [written_bytes(scaled(choice, plan.scale, 0)) for choice in workload_choices(plan)]
    return max(min(filesystems, default=1), min(loads))


def most_bytes(plan: PlanFile, catalog: Catalog) -> int:
    """Return the size above which no filesystem of the plan can be made; 0 where it has none."""
    if plan.arrays:
        return 0
    return max((catalog.get(name).max_bytes for name in _names(plan)), default=0)


def _names(plan: PlanFile) -> set[str]:
    listed = {checklist.filesystem for checklist in plan.checklists}
    return listed | {variant.filesystem for variant in plan.variants}
