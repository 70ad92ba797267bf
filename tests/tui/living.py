"""A run that lives as far as anybody can tell: its lock is held, its journal grows, and it takes requests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from fsconsole.engine.control import ControlServer, Requests
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    ControlRequested,
    InCell,
    Observation,
    Outcome,
    RunInterrupted,
    StepStarted,
    Verb,
)
from fsconsole.model.plan import StepKind, Variant
from fsconsole.model.sample import Temperature, Writeback
from fsconsole.system.locks import FileLock
from fsconsole.text import GIB, MIB
from tests.unit.cli.recorded import STARTED
from tests.unit.results import build

BEGUN: tuple[Observation, ...] = (
    STARTED,
    CellStarted(0, 1),
    StepStarted(0, 1, 2, StepKind.WORKLOAD, "large files"),
)
DRAINING: tuple[Observation, ...] = (StepStarted(0, 1, 3, StepKind.DRAIN, "drain"),)
NEXT: tuple[Observation, ...] = (
    CellFinished(0, 1, Outcome.DONE),
    CellStarted(1, 1),
    StepStarted(1, 1, 1, StepKind.MKFS, "make the filesystem"),
)


@dataclass
class Living:
    """The engine's side of a run."""

    folder: RunFolder
    journal: JournalWriter
    lock: FileLock
    requests: Requests = field(default_factory=Requests)
    requested: list[ControlRequested] = field(default_factory=list)

    @property
    def asked(self) -> list[Verb]:
        """What was asked and not refused."""
        return [request.verb for request in self.requested]

    def record(self, observations: Iterable[Observation]) -> None:
        """Have things happen."""
        for observation in observations:
            if isinstance(observation, CellStarted):
                self.requests.cell_begins(InCell(observation.cell, observation.attempt))
            elif isinstance(observation, CellFinished):
                self.requests.cell_ends(is_final=True)
            self.journal.record(observation)

    def sample(self, step: str = "workload", *, age_s: float = 0.0, cell: int = 0, dirty_bytes: int = 3 * GIB) -> None:
        """Have the gauges read, some seconds ago."""
        made = build.sample(time.monotonic_ns() - int(age_s * 1e9))
        writeback = Writeback(dirty_bytes, 100 * MIB, 4 * GIB, 2 * GIB)
        warm = Temperature(disk_c=41.0, machine_c=58.0)
        self.journal.sample(replace(made, step=step, cell=cell, writeback=writeback, temperature=warm))

    def die(self) -> None:
        """End without a word."""
        self.lock.release()

    def interrupt(self) -> None:
        """Have a cleanup mark it."""
        self.journal.record(RunInterrupted("its engine died"))


AGAIN: tuple[Observation, ...] = (
    CellFinished(1, 1, Outcome.DONE),
    CellStarted(2, 1),
    StepStarted(2, 1, 2, StepKind.WORKLOAD, "large files"),
)


@contextmanager
def living_run(
    runs_dir: Path,
    name: str = "20261121-081000-k7qf",
    *,
    owned_scratch: str = "",
    again: bool = False,
    variants: Sequence[Variant] = (build.EXT4, build.XFS),
) -> Iterator[Living]:
    """Give a run in the middle of its first load; again: its first variant has a second round."""
    cells = [build.cell(index, variant) for index, variant in enumerate(variants)]
    cells += [build.cell(len(cells), variants[0], repeat=2)] if again else []
    request = build.request(cells, title="two filesystems")
    folder = create_run(str(runs_dir), replace(request, run_id=name, owned_scratch=owned_scratch))
    journal = JournalWriter(folder)
    lock = FileLock.acquire(folder.lock)
    made = Living(folder, journal, lock)
    server = ControlServer(folder.control, made.requests, on_request=made.requested.append, place=lambda: "a test")
    try:
        made.record(BEGUN)
        made.sample()
        yield made
    finally:
        server.close()
        lock.release()
        journal.close(finished=True)
