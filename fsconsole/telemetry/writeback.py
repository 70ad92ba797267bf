"""Watches the writeback of one load: bdi state and queue depth 20 times a second, and its traced events."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from statistics import median
from typing import TypeVar

from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import BDI_FIELDS, Metric
from fsconsole.model.sample import BdiStats, Role
from fsconsole.system.files import KeptFile, cpu_count, read_int_or, read_text
from fsconsole.telemetry.block import SYS, disk_name, parse_inflight, watched_tree
from fsconsole.telemetry.machine import parse_bdi
from fsconsole.telemetry.rates import Unreadable
from fsconsole.telemetry.trace_figures import TracedDisk, TraceFigures
from fsconsole.telemetry.trace_instance import TraceInstance
from fsconsole.text import MIB, error_reason

_T = TypeVar("_T")
_PERIOD_S = 0.05
_STASH_BYTES = 16 * MIB
"""Raw pages that are kept before they are added up: 220,000 requests."""
_CPU_SHARE = 0.01
"""Of all CPUs: the most that adding up may take while the load runs; beyond it events are dropped, and counted as lost."""
_EVENT_BYTES = 72
"""Of one request in the buffer: what dropped pages are counted by."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the bdi's stats and of the requests in flight; None where the machine has no such file."""

    monotonic_ns: int
    bdi: BdiStats | None
    in_flight: int | None


def traced_disks(target: str, sys: str = SYS) -> tuple[TracedDisk, ...]:
    """Return the disks whose requests are a target's: its own, or those below an array or a volume. Raises OSError.

    An array issues no requests itself; a partition's carry the disk's number and sectors.
    """
    tree = [one for one in watched_tree(target, sys) if one.role is not Role.BELOW]
    above = {one.above for one in tree}
    found = []
    for one in tree:
        if one.name in above:
            continue
        disk, folder = disk_name(one.name, sys), f"{sys}/class/block/{one.name}"
        major, minor = map(int, read_text(f"{sys}/class/block/{disk}/dev").split(":"))
        first = read_int_or(f"{folder}/start", 0)
        size = read_int_or(f"{folder}/size", 0)
        found.append(TracedDisk(major << 20 | minor, first, first + size if size else 2**63))
    return tuple(found)


