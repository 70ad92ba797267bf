"""A run in words: its title and what is left, a row for each cell, the step at hand."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.analysis.figures import CLEAN
from fsconsole.analysis.progress import is_of, progress_words
from fsconsole.analysis.status import cell_word, status_words
from fsconsole.model.measurement import DEFINITIONS, Metric
from fsconsole.model.sample import Sample
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.step import StepKind
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of, pad_right, shorten_middle
from fsconsole.tui.views.attach import place_words
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.units import format_bytes, format_elapsed, significant

STALE_S = 2.0
"""Four sampling periods: older gauges must not pass for new ones."""
_STATUS_CELLS = max(len(cell_word(status)) for status in CellStatus)
_LEAST_DETAIL = 31
"""Columns that figures and reasons get at least: two rates, in the narrowest terminal."""
_GAP = "  "
_TONES = {
    CellStatus.RUNNING: "strong",
    CellStatus.FAILED: "bad",
    CellStatus.UNKNOWN: "bad",
    CellStatus.STOPPED: "bad",
    CellStatus.PENDING: "weak",
    CellStatus.SKIPPED: "weak",
    CellStatus.UNAVAILABLE: "weak",
}
_RATES = (Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.RAW_WRITE_N, Metric.RAW_READ_N)


@dataclass(frozen=True, slots=True)
class Row:
    """One printable line, and how it is meant: "strong", "weak", "bad" or nothing."""

    text: str
    tone: str = ""


def title_line(snapshot: Snapshot, now_ns: int, width: int) -> str:
    """Return the run's title and where it stands, with what is left; now_ns is CLOCK_MONOTONIC."""
    standing = printable(standing_words(snapshot, now_ns))
    title = printable(snapshot.state.request.plan.title or snapshot.folder.name)
    title += f" ({snapshot.names.of_all})" if snapshot.names.of_all else ""
    room = width - cells_of(standing) - 2
    if room < len("a title"):
        return shorten_middle(standing, width)
    return f"{shorten_middle(title, room)}: {standing}"


def standing_words(snapshot: Snapshot, now_ns: int) -> str:
    """Return where the run stands in few words."""
    state = snapshot.state
    if snapshot.finished or not snapshot.alive:
        words = status_words(state, alive=snapshot.alive, read_only=snapshot.read_only)
        # Here a key resumes it.
        return words.removesuffix(f": fsconsole resume {state.request.run_id}")
    return place_words(state, now_ns, per_cell_s=snapshot.known.cell_s)


def step_line(snapshot: Snapshot, now_ns: int) -> str:
    """Return what is being done right now, or what can be done where nothing is."""
    state = snapshot.state
    if snapshot.finished:
        return "The run is over; enter shows its results."
    if snapshot.dead and state.status is RunStatus.NEW:
        return "No engine has begun on this run; r starts one."
    if snapshot.dead and state.status is RunStatus.INTERRUPTED:
        return "What its engine left has been given back: r resumes."
    if snapshot.dead:
        return "Its engine is gone: c gives back what it left, r resumes the run."
    step = state.current_step
    if step is None:
        return "Paused before the next cell; p goes on." if _is_waiting(state) else "between steps"
    elapsed_s = max(0.0, (now_ns - step.started_monotonic_ns) / 1e9)
    return printable(f"{_step_words(state, step, snapshot.sample)}, {format_elapsed(elapsed_s)}")


def age_words(snapshot: Snapshot, now_ns: int) -> str:
    """Return how old the gauges are, where they are older than they should be; else nothing."""
    sample = snapshot.sample
    if sample is None:
        return "no gauges yet"
    if not snapshot.alive:
        return "last gauges"
    age_s = (now_ns - sample.monotonic_ns) / 1e9
    return f"gauges {format_elapsed(age_s)} old" if age_s > STALE_S else ""


def cell_in_sight(state: RunState) -> int:
    """Return the cell that the list keeps in sight: the one at hand, else the next, else the last."""
    if state.current_cell is not None:
        return state.current_cell
    to_come = (cell.index for cell in state.cells if cell.status in (CellStatus.PENDING, CellStatus.UNKNOWN))
    return next(to_come, max(0, len(state.cells) - 1))


