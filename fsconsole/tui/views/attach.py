"""Which run there is to attach to."""

from __future__ import annotations

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import is_alive, list_runs


def living(runs_dir: str) -> RunFolder | None:
    """Return the newest run that an engine carries out right now, or None where none is. Raises NotRoot, RunsReadOnly."""
    return next((folder for folder in list_runs(runs_dir) if is_alive(folder)), None)
