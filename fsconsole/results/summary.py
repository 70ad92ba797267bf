"""Summary of a report: the rows of each block by verdict, and the disturbed cells."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.rounds import CAUSES
from fsconsole.model.verdicts import Compared, Scale, Verdict
from fsconsole.results.blocks import Block, BlockRow
from fsconsole.results.changes import change_text
from fsconsole.results.grid import Grid
from fsconsole.text import counted, printable

_MOST_NAMES = 6
LEAST_DISTURBED = 0.25
"""Share of cells from which on the run as a whole is called disturbed."""
_SPEEDS = frozenset({Unit.BYTES_PER_S, Unit.PER_SECOND, Unit.SECONDS, Unit.MILLISECONDS})


def summary_of(blocks: Sequence[Block], grid: Grid, cells: int) -> tuple[str, ...]:
    """Return a sentence per block with verdicts, and one if many of the cells that can run were disturbed; none without verdicts."""
    said = [sentence for block in blocks if (sentence := _sentence(block))]
    if said and (disturbed := disturbed_count_words(grid, cells)):
        kinds = dict.fromkeys(warning.kind.words for warning in grid.warnings if warning.kind in CAUSES)
        said.append(f"{disturbed} ({', '.join(kinds)}). Run it again while nothing else runs.")
    return tuple(said)


def disturbed_count_words(grid: Grid, cells: int) -> str:
    """Return how many of the cells that can run were disturbed, if that is a quarter of them; empty where fewer were."""
    disturbed = {cell for warning in grid.warnings if warning.kind in CAUSES for cell in warning.cells}
    is_told = bool(disturbed) and len(disturbed) >= LEAST_DISTURBED * cells
    return f"Disturbed: {len(disturbed)} of {cells} cells" if is_told else ""


def _sentence(block: Block) -> str:
    """Return a block's rows by verdict: "mail, durable, against ext4: none faster; slower: btrfs -91%; undecided: xfs"."""
    rows: dict[Verdict, list[BlockRow]] = {}
    for row in block.rows:
        if row.compared is not None and row.compared.verdict is not None:
            rows.setdefault(row.compared.verdict, []).append(row)
    if not rows:
        return ""
    told = [f"{verdict.value}: {_names(rows[verdict], block.metric)}" for verdict in Verdict if verdict in rows]
    if block.metric.unit in _SPEEDS and Verdict.FASTER not in rows:
        told.insert(0, "none faster")
    return printable(f"{block.name}, {block.metric.column}, against {block.baseline}: {'; '.join(told)}.")


def _names(rows: Sequence[BlockRow], metric: Metric) -> str:
    names = [row.title + _amount(row.compared, metric) for row in rows[:_MOST_NAMES] if row.compared is not None]
    return ", ".join(names) + (f" and {len(rows) - _MOST_NAMES} more" if len(rows) > _MOST_NAMES else "")


def _amount(compared: Compared, metric: Metric) -> str:
    """Return how much a row differs, or how many more rounds would decide it: " -52%", " 5.3 x", " (7 more rounds)"."""
    if compared.verdict is Verdict.UNDECIDED:
        return f" ({counted(compared.more, 'more round')})" if compared.more else ""
    if compared.verdict is Verdict.SAME or compared.scale is not Scale.RATIO:
        return ""
    change = change_text(compared, metric).partition(" [")[0].strip()
    return f" {change}" if change.endswith("x") else f" {change}%"
