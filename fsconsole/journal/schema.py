"""The journal's tables and their version.

Append-only: rows are inserted, never changed. Wall and monotonic times are nanoseconds; sizes bytes; shares per cent,
but for those of samples, whose columns name their units.
"""

from __future__ import annotations

import sqlite3

from fsconsole.errors.runs import JournalNewer, JournalOlder, JournalUnusable
from fsconsole.journal.events import TABLE
from fsconsole.journal.samples import TABLES as SAMPLE_TABLES

APPLICATION_ID = 0x66736A32
""""fsj2" in the database header: tells a journal from any other SQLite file (sqlite.org/fileformat2.html)."""

OLD_APPLICATION_ID = 0x66736A31
""""fsj1", with a table for each kind of event; never released."""

SCHEMA_VERSION = 1
"""PRAGMA user_version of a journal written by this program."""

_RUN = """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        request TEXT NOT NULL,
        seal TEXT NOT NULL DEFAULT '')"""
"""seal is that of the request (journal.seal)."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a journal of this version; the caller holds the transaction."""
    for statement in (_RUN, TABLE, *SAMPLE_TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def check_version(connection: sqlite3.Connection, path: str) -> None:
    """Let an open journal of this version pass. Raises JournalNewer, JournalOlder, JournalUnusable, sqlite3.Error."""
    ((application,), (version,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application == OLD_APPLICATION_ID:
        raise JournalOlder(path)
    if application != APPLICATION_ID:
        raise JournalUnusable(path=path, why="it is not a journal of fsconsole")
    if version > SCHEMA_VERSION:
        raise JournalNewer(path=path, version=version)
    if version < 1:
        raise JournalUnusable(path=path, why=f"no journal has the version {version}")
    # A view or trigger in a journal from elsewhere would be a program, and a journal is data only.
    programs = connection.execute("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')")
    if programs.fetchone() != (0,):
        raise JournalUnusable(path=path, why="it holds views or triggers, which no journal has")
