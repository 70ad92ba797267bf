"""Copies of recorded run folders (tests/data/runs): a reader may touch the journal of an ended run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fsconsole.journal.arrival import arriving, leave_mark
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.importing import import_run

_DATA = Path(__file__).parents[1] / "data" / "runs"
NAMES = ("grid", "raw", "failed", "stopped", "killed")


def recorded(name: str, runs_dir: Path) -> RunFolder:
    """Return a copy of a recorded run as if it had just been made here, below a directory of runs of the test's own."""
    runs_dir.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(str(shutil.copytree(_DATA / name, runs_dir / name)))
    Path(folder.raw).mkdir(exist_ok=True)
    arrive(folder)
    return folder


def arrive(folder: RunFolder) -> None:
    """Let a folder that was copied be a run that was made here, the last one."""
    with arriving(os.path.dirname(folder.path)) as number:
        leave_mark(folder, folder.name, number)


def imported(name: str, runs_dir: Path) -> RunFolder:
    """Return a run that is kept as an archive, imported below a directory of runs of the test's own."""
    return import_run(str(_DATA / f"{name}.fsrun"), str(runs_dir))


def all_recorded(runs_dir: Path) -> tuple[RunFolder, ...]:
    """Return copies of all of them; "stopped" arrived last."""
    folders = {name: recorded(name, runs_dir) for name in sorted(NAMES)}
    return tuple(folders[name] for name in NAMES)
