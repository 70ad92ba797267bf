"""Adds up traced events of a load: seeks between writes, reads of metadata, writeback's chunks and nr_pages."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import REASONS, Metric
from fsconsole.telemetry.trace_buffer import EventFormat, PageFormat, events_in
from fsconsole.text import SECTOR_BYTES

REQUEST, START, INODE = "block/block_rq_issue", "writeback/writeback_start", "writeback/writeback_single_inode"
EVENTS = (REQUEST, START, INODE)
"""include/trace/events/block.h and writeback.h."""
UNLIMITED = 2**62
"""From here on nr_pages and nr_to_write stand for no limit: LONG_MAX less what was written already (fs/fs-writeback.c)."""
FIRST_STARTS = 1000
"""Events writeback_start that are kept one by one."""


@dataclass(frozen=True, slots=True)
class TracedDisk:
    """A disk whose requests are traced: its number as the kernel packs it, and the part of it that is looked at."""

    number: int
    """major << 20 | minor (include/linux/kdev_t.h)."""
    first_sector: int = 0
    end_sector: int = 2**63


@dataclass(slots=True)
class TraceFigures:
    """Sums over the events of one load, in the order in which requests were issued."""

    disks: Sequence[TracedDisk]
    page: PageFormat
    formats: Mapping[str, EventFormat]
    events: int = 0
    seeks: Counter[int] = field(default_factory=Counter)
    """Pairs of writes by bit_length() of the distance between them in bytes; 0: the next one goes on where the last ended."""
    seek_bytes: int = 0
    writes: int = 0
    meta_reads: int = 0
    meta_read_bytes: int = 0
    small_reads: int = 0
    starts: dict[str, array[int]] = field(default_factory=dict)
    """nr_pages of each writeback_start, by reason."""
    first_starts: list[tuple[float, int, str]] = field(default_factory=list)
    """Of the first ones: seconds since the load's start, nr_pages, reason."""
    chunks: array[int] = field(default_factory=lambda: array("q"))
    """Pages of each writeback_single_inode that wrote any."""
    limits: array[int] = field(default_factory=lambda: array("q"))
    """nr_to_write of the same events."""
    _ends: dict[int, int] = field(default_factory=dict)
    """Sector after a disk's last write, by its number."""

    def add(self, pages: Iterable[bytes], begin_ns: int, end_ns: int) -> None:
        """Add the events between two instants (CLOCK_MONOTONIC) from pages of all CPUs. Raises Unreadable."""
        found = list(self._rows(pages, begin_ns, end_ns))
        # Each CPU has a buffer of its own: only the stamps tell which request was issued first.
        found.sort()
        self.events += len(found)
        request, start, inode = (self.formats[name].number for name in EVENTS)
        reasons = self.formats[START].symbols
        for stamp, kind, *values in found:
            if kind == request:
                self._request(*values)
            elif kind == start:
                nr_pages, reason = values[0], reasons.get(values[1], str(values[1]))
                self.starts.setdefault(reason, array("q")).append(nr_pages)
                if len(self.first_starts) < FIRST_STARTS:
                    self.first_starts.append(((stamp - begin_ns) / 1e9, nr_pages, reason))
            elif kind == inode and values[1] > 0:
                self.limits.append(values[0])
                self.chunks.append(values[1])

    def forget_ends(self) -> None:
        """Have no seek counted to the next write: events before it are missing."""
        self._ends.clear()

    def _rows(self, pages: Iterable[bytes], begin_ns: int, end_ns: int) -> Iterator[tuple[int, ...]]:
        request, start, inode = (self.formats[name] for name in EVENTS)
        of_request = request.unpacker("dev", "sector", "nr_sector", "rwbs").unpack_from
        of_start = start.unpacker("nr_pages", "reason").unpack_from
        of_inode = inode.unpacker("nr_to_write", "wrote").unpack_from
        sizes = {request.number: of_request, start.number: of_start, inode.number: of_inode}
        flags: dict[bytes, int] = {}
        for page in pages:
            for stamp, kind, at in events_in(page, self.page):
                if kind not in sizes or not begin_ns <= stamp <= end_ns:
                    continue
                if kind != request.number:
                    yield (stamp, kind, *sizes[kind](page, at))
                    continue
                disk, sector, sectors, rwbs = of_request(page, at)
                if rwbs not in flags:
                    flags[rwbs] = _flags(rwbs)
                if sectors and (flags[rwbs] != _READ or sectors <= _SMALL_SECTORS) and flags[rwbs]:
                    yield (stamp, kind, disk, sector, sectors, flags[rwbs])

    def _request(self, number: int, sector: int, sectors: int, flag: int) -> None:
        if not any(disk.number == number and disk.first_sector <= sector < disk.end_sector for disk in self.disks):
            return
        if flag != _WRITE:
            self.small_reads += sectors <= _SMALL_SECTORS
            if flag == _META_READ:
                self.meta_reads += 1
                self.meta_read_bytes += sectors * SECTOR_BYTES
            return
        self.writes += 1
        end = self._ends.get(number)
        self._ends[number] = sector + sectors
        if end is not None:
            distance = abs(sector - end) * SECTOR_BYTES
            self.seeks[distance.bit_length()] += 1
            self.seek_bytes += distance

    def measurements(self, *, wrote: bool) -> tuple[Measurement, ...]:
        """Return the figures of a load; wrote tells a load of writes from one of reads."""
        figures = [
            Measurement(Metric.SMALL_READS, self.small_reads),
            Measurement(Metric.META_READS, self.meta_reads),
            Measurement(Metric.META_READ, self.meta_read_bytes),
        ]
        if not wrote:
            return tuple(figures)
        if pairs := self.seeks.total():
            figures += [
                Measurement(Metric.WRITE_SEEK, self.seek_bytes / pairs),
                Measurement(Metric.WRITES_IN_ORDER, 100 * self.seeks[0] / pairs),
            ]
        every = [pages for starts in self.starts.values() for pages in starts]
        figures.append(Measurement(Metric.WRITEBACK_STARTS, len(every)))
        for reason, _ in REASONS:
            starts = self.starts.get(reason, ())
            figures.append(Measurement(Metric(f"starts_{reason}"), len(starts)))
            figures += _typical(Metric(f"nr_pages_{reason}"), starts)
        if every:
            figures += [
                Measurement(Metric.NR_PAGES_NEGATIVE, sum(pages < 0 for pages in every)),
                Measurement(Metric.NR_PAGES_UNLIMITED, sum(pages >= UNLIMITED for pages in every)),
                *_typical(Metric.NR_PAGES, every),
                *_typical(Metric.NR_PAGES_LEAST, every, min),
            ]
        if self.chunks:
            figures += [
                Measurement(Metric.INODE_PAGES, sum(self.chunks) / len(self.chunks)),
                Measurement(Metric.INODE_PAGES_MAX, max(self.chunks)),
                *_typical(Metric.NR_TO_WRITE, self.limits),
            ]
        return tuple(figures)


def _typical(
    metric: Metric, asked: Iterable[int], of: Callable[[list[int]], float] = median
) -> tuple[Measurement, ...]:
    limited = [pages for pages in asked if pages < UNLIMITED]
    return (Measurement(metric, of(limited)),) if limited else ()


_WRITE, _READ, _META_READ = 1, 2, 3
_SMALL_SECTORS = 8
"""4 KiB, the usual block of a filesystem: a list of extents takes one, and data of a large file is read ahead in more."""


def _flags(rwbs: bytes) -> int:
    """Return what a request does by its letters (blk_fill_rwbs, kernel/trace/blktrace.c); 0: neither write nor read."""
    letters = rwbs.split(b"\0", 1)[0]
    if b"W" in letters:
        return _WRITE
    if b"R" not in letters:
        return 0
    return _META_READ if b"M" in letters else _READ
