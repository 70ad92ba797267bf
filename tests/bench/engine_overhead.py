"""What the engine adds to a cell: all of a cell's time that is no measured step, durable writes reported apart.

    sudo python -m tests.bench.engine_overhead [--repeats 5] [--filesystems ext4,xfs] [--dir DIRECTORY] [--profile FILE]

A real run of tiny cells on a scratch device of its own, its engine started as always, but for notes of when each
part began and ended (tests/bench/timed_engine.py). It counts as measured what the plan lists as a step with a figure
or with the commands of one, MEASURED below. All else is overhead: the gate and the proof again right before mkfs,
settings, release, and everything between steps. Waiting until something is on the journal's disk (records that must
be durable, what tools printed) is told apart: that is the disk's time. So is what the generator takes to start and
end around its load, which no figure holds and every generator has.

Cells of several filesystems are shuffled in one run. By the clock others on the machine are in it; CPU seconds, of the
engine and its children outside of measured steps, are not disturbed by them.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import fsconsole as package
from fsconsole.client.engine import create_request
from fsconsole.devices import scratch
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus
from fsconsole.preflight.prepare import prepare
from fsconsole.system.mounts import engine_argv
from fsconsole.system.run import RealExecutor
from fsconsole.text import GIB
from tests.bench.paired import as_program, interval, judge
from tests.bench.scratch_fs import room

ALLOWED_S = 0.150
NOT_MEASURED = (StepKind.GATE, StepKind.SETTINGS, StepKind.SETTINGS_BACK, StepKind.RELEASE)
MEASURED = frozenset({kind.value for kind in StepKind} - {kind.value for kind in NOT_MEASURED})
PLAN = """
schema = 1
title = "tiny cells"
repeats = {repeats}
order = "shuffled"
seed = 1
{variants}
[[workload]]
name = "small files"
kind = "create"
threads = 4
file_size = "1MiB"
block_size = "64KiB"
"""
VARIANT = """
[[variant]]
type = "{}"
"""


@dataclass(frozen=True)
class Note:
    """One line of the engine's notes."""

    what: str
    name: str
    cell: int
    begin_s: float
    end_s: float
    cpu_s: float

    @property
    def wall_s(self) -> float:
        return self.end_s - self.begin_s

    def holds(self, other: Note) -> bool:
        return self.begin_s <= other.begin_s and other.end_s <= self.end_s


@dataclass(frozen=True)
class Overhead:
    """One cell's time, split; seconds."""

    cell_s: float
    measured_s: float
    overhead_s: float
    overhead_cpu_s: float
    commits_s: float
    commits: int
    proofs_s: float
    generator_s: float


def overhead_of(cell: Note, notes: list[Note], generator_s: float) -> Overhead:
    """Split a cell's time by what was noted in it."""
    inside = [note for note in notes if note.cell == cell.cell and note is not cell]
    steps = [note for note in inside if note.what == "step" and note.name in MEASURED]
    proofs = [note for note in inside if note.what == "proof"]
    in_steps = [note for note in proofs if any(step.holds(note) for step in steps)]
    writes = [note for note in inside if note.what in {"commit", "output"}]
    apart = [note for note in writes if not any(step.holds(note) for step in steps)]
    measured = sum(note.wall_s for note in steps) - sum(note.wall_s for note in in_steps)
    measured_cpu = sum(note.cpu_s for note in steps) - sum(note.cpu_s for note in in_steps)
    commits = sum(note.wall_s for note in writes)
    return Overhead(
        cell_s=cell.wall_s,
        measured_s=measured,
        overhead_s=cell.wall_s - measured - sum(note.wall_s for note in apart),
        overhead_cpu_s=cell.cpu_s - measured_cpu,
        commits_s=commits,
        commits=len(writes),
        proofs_s=sum(note.wall_s for note in proofs),
        generator_s=generator_s,
    )


