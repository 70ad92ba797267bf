"""The Run screen: title, cells, current step, log, plot."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fsconsole.client.runs import gone_words
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import CommandFinished, ControlAnswer, Verb
from fsconsole.model.plan import StepKind
from fsconsole.model.rounds import causes_of
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.results.figures import status_words
from fsconsole.show.charts import PlotValue, Series, Strips, Threshold, round_above
from fsconsole.show.going import runs_option
from fsconsole.show.history import (
    APP,
    CPU,
    DEVICE,
    MINUTE_S,
    PENDING,
    RunSnapshot,
    Trace,
    figures_of,
)
from fsconsole.show.lines import TextLine, block, command_lines
from fsconsole.show.minute import Figures
from fsconsole.show.progress import (
    begun_ns,
    cell_head,
    check_verdict,
    command_words,
    done_share,
    is_paused,
    rates_words,
    run_words,
    steps_line,
)
from fsconsole.show.race import MOST_ROWS
from fsconsole.text import (
    cells_of,
    counted,
    decode,
    error_reason,
    pad_right,
    printable,
    printable_lines,
    shorten_end,
    shorten_middle,
)
from fsconsole.units import brief_bytes, format_guess, format_rate, format_seconds

_TAKEN = {
    Verb.PAUSE: "Pausing before the next cell",
    Verb.CONTINUE: "Continuing",
    Verb.SKIP: "Skipping the current cell",
    Verb.STOP_AFTER: "Stopping after the current cell",
    Verb.STOP_NOW: "Stopping now",
}


TAKEN_BACK = "The stop is taken back: the run goes on after this cell."


def answer_words(verb: Verb, answer: ControlAnswer, folder: RunFolder) -> str:
    """Return the effect of a request that an engine took, and its current step: "Stopping now (cell 7, mkfs)."."""
    stops = verb in (Verb.STOP_AFTER, Verb.STOP_NOW)
    resume = f"fsconsole resume {folder.name}{runs_option(os.path.dirname(folder.path))}"
    later = f" `{resume}` finishes the run later." if stops else ""
    return f"{_TAKEN[verb]} ({printable(answer.step) or 'starting'}).{later}"


def has_come(verb: Verb, cell: int | None, snapshot: RunSnapshot) -> bool:
    """Return whether an engine has done what it was asked in that cell, or between cells: its answer is no news any more."""
    state = snapshot.state
    return (verb is Verb.PAUSE and is_paused(state)) or not snapshot.alive or state.current_cell != cell


def over_words(name: str, *, is_open: bool) -> str:
    """Return why nothing can be asked of a run any more, and the key that goes on from there; is_open: it can be resumed."""
    goes_on = "r resumes it, 4 shows its results so far." if is_open else "4 shows its results."
    return f"Run {printable(name)} has ended: there is nothing to pause, skip or stop. {goes_on}"


def cleaned_words(printed: str) -> str:
    """Return what a cleanup did, of what it printed."""
    return " ".join(printed.split("\n")).strip() or "Nothing to clean up."


# Heights of the parts of the Run screen, so that 24 lines show what matters.

_STRIPS, _ONE_STRIP = 8, 5
"""Least heights of both charts over one axis, and of one."""
_LEAST_GAUGES = 3
_LEAST_ROWS = 1 + MOST_ROWS


@dataclass(frozen=True, slots=True)
class RunHeights:
    """Lines for each part; 0: it isn't shown."""

    rows: int
    gauges: int
    plot: int


_GROWTH = (
    ("gauges", _LEAST_GAUGES),
    ("rows", _LEAST_ROWS),
    ("gauges", 7),
    ("plot", 12),
    ("rows", 13),
    ("gauges", 99),
    ("rows", 25),
    ("plot", 40),
)
"""Parts and the heights that they grow to, in this order."""


