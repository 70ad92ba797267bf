"""An engine that gives up a device sooner than others: python impatient_engine.py RUN_FOLDER LIMIT_S"""

from __future__ import annotations

import sys

from fsconsole.engine import attention, runner

if __name__ == "__main__":
    folder, limit_s = sys.argv[1:]
    attention.patience_s = lambda: float(limit_s)
    attention._SOON_S = 2.0
    sys.exit(runner.main([folder]))
