"""A volume that can be made to answer no more, and the engines of runs that hang on it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from fsconsole.model.state import RunStatus
from tests.lab import impatient_engine
from tests.lab.guest import run, settle, wait_until
from tests.lab.runs import act, begin_anew, new_run, state_of
from tests.lab.soak import IN_UML
from tests.lab.warm import Forked
from tests.loop import faulty_engine

PLAN = Path("tests/lab/hang.toml")
DEVICE = "/dev/dm-0"
PATIENCE_S = 300.0
_NAME, _SECTORS = "hanging", 64 * 2048
_SUSPEND = ("dmsetup", "suspend", "--nolockfs", "--noflush", _NAME)
_DISK = "/dev/ubda" if IN_UML else "/dev/vda"
_HUNG_TASK_S = Path(impatient_engine.PATIENCE if IN_UML else "/proc/sys/kernel/hung_task_timeout_secs")
_USUAL_S = "120"


class Hanging:
    """The volume, over a disk; a run on it has one engine."""

    def __init__(self) -> None:
        self.engine: Forked | None = None

    def run_hung_in(self, step: str, plan: Path = PLAN) -> RunFolder:
        """Begin a run whose device answers no more in a step of its first cell, and wait until it hangs."""
        folder = new_run(str(plan), DEVICE)
        driver = impatient_engine.__file__ if IN_UML else faulty_engine.DRIVER
        self.engine = begin_anew(folder, act(state_of(folder).cells[0], step, _SUSPEND), driver=driver)
        suspended = ("dmsetup", "info", "--columns", "--noheadings", "-o", "suspended", _NAME)
        wait_until(lambda: run(*suspended).strip() == "Suspended", "it hangs", PATIENCE_S)
        return folder

    def give_up_soon(self) -> None:
        """Have the kernel, and with it the engine, lose patience after seconds."""
        _HUNG_TASK_S.write_text("2")

    def answer(self) -> None:
        """Have the volume answer again, and wait until the engine is gone."""
        assert self.engine is not None
        run("dmsetup", "resume", _NAME)
        self.engine.wait()
        self.engine = None


@contextmanager
def hanging_volume() -> Iterator[Hanging]:
    """Make the volume; afterwards it is gone, whatever hung on it."""
    run("modprobe", "dm_mod")
    run("dmsetup", "create", _NAME, "--table", f"0 {_SECTORS} linear {_DISK} 0")
    settle()
    _HUNG_TASK_S.write_text(_USUAL_S)
    volume = Hanging()
    try:
        yield volume
    finally:
        _HUNG_TASK_S.write_text(_USUAL_S)
        if volume.engine is not None:
            volume.engine.kill()
        run("dmsetup", "resume", _NAME)
        wait_until(_is_removed, "nothing holds the device any more")


def over(folder: RunFolder) -> bool:
    """Return whether the run has ended."""
    return state_of(folder).status is RunStatus.FINISHED


def _is_removed() -> bool:
    return subprocess.run(["dmsetup", "remove", _NAME], check=False, capture_output=True).returncode == 0
