"""Progress of a run in words: time left, the current step, cells that started or ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from fsconsole.model.events import CommandFinished, Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.rounds import MOST_REPEATS
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.workload import Workload
from fsconsole.results.figures import CLEAN, cell_names, cell_word, count_cells, status_words
from fsconsole.text import cells_of, counted, pad_right, printable, shorten_end, shorten_middle, wrap
from fsconsole.units import format_bytes, format_elapsed, format_guess, format_seconds, significant

_TO_COME = frozenset({CellStatus.PENDING, CellStatus.UNKNOWN, CellStatus.STOPPED})
_LATE_SHARE = 0.1
_LEAST_LEFT_S = 1.0
"""Of a running cell."""


def remaining_s(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> float:
    """Return the estimated seconds left, never 0 while a cell runs; now_ns is CLOCK_MONOTONIC.

    By the mean of the finished cells, else by the plan's estimate. Frequent callers cache mean_cell_s() and give it.
    """
    if per_cell_s is None:
        per_cell_s = mean_cell_s(state)
    to_come = sum(cell.status in _TO_COME for cell in state.cells)
    left_s = per_cell_s * to_come
    if state.current_cell is not None:
        elapsed_s = cell_elapsed_s(state.cells[state.current_cell], now_ns)
        # A cell that is late has no estimate any more: a tenth of what it took so far, so that its rest is never 0.
        left_s += max(per_cell_s - elapsed_s, elapsed_s * _LATE_SHARE, _LEAST_LEFT_S)
    return left_s


def done_share(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> float:
    """Return the share of the run that is over, 0 to 1: cells, and of the running one its share by the clock."""
    if per_cell_s is None:
        per_cell_s = mean_cell_s(state)
    counted_cells = count_cells(state)
    over = float(counted_cells.ended)
    if state.current_cell is not None and per_cell_s > 0:
        elapsed_s = cell_elapsed_s(state.cells[state.current_cell], now_ns)
        over += min(elapsed_s / per_cell_s, 1 - _LATE_SHARE)
    return over / max(1, counted_cells.able)


def begun_ns(cell: CellState) -> int:
    """Return when a cell began, by CLOCK_MONOTONIC and its first step; 0, the boot, where it did not."""
    return cell.steps[0].started_monotonic_ns if cell.steps else 0


def cell_elapsed_s(cell: CellState, now_ns: int) -> float:
    """Return the seconds since the cell's first step began; 0 before it."""
    return max(0.0, (now_ns - begun_ns(cell)) / 1e9) if cell.steps else 0.0


def mean_cell_s(state: RunState) -> float:
    """Return the mean seconds of the finished cells, else the plan's estimate for one cell."""
    done = [sum(step.elapsed_s for step in cell.steps) for cell in state.cells if cell.status is CellStatus.DONE]
    if done:
        return sum(done) / len(done)
    runnable = sum(not cell.unavailable for cell in state.request.plan.cells)
    return state.request.plan.estimate.elapsed_s / max(1, runnable)


def is_of(step: StepState, sample: Sample) -> bool:
    """Return whether a sample was taken within a step, not within an earlier one."""
    return sample.step == step.kind.value and sample.monotonic_ns >= step.started_monotonic_ns


def progress_words(step: StepState, sample: Sample | None) -> str:
    """Return a step's progress by its latest sample: "42 %, about 3 min 05 s left"; empty where it is unknown."""
    if sample is None or sample.progress is None or not is_of(step, sample):
        return ""
    done, left_s = f"{sample.progress.done_percent:.0f} %", sample.progress.left_s
    return done if left_s is None else f"{done}, about {format_guess(left_s)} left"


def is_paused(state: RunState) -> bool:
    """Return whether a run waits between cells: one that was asked to pause goes on to the end of its cell."""
    return state.status is RunStatus.PAUSED and state.current_cell is None


