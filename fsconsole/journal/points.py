"""The few figures of samples that curves are drawn of, read without all the others.

A run of 12 hours has 86,400 samples at 2 Hz, each with a row per CPU and device. Whoever wants the curves of its last
cells reads the latest samples one by one, and of those before only the highest figures of each slot of time: SQLite
gathers them five times as fast as samples are read, and without keeping Python's other threads waiting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fsconsole.errors import JournalUnusable
from fsconsole.journal.reader import open_journal
from fsconsole.model.sample import Role, Sample
from fsconsole.units import SECTOR_BYTES

# Only the targets' rates may be added up. What else is summed or grouped is one row.
_FIGURES = """cell, sum(write_sectors_s) AS write, sum(read_sectors_s) AS read,
    writeback_dirty_bytes + writeback_writeback_bytes AS pending,
    cpu_user_centi + cpu_nice_centi + cpu_system_centi + cpu_irq_centi + cpu_softirq_centi AS cpu
    FROM sample LEFT JOIN sample_device ON sample_device.sample = sample.id
        AND device IN (SELECT id FROM gauged_device WHERE role = 'target')"""
_SELECT = f"""SELECT id, monotonic_ns, {_FIGURES}
    WHERE id <= ? GROUP BY id ORDER BY id DESC LIMIT ?"""
_BOOT = """SELECT coalesce(max(id), 1) FROM
    (SELECT id, monotonic_ns < lag(monotonic_ns) OVER (ORDER BY id) AS is_first FROM sample WHERE id <= ?)
    WHERE is_first"""
_CELL = "SELECT cell FROM sample WHERE id BETWEEN ? AND ? AND cell IS NOT ? AND cell >= 0 ORDER BY id DESC LIMIT 1"
_OF_CELL = "id BETWEEN :first AND :last AND cell = :cell AND monotonic_ns >= :began_ns"
_LENGTH = f"SELECT max(monotonic_ns) - :began_ns FROM sample WHERE {_OF_CELL}"  # noqa: S608
_HIGHEST = f"""SELECT (monotonic_ns - :began_ns) / :slot_ns AS slot, cell, max(write), max(read), max(pending), max(cpu)
    FROM (SELECT id, monotonic_ns, {_FIGURES} WHERE {_OF_CELL} GROUP BY id)
    GROUP BY slot"""  # noqa: S608
_BEST = """SELECT max(write), max(read) FROM
    (SELECT sum(write_sectors_s) AS write, sum(read_sectors_s) AS read FROM sample_device
        WHERE sample BETWEEN ? AND ? AND device IN (SELECT id FROM gauged_device WHERE role = 'target')
        GROUP BY sample)"""
_CENTI = 100.0


@dataclass(frozen=True, slots=True)
class Point:
    """One sample's figures; rates are sums over the targets, None where it has no target."""

    monotonic_ns: int
    cell: int | None
    write_bytes_s: float | None
    read_bytes_s: float | None
    pending_bytes: float
    """Dirty and in writeback."""
    cpu_percent: float


def point_of(sample: Sample) -> Point:
    """Return a sample's figures."""
    targets = [device for device in sample.devices if device.role is Role.TARGET]
    return Point(
        monotonic_ns=sample.monotonic_ns,
        cell=sample.cell,
        write_bytes_s=sum(device.write_bytes_s for device in targets) if targets else None,
        read_bytes_s=sum(device.read_bytes_s for device in targets) if targets else None,
        pending_bytes=float(sample.writeback.pending_bytes),
        cpu_percent=sample.cpu.busy,
    )


def points_before(path: str, last: int, limit: int) -> tuple[int, tuple[Point, ...]]:
    """Return up to limit points of samples with ids up to last, the latest first, and the id to go on with; 0 at the end.

    Raises JournalNewer, JournalUnusable, NotRoot.
    """
    with open_journal(path) as connection:
        rows: list[tuple[object, ...]] = connection.execute(_SELECT, (last, limit)).fetchall()
    points = tuple(_point(row, path) for row in rows)
    return (_whole(rows[-1][0], path) - 1 if len(rows) == limit else 0), points


def highest_before(
    path: str, last: int, began_ns: Callable[[int], int], slot_ns: int, most: int
) -> tuple[Point, ...]:
    """Return the highest figures of each slot of the last two cells that samples with ids up to last belong to.

    A cell's slots begin at began_ns(cell); they last slot_ns, doubled until there are no more than most. What was
    sampled before that, or before the machine was booted, is left out. Raises JournalNewer, JournalUnusable, NotRoot.
    """
    points: list[Point] = []
    with open_journal(path) as connection:
        (first,) = connection.execute(_BOOT, (last + 1,)).fetchone()
        cell: object = None
        for _ in range(2):
            found = connection.execute(_CELL, (first, last, cell)).fetchone()
            if found is None:
                break
            cell = _whole(found[0], path)
            span = {"first": first, "last": last, "cell": cell, "began_ns": began_ns(cell)}
            points += _highest(connection, path, span, slot_ns, most)
    return tuple(points)


def best_before(path: str, last: int) -> tuple[float, float]:
    """Return the highest rates written and read in samples with ids up to last since the boot, in bytes/s; 0 for none.

    Raises JournalNewer, JournalUnusable, NotRoot.
    """
    with open_journal(path) as connection:
        (first,) = connection.execute(_BOOT, (last + 1,)).fetchone()
        write, read = connection.execute(_BEST, (first, last)).fetchone()
    return _rate(write, path) or 0.0, _rate(read, path) or 0.0


def _highest(
    connection: sqlite3.Connection, path: str, span: dict[str, int], slot_ns: int, most: int
) -> Iterator[Point]:
    (length_ns,) = connection.execute(_LENGTH, span).fetchone()
    if length_ns is None:
        return
    while _whole(length_ns, path) >= most * slot_ns:
        slot_ns *= 2
    for slot, *figures in connection.execute(_HIGHEST, {**span, "slot_ns": slot_ns}):
        yield _point((slot, span["began_ns"] + _whole(slot, path) * slot_ns, *figures), path)


def _point(row: tuple[object, ...], path: str) -> Point:
    _, monotonic_ns, cell, write, read, pending, cpu = row
    return Point(
        monotonic_ns=_whole(monotonic_ns, path),
        cell=None if cell is None else _whole(cell, path),
        write_bytes_s=_rate(write, path),
        read_bytes_s=_rate(read, path),
        pending_bytes=float(_whole(pending, path)),
        cpu_percent=_whole(cpu, path) / _CENTI,
    )


def _rate(sectors_s: object, path: str) -> float | None:
    return None if sectors_s is None else float(_whole(sectors_s, path) * SECTOR_BYTES)


def _whole(value: object, path: str) -> int:
    if not isinstance(value, int):
        raise JournalUnusable(path=path, why=f"a sample does not fit: {value!r} is not a whole number")
    return value
