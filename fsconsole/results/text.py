"""The grid as plain text of fixed width; the table comes last, so that 24 lines still show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.results.content import (
    UNITS_NOTE,
    Worded,
    content_of,
    facts,
    hanging,
    heading,
    warning_lines,
    worded,
)
from fsconsole.results.grid import DEFAULT_COLUMNS, Grid
from fsconsole.results.table import LEAST_WIDTH, table_lines
from fsconsole.text import cells_of, wrap

_MORE = "`fsconsole results --explain`: what columns mean, what to do about warnings."


@dataclass(frozen=True, slots=True)
class ReportPage:
    """How wide the report is (at least LEAST_WIDTH), and whether it explains columns and warnings."""

    width: int = 80
    explain: bool = False


def render_text(
    state: RunState,
    grid: Grid,
    *,
    standing: str,
    columns: Sequence[Metric] = DEFAULT_COLUMNS,
    page: ReportPage = ReportPage(),
) -> str:
    """Return the report; no line takes more than the page's cells.

    standing is where the run stands, in words (analysis.status).
    """
    width = max(page.width, LEAST_WIDTH)
    content = content_of(grid, columns)
    lines = _wrapped((*heading(state, standing), *facts(state)), width)
    if grid.rows:
        lines += ["", *table_lines("variant", content.heads, content.lines, width), ""]
        first, *others = content.caption
        lines += _wrapped((first, " ".join((*others, UNITS_NOTE))), width)
    else:
        lines += ["", "The plan has no cells."]
    lines += _warnings(worded(grid), width, hints=page.explain)
    lines += _legend(columns, width) if page.explain else ["", *_wrapped((_MORE,), width)]
    return "\n".join(lines) + "\n"


def _wrapped(sentences: Sequence[str], width: int) -> list[str]:
    return [part for sentence in sentences for part in wrap(sentence, width)]


def _legend(columns: Sequence[Metric], width: int) -> list[str]:
    widest = max(cells_of(metric.column) for metric in columns)
    lines = ["", "Columns"]
    for metric in columns:
        lines += hanging(f"  {metric.column:<{widest}}  ", metric.help, width)
    return lines


def _warnings(warnings: Sequence[Worded], width: int, *, hints: bool) -> list[str]:
    if not warnings:
        return []
    lines = ["", "Warnings"]
    for warning in warnings:
        lines += warning_lines(warning, width, indent="  ", hint=hints)
    return lines
