"""What the command plan prints, put together."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import typer

from fsconsole.cli.results import terminal_width
from fsconsole.devices.gate import GateReport, require
from fsconsole.devices.state import stands_on
from fsconsole.journal.store import make_run_id
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.plan import Cell, Plan, Step, arrays_in_words
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.preflight.prepare import BETWEEN, expand_only, prepare
from fsconsole.show.plan_text import plan_lines
from fsconsole.system.run import RealExecutor
from fsconsole.text import printable

# A plan as one JSON object, for scripts and for the console.


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


def show_list(*, as_json: bool) -> None:
    """Print names and titles of the shipped plans."""
    titles = {path.stem: read_plan(path).title for path in list_configs()}
    if as_json:
        _print_json(titles)
        return
    for name, title in titles.items():
        typer.echo(f"{name:<20} {printable(title)}")


def show(file: str, *, as_json: bool, every: bool, cell: int | None = None) -> None:
    """Print a plan for no device in particular; in JSON with one cell alone, from 1, with none for 0."""
    expanded = expand_only(file, run_id=make_run_id())
    if as_json:
        _print_json(plan_object(expanded, (), "", cell=cell))
    else:
        _print_plan(plan_lines(expanded, (), "", every=every, width=terminal_width()))


def show_on_devices(
    file: str, devices: list[str], runs: str, *, as_json: bool, every: bool, cell: int | None = None
) -> None:
    """Print a plan for these devices, then raise what the gate says of the first that it refuses."""
    found = prepare(file, devices, executor=RealExecutor(), runs_dir=runs, run_id=make_run_id())
    if as_json:
        _print_json(plan_object(found.plan, found.reports, found.consent, found.seen, cell))
    else:
        agreeing = _agreeing(file, devices, runs, found.consent)
        _print_plan(plan_lines(found.plan, found.reports, agreeing, every=every, width=terminal_width()))
    for report in found.reports:
        require(report)


def _agreeing(file: str, devices: Sequence[str], runs: str, consent: str) -> str:
    """Return the whole command that carries the plan out, for a shell; empty where no consent is needed."""
    if not consent:
        return ""
    named = [word for device in devices for word in ("--device", device)]
    kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
    return shlex.join(["fsconsole", "run", file, *named, *kept, "--consent", consent])


def _print_plan(lines: Iterable[str]) -> None:
    typer.echo("\n".join(lines))


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))
