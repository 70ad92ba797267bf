"""A whole run as one JSON document: rows with their statistics, and every cell with its raw values and steps."""

from __future__ import annotations

from msgspec import field

from fsconsole.model.answers import VariantAnswer, WorkloadAnswer, variant_answer, workload_answer
from fsconsole.model.contract import Document, document_text
from fsconsole.model.events import CommandFinished, Outcome, RunStarted, WarningKind
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.plan import ArraySpec, Equalise, Order, StepKind
from fsconsole.model.rounds import replaced_cells
from fsconsole.model.run import Target
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.model.verdicts import Compared, Scale, Verdict
from fsconsole.model.wire import Wire
from fsconsole.results.blocks import AS_PLANNED, Block, BlockKind, GridChoice, blocks_of
from fsconsole.results.changes import verdict_words
from fsconsole.results.figures import CheckCost, Noted, check_costs
from fsconsole.results.grid import Grid, GridRow
from fsconsole.results.requirements import Answer, Judged, requirements_of
from fsconsole.results.sentences import RunFindings, findings_of


class RunTold(Wire, frozen=True):
    """A run; plan is the text of its plan file."""

    run_id: str
    title: str
    created_wall_ns: int
    version: str
    standing: str
    status: RunStatus
    outcome: Outcome | None
    """Null until it has ended."""
    reason: str
    hint: str
    exit_code: int | None
    order: Order
    seed: int
    repeats: int
    notes: tuple[str, ...]
    plan: str


class MetricTold(Wire, frozen=True):
    """A metric's column, base unit and help."""

    column: str
    unit: Unit
    help: str


class JudgedTold(Wire, frozen=True):
    """A limit with a row's answer and its one-sided 95 % bounds in the metric's base unit."""

    metric: str
    comparator: str
    value: float
    limit: str
    answer: Answer
    n: int
    low: float | None
    high: float | None
    words: str


class ComparedTold(Wire, frozen=True):
    """A comparison of a row with another one, as model.verdicts has it, and in words."""

    scale: Scale
    own: float
    other: float
    n: int
    change: float
    low: float | None
    high: float | None
    verdict: Verdict | None
    is_small: bool
    more: int | None
    below: float | None
    words: str


class BlockRowTold(Wire, frozen=True):
    """A row of a block; row names that of "rows", which has all its values."""

    name: str
    row: str
    axes: dict[str, str]
    is_baseline: bool
    is_control: bool
    figures: dict[str, float]
    compared: ComparedTold | None
    requirements: tuple[JudgedTold, ...]


class PairTold(Wire, frozen=True):
    """Two rows of a block, compared."""

    row: str
    other: str
    compared: ComparedTold


class BlockTold(Wire, frozen=True):
    """Rows of one load, of the filesystem's life, or raw, compared in one metric."""

    kind: BlockKind
    name: str
    workload: str | None
    metric: Metric
    columns: tuple[Metric, ...]
    axes: tuple[str, ...]
    sorted_by: str | None
    baseline: str | None
    family: int
    same: float
    common: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[BlockRowTold, ...]
    pairs: tuple[PairTold, ...]


class FigureTold(Wire, frozen=True):
    """A row's figure of one metric, in its base unit."""

    unit: Unit
    median: float
    n: int
    spread_percent: float | None
    values: tuple[float, ...]


class RowTold(Wire, frozen=True):
    """Cells that differ in their repeat alone, by their numbers, with the figures of each metric."""

    name: str
    target: str
    array: ArraySpec | None
    setting: dict[str, str]
    variant: VariantAnswer
    workloads: tuple[WorkloadAnswer, ...]
    workload: int | None
    members: tuple[str, ...]
    cells: tuple[int, ...]
    figures: dict[str, FigureTold]
    check_verdict: str
    check_costs: tuple[CheckCost, ...]
    notes: tuple[str, ...]


class RequirementsTold(Wire, frozen=True):
    """Answer of a run to its plan's requirements, with the rows that meet all."""

    answer: str
    met_by: tuple[str, ...]


class MeasurementTold(Wire, frozen=True):
    """One figure in its base unit."""

    metric: Metric
    value: float
    unit: Unit


class StepTold(Wire, frozen=True):
    """A step of a cell; outcome is null until it has ended."""

    number: int
    kind: StepKind
    title: str
    started_monotonic_ns: int
    """CLOCK_MONOTONIC of the boot in which it ran."""
    outcome: Outcome | None
    elapsed_s: float
    reason: str
    verdict: str
    commands: tuple[CommandFinished, ...]
    measurements: tuple[MeasurementTold, ...]


class WarningTold(Wire, frozen=True):
    """A warning with the numbers of its cells; none: the whole run."""

    kind: WarningKind
    reason: str
    hint: str
    cells: tuple[int, ...]


class FeatureTold(Wire, frozen=True):
    """An effective feature or mount option."""

    scope: str
    name: str
    value: str


class CellTold(Wire, frozen=True):
    """A cell as it was planned, and what came of its latest attempt."""

    number: int = field(name="cell")
    target: str
    array: ArraySpec | None
    members: tuple[str, ...]
    variant: str
    repeat: int
    redo: int
    counts: bool
    uuid: str
    equalise: Equalise
    outcome: CellStatus
    attempt: int
    reason: str
    steps: tuple[StepTold, ...]
    features: tuple[FeatureTold, ...]
    warnings: tuple[WarningTold, ...]


