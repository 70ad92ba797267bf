"""Why a row lacks figures, in words."""

from __future__ import annotations

from fsconsole.analysis.figures import CellFigures
from fsconsole.model.state import CellStatus

_WORDS = {
    CellStatus.PENDING: "not run yet",
    CellStatus.RUNNING: "running now",
    CellStatus.FAILED: "failed",
    CellStatus.SKIPPED: "skipped",
    CellStatus.STOPPED: "stopped",
    CellStatus.UNAVAILABLE: "unavailable",
    CellStatus.UNKNOWN: "interrupted: the engine died in it",
}


def row_notes(cells: tuple[CellFigures, ...]) -> tuple[str, ...]:
    """Return one sentence per way in which cells of a row did not come to their end.

    "unavailable: mkfs.xfs is not installed" where that holds for all of them, "2 of 3 not run yet" else.
    """
    counted: dict[str, int] = {}
    for cell in cells:
        if cell.status is not CellStatus.DONE:
            sentence = _sentence(cell)
            counted[sentence] = counted.get(sentence, 0) + 1
    total = len(cells)
    return tuple(
        sentence if number == total else f"{number} of {total} {sentence}"
        for sentence, number in counted.items()
    )


def _sentence(cell: CellFigures) -> str:
    words = _WORDS[cell.status]
    return f"{words}: {cell.reason}" if cell.reason else words
