"""A journal whose writer died while it changed the file itself: on its way out of WAL mode, at the end of a run."""

from __future__ import annotations

from pathlib import Path

from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted
from tests.unit.journal.half_done import change_and_die


def left_half_done(folder: RunFolder) -> None:
    writer = JournalWriter(folder)
    writer.record(CellStarted(0, 1), durable=True)
    writer.close(finished=True)
    change_and_die(folder.journal)


def files_of(folder: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder.path).iterdir() if path.is_file()}


def test_what_was_written_before_is_read_and_nothing_is_changed(folder: RunFolder) -> None:
    left_half_done(folder)
    before = files_of(folder)
    assert JournalReader(folder.journal).read_since(Cursor()).observations == (CellStarted(0, 1),)
    assert files_of(folder) == before


def test_the_next_writer_goes_on_from_there(folder: RunFolder) -> None:
    left_half_done(folder)
    writer = JournalWriter(folder)
    writer.record(CellStarted(1, 2), durable=True)
    writer.close(finished=True)
    observations = JournalReader(folder.journal).read_since(Cursor()).observations
    assert observations == (CellStarted(0, 1), CellStarted(1, 2))
