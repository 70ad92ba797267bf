from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.errors.runs import JournalNewer, JournalOlder, JournalUnusable
from fsconsole.journal.events import Cursor
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.samples import COLUMNS, add_columns, sample_tables
from fsconsole.journal.schema import OLD_APPLICATION_ID, SCHEMA_VERSION, create_tables, require_schema
from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import Temperature
from tests.unit.results import build


@pytest.fixture
def journal():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        yield connection


def test_a_new_journal_has_this_version_and_a_newer_one_is_refused_by_its_own(journal) -> None:
    require_schema(journal, "j")
    assert journal.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    journal.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(JournalNewer) as caught:
        require_schema(journal, "j")
    assert caught.value.version == SCHEMA_VERSION + 1


def test_another_database_is_no_journal() -> None:
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(JournalUnusable, match="not a journal"):
        require_schema(other, "j")


FOREIGN = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END",
    "view": "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    "table": "CREATE TABLE spare (a)",
    "virtual table": "CREATE VIRTUAL TABLE spare USING fts5(a)",
    "index": "CREATE INDEX i ON event (kind)",
    "expression index": "CREATE INDEX i ON event (length(body))",
    "partial index": "CREATE INDEX i ON event (kind) WHERE kind = 'x'",
    "generated column": "ALTER TABLE event ADD COLUMN more AS (zeroblob(1000000000))",
    "default": "ALTER TABLE event ADD COLUMN more DEFAULT ''",
    "constraint": "ALTER TABLE event ADD COLUMN more CHECK (length(body) > 0)",
    "sequence": "CREATE TABLE spare (id INTEGER PRIMARY KEY AUTOINCREMENT)",
    "statistics": "ANALYZE",
    "renamed table": "ALTER TABLE event RENAME TO happening",
    "renamed column": "ALTER TABLE event RENAME COLUMN body TO text",
    "column less": "ALTER TABLE event DROP COLUMN wall_ns",
    "table less": "DROP TABLE sample_cpu",
}


@pytest.mark.parametrize("what", FOREIGN)
def test_schema_of_anything_else_is_refused(journal, what: str) -> None:
    journal.execute("INSERT INTO event VALUES (1, 1, 1, 'x', '{}')")
    journal.execute(FOREIGN[what])
    with pytest.raises(JournalUnusable, match=r"is not that of a journal of version 2|it has no table"):
        require_schema(journal, "j")


REWRITTEN = {
    "generated column": ("body TEXT NOT NULL", "body TEXT AS (zeroblob(1000000000))"),
    "default": ("seal TEXT NOT NULL DEFAULT ''", "seal TEXT NOT NULL DEFAULT ' '"),
    "constraint": ("CHECK (id = 1)", "CHECK (id IN (SELECT 1))"),
    "type": ("kind TEXT", "kind\u00a0TEXT"),
    "comment": ("CREATE TABLE event (", "CREATE TABLE event ( --\n"),
    "without rowid": ("body TEXT NOT NULL)", "body TEXT NOT NULL) WITHOUT ROWID"),
}


@pytest.mark.parametrize("what", REWRITTEN)
def test_rewritten_statement_is_refused(journal, what: str) -> None:
    journal.execute("PRAGMA writable_schema = ON")
    change = journal.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?)", REWRITTEN[what])
    assert change.rowcount
    assert journal.execute("SELECT count(*) FROM sqlite_master WHERE instr(sql, ?)", REWRITTEN[what][1:]).fetchone()[0]
    with pytest.raises(JournalUnusable, match="is not that of a journal"):
        require_schema(journal, "j")


def test_text_in_another_encoding_is_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as journal:
        journal.execute("PRAGMA encoding = 'UTF-16'")
        create_tables(journal)
        with pytest.raises(JournalUnusable, match="its text is UTF-16"):
            require_schema(journal, "j")


def test_migrations_leave_accepted_statements() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        for statement in sample_tables(version):
            with closing(sqlite3.connect(":memory:")) as journal:
                create_tables(journal)
                journal.execute("DROP TABLE sample")
                journal.execute(statement)
                journal.execute(f"PRAGMA user_version = {version}")
                require_schema(journal, "j")
                add_columns(journal, version)
                journal.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                require_schema(journal, "j")


def test_unsealed_journal_of_first_version_is_accepted() -> None:
    with closing(sqlite3.connect(":memory:")) as journal:
        create_tables(journal)
        journal.execute("ALTER TABLE run DROP COLUMN seal")
        journal.execute("DROP TABLE sample")
        journal.execute(sample_tables(1)[0])
        journal.execute("PRAGMA user_version = 1")
        require_schema(journal, "j")


def test_a_journal_of_the_format_before_the_first_release_names_the_commit_that_reads_it(journal) -> None:
    journal.execute(f"PRAGMA application_id = {OLD_APPLICATION_ID}")
    with pytest.raises(JournalOlder) as caught:
        require_schema(journal, "/runs/a/journal.sqlite")
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
