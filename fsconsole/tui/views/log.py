"""The log of one cell: its steps, their commands with exit codes and figures, and what those printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from fsconsole.model.observation import CommandFinished
from fsconsole.model.state import CellState, RunState, StepState
from fsconsole.plaintext import decode, printable, printable_lines
from fsconsole.report.cells import wrap
from fsconsole.tui.views.run import Row
from fsconsole.tui.views.snapshot import Names
from fsconsole.units import format_bytes, format_seconds

OUTPUT_BYTES = 16 * 1024
_OUTPUT_LINES = 60
"""Of each command, the last ones: that is where errors stand."""

Read = Callable[[str], tuple[bytes, int]]
"""Gives the end of an output and how many bytes were before it. Raises OSError."""


def log_title(state: RunState, names: Names, index: int) -> str:
    """Return which cell the log is of."""
    return f"Cell {index + 1} of {len(state.cells)}: {names.texts[index]}"


def log_rows(cell: CellState, read: Read, width: int) -> tuple[Row, ...]:
    """Return the log in rows of at most width cells."""
    if not cell.steps:
        why = f": {cell.reason}" if cell.reason else "."
        return tuple(_block(f"Nothing was done yet{why}", width))
    return tuple(row for step in cell.steps for row in _of_step(step, read, width))


def _of_step(step: StepState, read: Read, width: int) -> Iterator[Row]:
    ended = "going on" if step.outcome is None else f"{step.outcome.value}, {format_seconds(step.elapsed_s)}"
    verdict = f", {step.verdict}" if step.verdict else ""
    title = "" if step.title == step.kind.value else f": {step.title}"
    yield from _block(f"{step.number + 1:>2} {step.kind.value}{title}  ({ended}{verdict})", width, "strong")
    if step.reason:
        yield from _block(f"   {step.reason}", width, "bad")
    for command in step.commands:
        yield from _of_command(command, read, width)


def _of_command(command: CommandFinished, read: Read, width: int) -> Iterator[Row]:
    yield from _block(f"   $ {shlex.join(command.argv)}", width)
    used = f"user {format_seconds(command.user_s)}, system {format_seconds(command.system_s)}"
    said = f"exit {command.exit_code}, {format_seconds(command.elapsed_s)}, {used}, {format_bytes(command.max_rss_bytes)}"
    yield from _block(f"     {said}", width, "bad" if command.exit_code else "weak")
    yield from _output(command, read, width)
    for line in command.kernel_log:
        yield from _block(f"     kernel: {line}", width, "bad")


def _output(command: CommandFinished, read: Read, width: int) -> Iterator[Row]:
    if not command.output:
        return
    try:
        raw, before = read(command.output)
    except OSError as error:
        yield from _block(f"     its output can't be read: {error.strerror}", width, "bad")
        return
    lines = printable_lines(decode(raw).rstrip("\n")) if raw.strip() else []
    if before or len(lines) > _OUTPUT_LINES:
        lines = lines[-_OUTPUT_LINES:]
        yield from _block(f"     ... more before that, in {command.output}", width, "weak")
    for line in lines:
        yield from _block(f"     {line}", width)


def _block(text: str, width: int, tone: str = "") -> Iterator[Row]:
    # What a tool has moved far to the right would have no room.
    indent = " " * min(len(text) - len(text.lstrip(" ")), max(0, width // 2 - 2))
    for number, line in enumerate(wrap(printable(text.lstrip(" ")), max(20, width - len(indent) - 2))):
        yield Row(f"{indent}{'  ' if number else ''}{line}", tone)
