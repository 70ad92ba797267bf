"""Figures as comma-separated values (RFC 4180), in base units: one line per cell, or one per row of the grid."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import array_words
from fsconsole.model.state import RunState
from fsconsole.results.grid import Grid, GridRow
from fsconsole.text import printable

_FORMULA_STARTS = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula (owasp.org, "CSV Injection")."""


def cells_csv(state: RunState, grid: Grid, columns: Sequence[Metric] = tuple(Metric)) -> str:
    """Return the raw figures, one line per cell (and workload, where a cell has several), in plan order."""
    head = [
        "run",
        "cell",
        "repeat",
        "redo",
        "counts",
        "attempt",
        *_KEY_HEAD,
        "status",
        "reason",
        "check verdict",
        "warnings",
    ]
    entries = [(figures, row) for row in grid.rows for figures in row.cells]
    lines = [
        [
            guarded(state.request.run_id),
            str(figures.cell + 1),
            str(figures.repeat),
            str(figures.redo),
            "yes" if figures.counts else "no: its round ran again",
            str(figures.attempt),
            *_key_fields(row),
            figures.status.value,
            guarded(figures.reason),
            guarded(figures.verdict),
            _warned(grid, {figures.cell}),
            *(_number(figures.value(metric)) for metric in columns),
        ]
        for figures, row in sorted(entries, key=lambda entry: entry[0].cell)
    ]
    return _written([*head, *map(_head, columns)], lines)


def summary_csv(state: RunState, grid: Grid, columns: Sequence[Metric] = tuple(Metric)) -> str:
    """Return median, n and spread of each column, one line per row of the grid, in its order."""
    head = ["run", *_KEY_HEAD, "cells", "check verdict", "warnings", "notes"]
    for metric in columns:
        head += [_head(metric), f"{metric.column} n", f"{metric.column} spread [%]"]
    lines = []
    for row in grid.rows:
        fields = [guarded(state.request.run_id), *_key_fields(row), str(sum(cell.counts for cell in row.cells))]
        fields += [guarded(row.verdict), _warned(grid, set(row.indexes)), guarded("; ".join(row.notes))]
        for metric in columns:
            known = row.figure(metric)
            fields += (
                [_number(known.median), str(known.n), _number(known.spread_percent)]
                if known is not None
                else ["", "0", ""]
            )
        lines.append(fields)
    return _written(head, lines)


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


def _warned(grid: Grid, cells: set[int]) -> str:
    """Return the kinds of the warnings on any of these cells, or on the whole run."""
    kinds = (one.kind.value for one in grid.warnings if not one.cells or cells.intersection(one.cells))
    return "; ".join(dict.fromkeys(kinds))


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
