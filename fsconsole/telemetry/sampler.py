"""The thread that reads all gauges on a fixed schedule and hands each sample on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.sample import Sample, StepProgress
from fsconsole.telemetry.gauges import Counters
from fsconsole.telemetry.panel import Panel, Readings, Sources
from fsconsole.telemetry.stalls import StallClock


class Sampler:
    """Takes a sample every period_s, at instants fixed from its start, until it is stopped.

    sink is called in the sampler's thread and must neither block nor raise. CPU shares and dirty pages are
    what a sample is made of: at an instant where either can't be read there is none, and the next one's
    interval covers both. Any other source that fails is absent from that sample. problems() tells the reasons.
    """

    def __init__(
        self, *, period_s: float, sink: Callable[[Sample], None], sources: Sources | None = None
    ) -> None:
        self._period_ns = round(period_s * 1e9)
        self._sink = sink
        self._panel = Panel(sources or Sources())
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._place: tuple[int | None, str] = (None, "")
        self._progress: StepProgress | None = None
        self._peak_dirty_bytes = 0
        self._stalls = StallClock()
        self._last_ns = 0

    def start(self) -> None:
        """Begin; the first sample comes one period later, since rates need two readings."""
        self._thread.start()

    def stop(self) -> None:
        """End at once and give all files back; a second call does nothing."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._panel.close()

    def set_place(self, cell: int | None, step: str) -> None:
        """Say to what the next samples belong: a cell's index, and the word of the step."""
        with self._lock:
            self._place = (cell, step)
            self._progress = None

    def tell_progress(self, progress: StepProgress) -> None:
        """Say how far the step is, for the next samples and for those who ask where the run stands."""
        with self._lock:
            self._progress = progress

    def place_in_words(self) -> str:
        """Return where the run stands: "cell 3: mkfs", "cell 3: array-sync, 42 %"; empty before its first step."""
        with self._lock:
            (cell, step), progress = self._place, self._progress
        words = step if progress is None else f"{step}, {progress.done_percent:.0f} %"
        return words if cell is None else f"cell {cell + 1}: {words}"

    def watch_device(self, name: str) -> None:
        """Add a block device by its kernel name, with what it stands on."""
        self._panel.watch_device(name)

    def unwatch_device(self, name: str) -> None:
        """Take a block device away that the run itself is about to end."""
        self._panel.unwatch_device(name)

    def vanished(self) -> tuple[str, ...]:
        """Return which of the devices that were asked for were gone at the last sample."""
        return self._panel.vanished()

    def watch_bdi(self, path: str | None) -> None:
        """Watch the writeback of a mounted filesystem by its debugfs stats file, or none any more."""
        self._panel.watch_bdi(path)

    def watch_load(self, counters: Counters | None) -> None:
        """Watch a load's counters, or none any more; once this returns the former ones may be unmapped."""
        self._panel.watch_load(counters)

    def reset_peak_dirty(self) -> None:
        """Begin a load's window: the highest Dirty + Writeback counts from what is dirty now, stalls from zero."""
        dirty_bytes = self._panel.dirty_bytes()
        with self._lock:
            self._peak_dirty_bytes = dirty_bytes
            self._stalls.reset(time.monotonic_ns())

    def peak_dirty_bytes(self) -> int:
        """Return the highest Dirty + Writeback since the reset, this moment's included."""
        self._note_dirty(self._panel.dirty_bytes())
        with self._lock:
            return self._peak_dirty_bytes

    def stall_measurements(self) -> tuple[Measurement, ...]:
        """Return how long the load stood still since the reset; nothing where no sample could tell."""
        with self._lock:
            stalled_s = self._stalls.stalled_s()
        return () if stalled_s is None else (Measurement(Metric.STALLS, stalled_s),)

    def problems(self) -> tuple[tuple[str, int], ...]:
        """Return why sources were absent, and how often each reason was met."""
        return self._panel.problems()

    def _run(self) -> None:
        start_ns = self._last_ns = time.monotonic_ns()
        self._panel.read()
        while True:
            now_ns = time.monotonic_ns()
            due_ns = next_due_ns(start_ns, self._period_ns, now_ns)
            if self._stopping.wait((due_ns - now_ns) / 1e9):
                return
            self._take()

    def _take(self) -> None:
        now_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        readings = self._panel.read()
        sample = self._sample(readings, now_ns, wall_ns)
        if sample is not None:
            self._note_dirty(sample.writeback.pending_bytes)
            with self._lock:
                self._stalls.note(sample)
            self._last_ns = now_ns
            self._sink(sample)

    def _sample(self, readings: Readings, now_ns: int, wall_ns: int) -> Sample | None:
        """Return the readings as a sample, or None where one of its two foundations is missing."""
        if readings.cpu is None or readings.writeback is None:
            return None
        with self._lock:
            (cell, step), progress = self._place, self._progress
        return Sample(
            monotonic_ns=now_ns,
            wall_ns=wall_ns,
            interval_s=(now_ns - self._last_ns) / 1e9,
            cell=cell,
            step=step,
            cpu=readings.cpu[0],
            per_cpu=readings.cpu[1],
            writeback=readings.writeback,
            devices=readings.devices,
            bdi=readings.bdi,
            pressure=readings.pressure,
            load=readings.load,
            progress=progress,
        )

    def _note_dirty(self, dirty_bytes: int) -> None:
        with self._lock:
            self._peak_dirty_bytes = max(self._peak_dirty_bytes, dirty_bytes)


def next_due_ns(start_ns: int, period_ns: int, now_ns: int) -> int:
    """Return the first instant of the schedule after now: one that was missed is left out, not made up for."""
    return start_ns + ((now_ns - start_ns) // period_ns + 1) * period_ns
