from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalNewer, JournalOlder, JournalUnusable
from fsconsole.journal.events import Cursor
from fsconsole.journal.reader import OLD_APPLICATION_ID, SCHEMA_VERSION, JournalReader, check_version
from fsconsole.journal.samples import COLUMNS
from fsconsole.journal.store import create_run, create_tables
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import Temperature
from tests.unit.results import build


@pytest.fixture
def journal():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        yield connection


def test_a_new_journal_has_this_version_and_a_newer_one_is_refused_by_its_own(journal) -> None:
    check_version(journal, "j")
    assert journal.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    journal.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(JournalNewer) as caught:
        check_version(journal, "j")
    assert caught.value.version == SCHEMA_VERSION + 1


def test_another_database_and_one_that_holds_a_program_are_no_journals(journal) -> None:
    journal.execute("CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END")
    with pytest.raises(JournalUnusable, match="views or triggers"):
        check_version(journal, "j")
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(JournalUnusable, match="not a journal"):
        check_version(other, "j")


def test_a_journal_of_the_format_before_the_first_release_names_the_commit_that_reads_it(journal) -> None:
    journal.execute(f"PRAGMA application_id = {OLD_APPLICATION_ID}")
    with pytest.raises(JournalOlder) as caught:
        check_version(journal, "/runs/a/journal.sqlite")
    assert "/runs/a/journal.sqlite" in str(caught.value)
    assert re.search(r"commit [0-9a-f]{7}\b.*fsconsole cleanup", caught.value.hint)


def of_version_1(path: str) -> None:
    """Make a journal what the first schema was: without temperatures."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for column in COLUMNS:
            if column.since > 1:
                connection.execute(f"ALTER TABLE sample DROP COLUMN {column.name}")
        connection.execute("PRAGMA user_version = 1")


def test_a_journal_of_version_1_is_read_as_it_is_and_its_writer_brings_it_up_to_date(tmp_path: Path) -> None:
    folder = create_run(str(tmp_path), build.request([build.cell(0)]))
    old, hot = build.sample(1), replace(build.sample(2), temperature=Temperature(45.5, None))
    journal = JournalWriter(folder)
    journal.sample(old)
    journal.close(finished=True)
    of_version_1(folder.journal)
    reader = JournalReader(folder.journal)
    assert [(one.monotonic_ns, one.temperature) for one in reader.read_since(Cursor()).samples] == [(1, None)]
    journal = JournalWriter(folder)
    journal.sample(hot)
    journal.close(finished=True)
    known = [(one.monotonic_ns, one.temperature) for one in reader.read_since(Cursor()).samples]
    assert known == [(1, None), (2, Temperature(45.5, None))]
    with closing(sqlite3.connect(folder.journal)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
