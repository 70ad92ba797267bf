"""The grid as a Markdown pipe table (GitHub Flavored Markdown, "Tables"), with warnings and facts below."""

from __future__ import annotations

import re
from itertools import chain

from fsconsole.model.state import RunState
from fsconsole.results.block_tables import (
    OPTIONS_TITLE,
    block_title,
    captions,
    figures_table,
    has_more,
    notes_of,
    options_of,
    pairs_table,
    required_of,
    wide_table,
)
from fsconsole.results.blocks import AS_PLANNED, GridChoice, blocks_of
from fsconsole.results.content import UNITS_NOTE, facts, heading, publication_table, worded
from fsconsole.results.figures import count_cells
from fsconsole.results.grid import Grid
from fsconsole.results.sentences import findings_of
from fsconsole.results.summary import summary_of
from fsconsole.results.table import TableValue
from fsconsole.text import printable

_ACTIVE = re.compile(r"([\\`*_\[\]<>|~&#!$@]|:(?=//))")


def render_markdown(state: RunState, grid: Grid, *, standing: str, choice: GridChoice = AS_PLANNED) -> str:
    """Return the whole report; standing is the run's status in words. Raises what blocks_of() raises."""
    blocks = blocks_of(state, grid, choice)
    first, *others = heading(state, standing)
    lines = [f"## {escaped(first)}", "", *(part for other in others for part in (escaped(other), ""))]
    for block in blocks:
        if block.is_compared or block.columns:
            table = wide_table(block, grid) if block.is_compared else figures_table(block, grid)
            lines += [f"### {escaped(block_title(block))}", "", *pipe_table(table), ""]
        if block.pairs:
            lines += [f"### {escaped(block.name)}: all pairs", "", *pipe_table(pairs_table(block)), ""]
    lines += [] if blocks else ["The plan has no cells.", ""]
    if (of := grid.publication) is not None and has_more(of, blocks):
        lines += [f"### {escaped(of.title)}", "", *pipe_table(publication_table(of.rows)), ""]
    lines += map(escaped, (*captions(blocks, grid, is_reversed=choice.is_reversed), *notes_of(blocks)))
    options = options_of(blocks)
    lines += ["", f"### {OPTIONS_TITLE}", "", *(f"- {escaped(words)}" for words in options)] if options else []
    required = required_of(state, grid, blocks)
    lines += ["", "### Requirements", "", *(f"- {escaped(said)}" for said in required)] if required else []
    summary = summary_of(blocks, grid, count_cells(state).able)
    lines += ["", "### Summary", "", *(f"- {escaped(said)}" for said in summary)] if summary else []
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
    lines += [
        f"- **{escaped(m.column)}**: {escaped(m.help)}" for m in dict.fromkeys(chain(*(b.columns for b in blocks)))
    ]
    lines += ["", *(f"- {escaped(fact)}" for fact in (*facts(state), UNITS_NOTE))]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Return text of which nothing is markup: "a|b" becomes "a\|b" (CommonMark, "Backslash escapes")."""
    return _ACTIVE.sub(r"\\\1", printable(text))


def pipe_table(table: TableValue) -> list[str]:
    """Return the lines of a table."""
    noted = ["notes"] if any(row.notes for row in table.rows) else []
    names = [table.name]
    for head in table.columns:
        per = head.unit if head.unit.startswith("/") else f" [{head.unit}]" if head.unit else ""
        names.append(_code(head.name) if head.is_drawn else escaped(f"{head.name}{per}"))
    rules = ["---:" if column.is_right else "---" for column in table.columns]
    lines = [[*names, *noted], ["---", *rules, *(["---"] if noted else [])]]
    for row in table.rows:
        cells = row.cells or ("",) * len(table.columns)
        notes = ["; ".join(row.notes)] if noted else []
        fields = [
            _code(text) if column.is_drawn else escaped(text) for column, text in zip(table.columns, cells, strict=True)
        ]
        lines.append([escaped(row.name), *fields, *map(escaped, notes)])
    return [f"| {' | '.join(fields)} |" for fields in lines]


def _code(text: str) -> str:
    r"""Return a strip as code in a table, with its spaces: "`  [=*=\|`" (GitHub Flavored Markdown, "Tables")."""
    escaped_pipes = printable(text).replace("|", r"\|")
    return f"`{escaped_pipes}`" if text else ""
