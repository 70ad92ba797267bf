"""The grid as plain text of fixed width; verdicts come last, so that 24 lines still show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsconsole.model.metrics import RAW_DEPTHS
from fsconsole.model.state import RunState
from fsconsole.results.block_tables import (
    OPTIONS_TITLE,
    WIDE,
    block_title,
    brief,
    captions,
    figures_table,
    fitted,
    has_more,
    notes_of,
    options_of,
    pairs_table,
    required_of,
    verdict_table,
    verdict_title,
    wide_table,
)
from fsconsole.results.blocks import AS_PLANNED, Block, BlockKind, BlockRow, GridChoice, blocks_of
from fsconsole.results.changes import verdict_terms
from fsconsole.results.content import (
    UNITS_NOTE,
    check_words,
    cpu_words,
    crash_words,
    facts,
    heading,
    pilot_words,
    publication_table,
    warning_lines,
    worded,
)
from fsconsole.results.figures import count_cells
from fsconsole.results.grid import Grid, pilot_of
from fsconsole.results.sentences import findings_lines, findings_of
from fsconsole.results.summary import summary_of
from fsconsole.results.table import LEAST_WIDTH, table_lines
from fsconsole.text import cells_of, hanging, printable, wrap

_MORE = "`fsconsole results --explain`: what columns mean, what to do about warnings."


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Layout of the report: its width (at least LEAST_WIDTH), and True if it explains columns and warnings."""

    width: int = 80
    explain: bool = False


def render_text(
    state: RunState,
    grid: Grid,
    *,
    standing: str,
    choice: GridChoice = AS_PLANNED,
    page: ReportPage = ReportPage(),
) -> str:
    """Return the report; no line takes more than the page's cells; standing is the run's status in words.

    Raises what blocks_of() raises.
    """
    width, blocks = max(page.width, LEAST_WIDTH), blocks_of(state, grid, choice)
    lines = _wrapped((*heading(state, standing), *facts(state)), width)
    warned = ["", "Warnings"] if grid.warnings else []
    for warning in worded(grid):
        warned += warning_lines(warning, width, indent="  ", hint=page.explain)
    # What comes last is what a terminal still shows: the verdicts, or, where asked for, what columns mean.
    lines += [] if page.explain else warned
    lines += _tables(blocks, grid, width, choice) if blocks else ["", "The plan has no cells."]
    required = required_of(state, grid, blocks)
    lines += ["", "Requirements"] if required else []
    for said in required:
        lines += hanging("  ", said, width)
    crashes = {row.title: words for row in _of_kind(blocks, BlockKind.LIFE) if (words := crash_words(row.row))}
    lines += _section("Crashes", {name: words.removeprefix("crash: ") for name, words in crashes.items()}, width)
    if page.explain:
        lines += [*warned, *_explained(state, blocks, width)]
    else:
        lines += ["", *_wrapped((_MORE,), width)]
    summary = summary_of(blocks, grid, count_cells(state).able)
    lines += ["", "Summary"] if summary else []
    for said in summary:
        lines += hanging("  ", said, width)
    shown = findings_lines(findings_of(state, grid), width)
    lines += ["", *shown] if shown else []
    return "\n".join(lines) + "\n"


def _tables(blocks: Sequence[Block], grid: Grid, width: int, choice: GridChoice) -> list[str]:
    """Return figures, then verdicts of all blocks, with what they are; on wide pages both in one table."""
    lines: list[str] = []
    for block in blocks:
        is_wide = width >= WIDE and block.is_compared
        if is_wide or block.columns:
            if is_wide:
                table = wide_table(block, grid)
            else:
                table = figures_table(block, grid) if choice.columns else fitted(block, grid, width)
            # Why a row has no figures is told whole once.
            table = brief(table) if lines else table
            lines += ["", *_wrapped((block_title(block),), width), *table_lines(table, width)]
    said = (*captions(blocks, grid, is_reversed=choice.is_reversed), UNITS_NOTE)
    lines += ["", *_wrapped((" ".join(said),), width)]
    if (of := grid.publication) is not None and has_more(of, blocks):
        title = f"Published, in columns of its own too: {of.title}"
        lines += ["", *_wrapped((printable(title),), width), *table_lines(publication_table(of.rows), width)]
    for block in blocks:
        if block.is_compared and width < WIDE:
            lines += ["", *_wrapped((verdict_title(block),), width)]
            lines += table_lines(brief(verdict_table(block, width)), width, is_plain=True)
        if block.pairs:
            lines += ["", *_wrapped((f"{verdict_title(block)}: all pairs",), width)]
            lines += table_lines(pairs_table(block), width, is_plain=True)
    told = _wrapped((" ".join(notes_of(blocks)),), width) if notes_of(blocks) else []
    lines += ["", *told] if told else []
    options = options_of(blocks)
    lines += ["", OPTIONS_TITLE] if options else []
    return [*lines, *(line for words in options for line in hanging("  ", words, width))]


def _explained(state: RunState, blocks: Sequence[Block], width: int) -> list[str]:
    """Return what columns mean, and details of rows: CPU, pilots of raw streams, costs of checks."""
    columns = {metric.column: metric.help for block in blocks for metric in block.columns}
    widest = max(map(cells_of, columns), default=0)
    lines = ["", "Columns"] if columns else []
    for name, meaning in columns.items():
        lines += hanging(f"  {name:<{widest}}  ", meaning, width)
    if any(block.is_compared for block in blocks):
        lines += _section("Verdicts", verdict_terms(blocks[0].same), width)
    is_one = len([block for block in blocks if block.kind is BlockKind.LOAD]) == 1
    shares = {
        row.title if is_one else f"{row.title}, {block.name}": words.removeprefix("CPU: ")
        for block in blocks
        if block.kind is BlockKind.LOAD
        for row in block.rows
        if (words := cpu_words(row.row))
    }
    lines += _section("CPU", shares, width)
    pilots = {
        row.row.name: pilot_words(pilot)
        for row in _of_kind(blocks, BlockKind.RAW)
        if (pilot := pilot_of(state, row.row.key, row.row.cells[0].cell))
    }
    depths = ", ".join(map(str, RAW_DEPTHS))
    lines += _section(f"Pilots of raw streams, {depths} direct calls at a time", pilots, width)
    checks = {row.title: words for row in _of_kind(blocks, BlockKind.LIFE) if (words := check_words(row.row))}
    return lines + _section("Checks, from an empty and a filled filesystem", checks, width)


def _of_kind(blocks: Sequence[Block], kind: BlockKind) -> list[BlockRow]:
    return [row for block in blocks if block.kind is kind for row in block.rows]


def _section(title: str, told: Mapping[str, str], width: int) -> list[str]:
    """Return lines about rows under a title; none where nothing is told."""
    lines = ["", *_wrapped((title,), width)] if told else []
    for name, words in told.items():
        lines += hanging("  ", printable(f"{name}: {words}"), width)
    return lines


def _wrapped(sentences: Sequence[str], width: int) -> list[str]:
    return [part for sentence in sentences for part in wrap(printable(sentence), width, max_lines=_ANY_LINES)]


_ANY_LINES = 100
