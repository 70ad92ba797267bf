"""Real run folders with real journals, written as an engine would; commands and terminals."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model import events
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from tests.loop.forked import nursery
from tests.unit.results import build

STARTED = events.RunStarted(1, "0.1.0", "boot", "6.18.0", "box", (("cpus", "2"),))
CELL_DONE: tuple[events.Observation, ...] = (
    events.CellStarted(0, 1),
    events.StepStarted(0, 1, 2, StepKind.WORKLOAD, "large files"),
    events.StepFinished(0, 1, 2, events.Outcome.DONE, 3.1, measurements=(Measurement(Metric.WRITE, 812e6),)),
    events.StepStarted(0, 1, 3, StepKind.DRAIN, "drain"),
    events.StepFinished(0, 1, 3, events.Outcome.DONE, 3.0, measurements=(Measurement(Metric.DURABLE, 410e6),)),
    events.WarningRaised(0, 1, events.WarningKind.SHORT, "it took 3.1 s", "Write more."),
    events.CellFinished(0, 1, events.Outcome.DONE),
)
IN_MKFS: tuple[events.Observation, ...] = (
    events.CellStarted(1, 1),
    events.StepStarted(1, 1, 1, StepKind.MKFS, "mkfs"),
)
WHOLE = (
    STARTED,
    *CELL_DONE,
    *IN_MKFS,
    events.CellFinished(1, 1, events.Outcome.FAILED, "mkfs: no room"),
    events.RunFinished(events.Outcome.DONE),
)


def make_run(runs_dir: Path, run_id: str = "20261121-081000-k7qf", *, title: str = "two filesystems") -> RunFolder:
    request = build.request([build.cell(0), build.cell(1, build.XFS)], title=title)
    return create_run(str(runs_dir), replace(request, run_id=run_id))


def write(folder: RunFolder, observations: Iterable[events.Observation], *, finished: bool = True) -> None:
    journal = JournalWriter(folder)
    try:
        for observation in observations:
            journal.record(observation, durable=True)
    finally:
        journal.close(finished=finished)


class Terminal(io.StringIO):
    """A stream that is painted on."""

    def isatty(self) -> bool:
        return True


FSCONSOLE = Path(sys.executable).with_name("fsconsole")
_LIMIT_S = 300.0


def run_command(*words: str, columns: int | None = 80) -> subprocess.CompletedProcess[str]:
    """Carry out a command in a process of its own, which writes into pipes; its line ends are Python's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        if columns:
            patch.setenv("COLUMNS", str(columns))
        code, out, err = nursery().run(words, _LIMIT_S)
    out, err = (printed.decode().replace("\r\n", "\n") for printed in (out, err))
    return subprocess.CompletedProcess(words, code, out, err)
