"""What resuming a run means: where it was cut short, what is lost and what is kept."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.model.state import OPEN_STATUSES, CellState, CellStatus, RunState
from fsconsole.results.figures import cell_names, count_cells
from fsconsole.show.progress import describe_cell
from fsconsole.text import counted, listed, printable


def resume_sentences(state: RunState, proven: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return in sentences what was interrupted, what resuming loses and keeps, and which devices are as the run left them.

    proven holds the paths of those devices; the others have to be agreed to, and are described with what is on them.
    """
    return tuple(map(printable, _sentences(state, proven)))


def _sentences(state: RunState, proven: tuple[str, ...]) -> Iterator[str]:
    cut = [cell for cell in state.cells if cell.status in OPEN_STATUSES and cell.steps]
    names = cell_names(state.request.plan) if cut else ()
    for cell in cut:
        yield f"{_ending(cell)}: {describe_cell(state, cell.index, names[cell.index])}{_place(cell)}."
    done = sum(cell.status is CellStatus.DONE for cell in state.cells)
    cells = count_cells(state)
    lost = "Lost: what it measured; the cell starts again. " if cut else ""
    yield f"{lost}Kept: {done} of {counted(cells.able, 'cell')}. To go: {cells.left}."
    if proven:
        is_one = len(proven) == 1
        holds, is_wiped = ("holds", "it is") if is_one else ("hold", "they are")
        names_of = listed(proven, lambda _words: True)
        yield f"{names_of} {holds} only what the run left: {is_wiped} wiped again for each cell that is left."


def _ending(cell: CellState) -> str:
    return "Stopped" if cell.status is CellStatus.STOPPED else "Interrupted"


def _place(cell: CellState) -> str:
    """Return the step in which a cell was cut short, and by what, as a clause."""
    why = cell.reason if cell.status is CellStatus.STOPPED else "the engine died"
    return f", in its {cell.steps[-1].kind.words}: {why}"
