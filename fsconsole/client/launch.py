"""The request for a run, and a run that is taken back before its engine was started."""

from __future__ import annotations

import shutil
import time

from fsconsole import __version__
from fsconsole.journal.store import RunFolder
from fsconsole.model.plan import Plan
from fsconsole.model.run import RunRequest, Target


def create_request(
    run_id: str, plan: Plan, targets: tuple[Target, ...], *, owned_scratch: str = ""
) -> RunRequest:
    """Return the request for a run that starts now."""
    return RunRequest(run_id, time.time_ns(), __version__, plan, targets, owned_scratch)


def withdraw(folder: RunFolder) -> None:
    """Remove the folder of a run that no engine has been started for. Raises OSError."""
    shutil.rmtree(folder.path)
