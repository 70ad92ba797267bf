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
from fsconsole.analysis.progress import progress_words
from fsconsole.analysis.status import place, status_words
from fsconsole.cli.cell_lines import finished_lines, plain_lines
from fsconsole.cli.gauges import gauge_lines
from fsconsole.client.follow import POLL_S, View
from fsconsole.journal.batch import Batch
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.plaintext import printable
from fsconsole.report.cells import shorten_middle, wrap
from fsconsole.units import format_elapsed, format_guess

_LEAD = 8
"""Columns that the names of the gauges take."""


def render(state: RunState, now_ns: int, width: int) -> RenderableType:
    """Return where a run stands, at most 15 lines of at most width cells; now_ns is CLOCK_MONOTONIC."""
    lines = [Text(shorten_middle(line, width), no_wrap=True) for line in _lines(state, now_ns, width)]
    lines[0].stylize("bold")
    return Group(Text(), *lines)


@contextmanager
def progress_view(stream: TextIO | None = None) -> Iterator[View]:
    """Give the view that fits the stream (stdout): live on a terminal, plain lines elsewhere and on TERM=dumb.

    On leaving, the live part is gone from the screen and the lines of the cells that are over stay.
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
        for line in finished_lines(self._previous, state):
            # Wrapped, not shortened: the reason of a failure would go.
            console.print(Text("\n".join(wrap(line, console.width, max_lines=3)), no_wrap=True))
        self._previous = state
        now_s = time.monotonic()
        if now_s - self._painted_s >= POLL_S:
            self._painted_s = now_s
            self._live.update(render(state, time.monotonic_ns(), console.width), refresh=True)


def _lines(state: RunState, now_ns: int, width: int) -> list[str]:
    request = state.request
    title = printable(f"{request.plan.title} ({request.run_id})".lstrip())
    if state.current_cell is None:
        return [title, *_left(state, now_ns, place(state))]
    index = state.current_cell
    name = cell_names(request.plan)[index]
    planned = request.plan.cells[index]
    devices = " ".join(planned.members) or planned.target
    cell = printable(f"{_number(state, index)}: {name}{_repeat(state, index)} on {devices}")
    return [
        title,
        cell,
        *_step(state, now_ns, width),
        *gauge_lines(state.last_sample, now_ns),
        *_left(state, now_ns, ""),
    ]


def _step(state: RunState, now_ns: int, width: int) -> list[str]:
    """Return the step in one line or two: what a workload writes is a long word."""
    step = state.current_step
    if step is None:
        return ["step    -"]
    elapsed_s = max(0.0, (now_ns - step.started_monotonic_ns) / 1e9)
    words = ", ".join(filter(None, (step.title, progress_words(step, state.last_sample))))
    text = printable(f"{step.kind.value} for {format_elapsed(elapsed_s)}: {words}")
    first, *others = wrap(text, max(2, width - _LEAD), max_lines=2)
    return [f"{'step':<{_LEAD}}{first}", *(" " * _LEAD + other for other in others)]


def _left(state: RunState, now_ns: int, standing: str) -> list[str]:
    if state.status is RunStatus.FINISHED:
        return [printable(f"run     {status_words(state, alive=False)}")]
    measured = any(cell.status is CellStatus.DONE for cell in state.cells)
    ground = "by the cells so far" if measured else "by the plan's estimate"
    left = f"left    about {format_guess(remaining_s(state, now_ns))}, {ground}"
    paused = ["paused; the cell at hand is finished first"] if state.status is RunStatus.PAUSED else []
    return [*([standing] if standing else []), left, *paused]


def _number(state: RunState, index: int) -> str:
    return f"cell {index + 1} of {len(state.cells)}"


def _repeat(state: RunState, index: int) -> str:
    plan = state.request.plan
    return f" (repeat {plan.cells[index].repeat} of {plan.repeats})" if plan.repeats > 1 else ""
