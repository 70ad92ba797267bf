"""The grid as a Markdown pipe table (GitHub Flavored Markdown, "Tables"), with warnings and facts below."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.results.content import UNITS_NOTE, caption_of, facts, heading, table_of, worded
from fsconsole.results.grid import DEFAULT_COLUMNS, Grid
from fsconsole.results.sentences import findings_of
from fsconsole.results.table import TableValue
from fsconsole.text import printable

_ACTIVE = re.compile(r"([\\`*_\[\]<>|~&#!$@]|:(?=//))")


def render_markdown(state: RunState, grid: Grid, *, standing: str, columns: Sequence[Metric] = DEFAULT_COLUMNS) -> str:
    """Return the whole report; standing is the run's status in words."""
    first, *others = heading(state, standing)
    lines = [f"## {escaped(first)}", "", *(part for other in others for part in (escaped(other), ""))]
    lines += _table(table_of(grid, columns)) if grid.rows else ["The plan has no cells."]
    lines += ["", *map(escaped, caption_of(grid))]
    if (found := findings_of(state, grid)).heading:
        lines += ["", escaped(found.heading), ""]
        lines += [f"- {escaped(sentence.text)} ({escaped(sentence.figures)})" for sentence in found.sentences]
    warnings = worded(grid)
    if warnings:
        lines += ["", "### Warnings", ""]
    for warning in warnings:
        said = escaped(f"({warning.place}): {'; '.join(warning.reasons)}. {warning.hint}")
        lines.append(f"- {warning.mark} **{escaped(warning.kind)}** {said}".replace("-  **", "- **"))
    lines += ["", "### Columns", ""]
    lines += [f"- **{escaped(m.column)}**: {escaped(m.help)}" for m in columns]
    lines += ["", *(f"- {escaped(fact)}" for fact in (*facts(state), UNITS_NOTE))]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return text of which nothing is markup: "a|b" becomes "a\|b" (CommonMark, "Backslash escapes")."""
    return _ACTIVE.sub(r"\\\1", printable(text))


def _table(table: TableValue) -> list[str]:
    noted = ["notes"] if any(row.notes for row in table.rows) else []
    names = [table.name]
    for head in table.columns:
        per = head.unit if head.unit.startswith("/") else f" [{head.unit}]" if head.unit else ""
        names.append(escaped(f"{head.name}{per}"))
    lines = [[*names, *noted], ["---", *["---:"] * len(table.columns), *(["---"] if noted else [])]]
    for row in table.rows:
        cells = row.cells or ("",) * len(table.columns)
        notes = ["; ".join(row.notes)] if noted else []
        lines.append([escaped(text) for text in (row.name, *cells, *notes)])
    return [f"| {' | '.join(fields)} |" for fields in lines]
