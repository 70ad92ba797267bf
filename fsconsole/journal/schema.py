"""Tables of a journal by its version. A database that holds anything else is no journal: its schema is a program.

A generated column, a default, a constraint or an index can have SQLite compute for hours or take all memory, and a view or a
trigger runs whenever a table is read or written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from functools import cache

from fsconsole.errors.runs import JournalNewer, JournalOlder, JournalUnusable
from fsconsole.journal.events import TABLE as EVENT
from fsconsole.journal.samples import OTHER_TABLES, sample_tables

APPLICATION_ID = 0x66736A32
""""fsj2" in the database header: tells a journal from any other SQLite file (sqlite.org/fileformat2.html)."""

OLD_APPLICATION_ID = 0x66736A31
""""fsj1", with a table for each kind of event; never released."""

SCHEMA_VERSION = 2
"""PRAGMA user_version of a journal written by this program: 1, the first; 2, temperatures in samples.

Older ones are read as they are; their writer brings them up to date.
"""

# The tables are append-only: rows are inserted, never changed. Wall and monotonic times are nanoseconds; sizes bytes;
# shares per cent, but for those of samples, whose columns name their units.

_RUN = """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        request TEXT NOT NULL,
        seal TEXT NOT NULL DEFAULT '')"""
"""seal is that of the request (journal.seal)."""
_UNSEALED_RUN = "CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), request TEXT NOT NULL)"
"""Version 1 before requests had seals; no migration added the column."""
_AUTOMATIC_INDEX = ("index", "sqlite_autoindex_gauged_device_1", "gauged_device", "")
"""Made by SQLite for the UNIQUE of that table."""

_BLANKS = re.compile(r"[ \n]+")


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a journal of this version; the caller holds the transaction."""
    for statement in (_RUN, EVENT, sample_tables(SCHEMA_VERSION)[0], *OTHER_TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def require_schema(connection: sqlite3.Connection, path: str) -> None:
    """Raise unless an open database is a journal, and holds the tables of its version and nothing else.

    Raises JournalNewer, JournalOlder, JournalUnusable, sqlite3.Error.
    """
    ((application,), (version,), (encoding,)) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version", "encoding")
    )
    if application == OLD_APPLICATION_ID:
        raise JournalOlder(path)
    if application != APPLICATION_ID:
        raise JournalUnusable(path=path, why="it is not a journal of fsconsole")
    if version > SCHEMA_VERSION:
        raise JournalNewer(path=path, version=version)
    if version < 1:
        raise JournalUnusable(path=path, why=f"no journal has the version {version}")
    if encoding != "UTF-8":
        raise JournalUnusable(path=path, why=f"its text is {encoding}, that of a journal is UTF-8")
    if why := _objection(connection, version):
        raise JournalUnusable(path=path, why=why)


def _objection(connection: sqlite3.Connection, version: int) -> str:
    """Return what a database holds that no journal of that version does, or lacks, as a clause; empty for nothing."""
    missing = dict(_entries(version))
    # One more than there may be: a database can have any number of them.
    query = f"SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master LIMIT {len(missing) + 1}"  # noqa: S608 (a number)
    for kind, name, table, sql in connection.execute(query):
        if (kind, name, table, _plain(str(sql))) not in missing.pop(name, ()):
            return f"its {kind!s:.20} {name!s:.60} is not that of a journal of version {version}"
    return f"it has no table {min(missing)}" if missing else ""


@cache
def _entries(version: int) -> Mapping[str, frozenset[tuple[str, str, str, str]]]:
    """Return the rows of sqlite_master in a journal of a version, as it may have them, by their names."""
    entries = {_AUTOMATIC_INDEX[1]: frozenset({_AUTOMATIC_INDEX})}
    for statement in (_RUN, _UNSEALED_RUN, EVENT, *sample_tables(version), *OTHER_TABLES):
        name = statement.split()[2]
        entries[name] = entries.get(name, frozenset()) | {("table", name, name, _plain(statement))}
    return entries


def _plain(statement: str) -> str:
    """Return a statement on one line, as the source of another version may have written it."""
    return _BLANKS.sub(" ", statement).replace("( ", "(")
