"""The journal's tables, their version, and the way from an older version to this one.

Append-only: rows are inserted, never changed. Wall and monotonic times are nanoseconds; sizes bytes; shares
per cent, but for those of samples. Text in JSON stands only where a fact is rare or open-ended (argv, hazards, identities).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from fsconsole.errors.runs import JournalNewer, JournalUnusable

# The tables of samples, and the way to them from the journals before version 3. Columns: journal.sample_rows.

_SAMPLE = """CREATE TABLE sample (
        id INTEGER PRIMARY KEY,
        monotonic_ns INTEGER NOT NULL,
        wall_ns INTEGER NOT NULL,
        interval_us INTEGER NOT NULL,
        cell INTEGER,
        step TEXT NOT NULL,
        cpu_user_centi INTEGER NOT NULL,
        cpu_nice_centi INTEGER NOT NULL,
        cpu_system_centi INTEGER NOT NULL,
        cpu_iowait_centi INTEGER NOT NULL,
        cpu_irq_centi INTEGER NOT NULL,
        cpu_softirq_centi INTEGER NOT NULL,
        cpu_idle_centi INTEGER NOT NULL,
        cpu_steal_centi INTEGER,
        writeback_dirty_bytes INTEGER NOT NULL,
        writeback_writeback_bytes INTEGER NOT NULL,
        writeback_threshold_bytes INTEGER,
        writeback_background_threshold_bytes INTEGER,
        bdi_writeback_bytes INTEGER,
        bdi_reclaimable_bytes INTEGER,
        bdi_dirty_thresh_bytes INTEGER,
        bdi_global_thresh_bytes INTEGER,
        bdi_background_thresh_bytes INTEGER,
        bdi_dirtied_bytes INTEGER,
        bdi_written_bytes INTEGER,
        bdi_bandwidth_bytes_s INTEGER,
        bdi_b_dirty INTEGER,
        bdi_b_io INTEGER,
        bdi_b_more_io INTEGER,
        bdi_b_dirty_time INTEGER,
        bdi_bdi_list INTEGER,
        bdi_state INTEGER,
        pressure_io_some_percent_centi INTEGER,
        pressure_io_full_percent_centi INTEGER,
        pressure_cpu_some_percent_centi INTEGER,
        pressure_memory_some_percent_centi INTEGER,
        pressure_memory_full_percent_centi INTEGER,
        load_bytes_done INTEGER,
        load_operations INTEGER,
        load_files_done INTEGER,
        load_threads_running INTEGER,
        load_sectors_s INTEGER)"""

_SAMPLE_CPU = """CREATE TABLE sample_cpu (
        sample INTEGER NOT NULL REFERENCES sample,
        cpu INTEGER NOT NULL,
        user_centi INTEGER NOT NULL,
        nice_centi INTEGER NOT NULL,
        system_centi INTEGER NOT NULL,
        iowait_centi INTEGER NOT NULL,
        irq_centi INTEGER NOT NULL,
        softirq_centi INTEGER NOT NULL,
        idle_centi INTEGER NOT NULL,
        steal_centi INTEGER,
        PRIMARY KEY (sample, cpu)) WITHOUT ROWID"""

_GAUGED_DEVICE = """CREATE TABLE gauged_device (
        id INTEGER PRIMARY KEY,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        above TEXT NOT NULL,
        UNIQUE (position, name, role, above))"""

_SAMPLE_DEVICE = """CREATE TABLE sample_device (
        sample INTEGER NOT NULL REFERENCES sample,
        device INTEGER NOT NULL REFERENCES gauged_device,
        read_sectors_s INTEGER NOT NULL,
        write_sectors_s INTEGER NOT NULL,
        read_deciops INTEGER NOT NULL,
        write_deciops INTEGER NOT NULL,
        in_flight INTEGER NOT NULL,
        utilisation_percent_centi INTEGER NOT NULL,
        latency_us INTEGER,
        queue_depth_centi INTEGER,
        PRIMARY KEY (sample, device)) WITHOUT ROWID"""

SAMPLE_TABLES = (_SAMPLE, _SAMPLE_CPU, _GAUGED_DEVICE, _SAMPLE_DEVICE)
"""As they came with version 3."""
PROGRESS_ADDED = (
    "ALTER TABLE sample ADD COLUMN progress_done_percent_centi INTEGER",
    "ALTER TABLE sample ADD COLUMN progress_left_us INTEGER",
)
"""How far a step is; with version 5."""

_UNCHANGED = """id, monotonic_ns, wall_ns, cell, step,
    writeback_dirty_bytes, writeback_writeback_bytes,
    writeback_threshold_bytes, writeback_background_threshold_bytes,
    bdi_writeback_bytes, bdi_reclaimable_bytes, bdi_dirty_thresh_bytes, bdi_dirtied_bytes,
    bdi_written_bytes, bdi_bandwidth_bytes_s, bdi_b_dirty, bdi_b_io, bdi_b_more_io,
    load_bytes_done, load_operations, load_files_done, load_threads_running"""

# SQLite's round() gives a float, and of NULL gives NULL.
_REWRITTEN = (
    ("interval_us", "interval_s * 1e6"),
    ("cpu_user_centi", "cpu_user * 100"),
    ("cpu_nice_centi", "cpu_nice * 100"),
    ("cpu_system_centi", "cpu_system * 100"),
    ("cpu_iowait_centi", "cpu_iowait * 100"),
    ("cpu_irq_centi", "cpu_irq * 100"),
    ("cpu_softirq_centi", "cpu_softirq * 100"),
    ("cpu_idle_centi", "cpu_idle * 100"),
    ("pressure_io_some_percent_centi", "pressure_io_some_percent * 100"),
    ("pressure_io_full_percent_centi", "pressure_io_full_percent * 100"),
    ("load_sectors_s", "load_bytes_s / 512"),
)
_REWRITTEN_DEVICE = (
    ("read_sectors_s", "read_bytes_s / 512"),
    ("write_sectors_s", "write_bytes_s / 512"),
    ("read_deciops", "read_iops * 10"),
    ("write_deciops", "write_iops * 10"),
    ("utilisation_percent_centi", "utilisation_percent * 100"),
    ("latency_us", "latency_ms * 1000"),
)


def _into(rewritten: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(name for name, _ in rewritten)


def _out_of(rewritten: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"CAST(round({figure}) AS INTEGER)" for _, figure in rewritten)


SAMPLES_REWRITTEN = (
    "ALTER TABLE sample RENAME TO former_sample",
    "ALTER TABLE sample_device RENAME TO former_device",
    "DROP TABLE sample_cpu",
    *SAMPLE_TABLES,
    f"""INSERT INTO sample ({_UNCHANGED}, {_into(_REWRITTEN)})
        SELECT {_UNCHANGED}, {_out_of(_REWRITTEN)} FROM former_sample""",  # noqa: S608 - names from above
    """INSERT INTO gauged_device (position, name, role, above)
        SELECT DISTINCT position, name, 'target', '' FROM former_device""",
    f"""INSERT INTO sample_device (sample, device, in_flight, {_into(_REWRITTEN_DEVICE)})
        SELECT sample, gauged_device.id, in_flight, {_out_of(_REWRITTEN_DEVICE)}
        FROM former_device JOIN gauged_device USING (position, name)""",  # noqa: S608
    "DROP TABLE former_device",
    "DROP TABLE former_sample",
)
"""From version 2. The CPUs' own shares, which had no kinds, are let go; io pressure was the average over 10 s."""


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