def room_for(lines: int, *, rows: int, gauges: int, plot: bool) -> RunHeights:
    """Return how so many lines are used for so many rows with their head, and gauges, with or without charts."""
    most = {"rows": rows, "gauges": gauges, "plot": 99 if plot else 0}
    height = {"rows": min(rows, 4, max(1, lines)), "gauges": 0, "plot": 0}
    rest = lines - height["rows"]
    if plot:
        least = (_STRIPS, _ONE_STRIP)
        height["plot"] = next((each for each in least if rest - each >= min(gauges, 1)), 0)
        most["plot"] = 99 if height["plot"] else 0
        rest -= height["plot"]
    for part, goal in _GROWTH:
        taken = max(0, min(rest, min(goal, most[part]) - height[part]))
        height[part] += taken
        rest -= taken
    return RunHeights(height["rows"], height["gauges"], height["plot"])


_LEAST_DETAIL = 31
"""Columns that figures and reasons get at least: two rates, in the narrowest terminal."""
_TONES = {
    CellStatus.RUNNING: "strong",
    CellStatus.FAILED: "bad",
    CellStatus.UNKNOWN: "bad",
    CellStatus.STOPPED: "bad",
    CellStatus.PENDING: "weak",
    CellStatus.SKIPPED: "weak",
    CellStatus.UNAVAILABLE: "weak",
}


_PROGRESS_CELLS = 30
_LEAST_PROGRESS = 8


