"""Copies of recorded run folders (tests/data/runs): a reader may touch the journal of an ended run."""

from __future__ import annotations

import shutil
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.importing import import_run

_DATA = Path(__file__).parents[1] / "data" / "runs"
NAMES = ("grid", "raw", "failed", "stopped", "killed")


def recorded(name: str, runs_dir: Path) -> RunFolder:
    """Return a copy of a recorded run, below a directory of runs of the test's own."""
    runs_dir.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(str(shutil.copytree(_DATA / name, runs_dir / name)))
    Path(folder.raw).mkdir(exist_ok=True)
    return folder


def imported(name: str, runs_dir: Path) -> RunFolder:
    """Return a run that is kept as an archive, imported below a directory of runs of the test's own."""
    return import_run(str(_DATA / f"{name}.fsrun"), str(runs_dir))


def all_recorded(runs_dir: Path) -> tuple[RunFolder, ...]:
    """Return copies of all of them."""
    return tuple(recorded(name, runs_dir) for name in NAMES)
