"""The samples of one cell, as lean as a plot needs them: a cell may last for hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader, open_journal
from fsconsole.model.observation import LatencySeen
from fsconsole.units import SECTOR_BYTES

MAX_POINTS = 4000
"""More than any terminal has columns; beyond it neighbours are averaged."""

# Columns: journal.sample_schema; only the targets' rates may be added up.
_SELECT = """SELECT monotonic_ns, writeback_dirty_bytes + writeback_writeback_bytes,
        writeback_threshold_bytes, writeback_background_threshold_bytes,
        cpu_user_centi + cpu_nice_centi + cpu_system_centi + cpu_irq_centi + cpu_softirq_centi,
        cpu_iowait_centi, load_sectors_s,
        coalesce(sum(write_sectors_s), 0), coalesce(sum(read_sectors_s), 0)
    FROM sample LEFT JOIN sample_device ON sample_device.sample = sample.id
        AND device IN (SELECT id FROM gauged_device WHERE role = 'target')
    WHERE cell = ? GROUP BY sample.id ORDER BY sample.id"""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the gauges said at one instant of a cell."""

    monotonic_ns: float
    pending_bytes: float
    """Dirty and under writeback."""
    threshold_bytes: float | None
    background_bytes: float | None
    busy_percent: float
    iowait_percent: float
    load_bytes_s: float | None
    """What the workload moves; None outside of one."""
    write_bytes_s: float
    read_bytes_s: float
    """Of the targets."""


def read_curve(folder: RunFolder, cell: int, begun_monotonic_ns: int) -> tuple[CurvePoint, ...]:
    """Return the samples of a cell's latest attempt, which began then. Raises as JournalReader."""
    with open_journal(folder.journal) as connection:
        rows: list[tuple[float | None, ...]] = connection.execute(_SELECT, (cell,)).fetchall()
    return _thinned([_point(row) for row in _latest(rows, begun_monotonic_ns)])


def read_latencies(folder: RunFolder, cell: int, attempt: int) -> tuple[LatencySeen, ...]:
    """Return how long operations took in a cell's loads. Raises as JournalReader."""
    reader = JournalReader(folder.journal)
    entries = reader.read_since(reader.recent(0), max_samples=0).entries
    return tuple(
        entry.observation
        for entry in entries
        if isinstance(entry.observation, LatencySeen)
        and (entry.observation.cell, entry.observation.attempt) == (cell, attempt)
    )


def _latest(
    rows: Sequence[tuple[float | None, ...]], begun_monotonic_ns: int
) -> list[tuple[float | None, ...]]:
    """Return the last rows whose clock only rises: after a reboot it begins anew, and earlier attempts lie before."""
    kept: list[tuple[float | None, ...]] = []
    after = float("inf")
    for row in reversed(rows):
        at = row[0] or 0.0
        if not begun_monotonic_ns <= at <= after:
            break
        kept.append(row)
        after = at
    return kept[::-1]


def _point(row: Sequence[float | None]) -> CurvePoint:
    at, pending, threshold, background, busy, iowait, load, write, read = row
    return CurvePoint(
        monotonic_ns=at or 0.0,
        pending_bytes=pending or 0.0,
        threshold_bytes=threshold,
        background_bytes=background,
        busy_percent=(busy or 0.0) / 100,
        iowait_percent=(iowait or 0.0) / 100,
        load_bytes_s=None if load is None else load * SECTOR_BYTES,
        write_bytes_s=(write or 0.0) * SECTOR_BYTES,
        read_bytes_s=(read or 0.0) * SECTOR_BYTES,
    )


def _thinned(points: list[CurvePoint]) -> tuple[CurvePoint, ...]:
    size = -(-len(points) // MAX_POINTS) or 1
    if size == 1:
        return tuple(points)
    return tuple(_mean(points[begin : begin + size]) for begin in range(0, len(points), size))


def _mean(points: Sequence[CurvePoint]) -> CurvePoint:
    loads = [point.load_bytes_s for point in points if point.load_bytes_s is not None]
    return CurvePoint(
        monotonic_ns=points[-1].monotonic_ns,
        pending_bytes=fmean(point.pending_bytes for point in points),
        threshold_bytes=points[-1].threshold_bytes,
        background_bytes=points[-1].background_bytes,
        busy_percent=fmean(point.busy_percent for point in points),
        iowait_percent=fmean(point.iowait_percent for point in points),
        load_bytes_s=fmean(loads) if loads else None,
        write_bytes_s=fmean(point.write_bytes_s for point in points),
        read_bytes_s=fmean(point.read_bytes_s for point in points),
    )
