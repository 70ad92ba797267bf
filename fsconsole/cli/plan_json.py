"""A plan as one JSON object, for scripts and for the console."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from fsconsole.devices.foundation import stands_on
from fsconsole.devices.gate import GateReport
from fsconsole.model.array_words import arrays_in_words
from fsconsole.model.plan import Cell, Plan
from fsconsole.model.step import Step
from fsconsole.preflight.seen import BETWEEN


def plan_object(
    plan: Plan,
    reports: Sequence[GateReport],
    consent: str,
    seen: Sequence[str] = (),
    cell: int | None = None,
) -> dict[str, object]:
    """Return the plan as JSON values; bytes and seconds are numbers. The keys only ever grow in number.

    With all cells, or with one of them alone, counted from 1: 10,000 come to 70 MB. seen are the codes that bind a
    start to what is told here; none where it is no plan to be started.
    """
    cells = plan.cells if cell is None else plan.cells[cell - 1 : cell] if cell else ()
    reasons = [each.unavailable for each in plan.cells]
    return {
        "title": plan.title,
        "order": plan.order.value,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "arrays": [
            {"words": words, "members": list(members)} for words, members in arrays_in_words(plan.cells)
        ],
        "targets": [_target(report, seen[1 + place] if seen else "") for place, report in enumerate(reports)],
        "cell_count": len(plan.cells),
        "runnable": reasons.count(""),
        "unavailable": list(dict.fromkeys(filter(None, reasons))),
        "cells": [_cell(each) for each in cells],
        "notes": list(plan.notes),
        "bytes_to_write": plan.estimate.bytes_to_write,
        "estimate_s": plan.estimate.elapsed_s,
        "assumed_bytes_per_s": plan.estimate.assumed_bytes_per_s,
        "consent": consent,
        "seen": BETWEEN.join(seen),
        "source_sha256": hashlib.sha256(plan.source.encode()).hexdigest(),
        "uuids": "new for every run",
    }


def _target(report: GateReport, seen: str) -> dict[str, object]:
    return {
        "path": report.device.path,
        "name": report.device.name,
        "identity": asdict(report.identity),
        "seen": seen,
        "stands_on": stands_on(report.device),
        "kind": report.device.kind.value,
        "model": report.device.model,
        "serial": report.device.serial,
        "size_bytes": report.device.size_bytes,
        "scratch": not report.needs_consent,
        "loss": report.loss,
        "hazards": [{**asdict(hazard), "verdict": hazard.verdict.value} for hazard in report.hazards],
    }


def _cell(cell: Cell) -> dict[str, object]:
    variant = cell.variant
    return {
        "index": cell.index,
        "target": cell.target,
        "array": None if cell.array is None else asdict(cell.array),
        "members": list(cell.members),
        "setting": dict(cell.setting.values),
        "variant": {
            "label": variant.label,
            "filesystem": variant.filesystem,
            "mkfs": list(variant.mkfs_words),
            "mount": list(variant.mount_words),
            "tune": list(variant.tune_words),
            "as_printed": variant.as_printed,
        },
        "raw": variant.is_raw,
        "repeat": cell.repeat,
        "workloads": [_workload(cell, number) for number in range(len(cell.workloads))],
        "equalise": cell.equalise.value,
        "after": {
            "check": cell.after.check,
            "crash": cell.after.crash,
            "delete": cell.after.delete.value,
        },
        "uuid": cell.uuid,
        "unavailable": cell.unavailable,
        "steps": [_step(step) for step in cell.steps],
    }


def _workload(cell: Cell, number: int) -> dict[str, object]:
    workload = cell.workloads[number]
    return {
        "name": workload.name,
        "kind": workload.kind.value,
        "threads": workload.threads,
        "files": workload.files,
        "file_size_bytes": workload.file_size_bytes,
        "block_size_bytes": workload.block_size_bytes,
        "directories": workload.directories.files_per_directory or workload.directories.layout.value,
        "data": workload.data.value,
        "zero_share": workload.zero_share,
        "file_size_max_bytes": workload.largest_file_bytes,
        "direct": workload.direct,
        "fsync_every": workload.fsync_every,
        "limit_bytes": workload.limit_bytes,
        "duration_s": workload.duration_s,
        "end": workload.end.value,
        "weights": {kind.value: weight for kind, weight in workload.weights},
        "of": workload.source,
        "cold": workload.cold,
        "with": dict(workload.settings),
        "total_bytes": workload.total_bytes,
    }


def _step(step: Step) -> dict[str, object]:
    return {
        "kind": step.kind.value,
        "title": step.title,
        "commands": [list(argv) for argv in step.commands],
        "changes": step.changes,
        "undo": step.undo,
        "writes": [asdict(write) for write in step.writes],
        "workload": step.workload,
    }
