"""From an agreed plan to a living engine."""

from __future__ import annotations

import time

from fsconsole import __version__
from fsconsole.client.start import start_engine
from fsconsole.journal.store import RunFolder, create_run
from fsconsole.model.plan import Plan
from fsconsole.model.run import RunRequest, Target


def create_request(
    run_id: str, plan: Plan, targets: tuple[Target, ...], *, owned_scratch: str = ""
) -> RunRequest:
    """Return the request for a run that starts now."""
    return RunRequest(run_id, time.time_ns(), __version__, plan, targets, owned_scratch)


def launch(request: RunRequest, runs_dir: str) -> RunFolder:
    """Write the run's folder, durably, and start its engine. Raises RunsReadOnly, NoSpace, EngineNotStarted."""
    folder = create_run(runs_dir, request)
    start_engine(folder)
    return folder