def generator_start_and_end(state: CellState, notes: list[Note]) -> float:
    """Return what the workload steps took beside their loads."""
    loads = state.value(Metric.WRITE_TIME) or 0.0
    steps = (note for note in notes if note.what == "step" and note.name == StepKind.WORKLOAD.value)
    return sum(note.wall_s for note in steps if note.cell == state.index) - loads


def carry_out(plan: str, place: Path, profile: str) -> tuple[list[Note], tuple[CellState, ...]]:
    """Carry out a plan on a new scratch device."""
    made = scratch.create(GIB, str(place / "scratch"))
    try:
        file, notes, runs = place / "plan.toml", place / "notes", place / "runs"
        file.write_text(plan)
        runs.mkdir()
        run_id = make_run_id()
        prepared = prepare(str(file), [made.device], executor=RealExecutor(), runs_dir=str(runs), run_id=run_id)
        folder = create_run(str(runs), create_request(run_id, prepared.plan, prepared.targets))
        words = (sys.executable, "-m", "tests.bench.timed_engine", folder.path, str(notes))
        done = subprocess.run(engine_argv((*words, profile) if profile else words), check=False)
        if done.returncode:
            raise SystemExit(f"the engine ended with {done.returncode}")
        lines = notes.read_text().splitlines() if notes.exists() else []
        return [Note(*json.loads(line)) for line in lines], read_state(folder).cells
    finally:
        scratch.remove(made)


def report(notes: list[Note], cells: tuple[CellState, ...], names: list[str]) -> bool:
    """Print the split of each filesystem's cells, and tell whether the limit holds for all."""
    print(f"overhead: all but the steps {', '.join(kind.value for kind in StepKind if kind.value in MEASURED)};")
    print("the proof of the device within mkfs is overhead too; medians over cells, in ms")
    print(
        f"{'':8} {'cell':>8} {'measured':>9} {'overhead':>9} {'of it CPU':>10} {'proofs':>8} {'durable writes':>17} {'generator':>10}"
    )
    kept, by_cell = True, {note.cell: note for note in notes if note.what == "cell"}
    for name in names:
        found = [
            overhead_of(note, notes, generator_start_and_end(cells[number], notes))
            for number, note in by_cell.items()
            if note.name == name and cells[number].status is CellStatus.DONE
        ]

        def ms(key: str, found: list[Overhead] = found) -> float:
            return 1e3 * statistics.median(getattr(one, key) for one in found)

        writes = f"{ms('commits_s'):.1f} in {statistics.median(one.commits for one in found):.0f}"
        print(
            f"{name:8} {ms('cell_s'):8.1f} {ms('measured_s'):9.1f} {ms('overhead_s'):9.1f} {ms('overhead_cpu_s'):10.1f}"
            f" {ms('proofs_s'):8.1f} {writes:>17} {ms('generator_s'):10.1f}"
        )
        low, high = interval([one.overhead_s for one in found])
        print(f"{'':8} {len(found)} cells; 95 % interval of the overhead {1e3 * low:.1f} to {1e3 * high:.1f} ms")
        kept &= judge(f"{name}: overhead per cell, s", ms("overhead_s") / 1e3, at_most=ALLOWED_S)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--filesystems", default="ext4,xfs")
    parser.add_argument("--dir", default=None, help="where the scratch device and the run are kept")
    parser.add_argument("--profile", default="", help="write a profile of the engine's main thread here instead")
    asked = parser.parse_args()
    names = asked.filesystems.split(",")
    compileall.compile_dir(os.path.dirname(package.__file__), quiet=1)
    plan = PLAN.format(repeats=asked.repeats, variants="".join(map(VARIANT.format, names)))
    with room(asked.dir) as place:
        notes, cells = carry_out(plan, place, asked.profile)
    if asked.profile:
        return 0
    return 0 if report(notes, cells, names) else 1


if __name__ == "__main__":
    as_program(main)