def cell_row(snapshot: Snapshot, index: int, width: int) -> Row:
    """Return a cell's row: number, name, repeat, status in a word, and figures or a reason."""
    state = snapshot.state
    cell = state.cells[index]
    plan = state.request.plan
    number = f"{index + 1:>{len(str(len(state.cells)))}}"
    repeat = f"{_GAP}#{plan.cells[index].repeat:<{len(str(plan.repeats))}}" if plan.repeats > 1 else ""
    fixed = len(number) + len(repeat) + 3 * len(_GAP) + _STATUS_CELLS
    name_cells = min(snapshot.names.widest, max(8, width - fixed - _LEAST_DETAIL))
    name = pad_right(shorten_middle(snapshot.names.text(index, name_cells), name_cells), name_cells)
    head = f"{number}{_GAP}{name}{repeat}{_GAP}{cell_word(_status(snapshot, cell)):<{_STATUS_CELLS}}{_GAP}"
    detail = _detail(snapshot, cell, width - cells_of(head))
    return Row((head + detail).rstrip(), _tone(snapshot, cell))


def _status(snapshot: Snapshot, cell: CellState) -> CellStatus:
    """Return where a cell stands; one that runs by the journal does not where no engine lives."""
    is_left = cell.status is CellStatus.RUNNING and not snapshot.alive
    return CellStatus.UNKNOWN if is_left else cell.status


def _tone(snapshot: Snapshot, cell: CellState) -> str:
    if cell.status is CellStatus.DONE and _verdict(cell):
        return "bad"
    return _TONES.get(_status(snapshot, cell), "")


def _detail(snapshot: Snapshot, cell: CellState, width: int) -> str:
    status = _status(snapshot, cell)
    if status is CellStatus.DONE:
        return _figures(cell, width)
    if status is CellStatus.RUNNING:
        return shorten_middle(_progress(snapshot.state, cell), width)
    if status is CellStatus.UNKNOWN and not cell.reason:
        return shorten_middle("its engine died in it", width)
    return shorten_middle(printable(cell.reason), width)


def _figures(cell: CellState, width: int) -> str:
    """Return as many of a cell's rates as find room, and what its check found unless it found nothing."""
    verdict = f"check: {printable(_verdict(cell))}" if _verdict(cell) else ""
    known = [(DEFINITIONS[metric].column, cell.value(metric)) for metric in _RATES]
    rates = [f"{name} {significant(value / 1e6):>4}" for name, value in known if value is not None]
    for shown in range(len(rates), 0, -1):
        text = _GAP.join([" ".join((*rates[:shown], "MB/s")), *([verdict] if verdict else [])])
        if cells_of(text) <= width:
            return text
    return shorten_middle(verdict, width)


def _verdict(cell: CellState) -> str:
    found = [step.verdict for step in cell.steps if step.kind is StepKind.CHECK and step.verdict]
    return next((verdict for verdict in found if verdict != CLEAN), "")


def _progress(state: RunState, cell: CellState) -> str:
    total = len(state.request.plan.cells[cell.index].steps)
    if not cell.steps:
        return "begins"
    return f"step {cell.steps[-1].number + 1} of {total}: {cell.steps[-1].kind.value}"


def _step_words(state: RunState, step: StepState, sample: Sample | None) -> str:
    if step.kind is StepKind.DRAIN:
        pending = "" if sample is None else f", {format_bytes(sample.writeback.pending_bytes)} still dirty"
        return f"drain: application done{pending}"
    words = _load_words(state, step, sample) or step.title
    return ", ".join(filter(None, (f"{step.kind.value}: {words}", progress_words(step, sample))))


def _load_words(state: RunState, step: StepState, sample: Sample | None) -> str:
    """Return how far a load is, by its own counters; empty where they aren't of this step."""
    if step.kind is not StepKind.WORKLOAD or sample is None or sample.load is None or not is_of(step, sample):
        return ""
    load = sample.load
    name, total_bytes = _workload(state, step)
    of = f" of {format_bytes(total_bytes)}" if total_bytes else ""
    files = f"{load.files_done} file{'s' if load.files_done != 1 else ''}"
    threads = f"{load.threads_running} thread{'s' if load.threads_running != 1 else ''}"
    return f"{name}, {format_bytes(load.bytes_done)}{of}, {files}, {threads}"


def _workload(state: RunState, step: StepState) -> tuple[str, int]:
    """Return the name of a step's workload and the bytes that it is meant to move; 0 where that isn't known."""
    if state.current_cell is None:
        return step.title, 0
    planned = state.request.plan.cells[state.current_cell]
    number = planned.steps[step.number].workload if step.number < len(planned.steps) else None
    if number is None or number >= len(planned.workloads):
        return step.title, 0
    workload = planned.workloads[number]
    return workload.name or workload.kind.value, workload.total_bytes or 0


def _is_waiting(state: RunState) -> bool:
    return state.status is RunStatus.PAUSED and state.current_cell is None