def place_words(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> str:
    """Return the current cell of a living run and the time left: "cell 3 of 12, about 4 min left"."""
    if state.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        return "starting"
    number = state.current_cell
    cell = "between cells" if number is None else f"cell {number + 1} of {len(state.cells)}"
    paused = "paused, " if is_paused(state) else ""
    left = format_guess(remaining_s(state, now_ns, per_cell_s=per_cell_s))
    return f"{paused}{cell}, about {left} left"


_MOST_NAME = 80
"""Columns of a name in a question: two lines of a dialog, with its number and round."""


def describe_cell(state: RunState, index: int, name: str) -> str:
    """Return a cell with what its row is called and its round: "cell 7 of 20, ext4 data=ordered, round 2"."""
    plan = state.request.plan
    cell = plan.cells[index]
    number = "" if plan.repeats == 1 else f", round {cell.repeat}{' repeated' if cell.redo else ''}"
    return f"cell {index + 1} of {len(state.cells)}, {shorten_middle(printable(name), _MOST_NAME)}{number}"


def run_words(state: RunState, now_ns: int, *, per_cell_s: float | None = None) -> str:
    """Return the cells that have ended, of those that can run, and the time left: "22/48 cells, 2 can't run  about 4 min left"."""
    if state.status not in (RunStatus.RUNNING, RunStatus.PAUSED):
        return "starting"
    paused = "PAUSED  " if is_paused(state) else ""
    left = f"about {format_guess(remaining_s(state, now_ns, per_cell_s=per_cell_s))} left"
    if state.status is RunStatus.PAUSED and not paused:
        left = "pauses after this cell"
    left = stopping_words(state) or left
    cells = count_cells(state)
    return f"{paused}{cells.ended}/{cells.able} cells{cells.other_words}  {left}"


def stopping_words(state: RunState) -> str:
    """Return "stops now" or "stops after this cell" if the run was asked to stop; else empty."""
    return "stops now" if state.stops_now else "stops after this cell" if state.stops_after else ""


def step_words(state: RunState, step: StepState, sample: Sample | None, now_ns: int) -> str:
    """Return the current step with its progress and elapsed time, printable."""
    elapsed = format_elapsed(max(0.0, (now_ns - step.started_monotonic_ns) / 1e9))
    if step.kind is StepKind.DRAIN:
        pending = "" if sample is None else f", {_dirty_words(sample)}"
        return f"drain: application done{pending}, {elapsed}"
    words = _load_words(state, step, sample) or step.title
    parts = (f"{step.kind.words}: {words}", progress_words(step, sample), elapsed)
    return printable(", ".join(filter(None, parts)))


def _dirty_words(sample: Sample) -> str:
    # Other programs' too: it may stay above what the load wrote.
    return f"whole machine {format_bytes(sample.writeback.pending_bytes)} dirty"


_STEPS_LINES = 2
_BROKEN = 16
"""Columns that a line loses where it is broken before a word."""
_ARROW = " > "


def steps_line(state: RunState, sample: Sample | None, now_ns: int, width: int, *, all_steps: bool) -> str:
    """Return the running cell's steps: "mount ok > WORKLOAD 412 of 640 MiB > drain"; empty between cells.

    all_steps: the whole cell where two lines hold it, else the steps before and after the current one.
    """
    if state.current_cell is None or not state.cells[state.current_cell].steps:
        return ""
    planned, steps = state.request.plan.cells[state.current_cell].steps, state.cells[state.current_cell].steps
    last = steps[-1]
    is_running = last.outcome is None
    before = [_ended_words(step) for step in (steps[:-1] if is_running else steps)]
    after = [step.kind.words for step in planned[last.number + 1 :]]
    full, brief = (
        (step_words(state, last, sample, now_ns), _brief_words(state, last, sample, now_ns)) if is_running else ("", "")
    )
    place = f"{last.number + 1} of {len(planned)}  "
    if all_steps:
        return printable(place + _whole(before, _loud(full), after, _STEPS_LINES * width - len(place) - _BROKEN))
    for words in (full, brief):
        line = place + _ARROW.join(filter(None, (*before[-1:], _loud(words), *after[:1])))
        if cells_of(printable(line)) <= width:
            return printable(line)
    return shorten_middle(printable(place + _ARROW.join(filter(None, (_loud(brief), *after[:1])))), width)


def _whole(before: list[str], now: str, after: list[str], room: int) -> str:
    """Return all steps; where there is no room for them, the first ones and then the last ones as a number."""
    kept_before, kept_after = list(before), list(after)
    while True:
        gone, to_come = len(before) - len(kept_before), len(after) - len(kept_after)
        first = [f"{gone} ended"] if gone else []
        last = [f"{to_come} more"] if to_come else []
        text = _ARROW.join(filter(None, (*first, *kept_before, now, *kept_after, *last)))
        if cells_of(printable(text)) <= room or len(kept_before) + len(kept_after) <= 2:
            return text
        if len(kept_before) > 1:
            del kept_before[0]
        else:
            kept_after.pop()


def _loud(words: str) -> str:
    """Return a step's words with its kind in capitals: "workload: x" is "WORKLOAD x"."""
    kind, _, rest = words.partition(": ")
    return f"{kind.upper()} {rest}" if rest else words


def _ended_words(step: StepState) -> str:
    outcome = "ok" if step.outcome is Outcome.DONE else step.outcome.value if step.outcome else ""
    verdict = step.verdict if step.verdict not in ("", CLEAN) else outcome
    return f"{step.kind.words} {verdict}"


def _brief_words(state: RunState, step: StepState, sample: Sample | None, now_ns: int) -> str:
    """Return the current step with what matters most of its progress."""
    elapsed = format_elapsed(max(0.0, (now_ns - step.started_monotonic_ns) / 1e9))
    if step.kind is StepKind.WORKLOAD and sample is not None and sample.load is not None and is_of(step, sample):
        total = _total_bytes(state, step)
        of = f" of {format_bytes(total)}" if total else ""
        return f"workload: {format_bytes(sample.load.bytes_done)}{of}, {elapsed}"
    if step.kind is StepKind.DRAIN and sample is not None:
        return f"drain: {_dirty_words(sample)}, {elapsed}"
    return f"{step.kind.words}: {progress_words(step, sample) or elapsed}"


def _workload_of(state: RunState, index: int | None, step: StepState) -> Workload | None:
    """Return the load of a step of a cell; None of other steps, and without a cell."""
    if index is None:
        return None
    planned = state.request.plan.cells[index]
    number = planned.steps[step.number].workload if step.number < len(planned.steps) else None
    return planned.workloads[number] if number is not None and number < len(planned.workloads) else None


def _total_bytes(state: RunState, step: StepState) -> int:
    workload = _workload_of(state, state.current_cell, step)
    return (workload.total_bytes or 0) if workload is not None else 0


def _load_words(state: RunState, step: StepState, sample: Sample | None) -> str:
    """Return a workload's progress by its own counters; empty where they aren't of this step."""
    if step.kind is not StepKind.WORKLOAD or sample is None or sample.load is None or not is_of(step, sample):
        return ""
    load, workload, total_bytes = sample.load, _workload_of(state, state.current_cell, step), _total_bytes(state, step)
    name = step.title if workload is None else workload.name or workload.kind.value
    of = f" of {format_bytes(total_bytes)}" if total_bytes else ""
    files = counted(load.files_done, "file")
    threads = counted(load.threads_running, "thread")
    return f"{name}, {format_bytes(load.bytes_done)}{of}, {files}, {threads}"


def command_words(command: CommandFinished) -> str:
    """Return how a command ended and what it used."""
    used = f"user {format_seconds(command.user_s)}, system {format_seconds(command.system_s)}"
    peak = f"peak RSS {format_bytes(command.max_rss_bytes)}"
    return f"exit {command.exit_code}, {format_seconds(command.elapsed_s)}; {used}; {peak}"


# Cells that started or ended, a line each.

_RATES = (Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.RAW_WRITE_N, Metric.RAW_READ_N)
_CONSOLE_CELLS = 80
_DETAIL_CELLS = 31
"""Columns for two rates."""
GAP = "  "
STATUS_CELLS = max(len(cell_word(status)) for status in CellStatus)
_OVER = frozenset(CellStatus) - {CellStatus.PENDING, CellStatus.RUNNING}


def cell_head(state: RunState, index: int, name: str, status: CellStatus, *, is_alone: bool = False) -> str:
    """Return the start of a cell's line: number, name, repeat and status; is_alone: "3/12", and no padding."""
    plan, total = state.request.plan, str(len(state.cells))
    number = f"{index + 1:>{len(total)}}" + (f"/{total}" if is_alone else "")
    # Repeated rounds stand last, and make the number of all repeats a letter wider.
    width = len(str(plan.repeats)) + 1 + bool(plan.cells[-1].redo)
    repeat = f"{GAP}{_repeat(plan.cells[index]):<{width}}" if plan.repeats > 1 else ""
    return f"{number}{GAP}{name}{repeat}{GAP}{cell_word(status):<{0 if is_alone else STATUS_CELLS}}{GAP}"


def _repeat(cell: Cell) -> str:
    """Return "#3" for the third repeat, "#3b" for it in a repeated round, "#3c" in one repeated twice."""
    return f"#{cell.repeat}{'bc'[cell.redo - 1] if 0 < cell.redo <= MOST_REPEATS else ''}"


def rates_words(state: RunState, cell: CellState, width: int) -> str:
    """Return as many of a cell's rates as fit, of several loads with their names, and what its check found unless that is nothing."""
    verdict = f"check: {printable(check_verdict(cell))}" if check_verdict(cell) else ""
    rates = _named_rates(state, cell)
    for shown in range(len(rates), 0, -1):
        text = GAP.join([" ".join((*rates[:shown], "MB/s")), *([verdict] if verdict else [])])
        if cells_of(text) <= width:
            return text
    return shorten_end(verdict, width)


def _named_rates(state: RunState, cell: CellState) -> list[str]:
    """Return a cell's rates: "write  140", or of each of several loads "mail: write  140", "video: read 2300"."""
    found: dict[str, dict[Metric, float]] = {}
    for step in cell.steps:
        of = _workload_of(state, cell.index, step)
        known = {each.metric: each.value for each in step.measurements if each.metric in _RATES}
        if known:
            found.setdefault(of.name if of is not None else "", {}).update(known)
    rates = []
    for name, known in found.items():
        lead = f"{printable(name)}: " if len(found) > 1 and name else ""
        for metric in _RATES:
            if metric in known:
                rates.append(f"{lead}{metric.column} {significant(known[metric] / 1e6):>4}")
                lead = ""
    return rates


def check_verdict(cell: CellState) -> str:
    """Return what the cell's check found; empty where it found nothing, or did not run."""
    found = (step.verdict for step in cell.steps if step.kind in (StepKind.CHECK, StepKind.CRASH_VERIFY))
    return next((verdict for verdict in found if verdict not in ("", CLEAN)), "")


def plain_lines(previous: RunState | None, state: RunState) -> tuple[str, ...]:
    """Return a line for each cell that started or ended since the previous state, and for the run's end."""
    lines = list(_cell_lines(previous, state, shorten=False))
    was = previous.status if previous is not None else RunStatus.NEW
    if state.status is RunStatus.FINISHED and was is not RunStatus.FINISHED:
        lines.append(f"run {state.request.run_id}: {status_words(state, alive=False)}")
    return tuple(map(printable, lines))


def finished_lines(previous: RunState | None, state: RunState) -> tuple[str, ...]:
    """Return a line for each cell that ended since the previous state: 80 columns where it went well."""
    return tuple(map(printable, _cell_lines(previous, state, shorten=True)))


def _cell_lines(previous: RunState | None, state: RunState, *, shorten: bool) -> Iterator[str]:
    """Yield the lines of cells; with shorten names are cut to the room and started cells are left out."""
    names = [printable(name) for name in cell_names(state.request.plan)]
    if not names:
        return
    lead = cell_head(state, len(names) - 1, "", CellStatus.DONE, is_alone=True)
    widest = min(_CONSOLE_CELLS - _DETAIL_CELLS - cells_of(lead), max(map(cells_of, names)))
    for again in state.repeated[len(previous.repeated) if previous is not None else 0 :]:
        yield f"    round {again.repeat} runs again, {len(again.cells)} cells more: {again.reason}"
    for look in state.looks[len(previous.looks) if previous is not None else 0 :]:
        skipped = sum(cell.reason == look.words for cell in state.cells)
        all_or_not = "all" if look.decided else "not all"
        yield f"    {all_or_not} {look.words}" + (f": {skipped} cells skipped" if skipped else "")
    told = {look.words for look in state.looks}
    for index, cell in enumerate(state.cells):
        if cell.status is CellStatus.SKIPPED and cell.reason in told:
            continue
        # A repeated round adds cells.
        before = previous.cells[index] if previous is not None and index < len(previous.cells) else CellState(index)
        is_over = cell.status in _OVER
        is_told = is_over or (cell.status is CellStatus.RUNNING and not shorten)
        if not is_told or (cell.status, cell.attempt) == (before.status, before.attempt):
            continue
        name = pad_right(shorten_middle(names[index], widest) if shorten else names[index], widest)
        detail = cell.reason
        if cell.status is CellStatus.DONE:
            room = _CONSOLE_CELLS - widest - cells_of(lead) if shorten else sys.maxsize
            detail = rates_words(state, cell, room)
        yield (cell_head(state, index, name, cell.status, is_alone=True) + detail).rstrip()
        if is_over:
            known = {kind for other in state.cells[:index] for kind in _warnings(other)}
            if news := [kind for kind in _warnings(cell) if kind not in known]:
                yield from (f"    {line}" for line in wrap(f"warnings: {', '.join(news)}", _CONSOLE_CELLS - 4))


def _warnings(cell: CellState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(warning.kind.words for warning in cell.warnings))
