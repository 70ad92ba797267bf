"""Journals whose writer was killed, and rollback journals that name another file."""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal import folder as journal_folder
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import open_journal
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import CellStarted
from tests.unit.journal.half_done import change_and_die
from tests.unit.journal.journals import child_that_writes, write, written


def left_half_done(folder: RunFolder) -> None:
    write(folder, CellStarted(0, 1))
    change_and_die(folder.journal)


def files_of(folder: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder.path).iterdir() if path.is_file()}


def test_what_was_written_before_is_read_and_the_next_writer_goes_on_from_there(folder: RunFolder) -> None:
    left_half_done(folder)
    before = files_of(folder)
    assert written(folder) == [CellStarted(0, 1)]
    assert files_of(folder) == before
    write(folder, CellStarted(1, 2))
    assert written(folder) == [CellStarted(0, 1), CellStarted(1, 2)]


WRITE_AND_DIE = """
writer.record(CellStarted(0, 1))
writer.close(finished=False)
JournalWriter(folder).record(CellStarted(1, 1))
os.kill(os.getpid(), 9)
"""
HEADER_BYTES = 32
LEFT_BYTES = (0, 1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 24)


@pytest.mark.parametrize("left_bytes", LEFT_BYTES)
def test_what_stands_before_a_log_hardly_begun_is_read_and_the_next_writer_goes_on(
    folder: RunFolder, left_bytes: int
) -> None:
    child_that_writes(folder, WRITE_AND_DIE).communicate()
    os.truncate(folder.journal + "-wal", left_bytes)
    before = files_of(folder)
    assert written(folder) == [CellStarted(0, 1)]
    assert files_of(folder) == before
    write(folder, CellStarted(1, 2))
    assert written(folder) == [CellStarted(0, 1), CellStarted(1, 2)]


MAGIC = bytes.fromhex("d9d505f920a163d7")


def half_done(folder: RunFolder, super_journal: Path | None = None) -> None:
    """Leave a transaction half done; its rollback journal ends as writeSuperJournal() in SQLite's pager.c has it."""
    left_half_done(folder)
    if super_journal is not None:
        name = os.fsencode(super_journal)
        with open(f"{folder.journal}-journal", "ab") as file:
            file.write(struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("of somebody\n")
    return path


def test_sqlite_would_delete_it(folder: RunFolder, victim: Path) -> None:
    half_done(folder, victim)
    connection = sqlite3.connect(folder.journal)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.close()
    assert not victim.exists()


def test_neither_reading_nor_writing_deletes_a_file_that_a_journal_names(folder: RunFolder, victim: Path) -> None:
    half_done(folder, victim)
    with pytest.raises(JournalUnusable, match=f"{folder.journal} .*names another file"):
        written(folder)
    with pytest.raises(JournalUnusable, match="names another file"):
        JournalWriter(folder)
    assert victim.exists()


def test_a_copy_trusts_the_schema_no_more_than_the_journal_itself(folder: RunFolder) -> None:
    half_done(folder)
    with open_journal(folder.journal) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_journal_that_is_too_large_for_a_copy_or_that_no_disk_takes_is_told(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_done(folder)
    with monkeypatch.context() as small:
        small.setattr(journal_folder, "memory_bytes", lambda: 2 * os.stat(folder.journal).st_size)
        with pytest.raises(JournalUnusable, match="no copy fits into memory"):
            written(folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fsconsole.journal.reader.shutil.copyfile", full)
    with pytest.raises(JournalUnusable, match="can't be copied: No space left"):
        written(folder)
