"""One cell in words: what it is, its measurements, its warnings, and on what machine it ran. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsconsole.analysis.status import cell_word
from fsconsole.analysis.warnings import warnings_seen
from fsconsole.model.measurement import DEFINITIONS, Measurement
from fsconsole.model.plan import Cell
from fsconsole.model.run import Target
from fsconsole.model.state import CellState, RunState, StepState
from fsconsole.plaintext import printable
from fsconsole.report.about import fact_words, facts, instant
from fsconsole.report.cells import shorten_middle
from fsconsole.report.figures import scale_for
from fsconsole.report.marks import numbers_in_words
from fsconsole.tui.views.results import broken, hanging
from fsconsole.tui.widgets.lines import TextLine
from fsconsole.units import format_bytes, format_seconds

_COLUMN_CELLS, _FIGURE_CELLS = 14, 12


def title_lines(state: RunState, cell: Cell, row: str, place: tuple[int, int], width: int) -> tuple[str, str]:
    """Return a cell's name and where it stands; place is its number among the row's cells, and how many these are."""
    known = state.cells[cell.index]
    said = [f"Cell {cell.index + 1} of {len(state.cells)}", f"repeat {cell.repeat}"]
    said += [f"attempt {known.attempt}"] if known.attempt > 1 else []
    status = cell_word(known.status)
    said.append(f"{status}: {known.reason}" if known.reason else status)
    line = ", ".join(said)
    number, of_row = place
    if of_row > 1:
        line += f"; left and right: {number} of {of_row} in this row"
    return shorten_middle(printable(row), width), shorten_middle(printable(line), width)


def figure_words(measurement: Measurement) -> str:
    """Return a figure with its unit: "1541 MB/s"."""
    scale = scale_for(measurement.metric, (measurement.value,))
    return f"{scale.text(measurement.value)} {scale.unit}".strip()


def figure_lines(cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return all measurements of a cell, step by step, each with how it is taken."""
    if not cell.steps:
        return (TextLine("No step of it has begun."),)
    return tuple(line for step in cell.steps for line in _step_lines(step, width))


def warning_lines(state: RunState, cell: CellState, width: int) -> tuple[TextLine, ...]:
    """Return a cell's warnings in words, each with its remedy, then those of the whole run."""
    lines: list[TextLine] = []
    for noted in warnings_seen(state):
        if noted.cells and cell.index not in noted.cells:
            continue
        also = [other for other in noted.cells if other != cell.index]
        where = f"also {numbers_in_words(also)}" if also else "this cell alone"
        place = where if noted.cells else "the whole run"
        said = printable(f"{noted.reason} ({place})")
        lines.append(TextLine(noted.kind.value.replace("-", " "), "strong"))
        lines += [TextLine(line) for line in hanging("  ", said, width)]
        lines += [TextLine(line) for line in hanging("  -> ", printable(noted.hint), width)]
    return tuple(lines) or (TextLine("Nothing was warned of."),)


def environment_lines(state: RunState, cell: Cell, width: int) -> tuple[TextLine, ...]:
    """Return machine, kernel, tools, and who the device is."""
    lines: list[TextLine] = []
    for sentence in facts(state):
        lines += [TextLine(line) for line in broken(sentence, width)]
    for started in state.started:
        lines += [TextLine(""), TextLine(f"As engine {started.attempt} began", "strong")]
        known = (("kernel", started.kernel), ("host", started.hostname), ("boot", started.boot_id))
        told = (fact_words(name, value) for name, value in started.facts)
        lines += list(_named((*known, ("fsconsole", started.version), *told), width))
    for target in state.request.targets:
        if target.path in (cell.target, *cell.members):
            lines += [TextLine(""), TextLine(printable(f"Device {target.path}"), "strong")]
            lines += list(_named(_identity(target), width))
    lines += [TextLine(""), TextLine("The run", "strong")]
    begun = instant(state.request.created_wall_ns)
    lines += list(_named((("name", state.request.run_id), ("begun", begun)), width))
    return tuple(lines)


def _step_lines(step: StepState, width: int) -> Iterator[TextLine]:
    outcome = step.outcome.value if step.outcome is not None else "going on, or cut off"
    took = f" in {format_seconds(step.elapsed_s)}" if step.outcome is not None else ""
    verdict = f", {step.verdict}" if step.verdict else ""
    why = f": {step.reason}" if step.reason else ""
    said = printable(f"{step.kind.value}: {step.title} ({outcome}{took}{verdict}{why})")
    for number, line in enumerate(hanging("", said, width)):
        yield TextLine(line, "" if number else "strong")
    for measurement in step.measurements:
        definition = DEFINITIONS[measurement.metric]
        lead = f"  {definition.column:<{_COLUMN_CELLS}} {figure_words(measurement):>{_FIGURE_CELLS}}  "
        for line in hanging(lead, definition.help, width):
            yield TextLine(line)


def _named(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[TextLine]:
    widest = min(30, max((len(name) for name, _ in pairs), default=0))
    for name, value in pairs:
        if value:
            for line in hanging(f"  {printable(name):<{widest}}  ", printable(value), width):
                yield TextLine(line)


def _identity(target: Target) -> tuple[tuple[str, str], ...]:
    identity = target.identity
    return (
        ("size", f"{format_bytes(identity.size_bytes)} ({identity.size_bytes} bytes)"),
        ("WWN", identity.wwn),
        ("serial number", identity.serial),
        ("partition", identity.partition_uuid),
        ("device-mapper", identity.dm_uuid),
        ("scratch device", identity.scratch_id),
        ("backing file", target.backing_file),
        ("consent", target.consent or "none needed"),
    )
