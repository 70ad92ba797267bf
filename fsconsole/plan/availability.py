"""What a plan may ask for and this version does not carry out, in words: never dropped in silence."""

from __future__ import annotations

from fsconsole import units
from fsconsole.catalog.filesystem import Filesystem
from fsconsole.model.plan import Setting
from fsconsole.model.workload import BUILT_IN, Workload
from fsconsole.plan.planfile import AUTO_REPEATS, PlanFile
from fsconsole.plan.settings import objections
from fsconsole.plan.target import TargetSpec


def plan_reasons(plan: PlanFile) -> tuple[str, ...]:
    """Return why no cell of the plan can run, in clauses; empty where nothing stands against it."""
    reasons = []
    if plan.repeats == AUTO_REPEATS:
        reasons.append('repeats = "auto" is not run by this version; give a number')
    if plan.after.crash:
        reasons.append("crash = true is not run by this version")
    return tuple(reasons)


def workload_reasons(workloads: tuple[Workload, ...]) -> tuple[str, ...]:
    """Return why these workloads can't run."""
    kinds = dict.fromkeys(w.kind.value for w in workloads if w.kind not in BUILT_IN)
    return tuple(f"workloads of kind {kind} are not run by this version" for kind in kinds)


def axis_reasons(setting: Setting, workloads: tuple[Workload, ...], target: TargetSpec) -> tuple[str, ...]:
    """Return why this choice of settings, for the cell and for its workloads, can't run."""
    reasons = [*objections(dict(setting.values), target)]
    for workload in workloads:
        if workload.settings:
            reasons += objections(dict(setting.values) | dict(workload.settings), target)
    return tuple(dict.fromkeys(reasons))


def size_reasons(target: TargetSpec, filesystem: Filesystem | None, wanted_bytes: int) -> tuple[str, ...]:
    """Return why the target does not fit; nothing is said of a target whose size isn't known."""
    if filesystem is None or target.size_bytes == 0:
        return ()
    size = units.format_bytes(target.size_bytes)
    if target.size_bytes < filesystem.min_bytes:
        least = units.format_bytes(filesystem.min_bytes)
        return (f"{filesystem.name} needs at least {least}, {target.path} has {size}",)
    if target.size_bytes > filesystem.max_bytes:
        most = units.format_bytes(filesystem.max_bytes)
        return (f"{filesystem.name} takes at most {most}, {target.path} has {size}",)
    if wanted_bytes > usable_bytes(target, filesystem):
        wanted = units.format_bytes(wanted_bytes)
        return (f'the workloads write {wanted}, {target.path} has {size}: use scale = "fit"',)
    return ()


def usable_bytes(target: TargetSpec, filesystem: Filesystem) -> int:
    """Return about what an empty filesystem offers on the target, in bytes."""
    return int(target.size_bytes * (1 - filesystem.metadata_share))
