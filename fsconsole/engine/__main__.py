"""The engine's process: `python -m fsconsole.engine RUN_FOLDER`, as PID 1 of its own namespace."""

from __future__ import annotations

import gc
import sys

# All that is loaded here stays: to look for cycles in it, over and over, takes an eighth of the start.
gc.disable()

from fsconsole.engine.runner import main  # noqa: E402

gc.freeze()
gc.enable()

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
