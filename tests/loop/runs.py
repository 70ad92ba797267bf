"""Making and waiting for real runs on loop devices."""

from __future__ import annotations

import pathlib
import time

from fsconsole.client.launch import create_request
from fsconsole.journal.store import RunFolder, create_run, is_alive, make_run_id
from fsconsole.preflight.prepare import prepare
from fsconsole.system.command import RealExecutor

TINY_PLAN = """
schema = 1
title = "two tiny cells"
repeats = 1
order = "as-listed"

[[filesystem]]
type = "ext4"
mount = { data = ["ordered", "writeback"] }

[[workload]]
name = "small files"
kind = "create"
threads = 4
file_size = "1MiB"
block_size = "64KiB"
"""


def new_run(plan_text: str, device: str, runs_dir: str) -> RunFolder:
    """Make the folder of a run of plan_text on device, all consented, without starting its engine."""
    pathlib.Path(runs_dir).mkdir(parents=True, exist_ok=True)
    plan_file = pathlib.Path(runs_dir).parent / "plan.toml"
    plan_file.write_text(plan_text)
    run_id = make_run_id()
    prepared = prepare(str(plan_file), [device], executor=RealExecutor(), runs_dir=runs_dir, run_id=run_id)
    return create_run(runs_dir, create_request(run_id, prepared.plan, prepared.targets))


def wait_for_end(folder: RunFolder, limit_s: float = 120) -> None:
    """Wait until the run's engine has given its lock back."""
    deadline = time.monotonic() + limit_s
    while is_alive(folder):
        assert time.monotonic() < deadline, "the engine does not end"
        time.sleep(0.05)
