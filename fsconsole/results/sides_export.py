"""A comparison of sides as CSV (a line per row, side and metric) and as one JSON document, in base units."""

from __future__ import annotations

from fsconsole.model.contract import Document, document_text
from fsconsole.model.events import RunStarted
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import Scale
from fsconsole.model.wire import Wire
from fsconsole.results.csv import number, written
from fsconsole.results.environment import Varied
from fsconsole.results.json import ComparedTold, compared_told
from fsconsole.results.sides import SideBlock, SideComparison, SideRow


class ComparedRun(Wire, frozen=True):
    """A run of a side."""

    run_id: str
    title: str
    created_wall_ns: int
    version: str
    machine: tuple[RunStarted, ...]


class SideTold(Wire, frozen=True):
    """A side: a run, several that agree in what is varied, or a published table."""

    side: str
    runs: tuple[ComparedRun, ...]
    published: Publication | None


class DifferenceTold(Wire, frozen=True):
    """A fact in which runs differ, with its value in each run, in their order."""

    vary: Varied | None
    name: str
    values: tuple[str, ...]


class SideFigureTold(Wire, frozen=True):
    """A figure of a row on one side, and its change against the first side's."""

    unit: str
    value: float
    scale: Scale
    change: float | None


class SideRowTold(Wire, frozen=True):
    """One row on one side; cells are the numbers of its cells in each of the side's runs."""

    side: str
    n: int
    cells: tuple[tuple[int, ...], ...]
    figures: dict[str, SideFigureTold]
    compared: ComparedTold | None


class SideGroupTold(Wire, frozen=True):
    """A row on all sides that have it."""

    name: str
    sides: tuple[SideRowTold, ...]


class SideBlockTold(Wire, frozen=True):
    """Rows of one load, of the filesystem's life, or raw."""

    name: str
    metric: Metric | None
    family: int
    same: float
    rows: tuple[SideGroupTold, ...]


class CompareAnswer(Document, frozen=True):
    """The answer of `fsconsole compare --json`; figures are in base units."""

    sides: tuple[SideTold, ...]
    vary: tuple[Varied, ...]
    different: tuple[DifferenceTold, ...]
    notes: tuple[str, ...]
    blocks: tuple[SideBlockTold, ...]


def sides_csv(of: SideComparison, *, for_spreadsheet: bool = False) -> str:
    """Return the figures of metrics; change, its bounds and the verdict are those against the first side.

    Changes are shares of its figure (-0.15: 15 % less), or differences in the unit, as scale says.
    """
    head = "block", "row", "side", "name", "column", "unit", "figure", "n", "scale", "change", "low", "high", "verdict"
    lines = []
    for block in of.blocks:
        for group in block.groups:
            for row in group.rows:
                place = [block.name, group.name, row.side.letter, row.side.name]
                for one in row.figures:
                    compared = row.compared if one.metric is not None and one.metric is block.metric else None
                    lines.append([
                        *place, one.column, one.unit, number(one.value),
                        str(row.n) if one.metric is not None and one.metric is block.metric else "",
                        one.scale.value if one.change is not None else "", number(one.change),
                        *(number(bound) for bound in ((compared.low, compared.high) if compared else (None, None))),
                        compared.verdict.value if compared and compared.verdict else "",
                    ])  # fmt: skip
    return written(head, lines, for_spreadsheet=for_spreadsheet)


def sides_json(of: SideComparison) -> str:
    """Return the comparison as a JSON document."""
    answer = CompareAnswer(
        sides=tuple(SideTold(side.letter, tuple(map(_run, side.runs)), side.publication) for side in of.sides),
        vary=of.vary,
        different=tuple(DifferenceTold(one.kind, one.name, one.values) for one in of.different),
        notes=of.notes,
        blocks=tuple(map(_block, of.blocks)),
    )
    return document_text(answer, indent=2) + "\n"


def _run(run: RunState) -> ComparedRun:
    of = run.request
    return ComparedRun(of.run_id, of.plan.title, of.created_wall_ns, of.version, run.started)


def _block(block: SideBlock) -> SideBlockTold:
    rows = tuple(
        SideGroupTold(group.name, tuple(_row(row, block.same) for row in group.rows)) for group in block.groups
    )
    return SideBlockTold(block.name, block.metric, block.family, block.same, rows)


def _row(row: SideRow, same: float) -> SideRowTold:
    return SideRowTold(
        side=row.side.letter,
        n=row.n,
        cells=tuple(tuple(index + 1 for index in of_run.indexes) for of_run in row.rows),
        figures={
            one.metric.value if one.metric is not None else one.column: SideFigureTold(
                one.unit, one.value, one.scale, one.change
            )
            for one in row.figures
        },
        compared=compared_told(row.compared, same) if row.compared is not None else None,
    )
