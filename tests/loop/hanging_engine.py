"""An engine that stands still in one kind of step of one cell, so that a test can act or kill it just there.

It goes on when the marker file is removed.

python hanging_engine.py RUN_FOLDER STEP_KIND before|after CELL MARKER_FILE
"""

from __future__ import annotations

import pathlib
import sys
import time

from fsconsole.engine import proof, runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.model.plan import StepKind


def hang_in(kind: StepKind, position: str, cell: int, marker: pathlib.Path) -> None:
    """Replace the handler of kind by one that waits before or after doing its work."""
    real = HANDLERS[kind]

    def handler(work, step):
        if work.cell.index != cell:
            return real(work, step)
        result = real(work, step) if position == "after" else None
        marker.touch()
        while marker.exists():
            time.sleep(0.02)
        return result or real(work, step)

    HANDLERS[kind] = handler


if __name__ == "__main__":
    folder, kind_word, where, cell_word, marker_path = sys.argv[1:]
    proof.OPENERS_WAIT_S = 2.0
    hang_in(StepKind(kind_word), where, int(cell_word), pathlib.Path(marker_path))
    sys.exit(runner.main([folder]))
