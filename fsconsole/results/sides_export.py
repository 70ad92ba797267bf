"""A comparison of sides as CSV (a line per row, side and metric) and as one JSON document, in base units."""

from __future__ import annotations

from dataclasses import asdict

from fsconsole.model.wire import to_plain
from fsconsole.results.csv import guarded, number, written
from fsconsole.results.json import Json, ascii_json
from fsconsole.results.sides import SideBlock, SideComparison, SideRow

SCHEMA = 1
"""Grows when a key changes its meaning or goes; new keys may come at any time."""


def sides_csv(of: SideComparison) -> str:
    """Return the figures of metrics; change, its bounds and the verdict are those against the first side.

    Changes are shares of its figure (-0.15: 15 % less), or differences in the unit, as scale says.
    """
    head = "block", "row", "side", "name", "column", "unit", "figure", "n", "scale", "change", "low", "high", "verdict"
    lines = []
    for block in of.blocks:
        for group in block.groups:
            for row in group.rows:
                place = [guarded(text) for text in (block.name, group.name, row.side.letter, row.side.name)]
                for one in row.figures:
                    compared = row.compared if one.metric is not None and one.metric is block.metric else None
                    lines.append([
                        *place, guarded(one.column), guarded(one.unit), number(one.value),
                        str(row.n) if one.metric is not None and one.metric is block.metric else "",
                        one.scale.value if one.change is not None else "", number(one.change),
                        *(number(bound) for bound in ((compared.low, compared.high) if compared else (None, None))),
                        compared.verdict.value if compared and compared.verdict else "",
                    ])  # fmt: skip
    return written(head, lines)


def sides_json(of: SideComparison) -> str:
    """Return the document. Keys: schema, sides, vary, different (values in the order of runs), notes, blocks."""
    document: Json = {
        "schema": SCHEMA,
        "sides": [
            {
                "side": side.letter,
                "runs": [
                    {
                        "id": run.request.run_id,
                        "title": run.request.plan.title,
                        "created_wall_ns": run.request.created_wall_ns,
                        "version": run.request.version,
                        "started": [to_plain(started) for started in run.started],
                    }
                    for run in side.runs
                ],
                "published": to_plain(side.publication),
            }
            for side in of.sides
        ],
        "vary": [kind.value for kind in of.vary],
        "different": [
            {"vary": one.kind.value if one.kind else None, "name": one.name, "values": list(one.values)}
            for one in of.different
        ],
        "notes": list(of.notes),
        "blocks": [_block(block) for block in of.blocks],
    }
    return ascii_json(document, indent=2) + "\n"


def _block(block: SideBlock) -> Json:
    return {
        "name": block.name,
        "metric": block.metric.value if block.metric else None,
        "family": block.family,
        "same": block.same,
        "rows": [{"name": group.name, "sides": [_row(row) for row in group.rows]} for group in block.groups],
    }


def _row(row: SideRow) -> Json:
    return {
        "side": row.side.letter,
        "n": row.n,
        "cells": [list(of_run.indexes) for of_run in row.rows],
        "figures": {
            one.metric.value if one.metric is not None else one.column: {
                "unit": one.unit,
                "value": one.value,
                "scale": one.scale.value,
                "change": one.change,
            }
            for one in row.figures
        },
        "compared": asdict(row.compared) if row.compared is not None else None,
    }
