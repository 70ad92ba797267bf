"""The commands of one cell, and what they printed. Pure, but for the file names that are given."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsconsole.model.observation import CommandFinished
from fsconsole.model.state import CellState
from fsconsole.plaintext import printable, printable_lines
from fsconsole.report.cells import cells_of, shorten_middle
from fsconsole.tui.views.results import broken
from fsconsole.tui.widgets.lines import TextLine
from fsconsole.tui.widgets.table_layout import Column, TableRow, TableValue
from fsconsole.units import fixed, format_bytes, format_seconds

_LONGEST_NAME = 400
_COLUMNS = (
    Column("exit"),
    Column("real", "s"),
    Column("user", "s"),
    Column("sys", "s"),
    Column("peak", "memory"),
)


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a cell left among its raw outputs: the words over it, and the file's name."""

    title: str
    about: tuple[str, ...]
    file: str


def command_table(cell: CellState, others: Sequence[str], width: int) -> TableValue:
    """Return a cell's commands in their order, then further raw outputs; keys are those of outputs()."""
    return TableValue("command", _COLUMNS, tuple(_rows(cell, others, width)))


def outputs(cell: CellState, others: Sequence[str]) -> dict[str, Output]:
    """Return what can be opened, by the keys of the table's rows."""
    found = {
        f"{step}/{number}": Output(
            shlex.join(command.argv), _about(command), os.path.basename(command.output)
        )
        for step, number, command in _commands(cell)
    }
    return found | {name: Output(name, (), name) for name in others}


def others_of(cell: CellState, files: Sequence[str]) -> tuple[str, ...]:
    """Return the raw outputs of a cell that no command of it names, of all the names in their folder."""
    named = {os.path.basename(command.output) for _, _, command in _commands(cell)}
    begin = f"{cell.index:03d}-"
    return tuple(sorted(name for name in files if name.startswith(begin) and name not in named))


def output_lines(output: Output, text: str, left_out_bytes: int, width: int) -> tuple[TextLine, ...]:
    """Return what was printed, safe to show, each line broken where the width ends."""
    lines = [TextLine(part, "strong") for part in broken(printable(output.title[:8000]), width)]
    lines += [TextLine(part) for said in output.about for part in broken(printable(said), width)]
    lines.append(TextLine(""))
    if not text:
        lines.append(TextLine("It printed nothing."))
    for line in printable_lines(text.removesuffix("\n")) if text else ():
        lines += [TextLine(part) for part in cut(line, width)]
    if left_out_bytes:
        lines.append(TextLine(f"... and {format_bytes(left_out_bytes)} more in {output.file}"))
    return tuple(lines)


def cut(line: str, width: int) -> Iterator[str]:
    """Yield a printable line in pieces of at most width cells, wherever that breaks it."""
    if cells_of(line) <= width:
        yield line
        return
    # Every character takes two cells at most: a narrower step is right for any text.
    step = width if line.isascii() else max(1, width // 2)
    for begin in range(0, len(line), step):
        yield line[begin : begin + step]


def _rows(cell: CellState, others: Sequence[str], width: int) -> Iterator[TableRow]:
    for step, number, command in _commands(cell):
        name = shorten_middle(printable(shlex.join(command.argv)[:_LONGEST_NAME]), max(20, width))
        times = [fixed(time_s, 3) for time_s in (command.elapsed_s, command.user_s, command.system_s)]
        cells = (str(command.exit_code), *times, format_bytes(command.max_rss_bytes))
        yield TableRow(f"{step}/{number}", name, cells, tone="strong" if command.exit_code else "")
    for name in others:
        yield TableRow(name, printable(name), ("",) * len(_COLUMNS))


def _commands(cell: CellState) -> Iterator[tuple[int, int, CommandFinished]]:
    for step in cell.steps:
        for number, command in enumerate(step.commands):
            yield step.number, number, command


def _about(command: CommandFinished) -> tuple[str, ...]:
    took = f"exit code {command.exit_code} after {format_seconds(command.elapsed_s)}"
    used = f"user {format_seconds(command.user_s)}, system {format_seconds(command.system_s)}"
    said = f"{took}; {used}; peak memory {format_bytes(command.max_rss_bytes)}"
    return (said, *(f"kernel: {line}" for line in command.kernel_log))
