"""The engine's process: `python -m fsconsole.engine RUN_FOLDER`, as PID 1 of its own namespace."""

from __future__ import annotations

import sys

from fsconsole.engine.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
