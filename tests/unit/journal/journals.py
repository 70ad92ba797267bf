"""What tests of the journal write and read."""

from __future__ import annotations

import subprocess
import sys

from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import Observation
from fsconsole.model.sample import CpuShares, DeviceRates, NumberedCpu, Sample, Writeback


def a_sample(number: int) -> Sample:
    cpu = CpuShares(1.5, 0, 2.5, 0, 0, 0, 96)
    disk = DeviceRates("sda", 0, 512e5, 0, 900, 32, 99.5, None)
    return Sample(number, number, 0.5, 0, "write", cpu, (NumberedCpu(0, cpu),), Writeback(1, 2), (disk,))


def write(folder: RunFolder, *observations: Observation, finished: bool = True) -> None:
    writer = JournalWriter(folder)
    for observation in observations:
        writer.record(observation)
    writer.close(finished=finished)


def written(folder: RunFolder) -> list[Observation]:
    return list(JournalReader(folder.journal).read_since(Cursor()).observations)


CHILD = """
import os, sys
from fsconsole.errors.runs import JournalFull
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellFinished, CellStarted, Outcome
from fsconsole.model.sample import CpuShares, Sample, Writeback

folder = RunFolder(sys.argv[1])
writer = JournalWriter(folder)
"""


def child_that_writes(folder: RunFolder, script: str) -> subprocess.Popen[str]:
    """Start a process that goes on from CHILD with a script: what is done to it must not happen to the tests."""
    argv = [sys.executable, "-c", CHILD + script, folder.path]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
