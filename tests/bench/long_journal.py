"""A journal of a run that sampled at 2 Hz for hours, made within seconds, for measurements of the console.

The first samples go through the real writer; the others are copies of them, later in time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    Observation,
    Outcome,
    RunFinished,
    StepFinished,
    StepStarted,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from tests.bench.made_samples import PERIOD_NS, made_samples
from tests.unit.cli.recorded import STARTED
from tests.unit.results import build

HOURS_12 = 86_400
"""Samples of 12 h at 2 Hz."""
CPUS, MEMBERS = 4, 4
_FIRST = 600
_COPIED = """INSERT INTO {table} SELECT {columns} FROM {table} WHERE {key} <= ?"""


def made_run(runs_dir: Path, samples: int) -> RunFolder:
    """Return the folder of a finished run of two cells, each of which has half of so many samples."""
    cells = [build.cell(0), build.cell(1, build.XFS)]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id="long"))
    journal = JournalWriter(folder)
    for observation in (STARTED, *_life(0), *_life(1), RunFinished(Outcome.DONE)):
        journal.record(observation, durable=False)
    begun_ns = time.monotonic_ns()
    for number, sample in enumerate(made_samples(_FIRST, cpus=CPUS, members=MEMBERS)):
        journal.sample(replace(sample, cell=0, monotonic_ns=begun_ns + number * PERIOD_NS))
    journal.close(finished=True)
    with closing(sqlite3.connect(folder.journal)) as connection:
        _multiply(connection, samples)
    return folder


def _life(cell: int) -> Iterator[Observation]:
    yield CellStarted(cell, 1)
    for step, kind in enumerate((StepKind.MKFS, StepKind.WORKLOAD), 1):
        yield StepStarted(cell, 1, step, kind, kind.value)
        figures = (Measurement(Metric.WRITE, 800e6),) if kind is StepKind.WORKLOAD else ()
        yield StepFinished(cell, 1, step, Outcome.DONE, 1.0, measurements=figures)
    yield CellFinished(cell, 1, Outcome.DONE)


def _multiply(connection: sqlite3.Connection, samples: int) -> None:
    """Copy the samples until there are so many; the later half belongs to the second cell."""
    there = _FIRST
    while there < samples:
        more = min(there, samples - there)
        for table, key in (("sample", "id"), ("sample_cpu", "sample"), ("sample_device", "sample")):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            later = {key: f"{key} + {there}"}
            if table == "sample":
                later |= {name: f"{name} + {there * PERIOD_NS}" for name in ("monotonic_ns", "wall_ns")}
            listed = ", ".join(later.get(name, name) for name in columns)
            connection.execute(_COPIED.format(table=table, columns=listed, key=key), (more,))
        there += more
    connection.execute("UPDATE sample SET cell = 1 WHERE id > ?", (samples // 2,))
    connection.commit()
