"""The lines that tell of cells: one for each that is over, narrow enough for 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsconsole.model.metrics import DEFINITIONS, Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.results.figures import CLEAN, cell_names, cell_word, status_words
from fsconsole.text import cells_of, pad_right, printable, shorten_middle
from fsconsole.units import format_guess, significant

# How long a run will still take.

_TO_COME = frozenset({CellStatus.PENDING, CellStatus.UNKNOWN, CellStatus.STOPPED})


def remaining_s(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> float:
    """Return the seconds that are left, by the mean of the finished cells, or the plan's estimate before.

    now_ns is CLOCK_MONOTONIC. Never negative: a cell that takes longer than the others is about to end. Whoever asks
    often gives mean_cell_s() as per_cell_s.
    """
    if per_cell_s is None:
        per_cell_s = mean_cell_s(state)
    to_come = sum(cell.status in _TO_COME for cell in state.cells)
    left_s = per_cell_s * to_come
    if state.current_cell is not None:
        left_s += max(0.0, per_cell_s - cell_elapsed_s(state.cells[state.current_cell], now_ns))
    return left_s


def cell_elapsed_s(cell: CellState, now_ns: int) -> float:
    """Return the seconds since the cell's first step began; 0 before it."""
    if not cell.steps:
        return 0.0
    return max(0.0, (now_ns - cell.steps[0].started_monotonic_ns) / 1e9)


def mean_cell_s(state: RunState) -> float:
    """Return the seconds that a cell takes, by the mean of the finished ones, or the plan's estimate before."""
    done = [
        sum(step.elapsed_s for step in cell.steps) for cell in state.cells if cell.status is CellStatus.DONE
    ]
    if done:
        return sum(done) / len(done)
    runnable = sum(not cell.unavailable for cell in state.request.plan.cells)
    return state.request.plan.estimate.elapsed_s / max(1, runnable)


# How far the step at hand is, in words.


def is_of(step: StepState, sample: Sample) -> bool:
    """Return whether a sample was taken within a step: one of an earlier step tells nothing of it."""
    return sample.step == step.kind.value and sample.monotonic_ns >= step.started_monotonic_ns


def progress_words(step: StepState, sample: Sample | None) -> str:
    """Return how far a step is by its latest sample: "42 %, about 3 min 05 s left"; empty where nothing tells it."""
    if sample is None or sample.progress is None or not is_of(step, sample):
        return ""
    done, left_s = f"{sample.progress.done_percent:.0f} %", sample.progress.left_s
    return done if left_s is None else f"{done}, about {format_guess(left_s)} left"


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
