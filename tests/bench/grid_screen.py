"""How quickly a large grid opens and is sorted: `python -m tests.bench.grid_screen`.

A journal is written with so many variants of one cell each, and warnings on every third. The console is opened on it
in memory at 120x40, and keys are pressed as an operator would. Opening is from the key to the painted grid, and also
what a run costs that is read for the first time; sorting likewise. Printed are the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from fsconsole.cli.main import COLLECT_AFTER
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
    WarningKind,
    WarningRaised,
)
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind, Variant
from fsconsole.tui.widgets.lists import Table
from tests.bench.paired import Cost
from tests.tui.harness import console
from tests.unit.cli.recorded import STARTED
from tests.unit.results import build

ALLOWED_OPEN_S, ALLOWED_SORT_S = 1.5, 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where both limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--times", type=int, default=5)
    wanted = parser.parse_args(arguments)
    # As the command fsconsole has it.
    gc.set_threshold(*COLLECT_AFTER)
    gc.freeze()
    with tempfile.TemporaryDirectory() as directory:
        folder = made_run(Path(directory), wanted.rows)
        found = [asyncio.run(measured(folder, wanted.rows)) for _ in range(wanted.times)]
    fails = 0
    limits = (ALLOWED_OPEN_S, ALLOWED_SORT_S)
    for name, costs, limit_s in zip(("open", "sort"), zip(*found, strict=True), limits, strict=True):
        cpu_s, wall_s = (statistics.median(getattr(cost, of) for cost in costs) for of in ("cpu_s", "wall_s"))
        fails += wall_s > limit_s
        print(
            f"{wanted.rows} rows: {name} {cpu_s:.3f} CPU s {wall_s:.3f} s, median of {wanted.times}; allowed {limit_s} s"
        )
    return int(fails > 0)


def made_run(runs_dir: Path, rows: int) -> RunFolder:
    """Return the folder of a finished run with so many variants."""
    cells = [build.cell(index, _variant(index)) for index in range(rows)]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id="large"))
    journal = JournalWriter(folder)
    for observation in (
        STARTED,
        *(one for index in range(rows) for one in _life(index)),
        RunFinished(Outcome.DONE),
    ):
        journal.record(observation, durable=False)
    journal.close(finished=True)
    return folder


def _variant(index: int) -> Variant:
    return Variant(f"ext4 -I {256 + index} data=writeback", "ext4", ("-I", str(256 + index)), ("data=writeback",))


def _life(index: int) -> Iterator[Observation]:
    yield CellStarted(index, 1)
    for step, kind, metrics in (
        (1, StepKind.MKFS, (Metric.MKFS,)),
        (2, StepKind.WORKLOAD, (Metric.WRITE, Metric.CPU)),
        (3, StepKind.DRAIN, (Metric.DURABLE,)),
        (4, StepKind.EXTENTS, (Metric.EXTENTS_MEAN,)),
        (5, StepKind.CHECK, (Metric.CHECK,)),
        (6, StepKind.DELETE, (Metric.DELETE,)),
    ):
        figures = tuple(Measurement(metric, build.FIGURES[metric] * _factor(index, metric)) for metric in metrics)
        yield StepStarted(index, 1, step, kind, kind.value)
        yield StepFinished(index, 1, step, Outcome.DONE, 1.0, measurements=figures)
    if index % 3 == 0:
        yield WarningRaised(index, 1, WarningKind.SHORT, f"it took {1 + index % 7} s", "Write more.")
    yield CellFinished(index, 1, Outcome.DONE)


def _factor(index: int, metric: Metric) -> float:
    """Return a factor that orders each column otherwise."""
    return 1 + index * (37 + 2 * len(metric.value)) % 101 / 100


async def measured(folder: RunFolder, rows: int) -> tuple[Cost, Cost]:
    """Return the seconds from a key to the grid, and to the sorted grid."""
    app = console(runs_dir=Path(folder.path).parent, folder=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        begun = _now()
        await pilot.press("4")
        while not app.screen.query(Table) or len(app.screen.query_one(Table).value.rows) != rows:
            await asyncio.sleep(0.001)
        await pilot.pause()
        opened = _since(begun)
        return opened, await _sorted(pilot)


def _now() -> Cost:
    return Cost(time.process_time(), time.perf_counter())


def _since(begun: Cost) -> Cost:
    now = _now()
    return Cost(now.cpu_s - begun.cpu_s, now.wall_s - begun.wall_s)


async def _sorted(pilot: Pilot[None]) -> Cost:
    table = pilot.app.screen.query_one(Table)
    before = [row.key for row in table.value.rows]
    begun = _now()
    await pilot.press("s")
    while [row.key for row in table.value.rows] == before:
        await asyncio.sleep(0.001)
    await pilot.pause()
    return _since(begun)


if __name__ == "__main__":
    raise SystemExit(main())
