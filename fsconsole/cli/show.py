"""`fsconsole show`: a run, or one of its cells with all that its commands printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import AsJson, RunName, RunsDir
from fsconsole.errors import Misused
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import hanging, pad_left, pad_right, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsconsole.client.runs import Look
    from fsconsole.journal.folder import RunFolder

_COMMAND = "fsconsole show"


def show(
    run: RunName,
    cell: Annotated[
        str | None, typer.Argument(metavar="CELL", help="Number of a cell, from 1; default: all in brief.")
    ] = None,
    *,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Show a run's cells; of one cell status, options, commands with their output, and the kernel's log."""
    from fsconsole.client.runs import look
    from fsconsole.journal.store import open_run

    folder = open_run(runs, run)
    seen = look(folder)
    index = _index(cell, len(seen.state.cells)) if cell is not None else None
    if as_json:
        _tell(folder, seen, index)
        return
    lines = _run_lines(seen) if index is None else _cell_lines(folder, seen, index)
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _index(word: str, cells: int) -> int:
    if word.isascii() and word.isdecimal() and 1 <= int(word[:9]) <= cells:
        return int(word[:9]) - 1
    what = f"CELL is a number from 1 to {cells}, not '{printable(word)}'."
    raise Misused(what=what, nearest="", command=_COMMAND)


def _run_lines(seen: Look) -> Iterator[str]:
    from fsconsole.cli.complaint import terminal_width
    from fsconsole.results.figures import cell_names, cell_word

    state, width = seen.state, terminal_width()
    yield from hanging("", printable(f"{state.request.plan.title} ({state.request.run_id})".lstrip()), width)
    yield from hanging("", printable(seen.standing), width)
    widest = max((len(cell_word(cell.status)) for cell in state.cells), default=0)
    for name, cell in zip(cell_names(state.request.plan), state.cells, strict=True):
        lead = f"{pad_left(str(cell.index + 1), 5)}  {pad_right(cell_word(cell.status), widest)}  "
        said = f"{name}: {cell.reason}" if cell.reason else name
        yield from hanging(lead, printable(said), width)


def _cell_lines(folder: RunFolder, seen: Look, index: int) -> Iterator[str]:
    from fsconsole.cli.complaint import terminal_width
    from fsconsole.client.runs import list_outputs
    from fsconsole.results.figures import cell_names
    from fsconsole.show import cell as view

    state, width = seen.state, terminal_width()
    planned, known = state.request.plan.cells[index], state.cells[index]
    yield from view.title_lines(state, planned, cell_names(state.request.plan)[index], (1, 1), width)
    variant = planned.variant
    options = {
        "mkfs": " ".join((*variant.mkfs_words, *variant.tune_words)),
        "mount": ",".join(variant.mount_words),
        "settings": " ".join(f"{name}={value}" for name, value in planned.setting.values),
        "target": " ".join(planned.members) or planned.target,
    }
    for name, words in options.items():
        yield from hanging(f"{name:<9} ", printable(words or "default"), width)
    for lines in (view.figure_lines(known, width), view.warning_lines(state, known, width)):
        yield ""
        yield from (line.text for line in lines)
    for output in view.outputs(known, view.others_of(known, list_outputs(folder))).values():
        text, left_out = _output(folder, output.file)
        yield ""
        yield from (line.text for line in view.output_lines(output, text, left_out, width))


def _output(folder: RunFolder, file: str) -> tuple[str, int]:
    """Return an output's text and how many bytes of it were left out; in place of one that can't be read, why."""
    from fsconsole.client.runs import read_output
    from fsconsole.errors.runs import JournalUnusable

    try:
        return read_output(folder, file) if file else ("", 0)
    except JournalUnusable as error:
        return f"n/a ({error.why})", 0


def _tell(folder: RunFolder, seen: Look, index: int | None) -> None:
    from fsconsole.cli.answers import OutputTold, ShowAnswer, tell
    from fsconsole.client.runs import list_outputs
    from fsconsole.results.json import cells_told, run_told
    from fsconsole.show import cell as view

    cells = cells_told(seen.state)
    run = run_told(seen.state, seen.standing)
    if index is None:
        tell(ShowAnswer(run, cells, ()))
        return
    known = seen.state.cells[index]
    named = view.outputs(known, view.others_of(known, list_outputs(folder))).values()
    read = ((output.file, *_output(folder, output.file)) for output in named if output.file)
    tell(ShowAnswer(run, cells[index : index + 1], tuple(OutputTold(*each) for each in read)))
