"""The grid as a Markdown pipe table (GitHub Flavored Markdown, "Tables"), with warnings and facts below."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.results.content import UNITS_NOTE, content_of, facts, heading, worded
from fsconsole.results.grid import DEFAULT_COLUMNS, Grid
from fsconsole.results.table import Head, PrintedRow
from fsconsole.text import printable

_ACTIVE = re.compile(r"([\\`*_\[\]<>|~&#!$@]|:(?=//))")


def render_markdown(
    state: RunState, grid: Grid, *, standing: str, columns: Sequence[Metric] = DEFAULT_COLUMNS
) -> str:
    """Return the whole report; standing is the run's status in words."""
    content = content_of(grid, columns)
    first, *others = heading(state, standing)
    lines = [f"## {escaped(first)}", "", *(part for other in others for part in (escaped(other), ""))]
    lines += _table(content.heads, content.lines) if grid.rows else ["The plan has no cells."]
    lines += ["", *(escaped(sentence) for sentence in content.caption)]
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


def _table(heads: Sequence[Head], lines: Sequence[PrintedRow]) -> list[str]:
    noted = any(line.notes for line in lines)
    names = ["variant", *map(_head, heads), *(["notes"] if noted else [])]
    rules = ["---", *["---:"] * len(heads), *(["---"] if noted else [])]
    return [_piped(names), _piped(rules), *(_piped(_fields(line, len(heads), noted=noted)) for line in lines)]


def _head(head: Head) -> str:
    if head.unit.startswith("/"):
        return escaped(f"{head.name}{head.unit}")
    return escaped(f"{head.name} [{head.unit}]" if head.unit else head.name)


def _fields(line: PrintedRow, figures: int, *, noted: bool) -> list[str]:
    cells = line.cells or ("",) * figures
    notes = ["; ".join(line.notes)] if noted else []
    return [escaped(text) for text in (line.name, *cells, *notes)]


def _piped(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"
