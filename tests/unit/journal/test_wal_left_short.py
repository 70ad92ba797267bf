"""A journal whose writer was killed, or lost its power, when the write-ahead log had hardly begun."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted

WRITE_AND_DIE = """
import os, sys
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted
folder = RunFolder(sys.argv[1])
writer = JournalWriter(folder)
writer.record(CellStarted(0, 1))
writer.close(finished=False)
JournalWriter(folder).record(CellStarted(1, 1))
os.kill(os.getpid(), 9)
"""
FILES = ("", "-wal", "-shm")
HEADER_BYTES = 32
LEFT_BYTES = (0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 24)


@pytest.fixture(params=LEFT_BYTES)
def left_short(folder: RunFolder, request: pytest.FixtureRequest) -> RunFolder:
    """A run whose second word never came whole: as much of its log is there as the parameter says."""
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, folder.path], check=False)
    os.truncate(folder.journal + "-wal", request.param)
    return folder


def files_of(folder: RunFolder) -> list[bytes]:
    found = []
    for ending in FILES:
        with open(folder.journal + ending, "rb") as file:
            found.append(file.read())
    return found


def test_what_was_written_before_is_read_and_nothing_is_changed(left_short: RunFolder) -> None:
    before = files_of(left_short)
    assert JournalReader(left_short.journal).read_since(Cursor()).observations == (CellStarted(0, 1),)
    assert files_of(left_short) == before


def test_another_writer_goes_on_from_there(left_short: RunFolder) -> None:
    writer = JournalWriter(left_short)
    writer.record(CellStarted(1, 2))
    writer.close(finished=True)
    observations = JournalReader(left_short.journal).read_since(Cursor()).observations
    assert observations == (CellStarted(0, 1), CellStarted(1, 2))
