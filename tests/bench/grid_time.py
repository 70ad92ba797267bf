"""What large grids and comparisons cost: `python -m tests.bench.grid_time`.

Writes journals with 1,000 rows in five rounds: one workload on 1,000 variants (5,000 cells), and 20 workloads on 50 variants.
Compares 20 runs of the demo's size (25 cells, three workloads, five rounds): each a side, and ten a side. Prints the medians
and the least of CPU and wall time of the whole commands, and of the statistics in `results`: rows, blocks and verdicts of
a run that was read. It exits with 1 where the least CPU time of one of them is above 1 s: on a busy machine the others
are the neighbours'.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
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
from fsconsole.model.plan import Cell, Step, StepKind, Variant
from fsconsole.model.state import RunState
from fsconsole.results.blocks import blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.text import GIB
from tests.bench.paired import cost_of, judge, table
from tests.tui.recorded import imported
from tests.unit.cli.recorded import STARTED
from tests.unit.results import build

ROUNDS = 5
SHAPES = {"1,000 variants": (1000, 1), "50 variants, 20 workloads": (50, 20)}
ALLOWED_S = 1.0
_FIGURES = {**build.FIGURES, Metric.WRITTEN: 8.0 * GIB}


def made_run(runs_dir: Path, variants: int, workloads: int) -> RunFolder:
    """Return the folder of a finished run in rounds with so many variants and workloads."""
    loads = tuple(replace(build.LARGE_FILES, name=f"load {number}") for number in range(workloads))
    steps = (Step(StepKind.GATE, "prove"), Step(StepKind.MKFS, "mkfs"), *_steps(workloads))
    cells = [
        replace(
            build.cell(index, _variant(index % variants), repeat=index // variants + 1), workloads=loads, steps=steps
        )
        for index in range(variants * ROUNDS)
    ]
    folder = create_run(str(runs_dir), replace(build.request(cells), run_id=f"{variants}-{workloads}"))
    journal = JournalWriter(folder)
    for told in (STARTED, *(one for cell in cells for one in _life(cell)), RunFinished(Outcome.DONE)):
        journal.record(told, durable=False)
    journal.close(finished=True)
    return folder


def _steps(workloads: int) -> Iterator[Step]:
    for number in range(workloads):
        yield Step(StepKind.WORKLOAD, f"load {number}", workload=number)
        yield Step(StepKind.DRAIN, "drain", workload=number)
    yield Step(StepKind.CHECK, "check")


def _variant(number: int) -> Variant:
    return Variant(f"ext4 -I {256 + number}", "ext4", ("-I", str(256 + number)))


def _life(cell: Cell) -> Iterator[Observation]:
    yield CellStarted(cell.index, 1)
    for number, step in enumerate(cell.steps):
        metrics = {
            StepKind.MKFS: (Metric.MKFS,),
            StepKind.WORKLOAD: (Metric.WRITE, Metric.CPU),
            StepKind.DRAIN: (Metric.DURABLE, Metric.WRITTEN),
            StepKind.CHECK: (Metric.CHECK,),
        }.get(step.kind, ())
        # A scatter of a few per cent, without two figures alike.
        factor = 1 + (cell.index * 37 + number * 11) % 101 / 1000
        figures = tuple(Measurement(metric, _FIGURES[metric] * factor) for metric in metrics)
        yield StepStarted(cell.index, 1, number, step.kind, step.title)
        yield StepFinished(cell.index, 1, number, Outcome.DONE, 1.0, measurements=figures)
    yield CellFinished(cell.index, 1, Outcome.DONE)


def statistics_of(state: RunState) -> int:
    """Build the grid with its blocks and verdicts; return how many rows have a verdict."""
    blocks = blocks_of(state, build_grid(state))
    told = (row.compared for block in blocks for row in block.rows)
    return sum(one is not None and one.verdict is not None for one in told)


def command(runs_dir: Path, *words: str) -> None:
    """Carry out a whole command."""
    argv = (sys.executable, "-m", "fsconsole", *words, "--runs", str(runs_dir))
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def twenty(runs_dir: Path) -> list[str]:
    """Make twenty copies of a recorded run, each with an id of its own, and return their names."""
    folder = imported("demo", runs_dir)
    run_id = read_state(folder).request.run_id
    names = [f"r{number:02}" for number in range(20)]
    for name in names:
        shutil.copytree(folder.path, runs_dir / name)
        # Copies of one run are not compared with each other.
        with closing(sqlite3.connect(runs_dir / name / "journal.sqlite")) as journal, journal:
            journal.execute("UPDATE run SET request = replace(request, ?, ?)", (f'"{run_id}"', f'"{name}"'))
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=7)
    times = parser.parse_args(arguments).times
    works: dict[str, Callable[[], object]] = {}
    with tempfile.TemporaryDirectory() as directory:
        runs_dir = Path(directory)
        for name, shape in SHAPES.items():
            folder = made_run(runs_dir, *shape)
            state = read_state(folder)
            print(f"{name}: {statistics_of(state)} rows with a verdict")
            works[f"{name}: statistics"] = partial(statistics_of, state)
            works[f"{name}: results"] = partial(command, runs_dir, "results", folder.name)
        names = twenty(runs_dir)
        works["compare, 20 sides"] = partial(command, runs_dir, "compare", *names)
        works["compare, 10 against 10"] = partial(
            command, runs_dir, "compare", ",".join(names[:10]), ",".join(names[10:])
        )
        found = {name: [cost_of(work) for _ in range(times)] for name, work in works.items()}
    table(found)
    least = {name: min(cost.cpu_s for cost in costs) for name, costs in found.items()}
    kept = [judge(f"{name}, least CPU s", cpu_s, at_most=ALLOWED_S) for name, cpu_s in least.items()]
    return int(not all(kept))


if __name__ == "__main__":
    raise SystemExit(main())
