"""The tables of samples, and the way to them from the journals before version 3. Columns: journal.sample_rows."""

from __future__ import annotations

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
