"""An engine with a script that takes the kernel's patience from a file: user-mode Linux finds no hung tasks.

python impatient_engine.py RUN_FOLDER SCRIPT_FILE
"""

from __future__ import annotations

import runpy
from pathlib import Path

from fsconsole.engine import hangs

PATIENCE = "/run/hung_task_timeout_secs"

if __name__ == "__main__":
    hangs._HUNG_TASK_S = PATIENCE
    runpy.run_path(str(Path(__file__).parents[1] / "loop/faulty_engine.py"), run_name="__main__")
