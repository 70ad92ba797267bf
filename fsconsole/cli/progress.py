"""The live view of a run in a terminal, and its plain lines for everywhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fsconsole.analysis.eta import remaining_s
from fsconsole.analysis.names import cell_names
from fsconsole.analysis.status import place, status_words
from fsconsole.cli.follow import POLL_S, View
from fsconsole.cli.gauges import gauge_lines
from fsconsole.journal.batch import Batch
from fsconsole.model.measurement import DEFINITIONS, Metric, Unit
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.plaintext import printable
from fsconsole.report.cells import shorten_middle, wrap
from fsconsole.units import format_rate, format_seconds

_FIGURES = (Metric.WRITE, Metric.DURABLE, Metric.CHECK, Metric.DELETE)
_OVER = frozenset(CellStatus) - {CellStatus.PENDING, CellStatus.RUNNING}


def render(state: RunState, now_ns: int, width: int) -> RenderableType:
    """Return where a run stands, at most a dozen lines of at most width cells; now_ns is CLOCK_MONOTONIC."""
    lines = [Text(shorten_middle(line, width), no_wrap=True) for line in _lines(state, now_ns)]
    lines[0].stylize("bold")
    return Group(*lines)


def plain_lines(previous: RunState | None, state: RunState, *, begun: bool = True) -> tuple[str, ...]:
    """Return what is worth a line since the previous state: cells that ended, the run's end, and cells that began."""
    names = cell_names(state.request.plan)
    lines = []
    for index, cell in enumerate(state.cells):
        before = previous.cells[index] if previous is not None else CellState(index)
        if (cell.status, cell.attempt) == (before.status, before.attempt):
            continue
        if cell.status is CellStatus.RUNNING and begun:
            lines.append(f"{_number(state, index)}: {names[index]}{_repeat(state, index)}")
        elif cell.status in _OVER:
            lines.append(_ending(state, cell, names[index]))
    was = previous.status if previous is not None else RunStatus.NEW
    if state.status is RunStatus.FINISHED and was is not RunStatus.FINISHED:
        lines.append(f"run {state.request.run_id}: {status_words(state, alive=False)}")
    return tuple(map(printable, lines))


@contextmanager
def progress_view(stream: TextIO | None = None) -> Iterator[View]:
    """Give the view that fits the stream (stdout): live on a terminal, plain lines elsewhere and on TERM=dumb.

    On leaving, the live part is gone from the screen and the lines of the finished cells stay.
    """
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        yield PlainView(stream)
        return
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield LiveView(live)


class PlainView:
    """Writes plain_lines to a stream, each flushed. Raises BrokenPipeError where its reader is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._previous: RunState | None = None

    def show(self, state: RunState, _batch: Batch) -> None:
        """Write what is new."""
        for line in plain_lines(self._previous, state):
            self._stream.write(line + "\n")
            self._stream.flush()
        self._previous = state


class LiveView:
    """Paints render() at most four times a second, with the lines of finished cells above."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._previous: RunState | None = None
        self._painted_s = 0.0

    def show(self, state: RunState, _batch: Batch) -> None:
        """Print what is new and paint where the run stands."""
        console = self._live.console
        for line in plain_lines(self._previous, state, begun=False):
            # Wrapped, not shortened: the figures would go first.
            console.print(Text("\n".join(wrap(line, console.width, max_lines=3)), no_wrap=True))
        self._previous = state
        now_s = time.monotonic()
        if now_s - self._painted_s >= POLL_S:
            self._painted_s = now_s
            self._live.update(render(state, time.monotonic_ns(), console.width), refresh=True)


def _lines(state: RunState, now_ns: int) -> list[str]:
    request = state.request
    title = printable(f"{request.plan.title} ({request.run_id})")
    if state.current_cell is None:
        return [title, *_left(state, now_ns, place(state))]
    index = state.current_cell
    name = cell_names(request.plan)[index]
    cell = printable(
        f"{_number(state, index)}: {name}{_repeat(state, index)} on {request.plan.cells[index].target}"
    )
    return [
        title,
        cell,
        _step(state, now_ns),
        *gauge_lines(state.last_sample, now_ns),
        *_left(state, now_ns, ""),
    ]


def _step(state: RunState, now_ns: int) -> str:
    step = state.current_step
    if step is None:
        return "step    -"
    elapsed_s = max(0.0, (now_ns - step.started_monotonic_ns) / 1e9)
    return printable(f"step    {step.kind.value} for {format_seconds(elapsed_s)}: {step.title}")


def _left(state: RunState, now_ns: int, standing: str) -> list[str]:
    if state.status is RunStatus.FINISHED:
        return [printable(f"run     {status_words(state, alive=False)}")]
    measured = any(cell.status is CellStatus.DONE for cell in state.cells)
    ground = "by the cells so far" if measured else "by the plan's estimate"
    left_s = round(remaining_s(state, now_ns))
    # A guess has no digits behind the point.
    left = f"left    about {f'{left_s} s' if left_s < 100 else format_seconds(left_s)}, {ground}"
    paused = ["paused; the cell at hand is finished first"] if state.status is RunStatus.PAUSED else []
    return [*([standing] if standing else []), left, *paused]


def _ending(state: RunState, cell: CellState, name: str) -> str:
    what = f"{_number(state, cell.index)} {cell.status.value}: {name}{_repeat(state, cell.index)}"
    if cell.status is not CellStatus.DONE:
        return f"{what}: {cell.reason}" if cell.reason else what
    figures = [_figure(cell, metric) for metric in _FIGURES if cell.value(metric) is not None]
    kinds = dict.fromkeys(warning.kind.value for warning in cell.warnings)
    warned = [f"warned of: {', '.join(kinds)}"] if kinds else []
    return "; ".join([what, *([", ".join(figures)] if figures else []), *warned])


def _figure(cell: CellState, metric: Metric) -> str:
    value = cell.value(metric) or 0.0
    definition = DEFINITIONS[metric]
    text = format_rate(value) if definition.unit is Unit.BYTES_PER_S else format_seconds(value)
    verdicts = [step.verdict for step in cell.steps if metric is Metric.CHECK and step.kind.value == "check"]
    return " ".join([definition.column, text, *(verdict for verdict in verdicts if verdict)])


def _number(state: RunState, index: int) -> str:
    return f"cell {index + 1} of {len(state.cells)}"


def _repeat(state: RunState, index: int) -> str:
    plan = state.request.plan
    return f" (repeat {plan.cells[index].repeat} of {plan.repeats})" if plan.repeats > 1 else ""
