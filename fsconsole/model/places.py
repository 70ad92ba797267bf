"""Where things lie unless the operator says otherwise; apart from the rooms that use them, so that help is quick."""

from __future__ import annotations

DEFAULT_RUNS_DIR = "/var/lib/fsconsole/runs"
DEFAULT_SCRATCH_DIR = "/var/lib/fsconsole/scratch"
