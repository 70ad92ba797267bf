"""A rollback journal from elsewhere: SQLite deletes the file that it names as its super-journal, whosever that is."""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal import folder as journal_folder
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader, open_journal
from fsconsole.journal.writer import JournalWriter
from tests.unit.journal.half_done import change_and_die

MAGIC = bytes.fromhex("d9d505f920a163d7")


def half_done(folder: RunFolder, super_journal: Path | None = None) -> None:
    """Leave a transaction half done; its rollback journal ends as writeSuperJournal() in SQLite's pager.c has it."""
    JournalWriter(folder).close(finished=True)
    change_and_die(folder.journal)
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


def test_reading_a_run_deletes_no_file_that_its_journal_names(folder: RunFolder, victim: Path) -> None:
    half_done(folder, victim)
    with pytest.raises(JournalUnusable, match=f"{folder.journal} .*names another file"):
        JournalReader(folder.journal).read_since(Cursor())
    assert victim.exists()


def test_writing_to_a_run_deletes_no_file_that_its_journal_names(folder: RunFolder, victim: Path) -> None:
    half_done(folder, victim)
    with pytest.raises(JournalUnusable, match="names another file"):
        JournalWriter(folder)
    assert victim.exists()


def test_a_copy_in_memory_trusts_the_schema_no_more_than_the_journal_itself(folder: RunFolder) -> None:
    half_done(folder)
    with open_journal(folder.journal) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_journal_that_says_it_is_larger_than_memory_is_not_copied(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_done(folder)
    monkeypatch.setattr(journal_folder, "memory_bytes", lambda: 2 * os.stat(folder.journal).st_size)
    with pytest.raises(JournalUnusable, match="no copy fits into memory"):
        JournalReader(folder.journal).read_since(Cursor())


def test_a_copy_that_no_disk_takes_is_told(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    half_done(folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fsconsole.journal.reader.shutil.copyfile", full)
    with pytest.raises(JournalUnusable, match="can't be copied: No space left"):
        JournalReader(folder.journal).read_since(Cursor())
