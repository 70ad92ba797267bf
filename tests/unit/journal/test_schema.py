from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest

from fsconsole.errors.runs import JournalNewer, JournalOlder, JournalUnusable
from fsconsole.journal.reader import OLD_APPLICATION_ID, SCHEMA_VERSION, check_version
from fsconsole.journal.store import create_tables


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
