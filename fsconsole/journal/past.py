"""Loads a whole run's state, and its curves, in one call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from statistics import fmean

from fsconsole.errors.runs import JournalUnusable
from fsconsole.journal.events import NAMES, Cursor
from fsconsole.journal.fold import fold, start
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.last_word import as_batch, read
from fsconsole.journal.limits import MAX_SAMPLE_COUNT
from fsconsole.journal.reader import JournalReader, open_journal
from fsconsole.model.events import LatencySeen, LayoutSeen
from fsconsole.model.sample import Role, Sample
from fsconsole.model.state import RunState, RunStatus
from fsconsole.model.wire import Mismatch, decode
from fsconsole.text import SECTOR_BYTES

MAX_POINTS = 4000
"""More than any terminal has columns; beyond it neighbours are averaged."""

# Only the targets' rates may be added up. What else is summed or grouped is one row.
_FIGURES = """cell, sum(write_sectors_s) AS write, sum(read_sectors_s) AS read,
    writeback_dirty_bytes + writeback_writeback_bytes AS pending,
    cpu_user_centi + cpu_nice_centi + cpu_system_centi + cpu_irq_centi + cpu_softirq_centi AS cpu, load_sectors_s"""
_FROM = """FROM sample LEFT JOIN sample_device ON sample_device.sample = sample.id
        AND device IN (SELECT id FROM gauged_device WHERE role = 'target')"""
_CURVE = f"""SELECT monotonic_ns, {_FIGURES}, cpu_iowait_centi,
        writeback_threshold_bytes, writeback_background_threshold_bytes {_FROM}
    WHERE cell = ? GROUP BY id ORDER BY id LIMIT {MAX_SAMPLE_COUNT}"""
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
    iowait_percent: float = 0.0
    """This and the thresholds: of a cell's curve alone."""
    threshold_bytes: float | None = None
    background_bytes: float | None = None
    load_bytes_s: float | None = None
    """Rates of the workload; None outside of one."""


def read_curve(folder: RunFolder, cell: int, begun_monotonic_ns: int) -> tuple[Point, ...]:
    """Return the samples of a cell's latest attempt, which began then. Raises as JournalReader."""
    with open_journal(folder.journal) as connection:
        rows: list[tuple[object, ...]] = connection.execute(_CURVE, (cell,)).fetchall()
    return _thinned(_latest([_point(row, folder.journal) for row in rows], begun_monotonic_ns))


def read_latencies(folder: RunFolder, cell: int, attempt: int) -> tuple[LatencySeen, ...]:
    """Return how long operations took in a cell's loads. Raises as JournalReader."""
    batch = JournalReader(folder.journal).read_since(Cursor(), max_samples=0)
    return tuple(
        seen
        for seen in batch.observations
        if isinstance(seen, LatencySeen) and (seen.cell, seen.attempt) == (cell, attempt)
    )


_LAYOUT_TAILS = "SELECT id, substr(body, -80) FROM event WHERE kind = ? ORDER BY id"
_OF_CELL_END = re.compile(r'"cell":(\d+),"attempt":(\d+),"step":\d+\}$')
"""Tail of a layout's document: its base class's fields come first."""


def layout_places(folder: RunFolder, state: RunState) -> dict[int, tuple[int, ...]]:
    """Return the row ids of the layouts of each cell's latest attempt. Raises as JournalReader.

    A layout has up to 100 KB, and a run thousands of cells: only those that are drawn are read whole.
    """
    found: dict[int, tuple[int, ...]] = {}
    with open_journal(folder.journal) as connection:
        for number, tail in connection.execute(_LAYOUT_TAILS, (NAMES[LayoutSeen],)):
            match = _OF_CELL_END.search(str(tail))
            cell, attempt = (int(match[1]), int(match[2])) if match and len(match[1]) < 9 > len(match[2]) else (-1, 0)
            if 0 <= cell < len(state.cells) and state.cells[cell].attempt == attempt:
                found[cell] = (*found.get(cell, ()), number)
    return found


