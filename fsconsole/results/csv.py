"""Figures as comma-separated values (RFC 4180), in base units: one line per cell, or one per row of each block."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import array_words
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import MOST_MORE, Verdict
from fsconsole.results.blocks import AS_PLANNED, Block, BlockKind, BlockRow, GridChoice, blocks_of
from fsconsole.results.changes import verdict_words
from fsconsole.results.columns import figures_in
from fsconsole.results.grid import Grid, GridRow
from fsconsole.results.requirements import row_sentences
from fsconsole.text import printable

_FORMULA_STARTS = ("=", "+", "-", "@")
"""A spreadsheet takes a text that begins so for a formula (owasp.org, "CSV Injection")."""


_NUMBER = re.compile(r"-?[0-9.]+(?:e[+-]?[0-9]+)?")
"""As number() writes it."""


def cells_csv(state: RunState, grid: Grid, columns: Sequence[Metric] = (), *, for_spreadsheet: bool = False) -> str:
    """Return the raw figures, one line per cell (and workload, where a cell has several), in plan order.

    Columns: those chosen, or all that any cell has a figure of.
    """
    head = [
        "run",
        "cell",
        "repeat",
        "redo",
        "counts",
        "attempt",
        *_KEY_HEAD,
        "outcome",
        "reason",
        "check verdict",
        "warnings",
    ]
    entries = [(figures, row) for row in grid.rows for figures in row.cells]
    columns = columns or tuple(one for one in Metric if any(of.value(one) is not None for of, _ in entries))
    lines = [
        [
            state.request.run_id,
            str(figures.cell + 1),
            str(figures.repeat),
            str(figures.redo),
            "yes" if figures.counts else "no: its round ran again",
            str(figures.attempt),
            *_key_fields(row),
            figures.status.value,
            figures.reason,
            figures.verdict,
            _warned(grid, {figures.cell}),
            *(number(figures.value(metric)) for metric in columns),
        ]
        for figures, row in sorted(entries, key=lambda entry: entry[0].cell)
    ]
    return written([*head, *map(_head, columns)], lines, for_spreadsheet=for_spreadsheet)


def summary_csv(state: RunState, grid: Grid, choice: GridChoice = AS_PLANNED, *, for_spreadsheet: bool = False) -> str:
    """Return one line per row of each block: figure, median, n and spread of its columns, and its verdict.

    Columns: those chosen, or all that hold something; those of other blocks are empty. change, low and high are shares
    of the baseline's figure where scale is "ratio", else differences in the unit of the compared column.
    Raises what blocks_of() raises.
    """
    blocks = blocks_of(state, grid, choice)
    owned = [
        figures_in(block.load, [row.row for row in block.rows], is_raw=block.kind is BlockKind.RAW) for block in blocks
    ]
    columns = choice.columns or tuple(metric for metric in Metric if any(metric in of for of in owned))
    head = [
        "run",
        "block",
        *_KEY_HEAD,
        "axes",
        "cells",
        "check verdict",
        "warnings",
        "notes",
        *_VERDICT_HEAD,
        "requirements",
    ]
    for metric in columns:
        head += [_head(metric), f"{metric.column} median", f"{metric.column} n", f"{metric.column} spread [%]"]
    lines = []
    for block, present in zip(blocks, owned, strict=True):
        for one in block.rows:
            row, axes = one.row, zip(block.axes, one.axes, strict=True)
            fields = [state.request.run_id, block.name, *_key_fields(row)]
            fields.append("; ".join(f"{name}={value}" for name, value in axes))
            fields.append(str(sum(cell.counts for cell in row.cells)))
            fields += [row.verdict, _warned(grid, set(row.indexes)), "; ".join(row.notes)]
            fields += _verdict_fields(block, one)
            fields.append("; ".join(row_sentences(one.required)))
            for metric in columns:
                known = row.figure(metric) if metric in present else None
                fields += (
                    [number(row.estimate(metric)), number(known.median), str(known.n), number(known.spread_percent)]
                    if known is not None
                    else ["", "", "0", ""]
                )
            lines.append(fields)
    if not choice.columns:
        kept = _kept(head, lines, len(head) - _OF_A_METRIC * len(columns))
        head, lines = [head[index] for index in kept], [[line[index] for index in kept] for line in lines]
    return written(head, lines, for_spreadsheet=for_spreadsheet)


_OF_A_METRIC, _N = 4, 2
"""Columns of a metric in a summary, and which of them is n: it says something only beside its figure."""


def _kept(head: Sequence[str], lines: Sequence[Sequence[str]], before: int) -> list[int]:
    """Return the columns of a summary that hold something, and all those before the metrics."""

    def is_kept(index: int) -> bool:
        filled = index - _N if (index - before) % _OF_A_METRIC == _N else index
        return index < before or any(line[filled] for line in lines)

    return list(filter(is_kept, range(len(head))))


_VERDICT_HEAD = (
    "baseline",
    "compared",
    "scale",
    "change",
    "low",
    "high",
    "pair n",
    "verdict",
    "more rounds",
    "comparisons",
)


def _verdict_fields(block: Block, row: BlockRow) -> list[str]:
    found = row.compared
    baseline = block.baseline
    if found is None:
        return [baseline, block.metric.column, "", "", "", "", "", "baseline" if row.is_baseline else "", "", ""]
    more = "" if found.verdict is not Verdict.UNDECIDED else f">{MOST_MORE}" if found.more is None else str(found.more)
    figures = (found.change, found.low, found.high)
    verdict = found.verdict.value if found.verdict is not None else verdict_words(found, block.same)
    return [
        baseline,
        block.metric.column,
        found.scale.value,
        *map(number, figures),
        str(found.n),
        verdict,
        more,
        str(block.family),
    ]


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
    return list(texts)


def _warned(grid: Grid, cells: set[int]) -> str:
    """Return the kinds of the warnings on any of these cells, or on the whole run."""
    kinds = (one.kind.value for one in grid.warnings if not one.cells or cells.intersection(one.cells))
    return "; ".join(dict.fromkeys(kinds))


def number(value: float | None) -> str:
    """Return a figure in full, so that it reads back as the same number; empty where there is none."""
    if value is None:
        return ""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def written(head: Sequence[str], lines: Iterable[Sequence[str]], *, for_spreadsheet: bool = False) -> str:
    """Return a document of these lines, all printable.

    For a spreadsheet an apostrophe stands before what it would take for a formula; programs would read it as text.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_guarded(text) if for_spreadsheet else printable(text) for text in line] for line in lines)
    return buffer.getvalue()


def _guarded(text: str) -> str:
    text = printable(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text) else text
