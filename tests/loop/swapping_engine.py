"""An engine that runs a test's script before and after the load of each cell, where it sees the mounted filesystem.

python swapping_engine.py RUN_FOLDER SCRIPT

The script is given "before" or "after", the cell's number, and the tree.
"""

from __future__ import annotations

import subprocess
import sys

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.model.plan import StepKind


def swap_around_loads(script: str) -> None:
    """Replace the handler of loads by one with the script around it."""
    real = HANDLERS[StepKind.WORKLOAD]

    def handler(work, step):
        words = (str(work.cell.index), work.tree)
        subprocess.run(["sh", "-eu", script, "before", *words], check=True)
        try:
            return real(work, step)
        finally:
            subprocess.run(["sh", "-eu", script, "after", *words], check=True)

    HANDLERS[StepKind.WORKLOAD] = handler


if __name__ == "__main__":
    folder, script_path = sys.argv[1:]
    swap_around_loads(script_path)
    sys.exit(runner.main([folder]))
