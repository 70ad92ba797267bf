"""A whole run as one JSON document: rows with their statistics, and every cell with its raw values and steps."""

from __future__ import annotations

import json
import math

from fsconsole.model.metrics import Metric
from fsconsole.model.rounds import replaced_cells
from fsconsole.model.state import CellState, RunState
from fsconsole.model.verdicts import Compared
from fsconsole.model.wire import to_plain
from fsconsole.results.blocks import AS_PLANNED, Block, GridChoice, blocks_of
from fsconsole.results.changes import verdict_words
from fsconsole.results.figures import check_costs
from fsconsole.results.grid import Grid, GridRow
from fsconsole.results.requirements import Judged, requirements_of
from fsconsole.results.sentences import findings_of

SCHEMA = 2
"""Grows when a key changes its meaning or goes; new keys may come at any time."""

_OF_PLANS = frozenset({"thread_counts", "block_sizes", "of", "total_size_bytes"})
"""Keys of a workload that are empty in every cell."""

Json = dict[str, object]


def render_json(state: RunState, grid: Grid, *, standing: str, choice: GridChoice = AS_PLANNED) -> str:
    """Return the document, in ASCII: control characters of labels are escaped, and come back when it is read.

    Keys: schema, run, machine, targets, metrics, blocks, rows, requirements, findings, cells, warnings, published. Cells are numbered from 0,
    as in the journal. All figures are in base units, named with each. Raises what blocks_of() raises.
    """
    replaced, required = replaced_cells(state), requirements_of(state, grid)
    document = {
        "schema": SCHEMA,
        "run": _run(state, standing),
        "machine": [to_plain(started) for started in state.started],
        "targets": [to_plain(target) for target in state.request.targets],
        "metrics": {d.value: {"column": d.column, "unit": d.unit.value, "help": d.help} for d in Metric},
        "blocks": [_block(block) for block in blocks_of(state, grid, choice)],
        "rows": [_row(row) for row in grid.rows],
        "requirements": {"answer": required.answer, "met_by": list(required.meeting)} if required.answer else None,
        "findings": to_plain(findings_of(state, grid)),
        "cells": [_cell(state, cell, replaced) for cell in state.cells],
        "warnings": [to_plain(warning) for warning in grid.warnings],
        "published": to_plain(grid.publication),
    }
    return ascii_json(document, indent=2) + "\n"


def ascii_json(document: object, *, indent: int | None = None) -> str:
    """Return a document as JSON text that acts on no terminal; DEL is the one control that json lets through."""
    return json.dumps(document, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")


def _run(state: RunState, standing: str) -> Json:
    request, plan = state.request, state.request.plan
    return {
        "id": request.run_id,
        "title": plan.title,
        "created_wall_ns": request.created_wall_ns,
        "version": request.version,
        "standing": standing,
        "status": state.status.value,
        "outcome": state.outcome.value if state.outcome else None,
        "reason": state.reason,
        "hint": state.hint,
        "exit_code": state.exit_code,
        "order": plan.order.value,
        "seed": plan.seed,
        "repeats": plan.repeats,
        "notes": list(plan.notes),
        "plan": plan.source,
    }


def _block(block: Block) -> Json:
    """Return a block; its rows name those of "rows", which have all their values."""
    return {
        "kind": block.kind.value,
        "name": block.name,
        "workload": block.load.name if block.load else None,
        "metric": block.metric.value,
        "columns": [metric.value for metric in block.columns],
        "axes": list(block.axes),
        "sorted_by": block.sorted_by or None,
        "baseline": block.baseline or None,
        "family": block.family,
        "same": block.same,
        "common": list(block.common),
        "notes": list(block.notes),
        "rows": [
            {
                "name": row.name,
                "row": row.row.name,
                "axes": dict(zip(block.axes, row.axes, strict=True)),
                "is_baseline": row.is_baseline,
                "is_control": row.is_control,
                "figures": {
                    metric.value: figure
                    for metric in dict.fromkeys((block.metric, *block.columns))
                    if (figure := row.row.estimate(metric)) is not None
                },
                "compared": _compared(row.compared, block.same),
                "requirements": [_required(one) for one in row.required],
            }
            for row in block.rows
        ],
        "pairs": [
            {"row": pair.row, "other": pair.other, "compared": _compared(pair.compared, block.same)}
            for pair in block.pairs
        ],
    }


def _compared(compared: Compared | None, same: float) -> Json | None:
    """Return a comparison with its words; a bound that is no finite number is null."""
    if compared is None:
        return None
    found = {name: None if isinstance(value, float) and not math.isfinite(value) else value
             for name, value in _as_object(compared).items()}  # fmt: skip
    return {**found, "words": verdict_words(compared, same)}


def _required(judged: Judged) -> Json:
    """Return a limit with a row's answer, and its one-sided 95 % bounds in the column's base unit."""
    return {
        **_as_object(judged.requirement),
        "answer": judged.answer.value,
        "n": judged.n,
        "low": judged.low,
        "high": judged.high,
        "words": judged.words,
    }


def _row(row: GridRow) -> Json:
    return {
        "name": row.name,
        **_as_object(row.key),
        "workloads": [
            {name: value for name, value in _as_object(workload).items() if name not in _OF_PLANS}
            for workload in row.key.workloads
        ],
        "cells": [figures.cell for figures in row.cells],
        "figures": {
            metric.value: {
                "unit": metric.unit.value,
                "median": summary.median,
                "n": summary.n,
                "spread_percent": summary.spread_percent,
                "values": list(summary.values),
            }
            for metric, summary in row.figures
        },
        "check_verdict": row.verdict,
        "check_costs": [
            {"metric": cost.metric.value, "per": cost.per.value, "least": cost.least, "most": cost.most}
            for cost in check_costs(row.cells)
        ],
        "notes": list(row.notes),
    }


def _cell(state: RunState, cell: CellState, replaced: frozenset[int]) -> Json:
    planned = state.request.plan.cells[cell.index]
    return {
        "cell": cell.index,
        "target": planned.target,
        "array": to_plain(planned.array),
        "members": list(planned.members),
        "variant": planned.variant.label,
        "repeat": planned.repeat,
        "redo": planned.redo,
        "counts": cell.index not in replaced,
        "uuid": planned.uuid,
        "equalise": planned.equalise.value,
        "status": cell.status.value,
        "attempt": cell.attempt,
        "reason": cell.reason,
        "steps": [
            {
                **_as_object(step),
                "measurements": [
                    {"metric": figure.metric.value, "value": figure.value, "unit": figure.unit.value}
                    for figure in step.measurements
                ],
            }
            for step in cell.steps
        ],
        "features": [{"scope": f.scope, "name": f.name, "value": f.value} for f in cell.features],
        "warnings": [{"kind": w.kind.value, "reason": w.reason, "hint": w.hint} for w in cell.warnings],
    }


def _as_object(value: object) -> Json:
    """Return a record of the model as a JSON object."""
    document = to_plain(value)
    if not isinstance(document, dict):
        raise TypeError(f"{type(value).__name__} is not a record of the model")
    return document
