"""An engine that gives up a device sooner than others: python impatient_engine.py RUN_FOLDER LIMIT_S"""

from __future__ import annotations

import sys

from fsconsole.engine import hangs, runner

if __name__ == "__main__":
    folder, limit_s = sys.argv[1:]
    hangs.hang_timeout_s = lambda: float(limit_s)
    hangs._TIMEOUT_AFTER_KILL_S = 2.0
    sys.exit(runner.main([folder]))
