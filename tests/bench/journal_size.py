"""What a sample costs in the journal: `python -m tests.bench.journal_size`.

Made samples with every source (tests/bench/made_samples.py) go through the real writer. A sample's cost is the
difference between files with N and with 2N of them, so that what a journal holds anyway is in none of it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing

from fsconsole.journal.samples import sample_row
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from tests.bench.made_samples import made_samples
from tests.unit.results import build

ALLOWED_SAMPLE, ALLOWED_CPU, ALLOWED_MEMBER = 300.0, 40.0, 40.0
"""Bytes; a sample has one target."""
CPUS, MEMBERS = 64, 12
FIRST_NUMBER = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    samples = parser.parse_args(arguments).samples
    bare = marginal_bytes(samples, 0, 0)
    cpu = (marginal_bytes(samples, CPUS, 0) - bare) / CPUS
    member = (marginal_bytes(samples, 0, MEMBERS) - bare) / MEMBERS
    print(f"{samples} and {2 * samples} samples, all sources")
    print(f"a sample with its target: {bare:.1f} bytes (allowed {ALLOWED_SAMPLE:.0f})")
    print(f"each CPU, of {CPUS}: {cpu:.1f} bytes (allowed {ALLOWED_CPU:.0f})")
    print(f"each member, of {MEMBERS}: {member:.1f} bytes (allowed {ALLOWED_MEMBER:.0f})")
    whole = marginal_bytes(samples, CPUS, MEMBERS)
    print(f"a sample with {CPUS} CPUs and {MEMBERS} members: {whole:.0f} bytes")
    return int(bare > ALLOWED_SAMPLE or cpu > ALLOWED_CPU or member > ALLOWED_MEMBER)


def marginal_bytes(samples: int, cpus: int, members: int) -> float:
    return (journal_bytes(2 * samples, cpus, members) - journal_bytes(samples, cpus, members)) / samples


def journal_bytes(samples: int, cpus: int, members: int) -> int:
    """Return the size of a finished journal with so many samples."""
    with tempfile.TemporaryDirectory() as directory:
        folder = create_run(directory, build.request([build.cell(0)]))
        begin_far(folder.journal)
        writer = JournalWriter(folder, sample_room=samples)
        for sample in made_samples(samples, cpus=cpus, members=members):
            writer.sample(sample)
        writer.close(finished=True)
        if writer.dropped_samples:
            raise RuntimeError(f"{writer.dropped_samples} samples were dropped")
        return os.path.getsize(folder.journal)


def begin_far(journal: str) -> None:
    """Let samples be numbered as after days, in three bytes."""
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        for sample in made_samples(1, cpus=0, members=0):
            sample_row(sample).insert(connection)
        connection.execute("UPDATE sample SET id = ?", (FIRST_NUMBER,))


if __name__ == "__main__":
    sys.exit(main())
