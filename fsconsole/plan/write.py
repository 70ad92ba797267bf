"""Writes a plan file: what is read back from the text equals what was written."""

from __future__ import annotations

import tomli_w

from fsconsole import units
from fsconsole.model.workload import Layout
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    SCHEMA,
    ArrayAxis,
    Checklist,
    PlanFile,
    ScaleKind,
    VariantText,
    WorkloadPlan,
)


def plan_to_toml(plan: PlanFile) -> str:
    """Return the text of a plan file that reads as this plan."""
    document: dict[str, object] = {
        "schema": SCHEMA,
        "title": plan.title,
        "repeats": "auto" if plan.repeats == AUTO_REPEATS else plan.repeats,
        "order": plan.order.value,
        "seed": plan.seed,
        "scale": _scale(plan),
        "equalise": plan.equalise.value,
        "raw": plan.raw,
        "settings": {name: list(values) for name, values in plan.settings},
        "array": [array_table(axis) for axis in plan.arrays],
        "filesystem": [_checklist(checklist) for checklist in plan.checklists],
        "variant": [_variant(variant) for variant in plan.variants],
        "workload": [workload_table(workload) for workload in plan.workloads],
        "after": {
            "check": plan.after.check,
            "crash": plan.after.crash,
            "delete": plan.after.delete.value,
        },
    }
    return tomli_w.dumps({key: value for key, value in document.items() if value not in ([], {})})


def _scale(plan: PlanFile) -> str | float:
    return plan.scale.factor if plan.scale.kind is ScaleKind.FACTOR else plan.scale.kind.value


def array_table(axis: ArrayAxis) -> dict[str, object]:
    """Return one table of arrays as a plan file has it."""
    said: dict[str, object] = {
        "chunk": [units.format_bytes_exact(size) for size in axis.chunks_bytes],
        "members": list(axis.members),
        "stripe_cache_size": list(axis.stripe_cache_sizes),
        "group_thread_count": list(axis.group_thread_counts),
        "bitmap": list(axis.bitmaps),
        "consistency_policy": list(axis.consistency_policies),
        "assume_clean": axis.assume_clean,
    }
    return {"level": list(axis.levels)} | {key: value for key, value in said.items() if value}


def _checklist(checklist: Checklist) -> dict[str, object]:
    return {
        "type": checklist.filesystem,
        "mkfs": {name: list(values) for name, values in checklist.mkfs},
        "mount": {name: list(values) for name, values in checklist.mount},
        "exclude": [dict(combination) for combination in checklist.exclude],
    }


def _variant(variant: VariantText) -> dict[str, object]:
    texts = {
        "mkfs": variant.mkfs,
        "mount": variant.mount,
        "tune": variant.tune,
        "label": variant.label,
        "as_printed": variant.as_printed,
    }
    return {"type": variant.filesystem, **{key: text for key, text in texts.items() if text}}


def workload_table(workload: WorkloadPlan) -> dict[str, object]:
    """Return one workload as the table that a plan file has for it."""
    table: dict[str, object] = {
        "name": workload.name,
        "kind": workload.kind.value,
        "threads": list(workload.threads),
        "block_size": units.format_bytes_exact(workload.block_size_bytes),
        "directories": _directories(workload),
        "data": workload.zero_share or workload.data.value,
        "cold": workload.cold,
        "end": workload.end.value,
    }
    said = {
        "of": workload.of,
        "file_size": _file_size(workload),
        "files": workload.files,
        "direct": workload.direct,
        "fsync_every": workload.fsync_every,
        "bytes": units.format_bytes_exact(workload.limit_bytes) if workload.limit_bytes else "",
        "duration": f"{workload.duration_s}s" if workload.duration_s else "",
        "weights": {kind.value: weight for kind, weight in workload.weights},
        "with": dict(workload.settings),
    }
    return table | {key: value for key, value in said.items() if value}


def _file_size(workload: WorkloadPlan) -> str | list[str]:
    smallest, largest = map(
        units.format_bytes_exact, (workload.file_size_bytes, workload.file_size_max_bytes)
    )
    if workload.file_size_max_bytes:
        return [smallest, largest]
    return smallest if workload.file_size_bytes else ""


def _directories(workload: WorkloadPlan) -> str | int:
    directories = workload.directories
    per_count = directories.layout is Layout.PER_COUNT
    return directories.files_per_directory if per_count else directories.layout.value
