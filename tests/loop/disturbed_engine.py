"""An engine to which something happens in one certain instant.

python disturbed_engine.py RUN_FOLDER skip-at-mount|kernel-error|loses-samples|kept-busy|system-refuses|fails-first|stop-in-proof
"""

from __future__ import annotations

import errno
import os
import pathlib
import sys
from dataclasses import replace

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS
from fsconsole.engine.work import StepFailed
from fsconsole.model.events import ControlRequested, InCell, Verb
from fsconsole.model.plan import StepKind


def skip_at_mount() -> None:
    """Have a skip come in the instant in which the first cell's filesystem has been mounted."""
    requests = []

    class Requests(runner.Requests):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            requests.append(self)

    class Executor(runner.RealExecutor):
        def run(self, command):
            result = super().run(command)
            if command.argv[:3] == ("mount", "-t", "ext4") and requests:
                requests.pop().take(ControlRequested(Verb.SKIP, InCell(0, 1)))
            return result

    runner.Requests, runner.RealExecutor = Requests, Executor


def kernel_error() -> None:
    """Have the kernel find an error in the filesystem of the first cell while no program of a step runs."""
    load = HANDLERS[StepKind.WORKLOAD]

    def load_and_err(work, step):
        result = load(work, step)
        if work.cell.index == 0:
            name = os.path.basename(work.cell.target)
            pathlib.Path(f"/sys/fs/ext4/{name}/trigger_fs_error").write_text("1")
        return result

    HANDLERS[StepKind.WORKLOAD] = load_and_err


def loses_samples() -> None:
    """Have the journal lose samples in the load of the first cell, as on a disk that takes none for half an hour."""
    load = HANDLERS[StepKind.WORKLOAD]

    def load_and_lose(work, step):
        work.run.journal._dropped += 3 if work.cell.index == 0 else 0
        return load(work, step)

    HANDLERS[StepKind.WORKLOAD] = load_and_lose


def kept_busy() -> None:
    """Have a file open in the filesystem of the first cell when it is to be given back."""

    def hold(work, _step):
        os.open(work.mount_point, os.O_RDONLY)
        raise StepFailed("held")

    HANDLERS[StepKind.WORKLOAD] = hold


def system_refuses() -> None:
    """Have a system call fail where no step is to blame."""

    def refuse(_proc):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), "/proc/1")

    runner.reap_strangers = refuse


def fails_first() -> None:
    """Have the first cell fail, and the run stopped before the second."""
    requests = []

    class Requests(runner.Requests):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            requests.append(self)

    def fail(_work, _step):
        requests[0].take(ControlRequested(Verb.STOP_AFTER))
        raise StepFailed("made to fail")

    runner.Requests = Requests
    HANDLERS[StepKind.QUIESCE] = fail


def stop_in_proof() -> None:
    """Have a stop come while the first cell's device is being proved, which kills the probe."""
    requests = []

    class Requests(runner.Requests):
        def cell_begins(self, cell):
            super().cell_begins(cell)
            requests.append(self)

    class Executor(runner.RealExecutor):
        def run(self, command):
            result = super().run(command)
            if command.argv[0] != "wipefs" or not requests:
                return result
            requests.pop().take(ControlRequested(Verb.STOP_NOW))
            return replace(result, exit_code=-9, stdout=b"")

    runner.Requests, runner.RealExecutor = Requests, Executor


DISTURBANCES = {
    "skip-at-mount": skip_at_mount,
    "kernel-error": kernel_error,
    "loses-samples": loses_samples,
    "kept-busy": kept_busy,
    "system-refuses": system_refuses,
    "fails-first": fails_first,
    "stop-in-proof": stop_in_proof,
}

if __name__ == "__main__":
    folder, disturbance = sys.argv[1:]
    DISTURBANCES[disturbance]()
    sys.exit(runner.main([folder]))
