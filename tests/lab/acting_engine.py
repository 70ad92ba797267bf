"""An engine to whose devices something happens in the middle of certain steps.

An act is {"cell": 0, "step": "mkfs", "argv": [...], "gone": "/sys/block/sda"}. The command is run when the step begins,
or for a workload when its first file is there; where "gone" names a path, the step goes on when that is no more.
Each act happens once. As a program: python acting_engine.py RUN_FOLDER ACTS, where ACTS is JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.model.plan import StepKind
from fsconsole.plan.steps import TREE

Act = dict[str, object]


def act_in(kind: StepKind, acts: list[dict[str, object]]) -> None:
    """Have the handler of kind act in the cells of acts, in each once."""
    real = HANDLERS[kind]
    waiting = {act["cell"]: act for act in acts}

    def handler(work, step):
        act = waiting.pop(work.cell.index, None)
        if act is not None and kind is StepKind.WORKLOAD:
            threading.Thread(target=_act_amid, args=(act,), daemon=True).start()
        elif act is not None:
            _act(act)
        return real(work, step)

    HANDLERS[kind] = handler


def _act_amid(act: dict[str, object]) -> None:
    while not any(file.stat().st_size for file in Path(TREE).rglob("*") if file.is_file()):
        time.sleep(0.05)
    _act(act)


def _act(act: dict[str, object]) -> None:
    subprocess.run(act["argv"], check=True)
    while act["gone"] and os.path.exists(act["gone"]):
        time.sleep(0.05)


def carry_out(folder_path: str, acts: Sequence[Act]) -> int:
    """Be the engine of a run, and return its exit code."""
    for kind in {act["step"] for act in acts}:
        act_in(StepKind(kind), [act for act in acts if act["step"] == kind])
    return runner.main([folder_path])


if __name__ == "__main__":
    sys.exit(carry_out(sys.argv[1], json.loads(sys.argv[2])))