@dataclass(slots=True)
class WritebackWatch:
    """Reads gauges and trace in a thread of its own, from start() to stop(); then figures() adds up.

    trace is None where the kernel offers none; problems say why something is missing.
    """

    target: str
    bdi_path: str | None
    trace: TraceInstance | None
    problems: list[str] = field(default_factory=list)
    lost: int = 0
    readings: list[Reading] = field(default_factory=list)
    _pages: list[bytes] = field(default_factory=list)
    _sums: TraceFigures | None = None
    _began_ns: int = 0
    _added_s: float = 0.0
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start reading, right before the load's first operation."""
        self._began_ns = time.monotonic_ns()
        if self.trace is not None:
            self._sums = TraceFigures(self.trace.disks, self.trace.page, self.trace.formats)
        self._thread = threading.Thread(target=self._run, name="writeback", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading, take what the buffers still hold, and remove the trace; a second call does nothing."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        trace, self.trace = self.trace, None
        if trace is not None:
            try:
                trace.turn_off()
                self._pages.extend(trace.pages())
                self.lost += trace.lost()
            except OSError as error:
                self._note("trace", error)
            finally:
                self._try("trace", trace.close)

    def figures(self, writers_done_ns: int, end_ns: int, *, wrote: bool) -> tuple[Measurement, ...]:
        """Return the load's figures: of the bdi until its last writer's end, of requests until the end of its drain."""
        traced: tuple[Measurement, ...] = ()
        if self._sums is not None:
            self._add_up(end_ns)
            traced = (*self._sums.measurements(wrote=wrote), Measurement(Metric.TRACE_LOST, self.lost))
        of_bdi = self._of_bdi(writers_done_ns) if wrote else ()
        return (*of_bdi, *self._of_queue(end_ns), *traced)

    @property
    def sums(self) -> TraceFigures | None:
        """The traced events added up; None without a trace."""
        return self._sums

    def _of_bdi(self, end_ns: int) -> tuple[Measurement, ...]:
        seen = [one.bdi for one in self.readings if one.bdi is not None and one.monotonic_ns <= end_ns]
        figures = []
        for metric, peak, name in BDI_FIELDS:
            values = [value for one in seen if (value := getattr(one, name)) is not None]
            if not values:
                continue
            is_bits = name == "state"
            typical = Counter(values).most_common(1)[0][0] if is_bits else median(values)
            figures += [
                Measurement(metric, typical),
                Measurement(peak, reduce(or_, values) if is_bits else max(values)),
            ]
        if seen:
            page_bytes = os.sysconf("SC_PAGE_SIZE")
            pages = [one.writeback_bytes / page_bytes for one in seen]
            figures += [
                Measurement(Metric.WRITEBACK_PAGES, median(pages)),
                Measurement(Metric.WRITEBACK_PAGES_MAX, max(pages)),
            ]
        return tuple(figures)

    def _of_queue(self, end_ns: int) -> tuple[Measurement, ...]:
        depths = [one.in_flight for one in self.readings if one.in_flight is not None and one.monotonic_ns <= end_ns]
        if not depths:
            return ()
        # While writes only fill memory the queue is empty, which says nothing of how it is driven.
        typical = median([depth for depth in depths if depth] or [0])
        return (Measurement(Metric.QUEUE_DEPTH, typical), Measurement(Metric.QUEUE_DEPTH_MAX, max(depths)))

    def _run(self) -> None:
        with ExitStack() as opened:
            bdi = self._kept(opened, "bdi", self.bdi_path)
            queue = self._kept(opened, "queue", f"{SYS}/class/block/{self.target}/inflight")
            while True:
                self._read(bdi, queue)
                if self._stopping.wait(_PERIOD_S):
                    return

    def _kept(self, opened: ExitStack, name: str, path: str | None) -> KeptFile | None:
        return None if path is None else self._try(name, lambda: opened.enter_context(KeptFile(path)))

    def _read(self, bdi: KeptFile | None, queue: KeptFile | None) -> None:
        now_ns = time.monotonic_ns()
        stats = None if bdi is None else self._try("bdi", lambda: parse_bdi(bdi.text()))
        depth = None if queue is None else self._try("queue", lambda: parse_inflight(queue.text()))
        self.readings.append(Reading(now_ns, stats, depth))
        trace = self.trace
        if trace is not None:
            self._try("trace", lambda: self._pages.extend(trace.pages()))
            if sum(map(len, self._pages)) > _STASH_BYTES:
                self._relieve(now_ns)

    def _relieve(self, now_ns: int) -> None:
        """Add up the stashed pages, or drop them where that would take too much of the CPUs."""
        elapsed_s = (now_ns - self._began_ns) / 1e9
        if self._added_s <= _CPU_SHARE * cpu_count() * elapsed_s:
            before_s = time.thread_time()
            self._add_up(now_ns)
            self._added_s += time.thread_time() - before_s
            return
        self.lost += sum(map(len, self._pages)) // _EVENT_BYTES
        self._pages.clear()
        if self._sums is not None:
            self._sums.forget_ends()

    def _add_up(self, end_ns: int) -> None:
        pages, self._pages, sums = self._pages, [], self._sums
        if sums is not None:
            self._try("trace", lambda: sums.add(pages, self._began_ns, end_ns))

    def _try(self, name: str, act: Callable[[], _T]) -> _T | None:
        try:
            return act()
        except (OSError, Unreadable) as error:
            self._note(name, error)
            return None

    def _note(self, name: str, error: Exception) -> None:
        reason = f"{name}: {error_reason(error)}"
        if reason not in self.problems:
            self.problems.append(reason)
