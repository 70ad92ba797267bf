"""The lines that tell of cells: one for each that is over, narrow enough for 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsconsole.analysis.figures import CLEAN
from fsconsole.analysis.names import cell_names
from fsconsole.analysis.status import cell_word, status_words
from fsconsole.model.measurement import DEFINITIONS, Metric
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.model.step import StepKind
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of, pad_right, shorten_middle
from fsconsole.units import significant

_FIGURES = (Metric.WRITE, Metric.DURABLE)
"""Rates both; the others stand in the grid."""
_RATE_CELLS = 4
_CONSOLE_CELLS = 80
_FIGURE_CELLS = sum(len(f"  {DEFINITIONS[metric].column}  MB/s") + _RATE_CELLS for metric in _FIGURES)
_OVER = frozenset(CellStatus) - {CellStatus.PENDING, CellStatus.RUNNING}


def plain_lines(previous: RunState | None, state: RunState) -> tuple[str, ...]:
    """Return what is worth a line since the previous state: cells that began or ended, and the run's end."""
    names = _padded_names(state, shorten=False)
    lines = []
    for cell in _changed(previous, state):
        if cell.status is CellStatus.RUNNING:
            lines.append(f"{_head(state, cell.index, names)}  begun")
        else:
            lines += _ending(state, cell, names)
    was = previous.status if previous is not None else RunStatus.NEW
    if state.status is RunStatus.FINISHED and was is not RunStatus.FINISHED:
        lines.append(f"run {state.request.run_id}: {status_words(state, alive=False)}")
    return tuple(map(printable, lines))


def finished_lines(previous: RunState | None, state: RunState) -> tuple[str, ...]:
    """Return a line for each cell that is over since the previous state: 80 columns where it went well."""
    names = _padded_names(state, shorten=True)
    over = [cell for cell in _changed(previous, state) if cell.status in _OVER]
    return tuple(printable(line) for cell in over for line in _ending(state, cell, names))


def _changed(previous: RunState | None, state: RunState) -> Iterator[CellState]:
    for index, cell in enumerate(state.cells):
        before = previous.cells[index] if previous is not None else CellState(index)
        if (cell.status, cell.attempt) != (before.status, before.attempt) and (
            cell.status in _OVER or cell.status is CellStatus.RUNNING
        ):
            yield cell


def _padded_names(state: RunState, *, shorten: bool) -> tuple[str, ...]:
    """Return the cells' names, equally wide up to a limit; with shorten none is longer than that."""
    names = [printable(name) for name in cell_names(state.request.plan)]
    # So much of a console of 80 columns is left beside the figures.
    room = _CONSOLE_CELLS - _FIGURE_CELLS - cells_of(_head(state, len(state.cells) - 1, [""] * len(names)))
    widest = min(room, max(map(cells_of, names), default=0))
    fitted = [shorten_middle(name, widest) if shorten else name for name in names]
    return tuple(pad_right(name, widest) for name in fitted)


def _ending(state: RunState, cell: CellState, names: tuple[str, ...]) -> Iterator[str]:
    """Yield a cell's line, and another where it warned of what no cell before it did."""
    head = _head(state, cell.index, names)
    if cell.status is CellStatus.DONE:
        yield "  ".join([head, *(_figure(cell, metric) for metric in _FIGURES), *_verdicts(cell)])
    else:
        yield f"{head}  {cell_word(cell.status)}" + (f": {cell.reason}" if cell.reason else "")
    known = {kind for other in state.cells[: cell.index] for kind in _kinds(other)}
    news = [kind for kind in _kinds(cell) if kind not in known]
    if news:
        yield f"    warned of: {', '.join(news)}"


def _kinds(cell: CellState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(warning.kind.value.replace("-", " ") for warning in cell.warnings))


def _figure(cell: CellState, metric: Metric) -> str:
    value = cell.value(metric)
    figure = "-" if value is None else significant(value / 1e6)
    return f"{DEFINITIONS[metric].column} {figure:>{_RATE_CELLS}} MB/s"


def _verdicts(cell: CellState) -> list[str]:
    """Return what the check found, unless it found nothing."""
    found = [step.verdict for step in cell.steps if step.kind is StepKind.CHECK and step.verdict]
    return [f"check: {verdict}" for verdict in found if verdict != CLEAN]


def _head(state: RunState, index: int, names: Sequence[str]) -> str:
    total = str(len(state.cells))
    repeat = f" #{state.request.plan.cells[index].repeat}" if state.request.plan.repeats > 1 else ""
    return f"{index + 1:>{len(total)}}/{total} {names[index]}{repeat}"
