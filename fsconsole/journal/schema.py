"""The journal's tables, their version, and the way from an older version to this one.

Append-only: rows are inserted, never changed. Wall and monotonic times are nanoseconds; sizes bytes; shares
per cent, but for those of samples. Text in JSON stands only where a fact is rare or open-ended (argv, hazards, identities).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from fsconsole.errors import JournalNewer, JournalUnusable
from fsconsole.journal.sample_schema import PROGRESS_ADDED, SAMPLE_TABLES, SAMPLES_REWRITTEN

APPLICATION_ID = 0x66736A31
""""fsj1" in the database header: tells a journal from any other SQLite file (sqlite.org/fileformat2.html)."""

SCHEMA_VERSION = 5
"""PRAGMA user_version of a journal written by this program.

History:
  1  first version.
  2  request_renewed; setting_taken, setting_seen, setting_returned.
  3  samples in whole numbers; CPUs by number and kind, members of devices, more of bdi and pressure.
  4  latency_seen, latency_bucket.
  5  member_left; how far a step is, in samples.
"""

_REQUEST_RENEWED = """CREATE TABLE request_renewed (
        event INTEGER PRIMARY KEY REFERENCES event,
        request TEXT NOT NULL)"""

_SETTINGS = (
    """CREATE TABLE setting_taken (
        event INTEGER PRIMARY KEY REFERENCES event,
        name TEXT NOT NULL,
        path TEXT NOT NULL,
        new TEXT NOT NULL,
        old_path TEXT NOT NULL,
        old TEXT NOT NULL,
        device_number INTEGER NOT NULL,
        diskseq INTEGER NOT NULL)""",
    """CREATE TABLE setting_seen (
        event INTEGER PRIMARY KEY REFERENCES event,
        path TEXT NOT NULL,
        value TEXT NOT NULL)""",
    """CREATE TABLE setting_returned (
        event INTEGER PRIMARY KEY REFERENCES event,
        path TEXT NOT NULL,
        why_left TEXT NOT NULL)""",
)

_LATENCIES = (
    """CREATE TABLE latency_seen (
        event INTEGER PRIMARY KEY REFERENCES event,
        operation TEXT NOT NULL,
        sum_ns INTEGER NOT NULL,
        max_ns INTEGER NOT NULL,
        over_2_s INTEGER NOT NULL,
        over_10_s INTEGER NOT NULL)""",
    """CREATE TABLE latency_bucket (
        event INTEGER NOT NULL REFERENCES event,
        position INTEGER NOT NULL,
        bucket INTEGER NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (event, position)) WITHOUT ROWID""",
)

_MEMBER_LEFT = """CREATE TABLE member_left (
        event INTEGER PRIMARY KEY REFERENCES event,
        member INTEGER NOT NULL,
        content_digest TEXT NOT NULL)"""

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    1: (_REQUEST_RENEWED, *_SETTINGS),
    2: SAMPLES_REWRITTEN,
    3: _LATENCIES,
    4: (_MEMBER_LEFT, *PROGRESS_ADDED),
}
"""Statements that turn version N into N + 1, by N; carried out by the writer when it opens an older journal."""

TABLES = (
    """CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        run_id TEXT NOT NULL,
        created_wall_ns INTEGER NOT NULL,
        version TEXT NOT NULL,
        request TEXT NOT NULL)""",
    """CREATE TABLE event (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        wall_ns INTEGER NOT NULL,
        monotonic_ns INTEGER NOT NULL,
        attempt INTEGER,
        cell INTEGER,
        step INTEGER)""",
    """CREATE TABLE run_started (
        event INTEGER PRIMARY KEY REFERENCES event,
        version TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kernel TEXT NOT NULL,
        hostname TEXT NOT NULL,
        facts TEXT NOT NULL)""",
    """CREATE TABLE target_accepted (
        event INTEGER PRIMARY KEY REFERENCES event,
        path TEXT NOT NULL,
        identity TEXT NOT NULL,
        hazards TEXT NOT NULL,
        consent TEXT NOT NULL)""",
    _REQUEST_RENEWED,
    *_SETTINGS,
    *_LATENCIES,
    _MEMBER_LEFT,
    """CREATE TABLE step_started (
        event INTEGER PRIMARY KEY REFERENCES event,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        commands TEXT NOT NULL)""",
    """CREATE TABLE command_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        argv TEXT NOT NULL,
        exit_code INTEGER NOT NULL,
        elapsed_s REAL NOT NULL,
        user_s REAL NOT NULL,
        system_s REAL NOT NULL,
        max_rss_bytes INTEGER NOT NULL,
        output TEXT NOT NULL,
        kernel_log TEXT NOT NULL)""",
    """CREATE TABLE step_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        elapsed_s REAL NOT NULL,
        reason TEXT NOT NULL,
        verdict TEXT NOT NULL)""",
    """CREATE TABLE measurement (
        event INTEGER NOT NULL REFERENCES event,
        position INTEGER NOT NULL,
        metric TEXT NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (event, position)) WITHOUT ROWID""",
    """CREATE TABLE feature_seen (
        event INTEGER PRIMARY KEY REFERENCES event,
        scope TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL)""",
    """CREATE TABLE warning_raised (
        event INTEGER PRIMARY KEY REFERENCES event,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT NOT NULL)""",
    """CREATE TABLE cell_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL)""",
    """CREATE TABLE control_requested (
        event INTEGER PRIMARY KEY REFERENCES event,
        verb TEXT NOT NULL)""",
    """CREATE TABLE run_interrupted (
        event INTEGER PRIMARY KEY REFERENCES event,
        reason TEXT NOT NULL)""",
    """CREATE TABLE run_finished (
        event INTEGER PRIMARY KEY REFERENCES event,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        hint TEXT NOT NULL,
        exit_code INTEGER NOT NULL)""",
    *SAMPLE_TABLES,
    *PROGRESS_ADDED,
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a journal of this version; the caller holds the transaction."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def check_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of an open journal. Raises JournalNewer, JournalUnusable, sqlite3.Error."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise JournalUnusable(path=path, why="it is not a journal of fsconsole")
    version = _pragma(connection, "user_version")
    if version > SCHEMA_VERSION:
        raise JournalNewer(path=path, version=version)
    if version < 1:
        raise JournalUnusable(path=path, why=f"no journal has the version {version}")
    # A view or trigger in a journal from elsewhere would be a program, and a journal is data only.
    programs = connection.execute("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')")
    if programs.fetchone() != (0,):
        raise JournalUnusable(path=path, why="it holds views or triggers, which no journal has")
    return version


def migrate(
    connection: sqlite3.Connection,
    found: int,
    migrations: Mapping[int, tuple[str, ...]] = MIGRATIONS,
    wanted: int = SCHEMA_VERSION,
) -> None:
    """Bring a journal from the version found to the one wanted, in one transaction. Raises sqlite3.Error."""
    if found >= wanted:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for version in range(found, wanted):
            for statement in migrations[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {wanted:d}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)
