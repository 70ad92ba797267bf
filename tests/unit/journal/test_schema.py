from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from fsconsole.errors.runs import JournalNewer, JournalUnusable
from fsconsole.journal.schema import MIGRATIONS, SCHEMA_VERSION, check_version, create_tables, migrate


@pytest.fixture
def journal():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        yield connection


def test_a_new_journal_has_this_version(journal) -> None:
    assert check_version(journal, "j") == SCHEMA_VERSION


def test_a_newer_journal_is_refused_by_its_version(journal) -> None:
    journal.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(JournalNewer) as caught:
        check_version(journal, "j")
    assert caught.value.version == SCHEMA_VERSION + 1


def test_another_database_is_no_journal() -> None:
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(JournalUnusable, match="not a journal"):
        check_version(other, "j")


@pytest.mark.parametrize(
    "program",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END",
    ],
)
def test_a_journal_that_holds_a_program_is_refused(journal, program: str) -> None:
    journal.execute(program)
    with pytest.raises(JournalUnusable, match="views or triggers"):
        check_version(journal, "j")


def test_every_older_version_has_a_way_to_this_one() -> None:
    assert set(MIGRATIONS) == set(range(1, SCHEMA_VERSION))


def test_a_migration_goes_through_every_version_between(journal) -> None:
    steps = {1: ("ALTER TABLE run ADD COLUMN a TEXT",), 2: ("ALTER TABLE run ADD COLUMN b TEXT",)}
    migrate(journal, 1, steps, wanted=3)
    assert journal.execute("PRAGMA user_version").fetchone() == (3,)
    assert {"a", "b"} <= {row[1] for row in journal.execute("PRAGMA table_info(run)")}


def test_a_migration_that_fails_leaves_the_journal_as_it_was(journal) -> None:
    journal.execute("PRAGMA user_version = 1")
    steps = {1: ("ALTER TABLE run ADD COLUMN a TEXT", "no such statement")}
    with pytest.raises(sqlite3.OperationalError):
        migrate(journal, 1, steps, wanted=2)
    assert journal.execute("PRAGMA user_version").fetchone() == (1,)
    assert "a" not in {row[1] for row in journal.execute("PRAGMA table_info(run)")}