class ResultsAnswer(Document, frozen=True):
    """The answer of `fsconsole results --json`; figures are in base units."""

    run: RunTold
    machine: tuple[RunStarted, ...]
    targets: tuple[Target, ...]
    metrics: dict[str, MetricTold]
    blocks: tuple[BlockTold, ...]
    rows: tuple[RowTold, ...]
    requirements: RequirementsTold | None
    findings: RunFindings
    cells: tuple[CellTold, ...]
    warnings: tuple[WarningTold, ...]
    published: Publication | None


def render_json(state: RunState, grid: Grid, *, standing: str, choice: GridChoice = AS_PLANNED) -> str:
    """Return the document of a run, in ASCII. Raises what blocks_of() raises."""
    return document_text(results_answer(state, grid, standing=standing, choice=choice), indent=2) + "\n"


def results_answer(state: RunState, grid: Grid, *, standing: str, choice: GridChoice = AS_PLANNED) -> ResultsAnswer:
    """Return a run with all that is known of it. Raises what blocks_of() raises."""
    required = requirements_of(state, grid)
    return ResultsAnswer(
        run=run_told(state, standing),
        machine=state.started,
        targets=state.request.targets,
        metrics={each.value: MetricTold(each.column, each.unit, each.help) for each in Metric},
        blocks=tuple(map(_block, blocks_of(state, grid, choice))),
        rows=tuple(map(_row, grid.rows)),
        requirements=RequirementsTold(required.answer, tuple(required.meeting)) if required.answer else None,
        findings=findings_of(state, grid),
        cells=cells_told(state),
        warnings=tuple(map(_warning, grid.warnings)),
        published=grid.publication,
    )


def run_told(state: RunState, standing: str) -> RunTold:
    """Return a run's head."""
    request, plan = state.request, state.request.plan
    return RunTold(
        request.run_id,
        plan.title,
        request.created_wall_ns,
        request.version,
        standing,
        state.status,
        state.outcome,
        state.reason,
        state.hint,
        state.exit_code,
        plan.order,
        plan.seed,
        plan.repeats,
        plan.notes,
        plan.source,
    )


def _block(block: Block) -> BlockTold:
    return BlockTold(
        kind=block.kind,
        name=block.name,
        workload=block.load.name if block.load else None,
        metric=block.metric,
        columns=block.columns,
        axes=block.axes,
        sorted_by=block.sorted_by or None,
        baseline=block.baseline or None,
        family=block.family,
        same=block.same,
        common=block.common,
        notes=block.notes,
        rows=tuple(
            BlockRowTold(
                name=one.name,
                row=one.row.name,
                axes=dict(zip(block.axes, one.axes, strict=True)),
                is_baseline=one.is_baseline,
                is_control=one.is_control,
                figures={
                    metric.value: figure
                    for metric in dict.fromkeys((block.metric, *block.columns))
                    if (figure := one.row.estimate(metric)) is not None
                },
                compared=compared_told(one.compared, block.same) if one.compared else None,
                requirements=tuple(map(_judged, one.required)),
            )
            for one in block.rows
        ),
        pairs=tuple(PairTold(one.row, one.other, compared_told(one.compared, block.same)) for one in block.pairs),
    )


def compared_told(compared: Compared, same: float) -> ComparedTold:
    """Return a comparison with its words; same is the share within which a difference is the same."""
    figures = {name: getattr(compared, name) for name in ComparedTold.__struct_fields__ if name != "words"}
    return ComparedTold(**figures, words=verdict_words(compared, same))


def _judged(one: Judged) -> JudgedTold:
    of = one.requirement
    return JudgedTold(
        of.column, of.comparator.value, of.value, of.limit, one.answer, one.n, one.low, one.high, one.words
    )


def _row(row: GridRow) -> RowTold:
    key = row.key
    return RowTold(
        name=row.name,
        target=key.target,
        array=key.array,
        setting=dict(key.setting.values),
        variant=variant_answer(key.variant),
        workloads=tuple(map(workload_answer, key.workloads)),
        workload=key.workload,
        members=key.members,
        cells=tuple(figures.cell + 1 for figures in row.cells),
        figures={
            metric.value: FigureTold(metric.unit, one.median, one.n, one.spread_percent, tuple(one.values))
            for metric, one in row.figures
        },
        check_verdict=row.verdict,
        check_costs=check_costs(row.cells),
        notes=row.notes,
    )


def cells_told(state: RunState) -> tuple[CellTold, ...]:
    """Return every cell of a run."""
    replaced = replaced_cells(state)
    return tuple(_cell(state, cell, counts=cell.index not in replaced) for cell in state.cells)


def _cell(state: RunState, cell: CellState, *, counts: bool) -> CellTold:
    planned = state.request.plan.cells[cell.index]
    return CellTold(
        number=cell.index + 1,
        target=planned.target,
        array=planned.array,
        members=planned.members,
        variant=planned.variant.label,
        repeat=planned.repeat,
        redo=planned.redo,
        counts=counts,
        uuid=planned.uuid,
        equalise=planned.equalise,
        outcome=cell.status,
        attempt=cell.attempt,
        reason=cell.reason,
        steps=tuple(
            StepTold(
                step.number, step.kind, step.title, step.started_monotonic_ns, step.outcome, step.elapsed_s, step.reason, step.verdict,
                step.commands, tuple(MeasurementTold(each.metric, each.value, each.unit) for each in step.measurements),
            )
            for step in cell.steps
        ),
        features=tuple(FeatureTold(each.scope, each.name, each.value) for each in cell.features),
        warnings=tuple(WarningTold(each.kind, each.reason, each.hint, (cell.index + 1,)) for each in cell.warnings),
    )  # fmt: skip


def _warning(noted: Noted) -> WarningTold:
    return WarningTold(noted.kind, noted.reason, noted.hint, tuple(cell + 1 for cell in noted.cells))
