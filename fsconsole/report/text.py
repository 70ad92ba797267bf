"""The grid as plain text of fixed width, with all that a reader must know below it."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.analysis.columns import DEFAULT_COLUMNS
from fsconsole.analysis.grid import Grid
from fsconsole.model.measurement import DEFINITIONS, Metric
from fsconsole.model.state import RunState
from fsconsole.report.about import UNITS_NOTE, facts, heading
from fsconsole.report.cells import cells_of, wrap
from fsconsole.report.content import content_of
from fsconsole.report.marks import Worded, worded
from fsconsole.report.table import LEAST_WIDTH, table_lines

DEFAULT_WIDTH = 80


def render_text(
    state: RunState,
    grid: Grid,
    *,
    standing: str,
    columns: Sequence[Metric] = DEFAULT_COLUMNS,
    width: int = DEFAULT_WIDTH,
) -> str:
    """Return the whole report; no line takes more than width cells (at least 40).

    standing is where the run stands, in words (analysis.status).
    """
    width = max(width, LEAST_WIDTH)
    content = content_of(grid, columns)
    lines = [part for text in heading(state, standing) for part in wrap(text, width)]
    if grid.rows:
        lines += ["", *table_lines("variant", content.heads, content.lines, width), ""]
        lines += [part for sentence in content.caption for part in wrap(sentence, width)]
    else:
        lines += ["", "The plan has no cells."]
    lines += _warnings(worded(grid), width)
    lines += ["", "Columns", *_legend(columns, width), ""]
    lines += [part for fact in (*facts(state), UNITS_NOTE) for part in wrap(fact, width)]
    return "\n".join(lines) + "\n"


def _legend(columns: Sequence[Metric], width: int) -> list[str]:
    definitions = [DEFINITIONS[metric] for metric in columns]
    widest = max(cells_of(definition.column) for definition in definitions)
    return [
        line
        for definition in definitions
        for line in _hanging(f"  {definition.column:<{widest}}  ", definition.help, width)
    ]


def _warnings(warnings: Sequence[Worded], width: int) -> list[str]:
    if not warnings:
        return []
    lines = ["", "Warnings"]
    for warning in warnings:
        said = f"{warning.kind} ({warning.place}): {'; '.join(warning.reasons)}"
        lines += _hanging(f"  {warning.mark or '-'}  ", said, width)
        lines += _hanging(" " * 5 + "-> ", warning.hint, width)
    return lines


def _hanging(lead: str, text: str, width: int) -> list[str]:
    """Return text behind a lead, its further lines under its first."""
    first, *others = wrap(text, width - len(lead))
    return [lead + first, *(" " * len(lead) + other for other in others)]
