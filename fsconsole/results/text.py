"""The grid as plain text of fixed width; the table comes last, so that 24 lines still show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.metrics import RAW_DEPTHS, Metric
from fsconsole.model.state import RunState
from fsconsole.results.content import (
    UNITS_NOTE,
    caption_of,
    check_words,
    cpu_words,
    crash_words,
    facts,
    hanging,
    heading,
    pilot_words,
    table_of,
    warning_lines,
    worded,
)
from fsconsole.results.grid import DEFAULT_COLUMNS, Grid, pilot_of
from fsconsole.results.sentences import findings_lines, findings_of
from fsconsole.results.table import LEAST_WIDTH, table_lines
from fsconsole.text import cells_of, printable, wrap

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
    """Return the report; no line takes more than the page's cells; standing is the run's status in words."""
    width = max(page.width, LEAST_WIDTH)
    lines = _wrapped((*heading(state, standing), *facts(state)), width)
    warned = ["", "Warnings"] if grid.warnings else []
    for warning in worded(grid):
        warned += warning_lines(warning, width, indent="  ", hint=page.explain)
    # What comes last is what a terminal still shows: the figures, or, where asked for, what they mean.
    lines += [] if page.explain else warned
    if grid.rows:
        first, *others = caption_of(grid)
        lines += ["", *table_lines(table_of(grid, columns), width), ""]
        lines += _wrapped((first, " ".join((*others, UNITS_NOTE))), width)
    else:
        lines += ["", "The plan has no cells."]
    crashes = {row.indexes: f"{row.name}: {words}" for row in grid.rows if (words := crash_words(row))}
    lines += ["", "Crashes"] if crashes else []
    for said in crashes.values():
        lines += hanging("  ", printable(said.replace(": crash:", ":")), width)
    if page.explain:
        lines += warned
        widest = max(cells_of(metric.column) for metric in columns)
        lines += ["", "Columns"]
        for metric in columns:
            lines += hanging(f"  {metric.column:<{widest}}  ", metric.help, width)
        shares = [f"{row.name}: {words.removeprefix('CPU: ')}" for row in grid.rows if (words := cpu_words(row))]
        lines += ["", "CPU"] if shares else []
        for said in shares:
            lines += hanging("  ", printable(said), width)
        pilots = {row.name: pilot for row in grid.rows if (pilot := pilot_of(state, row.key, row.cells[0].cell))}
        depths = ", ".join(map(str, RAW_DEPTHS))
        lines += ["", *_wrapped((f"Pilots of raw streams, {depths} direct calls at a time",), width)] if pilots else []
        for name, pilot in pilots.items():
            lines += hanging("  ", printable(f"{name}: {pilot_words(pilot)}"), width)
        # A cell with several workloads has a row for each, and one check.
        checks = {row.indexes: f"{row.name}: {words}" for row in grid.rows if (words := check_words(row))}
        lines += ["", *_wrapped(("Checks, from an empty and a filled filesystem",), width)] if checks else []
        for said in checks.values():
            lines += hanging("  ", printable(said), width)
    else:
        lines += ["", *_wrapped((_MORE,), width)]
    shown = findings_lines(findings_of(state, grid), width)
    lines += ["", *shown] if shown else []
    return "\n".join(lines) + "\n"


def _wrapped(sentences: Sequence[str], width: int) -> list[str]:
    return [part for sentence in sentences for part in wrap(sentence, width)]
