"""The few figures of samples that curves are drawn of, read backwards and without all the others.

A run of 12 hours has 86,400 samples at 2 Hz, each with a row per CPU and device: whoever only wants a curve of
its last cell neither reads nor decodes those.
"""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors import JournalUnusable
from fsconsole.journal.reader import open_journal
from fsconsole.model.sample import Role, Sample
from fsconsole.units import SECTOR_BYTES

_OF_TARGETS = """(SELECT sum({column}) FROM sample_device JOIN gauged_device ON gauged_device.id = device
    WHERE sample_device.sample = sample.id AND role = 'target')"""
_SELECT = f"""SELECT id, monotonic_ns, cell, {_OF_TARGETS.format(column="write_sectors_s")},
    {_OF_TARGETS.format(column="read_sectors_s")}, writeback_dirty_bytes + writeback_writeback_bytes,
    cpu_user_centi + cpu_nice_centi + cpu_system_centi + cpu_irq_centi + cpu_softirq_centi
    FROM sample WHERE id <= ? ORDER BY id DESC LIMIT ?"""  # noqa: S608 - names from above
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


def _point(row: tuple[object, ...], path: str) -> Point:
    _, monotonic_ns, cell, write, read, pending, cpu = row
    return Point(
        monotonic_ns=_whole(monotonic_ns, path),
        cell=None if cell is None else _whole(cell, path),
        write_bytes_s=None if write is None else float(_whole(write, path) * SECTOR_BYTES),
        read_bytes_s=None if read is None else float(_whole(read, path) * SECTOR_BYTES),
        pending_bytes=float(_whole(pending, path)),
        cpu_percent=_whole(cpu, path) / _CENTI,
    )


def _whole(value: object, path: str) -> int:
    if not isinstance(value, int):
        raise JournalUnusable(path=path, why=f"a sample does not fit: {value!r} is not a whole number")
    return value