def title_line(snapshot: RunSnapshot, now_ns: int, width: int) -> str:
    """Return the run's title, its progress as a bar, cells and time left, or its status; now_ns is CLOCK_MONOTONIC."""
    standing = printable(standing_words(snapshot, now_ns))
    title = printable(snapshot.state.request.plan.title or snapshot.folder.name)
    title += f" ({snapshot.names.of_all})" if snapshot.names.of_all else ""
    room = width - cells_of(standing) - 2
    if room < len("a title"):
        return shorten_middle(standing, width)
    if not _is_going(snapshot):
        return f"{shorten_end(title, room)}: {standing}"
    # At least a third of the room is the title's; the bar is left out where it would have few columns.
    bar = min(_PROGRESS_CELLS, max(room // 3, room - cells_of(title)) - 4, room - room // 3 - 4)
    if bar < _LEAST_PROGRESS:
        return f"{shorten_end(title, room)}: {standing}"
    share = done_share(snapshot.state, now_ns, per_cell_s=snapshot.known.cell_s)
    drawn = f"[{'#' * int(bar * share):.<{bar}}]"
    return f"{shorten_end(title, room - bar - 4)}  {drawn}  {standing}"


def _is_going(snapshot: RunSnapshot) -> bool:
    return snapshot.alive and snapshot.state.status in (RunStatus.RUNNING, RunStatus.PAUSED)


def standing_words(snapshot: RunSnapshot, now_ns: int) -> str:
    """Return the run's status in few words."""
    state = snapshot.state
    if snapshot.finished or not snapshot.alive:
        words = status_words(
            state, alive=snapshot.alive, read_only=snapshot.read_only, is_imported=snapshot.is_imported
        )
        # Here a key resumes it.
        return words.removesuffix(f": fsconsole resume {state.request.run_id}")
    return run_words(state, now_ns, per_cell_s=snapshot.known.cell_s)


ALL_STEPS_COLUMNS = 120


def step_line(snapshot: RunSnapshot, now_ns: int, width: int) -> str:
    """Return the steps of the running cell, or what can be done where nothing is running."""
    state = snapshot.state
    if snapshot.finished or snapshot.is_imported:
        return "The run is over; enter shows its results."
    gone = gone_words(snapshot.file_gone) if snapshot.file_gone else ""
    if snapshot.dead and state.status is RunStatus.NEW:
        return f"Never started. {gone}" if gone else "Never started; r starts it."
    if snapshot.dead and state.status is RunStatus.INTERRUPTED:
        return f"Interrupted and cleaned up. {gone}" if gone else "Interrupted and cleaned up: r resumes the run."
    if snapshot.dead:
        return f"Its engine died: C cleans up. {gone}" if gone else "Its engine died: C cleans up, r resumes the run."
    if state.current_cell is None:
        return "Paused before the next cell; p continues." if is_paused(state) else "between cells"
    all_steps = width >= ALL_STEPS_COLUMNS
    return steps_line(state, snapshot.sample, now_ns, width, all_steps=all_steps) or "between steps"


def event_line(snapshot: RunSnapshot, width: int) -> str:
    """Return the latest event: a warning of the running cell, else the end of the cell before it, else one of the run."""
    state = snapshot.state
    running = state.cells[state.current_cell] if state.current_cell is not None else None
    # What was warned of in the cells before is no news.
    before = state.cells[max(0, running.index - _LOOKED_BACK) : running.index] if running is not None else ()
    known = {warning.kind for cell in before for warning in cell.warnings}
    fresh = [one for one in running.warnings if one.kind not in known] if running is not None else []
    if fresh:
        latest = fresh[-1]
        return shorten_end(printable(f"warning: {latest.kind.words}: {latest.reason}"), width)
    of_repeated = (
        one for one in reversed(state.repeated) if running is not None and running.index == one.cells[0].index
    )
    if (again := next(of_repeated, None)) is not None:
        words = f"round {again.repeat} again ({counted(len(again.cells), 'cell')}): {causes_of(again.reason)}"
        return shorten_end(printable(words), width)
    last = state.current_cell if state.current_cell is not None else len(state.cells)
    # Cells that a look skipped have no steps.
    over = (
        cell
        for cell in reversed(state.cells[:last])
        if cell.status in _TOLD or (cell.status is CellStatus.SKIPPED and cell.steps)
    )
    if (cell := next(over, None)) is not None:
        name = snapshot.names.text(cell.index, max(8, width - _LEAST_DETAIL - len("cell 10000 skipped: ")))
        head = f"cell {cell.index + 1} {name} {cell.status.value}: "
        return shorten_end(head + _detail(snapshot, cell, cell.status, max(2, width - cells_of(head))), width)
    if state.warnings:
        return shorten_end(printable(f"warning: {state.warnings[-1].reason}"), width)
    return ""


_LOOKED_BACK = 50
_TOLD = frozenset({CellStatus.DONE, CellStatus.FAILED, CellStatus.STOPPED})


def cell_in_sight(state: RunState) -> int:
    """Return the cell that the list keeps visible: the current one, else the next, else the last."""
    if state.current_cell is not None:
        return state.current_cell
    to_come = (cell.index for cell in state.cells if cell.status in (CellStatus.PENDING, CellStatus.UNKNOWN))
    return next(to_come, max(0, len(state.cells) - 1))


def cell_row(snapshot: RunSnapshot, index: int, width: int) -> TextLine:
    """Return a cell's row: number, name, repeat, status, and figures or a reason."""
    state = snapshot.state
    cell = state.cells[index]
    # A running cell is interrupted where no engine lives.
    is_left = cell.status is CellStatus.RUNNING and not snapshot.alive
    status = CellStatus.UNKNOWN if is_left else cell.status
    bare = cells_of(cell_head(state, index, "", status))
    name_cells = min(snapshot.names.widest, max(8, width - bare - _LEAST_DETAIL))
    name = pad_right(shorten_middle(snapshot.names.text(index, name_cells), name_cells), name_cells)
    detail = _detail(snapshot, cell, status, width - bare - name_cells)
    is_bad = cell.status is CellStatus.DONE and check_verdict(cell)
    tone = "bad" if is_bad else _TONES.get(status, "")
    return TextLine((cell_head(state, index, name, status) + detail).rstrip(), tone)


def _detail(snapshot: RunSnapshot, cell: CellState, status: CellStatus, width: int) -> str:
    if status is CellStatus.DONE:
        return rates_words(snapshot.state, cell, width)
    detail = printable(cell.reason)
    if status is CellStatus.RUNNING:
        detail = "starting"
        if cell.steps:
            total = len(snapshot.state.request.plan.cells[cell.index].steps)
            detail = f"step {cell.steps[-1].number + 1} of {total}: {cell.steps[-1].kind.words}"
    elif status is CellStatus.UNKNOWN and not cell.reason:
        detail = "engine died"
    return shorten_end(detail, width)


# The log of one cell: its steps, their commands with exit codes and figures, and what those printed.

OUTPUT_BYTES = 16 * 1024
_OUTPUT_LINES = 60
"""Of each command, the last ones: that is where errors stand."""

Read = Callable[[str], tuple[bytes, int]]
"""Gives the end of an output and how many bytes were before it. Raises OSError."""


def log_rows(cell: CellState, read: Read, width: int) -> tuple[TextLine, ...]:
    """Return the log in rows of at most width cells."""
    if not cell.steps:
        why = f": {cell.reason}" if cell.reason else "."
        return tuple(block(f"Nothing was done yet{why}", width))
    return tuple(row for step in cell.steps for row in _of_step(step, read, width))


def _of_step(step: StepState, read: Read, width: int) -> Iterator[TextLine]:
    ended = "running" if step.outcome is None else f"{step.outcome.value}, {format_seconds(step.elapsed_s)}"
    verdict = f", {step.verdict}" if step.verdict else ""
    title = "" if step.title in (step.kind.value, step.kind.words) else f": {step.title}"
    yield from block(f"{step.number + 1:>2} {step.kind.words}{title}  ({ended}{verdict})", width, "strong")
    if step.reason:
        yield from block(f"   {step.reason}", width, "bad")
    for command in step.commands:
        yield from command_lines(command.argv, width, lead="   $ ")
        yield from block(f"     {command_words(command)}", width, "bad" if command.exit_code else "weak")
        yield from _output(command, read, width)
        for line in command.kernel_log:
            yield from block(f"     kernel: {line}", width, "bad")


def _output(command: CommandFinished, read: Read, width: int) -> Iterator[TextLine]:
    if not command.output:
        return
    try:
        raw, before = read(command.output)
    except OSError as error:
        yield from block(f"     its output can't be read: {error_reason(error)}", width, "bad")
        return
    lines = printable_lines(decode(raw).rstrip("\n")) if raw.strip() else []
    if before or len(lines) > _OUTPUT_LINES:
        lines = lines[-_OUTPUT_LINES:]
        yield from block(f"     ... more in {command.output}", width, "weak")
    for line in lines:
        yield from block(f"     {line}", width)


# Charts of the current cell over one time axis: throughput with dirty memory below, or CPU.


class Plotted(str, Enum):
    """What is drawn; the values are shown."""

    MOVED = "throughput and dirty memory"
    CPU = "CPU"
    NOTHING = "nothing"

    @property
    def following(self) -> Plotted:
        """Next one."""
        every = tuple(Plotted)
        return every[(every.index(self) + 1) % len(every)]


_LEAST_S = 10.0
_GAP_S = 3.0
"""Empty part of a ring, between the newest and the oldest figures."""

Points = tuple[tuple[float, Figures], ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """A time axis with the curve of the current cell, and of the ghost; both in seconds on it."""

    points: Points
    ghost: Points
    end_s: float
    words: str
    steps: tuple[Threshold, ...]


def strips(snapshot: RunSnapshot, shown: Plotted, *, last_minute: bool, width: int) -> Strips:
    """Return the charts; below ALL_STEPS_COLUMNS columns they have one curve each."""
    axis = _minute(snapshot) if last_minute else _whole_cell(snapshot)
    if shown is Plotted.CPU:
        cpu = sample.cpu.busy if (sample := snapshot.sample) is not None else 0.0
        return Strips((_chart(axis, (_series(axis.points, CPU, f"CPU {cpu:.0f} % busy", "cpu"),), 100.0, "100 %"),))
    return Strips((_throughput(snapshot, axis, is_wide=width >= ALL_STEPS_COLUMNS), _dirty(snapshot, axis)))


def _chart(
    axis: _Axis, series: Sequence[Series], top: float, words: str, marks: tuple[Threshold, ...] = ()
) -> PlotValue:
    return PlotValue(tuple(series), 0.0, axis.end_s, top, words, axis.words, marks, steps=axis.steps)


_LOADS = frozenset({StepKind.WORKLOAD, StepKind.RAW_WRITE, StepKind.RAW_READ, StepKind.READTEST})


def _origin_s(cell: CellState) -> float:
    """Return when a cell's first load began, in seconds since the cell's start; 0 before it."""
    began = begun_ns(cell)
    return next(((one.started_monotonic_ns - began) / 1e9 for one in cell.steps if one.kind in _LOADS), 0.0)


def _whole_cell(snapshot: RunSnapshot) -> _Axis:
    """Return the axis from the first load's start to a time that is doubled when it is reached: nothing scrolls.

    What was zeroed or discarded before it has other rates, and takes another time in each cell.
    """
    cells = snapshot.state.cells
    current, ghost = (
        _from_load(trace, cells[trace.cell]) if trace is not None and trace.cell < len(cells) else ()
        for trace in (snapshot.history.current, snapshot.history.ghost)
    )
    end_s, steps = _LEAST_S, list[Threshold]()
    while end_s <= max((points[-1][0] for points in (current, ghost) if points), default=0.0):
        end_s *= 2
    trace = snapshot.history.current
    if trace is not None and trace.cell < len(cells):
        cell = cells[trace.cell]
        origin_ns = begun_ns(cell) + int(_origin_s(cell) * 1e9)
        steps += [Threshold((one.started_monotonic_ns - origin_ns) / 1e9, one.kind.words) for one in cell.steps]
    return _Axis(current, ghost, end_s, f"0 to {format_guess(end_s)}", tuple(steps))


def _from_load(trace: Trace, cell: CellState) -> Points:
    origin_s = _origin_s(cell)
    points = tuple((at_s - origin_s, figures) for at_s, figures in trace.points if at_s + trace.slot_s > origin_s)
    # The slot in which the load starts may have the rates of the step before, which would set the scale: only if it is all.
    after = tuple(point for point in points if point[0] >= 0)
    return after or tuple((0.0, figures) for _, figures in points)


def _minute(snapshot: RunSnapshot) -> _Axis:
    """Return the last minute as a ring: a figure stands where the clock's second is."""
    recent = snapshot.history.recent
    newest_ns = recent[-1].monotonic_ns if recent else 0
    kept = [one for one in recent if newest_ns - one.monotonic_ns < (MINUTE_S - _GAP_S) * 1e9]
    points = sorted((one.monotonic_ns / 1e9 % MINUTE_S, figures_of(one)) for one in kept)
    return _Axis(tuple(points), (), MINUTE_S, "last 60 s", ())


def _throughput(snapshot: RunSnapshot, axis: _Axis, *, is_wide: bool) -> PlotValue:
    sample, ghost = snapshot.sample, snapshot.history.ghost
    targets = sample.targets if sample is not None else ()
    moved = sum(device.write_bytes_s + device.read_bytes_s for device in targets)
    app = sample.load.bytes_s if sample is not None and sample.load is not None else None
    app_words = "" if app is None else f"app {format_rate(app)}"
    disk = f"disk {format_rate(moved)}" if targets else "disk"
    if not is_wide and app_words:
        disk = f"{disk} ({app_words})"
    series = [_series(axis.points, DEVICE, disk, "write")]
    if is_wide:
        series.append(_series(axis.points, APP, app_words or "app", "value"))
        if ghost is not None and axis.ghost:
            name = f"disk, cell {ghost.cell + 1}"
            series.append(replace(_series(axis.ghost, DEVICE, name, "write"), behind=True))
    top = round_above(_highest(series)) or 1e6
    return _chart(axis, series, top, format_rate(top))


def _dirty(snapshot: RunSnapshot, axis: _Axis) -> PlotValue:
    sample = snapshot.sample
    now = f"dirty {brief_bytes(sample.writeback.pending_bytes)}" if sample is not None else "dirty"
    series = (_series(axis.points, PENDING, now, "dirty"),)
    top = 2.0**20
    while top <= _highest(series):
        top *= 2
    marks: tuple[Threshold, ...] = ()
    if sample is not None:
        writeback = sample.writeback
        limits = ((writeback.background_threshold_bytes, "background"), (writeback.threshold_bytes, "limit"))
        marks = tuple(Threshold(float(value), name) for value, name in limits if value)
    return _chart(axis, series, top, brief_bytes(top), marks)


def _highest(series: Sequence[Series]) -> float:
    return max((y for one in series for _, y in one.points if not math.isnan(y)), default=0.0)


def _series(points: Points, figure: int, name: str, style: str) -> Series:
    found = ((at_s, math.nan if (y := figures[figure]) is None else y) for at_s, figures in points)
    return Series(name, tuple(found), style)
