"""A process that plays an engine: `python -m tests.bench.growing FOLDER [--samples N]`.

It takes up a run that was killed in a cell: holds its lock, and writes made samples, in which every figure moves, through
the real writer. Without --samples there is one each half second. With it, so many are written as quickly as a reader takes
them, half a second apart by their stamps; after each quarter it prints a line and waits for one. It ends with its input.
"""

from __future__ import annotations

import argparse
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted, StepStarted
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import Sample
from fsconsole.model.state import RunState
from fsconsole.system.locks import FileLock
from tests.bench.made_samples import PERIOD_NS, made_samples

CPUS, MEMBERS = 4, 4
_BURST, _PAUSE_S = 1000, 0.25
"""What a reader takes at once, and how often it looks."""


@contextmanager
def growing(folder: RunFolder, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Let a process of its own write to a run."""
    command = [sys.executable, "-m", "tests.bench.growing", folder.path, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.communicate()


def main() -> int:
    """Write until the input ends, or all is written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--samples", type=int, default=0)
    asked = parser.parse_args()
    folder = RunFolder(asked.folder)
    last = read_state(folder).last_sample
    assert last is not None
    with FileLock.acquire(folder.lock):
        writer = JournalWriter(folder)
        begin_again(writer, read_state(folder))
        samples = (
            replace(sample, cell=last.cell, step=last.step)
            for sample in made_samples(10**9, cpus=CPUS, members=MEMBERS)
        )
        print("begun", flush=True)
        if asked.samples:
            _all_at_once(writer, samples, asked.samples)
        else:
            _in_time(writer, samples)
        writer.close(finished=False)
    return 0


def begin_again(writer: JournalWriter, state: RunState) -> None:
    """Begin the last cell's load once more, so that its curve begins now: the recorded one is of another boot."""
    assert state.last_sample is not None
    cell = state.last_sample.cell or 0
    attempt = state.cells[cell].attempt + 1
    steps = state.request.plan.cells[cell].steps
    number = next(number for number, step in enumerate(steps) if step.kind is StepKind.WORKLOAD)
    writer.record(CellStarted(cell, attempt))
    writer.record(StepStarted(cell, attempt, number, StepKind.WORKLOAD, steps[number].title))


def _in_time(writer: JournalWriter, samples: Iterator[Sample]) -> None:
    for sample in samples:
        writer.sample(replace(sample, monotonic_ns=time.monotonic_ns(), wall_ns=time.time_ns()))
        if select.select([sys.stdin], [], [], PERIOD_NS / 1e9)[0]:
            return


def _all_at_once(writer: JournalWriter, samples: Iterator[Sample], count: int) -> None:
    begun_ns, begun_wall_ns = time.monotonic_ns(), time.time_ns()
    for number, sample in zip(range(1, count + 1), samples, strict=False):
        after_ns = number * PERIOD_NS
        writer.sample(replace(sample, monotonic_ns=begun_ns + after_ns, wall_ns=begun_wall_ns + after_ns))
        if number % _BURST == 0:
            time.sleep(_PAUSE_S)
        if number % (count // 4) == 0:
            print(number, flush=True)
            sys.stdin.readline()


if __name__ == "__main__":
    sys.exit(main())