def read_layouts(folder: RunFolder, numbers: Sequence[int]) -> tuple[LayoutSeen, ...]:
    """Return the layouts with these row ids. Raises as JournalReader."""
    query = "SELECT body FROM event WHERE id = ? AND kind = ?"
    found = []
    with open_journal(folder.journal) as connection:
        for number in numbers:
            for (body,) in connection.execute(query, (number, NAMES[LayoutSeen])):
                try:
                    found.append(decode(LayoutSeen, str(body)))
                except Mismatch as mismatch:
                    raise JournalUnusable(path=folder.journal, why=f"a layout does not fit: {mismatch}") from mismatch
    return tuple(found)


def _latest(points: Sequence[Point], begun_ns: int) -> list[Point]:
    """Return the last points whose clock only rises: after a reboot it restarts, and earlier attempts lie before."""
    kept: list[Point] = []
    after = float("inf")
    for point in reversed(points):
        if not begun_ns <= point.monotonic_ns <= after:
            break
        kept.append(point)
        after = point.monotonic_ns
    return kept[::-1]


def _thinned(points: list[Point]) -> tuple[Point, ...]:
    size = -(-len(points) // MAX_POINTS) or 1
    if size == 1:
        return tuple(points)
    return tuple(_mean(points[begin : begin + size]) for begin in range(0, len(points), size))


def _mean(points: Sequence[Point]) -> Point:
    return replace(
        points[-1],
        write_bytes_s=_known_mean(point.write_bytes_s for point in points),
        read_bytes_s=_known_mean(point.read_bytes_s for point in points),
        pending_bytes=fmean(point.pending_bytes for point in points),
        cpu_percent=fmean(point.cpu_percent for point in points),
        iowait_percent=fmean(point.iowait_percent for point in points),
        load_bytes_s=_known_mean(point.load_bytes_s for point in points),
    )


def _known_mean(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if known else None


def read_journal(folder: RunFolder) -> RunState:
    """Return all that a run's journal says, folded; samples but the last are left unread.

    Raises JournalUnusable, JournalNewer.
    """
    reader = JournalReader(folder.journal)
    # Of a journal's text they are the most, and no state has them.
    return reduce(fold, reader.batches(without=(NAMES[LatencySeen], NAMES[LayoutSeen])), start(reader.request()))


def read_state(folder: RunFolder) -> RunState:
    """Return the same with the last word that the journal didn't take, if there is one. Raises the same."""
    state = read_journal(folder)
    return state if state.status is RunStatus.FINISHED else fold(state, as_batch(read(folder)))


# A run of 12 hours has 86,400 samples at 2 Hz, each with a row per CPU and device. Whoever wants the curves of its last
# cells reads the latest samples one by one, and of those before only the highest figures of each slot of time: SQLite
# gathers them five times as fast as samples are read, and without keeping Python's other threads waiting.

_POINTS_SELECT = f"""SELECT monotonic_ns, {_FIGURES}, id {_FROM}
    WHERE id <= ? GROUP BY id ORDER BY id DESC LIMIT ?"""
_BOOT = """SELECT coalesce(max(id), 1) FROM
    (SELECT id, monotonic_ns < lag(monotonic_ns) OVER (ORDER BY id) AS is_first FROM sample WHERE id <= ?)
    WHERE is_first"""
_CELL = "SELECT cell FROM sample WHERE id BETWEEN ? AND ? AND cell IS NOT ? AND cell >= 0 ORDER BY id DESC LIMIT 1"
_OF_CELL = "id BETWEEN :first AND :last AND cell = :cell AND monotonic_ns >= :began_ns"
_LENGTH = f"SELECT max(monotonic_ns) - :began_ns FROM sample WHERE {_OF_CELL}"  # noqa: S608
_HIGHEST = f"""SELECT (monotonic_ns - :began_ns) / :slot_ns AS slot, cell, max(write + read), NULL, max(pending),
        max(cpu), max(load_sectors_s)
    FROM (SELECT monotonic_ns, {_FIGURES} {_FROM} WHERE {_OF_CELL} GROUP BY id)
    GROUP BY slot"""  # noqa: S608
_BEST = """SELECT max(write), max(read) FROM
    (SELECT sum(write_sectors_s) AS write, sum(read_sectors_s) AS read FROM sample_device
        WHERE sample BETWEEN ? AND ? AND sample NOT IN (SELECT id FROM sample WHERE step = 'equalise')
            AND device IN (SELECT id FROM gauged_device WHERE role = 'target')
        GROUP BY sample)"""


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
        load_bytes_s=None if sample.load is None else sample.load.bytes_s,
    )


def points_before(path: str, last: int, limit: int) -> tuple[int, tuple[Point, ...]]:
    """Return up to limit points of samples with ids up to last, the latest first, and the id to go on with; 0 at the end.

    Raises JournalNewer, JournalUnusable, NotRoot.
    """
    with open_journal(path) as connection:
        rows: list[tuple[object, ...]] = connection.execute(_POINTS_SELECT, (last, limit)).fetchall()
    points = tuple(_point(row[:-1], path) for row in rows)
    return (_whole(rows[-1][-1], path) - 1 if len(rows) == limit else 0), points


def highest_before(path: str, last: int, began_ns: Callable[[int], int], slot_ns: int, most: int) -> tuple[Point, ...]:
    """Return the highest figures of each slot of the last cell that samples with ids up to last belong to.

    What is read counts as written: only the sum of both is drawn. A cell's slots begin at began_ns(cell); they last slot_ns, doubled until there are no more than most. What was
    sampled before that, or before the machine was booted, is left out. Raises JournalNewer, JournalUnusable, NotRoot.
    """
    points: list[Point] = []
    with open_journal(path) as connection:
        (first,) = connection.execute(_BOOT, (last + 1,)).fetchone()
        found = connection.execute(_CELL, (first, last, None)).fetchone()
        if found is None:
            return ()
        cell = _whole(found[0], path)
        span = {"first": first, "last": last, "cell": cell, "began_ns": began_ns(cell)}
        (length_ns,) = connection.execute(_LENGTH, span).fetchone()
        wide_ns = slot_ns
        while length_ns is not None and _whole(length_ns, path) >= most * wide_ns:
            wide_ns *= 2
        for slot, *figures in connection.execute(_HIGHEST, {**span, "slot_ns": wide_ns}):
            at_ns = span["began_ns"] + _whole(slot, path) * wide_ns
            points.append(_point((at_ns, *figures), path))
    return tuple(points)


def best_before(path: str, last: int) -> tuple[float, float]:
    """Return the highest rates written and read in samples with ids up to last since the boot, in bytes/s; 0 for none.

    Without those of preparing the device: the kernel counts a refused request to zero and the zeros written instead.
    Raises JournalNewer, JournalUnusable, NotRoot.
    """
    with open_journal(path) as connection:
        (first,) = connection.execute(_BOOT, (last + 1,)).fetchone()
        write, read = connection.execute(_BEST, (first, last)).fetchone()
    return _rate(write, path) or 0.0, _rate(read, path) or 0.0


def _point(row: tuple[object, ...], path: str) -> Point:
    monotonic_ns, cell, write, read, pending, cpu, load, *of_curve = row
    iowait, threshold, background = of_curve or (0, None, None)
    return Point(
        monotonic_ns=_whole(monotonic_ns, path),
        cell=None if cell is None else _whole(cell, path),
        write_bytes_s=_rate(write, path),
        read_bytes_s=_rate(read, path),
        pending_bytes=float(_whole(pending, path)),
        cpu_percent=_whole(cpu, path) / _CENTI,
        iowait_percent=_whole(iowait, path) / _CENTI,
        threshold_bytes=None if threshold is None else _whole(threshold, path),
        background_bytes=None if background is None else _whole(background, path),
        load_bytes_s=_rate(load, path),
    )


def _rate(sectors_s: object, path: str) -> float | None:
    return None if sectors_s is None else float(_whole(sectors_s, path) * SECTOR_BYTES)


def _whole(value: object, path: str) -> int:
    if not isinstance(value, int):
        raise JournalUnusable(path=path, why=f"a sample does not fit: {value!r} is not a whole number")
    return value
