"""Figures as comma-separated values (RFC 4180), in base units: one line per cell, or one per row of the grid."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import array_words
from fsconsole.model.state import RunState
from fsconsole.results.figures import CellFigures
from fsconsole.results.grid import Grid, GridRow
from fsconsole.text import printable

_FORMULA_STARTS = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula (owasp.org, "CSV Injection")."""


def cells_csv(state: RunState, grid: Grid, columns: Sequence[Metric] = tuple(Metric)) -> str:
    """Return the raw figures, one line per cell (and workload, where a cell has several), in plan order."""
    head = ["run", "cell", "repeat", "attempt", *_KEY_HEAD, "status", "reason", "check verdict"]
    entries = sorted(
        (
            (figures.cell, position, row, figures)
            for position, row in enumerate(grid.rows)
            for figures in row.cells
        ),
        key=lambda entry: entry[:2],
    )
    lines = [_cell_line(state, row, figures, columns) for _, _, row, figures in entries]
    return _written([*head, *(_head(metric) for metric in columns)], lines)


def summary_csv(state: RunState, grid: Grid, columns: Sequence[Metric] = tuple(Metric)) -> str:
    """Return median, n and spread of each column, one line per row of the grid, in its order."""
    head = ["run", *_KEY_HEAD, "cells", "check verdict", "notes"]
    for metric in columns:
        name = metric.column
        head += [_head(metric), f"{name} n", f"{name} spread [%]"]
    return _written(head, [_row_line(state, row, columns) for row in grid.rows])


_KEY_HEAD = (
    "variant",
    "filesystem",
    "mkfs",
    "mount",
    "target",
    "array",
    "members",
    "setting",
    "workload",
    "threads",
)


def _head(metric: Metric) -> str:
    return f"{metric.column} [{metric.unit.value}]"


def _cell_line(state: RunState, row: GridRow, figures: CellFigures, columns: Sequence[Metric]) -> list[str]:
    return [
        guarded(state.request.run_id),
        str(figures.cell + 1),
        str(figures.repeat),
        str(figures.attempt),
        *_key_fields(row),
        figures.status.value,
        guarded(figures.reason),
        guarded(figures.verdict),
        *(_number(figures.value(metric)) for metric in columns),
    ]


def _row_line(state: RunState, row: GridRow, columns: Sequence[Metric]) -> list[str]:
    fields = [guarded(state.request.run_id), *_key_fields(row), str(len(row.cells))]
    fields += [guarded(row.verdict), guarded("; ".join(row.notes))]
    for metric in columns:
        summary = row.figure(metric)
        if summary is None:
            fields += ["", "0", ""]
        else:
            fields += [_number(summary.median), str(summary.n), _number(summary.spread_percent)]
    return fields


def _key_fields(row: GridRow) -> list[str]:
    key = row.key
    shown = key.workloads if key.workload is None else (key.workloads[key.workload],)
    texts = (
        row.name,
        key.variant.filesystem,
        " ".join((*key.variant.mkfs_words, *key.variant.tune_words)),
        ",".join(key.variant.mount_words),
        key.target,
        array_words(key.array, len(key.members)) if key.array else "",
        " ".join(key.members),
        " ".join(f"{name}={value}" for name, value in key.setting.values),
        " + ".join(workload.name for workload in shown),
        " + ".join(str(workload.threads) for workload in shown),
    )
    return [guarded(text) for text in texts]


def guarded(text: str) -> str:
    """Return text as data for a spreadsheet too: printable, and an apostrophe before what begins a formula."""
    text = printable(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA_STARTS) else text


def _number(value: float | None) -> str:
    """Return a figure in full, so that it reads back as the same number; empty where there is none."""
    if value is None:
        return ""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _written(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return buffer.getvalue()
