"""Samples all gauges on a fixed schedule in a thread of its own."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from fsconsole.model.figures import Measurement
from fsconsole.model.load import ThreadState
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.sample import (
    LoadProgress,
    Role,
    Sample,
    StepProgress,
    Writeback,
)
from fsconsole.system.files import KeptFile
from fsconsole.system.memfd import CounterPage
from fsconsole.telemetry import machine
from fsconsole.telemetry.block import SYS, DeviceGauge, watched_tree
from fsconsole.telemetry.heat import HeatGauge
from fsconsole.telemetry.rates import MOST, Unreadable

_STEPS = {kind.value: kind.words for kind in StepKind}

Counted = TypeVar("Counted")
Shares = TypeVar("Shares")
T = TypeVar("T")


class ShareGauge(Generic[Counted, Shares]):
    """Shares of the time since the previous reading, from the counters in a kernel file."""

    def __init__(
        self,
        path: str,
        parse: Callable[[str], Counted],
        shares: Callable[[Counted, Counted, float], Shares],
    ) -> None:
        self._file = KeptFile(path)
        self._parse, self._shares = parse, shares
        self._before: tuple[int, Counted] | None = None

    def read(self) -> Shares | None:
        """Return the shares; None the first time. Raises OSError, Unreadable."""
        now_ns, after = time.monotonic_ns(), self._parse(self._file.text())
        before, self._before = self._before, (now_ns, after)
        return None if before is None else self._shares(before[1], after, (now_ns - before[0]) / 1e9)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class WritebackGauge:
    """Dirty pages and thresholds."""

    def __init__(self, meminfo_path: str, vmstat_path: str) -> None:
        self._meminfo = KeptFile(meminfo_path)
        self._vmstat = KeptFile(vmstat_path) if os.path.exists(vmstat_path) else None

    def read(self) -> Writeback:
        """Return them as they are now. Raises OSError, Unreadable."""
        vmstat = "" if self._vmstat is None else self._vmstat.text()
        return machine.parse_writeback(self._meminfo.text(), vmstat)

    def close(self) -> None:
        """Close the files."""
        self._meminfo.close()
        if self._vmstat is not None:
            self._vmstat.close()


class LoadGauge:
    """A load's progress; its first rate counts from the gauge's creation."""

    def __init__(self, counters: CounterPage) -> None:
        self._counters = counters
        self._before = (time.monotonic_ns(), sum(thread.bytes_done for thread in counters.read()))

    def read(self) -> LoadProgress:
        """Return the sums over all threads. Raises Unreadable for an absurd counter."""
        now_ns, threads = time.monotonic_ns(), self._counters.read()
        bytes_done = sum(thread.bytes_done for thread in threads)
        if max(bytes_done, sum(thread.operations + thread.files_done for thread in threads)) > MOST:
            raise Unreadable("a load counter beyond any possible value")
        (before_ns, bytes_before), self._before = self._before, (now_ns, bytes_done)
        return LoadProgress(
            bytes_done=bytes_done,
            operations=sum(thread.operations for thread in threads),
            files_done=sum(thread.files_done for thread in threads),
            threads_running=sum(thread.state is ThreadState.RUNNING for thread in threads),
            bytes_s=(bytes_done - bytes_before) / ((now_ns - before_ns) / 1e9),
        )


_LOOK_AGAIN_S = 10.0
"""Interval at which lower devices are read again: a member added to an array appears then."""


class DeviceGauges:
    """Gauges of the targets and their lower devices, each once, in a sample's order; gauges() only under the lock."""

    def __init__(self, sys: str, lock: threading.RLock) -> None:
        self._sys, self._lock = sys, lock
        self._targets: list[str] = []
        self._gauges: dict[str, DeviceGauge] = {}
        self._looked_s = 0.0

    def watch(self, name: str) -> None:
        """Add a target by its kernel name; one that is watched already starts again, a missing one is a problem."""
        with self._lock:
            if name in self._gauges:
                self._gauges[name].close()
            if name not in self._targets:
                self._targets.append(name)
            self._arrange()

    def unwatch(self, name: str) -> None:
        """Remove a target; its lower devices stay if they are targets themselves."""
        with self._lock:
            if name in self._targets:
                self._targets.remove(name)
                self._arrange()

    def gauges(self) -> tuple[DeviceGauge, ...]:
        """Return all gauges, a target's members right after it."""
        # Lower devices vanish with their target, and return with it.
        if self.vanished() or time.monotonic() - self._looked_s > _LOOK_AGAIN_S:
            self._arrange()
        return tuple(self._gauges.values())

    def vanished(self) -> tuple[str, ...]:
        """Return the targets that were missing at the last reading."""
        with self._lock:
            known = [name for name in self._targets if name in self._gauges]
            return tuple(name for name in known if self._gauges[name].is_gone)

    def close(self) -> None:
        """Close all files and drop the targets."""
        for gauge in self._gauges.values():
            gauge.close()
        self._gauges.clear()
        self._targets.clear()

    def _arrange(self) -> None:
        """Read the layers again; gauges that stay keep their previous reading."""
        self._looked_s = time.monotonic()
        former, self._gauges = self._gauges, {}
        trees = [watched_tree(name, self._sys) for name in self._targets]
        lower = {device.name for tree in trees for device in tree[1:]}
        # A target below another one is its member.
        for device in (device for tree in trees if tree[0].name not in lower for device in tree):
            if device.name not in self._gauges:
                gauge = former.pop(device.name, None) or DeviceGauge(device, f"{self._sys}/class/block")
                gauge.device = device
                self._gauges[device.name] = gauge
        for gauge in former.values():
            gauge.close()


@dataclass(frozen=True, slots=True)
class Sources:
    """Paths of the machine-wide kernel files."""

    stat: str = machine.PROC_STAT
    meminfo: str = machine.PROC_MEMINFO
    vmstat: str = machine.PROC_VMSTAT
    pressure: str = machine.PROC_PRESSURE
    sys: str = SYS


@dataclass(frozen=True, slots=True)
class SamplePlace:
    """The step that a sample belongs to, and its progress."""

    cell: int | None = None
    step: str = ""
    progress: StepProgress | None = None


class Gauges:
    """All gauges; thread-safe: one thread reads while another changes what is watched."""

    def __init__(self, sources: Sources) -> None:
        self._lock = threading.RLock()
        self._problems: Counter[str] = Counter()
        self._cpu = self._try("cpu", lambda: ShareGauge(sources.stat, machine.parse_cpu, machine.all_cpu_shares))
        self._writeback = self._try("writeback", lambda: WritebackGauge(sources.meminfo, sources.vmstat))
        self._pressure = {
            name: self._try(
                f"pressure {name}",
                partial(
                    ShareGauge,
                    os.path.join(sources.pressure, name),
                    machine.parse_stalls,
                    machine.stalled_shares,
                ),
            )
            for name in machine.RESOURCES
        }
        self.devices = DeviceGauges(sources.sys, self._lock)
        self._heat = HeatGauge(sources.sys)
        self._bdi: KeptFile | None = None
        self._load: LoadGauge | None = None

    def watch_bdi(self, path: str | None) -> None:
        """Watch a mounted filesystem's bdi stats file, or none."""
        with self._lock:
            if self._bdi is not None:
                self._bdi.close()
            self._bdi = None if path is None else self._try("bdi", lambda: KeptFile(path))

    def watch_load(self, counters: CounterPage | None) -> None:
        """Watch a load's counters, or none; after this returns the former ones may be unmapped."""
        with self._lock:
            self._load = None if counters is None else self._try("load", lambda: LoadGauge(counters))

    def read(self, place: SamplePlace, since_ns: int) -> Sample | None:
        """Read all gauges; one that fails is absent, and its reason is counted.

        Returns None without CPU shares or dirty pages. since_ns is the previous sample's CLOCK_MONOTONIC.
        """
        now_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        with self._lock:
            gauges, bdi = self.devices.gauges(), self._bdi
            rates = [self._try(gauge.device.name, gauge.read) for gauge in gauges]
            cpu = self._try("cpu", self._cpu.read) if self._cpu else None
            writeback = self._try("writeback", self._writeback.read) if self._writeback else None
            bdi_stats = self._try("bdi", lambda: machine.parse_bdi(bdi.text())) if bdi else None
            stalls = ((name, self._pressure.get(name)) for name in machine.RESOURCES)
            shares = [self._try(f"pressure {name}", gauge.read) if gauge else None for name, gauge in stalls]
            load = self._try("load", self._load.read) if self._load else None
            targets = tuple(gauge.device.name for gauge in gauges if gauge.device.role is Role.TARGET)
            heat = self._try("temperature", lambda: self._heat.read(targets))
        if cpu is None or writeback is None:
            return None
        return Sample(
            monotonic_ns=now_ns,
            wall_ns=wall_ns,
            interval_s=(now_ns - since_ns) / 1e9,
            cell=place.cell,
            step=place.step,
            cpu=cpu[0],
            per_cpu=cpu[1],
            writeback=writeback,
            devices=tuple(rate for rate in rates if rate is not None),
            bdi=bdi_stats,
            pressure=machine.pressure_of(*shares),
            load=load,
            progress=place.progress,
            temperature=heat,
        )

    def dirty_bytes(self) -> int:
        """Return Dirty + Writeback now; 0 if unreadable."""
        with self._lock:
            writeback = self._try("writeback", self._writeback.read) if self._writeback else None
        return 0 if writeback is None else writeback.dirty_bytes + writeback.writeback_bytes

    def problems(self) -> tuple[tuple[str, int], ...]:
        """Return why gauges were absent and how often, the most frequent reason first."""
        with self._lock:
            return tuple(self._problems.most_common())

    def close(self) -> None:
        """Close all files; nothing can be read after that."""
        with self._lock:
            for gauge in (self._cpu, self._writeback, self._bdi, *self._pressure.values()):
                if gauge is not None:
                    gauge.close()
            self._cpu = self._writeback = self._bdi = self._load = None
            self._pressure.clear()
            self.devices.close()

    def _try(self, name: str, act: Callable[[], T]) -> T | None:
        try:
            return act()
        except (OSError, ValueError) as error:
            # Without its figures, so that equal reasons count as one.
            number = error.errno if isinstance(error, OSError) else None
            reason = type(error).__name__ if number is None else os.strerror(number)
            self._problems[f"{name}: {reason}"] += 1
            return None


class StallClock:
    """Adds up the intervals in which writers ran without progress and no target wrote; shorter stalls are missed."""

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, now_ns: int) -> None:
        """Restart with a load whose counters are at zero; now_ns is CLOCK_MONOTONIC."""
        self._since_ns = now_ns
        self._done = (0, 0)
        self._stalled_s = 0.0
        self._has_seen = False

    def note(self, sample: Sample) -> None:
        """Add a sample; one without a load or its target's rates is ignored."""
        load, targets = sample.load, sample.targets
        if load is None or not targets:
            return
        before, self._done = self._done, (load.bytes_done, load.operations)
        self._has_seen = True
        wrote = any(target.write_bytes_s for target in targets)
        if load.threads_running and not wrote and self._done == before:
            # The first interval started before the load.
            self._stalled_s += min(sample.interval_s, (sample.monotonic_ns - self._since_ns) / 1e9)

    def stalled_s(self) -> float | None:
        """Return the stalled seconds since the reset; None without a usable sample."""
        return self._stalled_s if self._has_seen else None


GAP_PERIODS = 5
"""Readings more periods apart have a gap between them; a busy machine delays one by a period or two."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Seconds between two readings, of which the machine was suspended for some."""

    elapsed_s: float
    suspended_s: float = 0.0


class GapClock:
    """Finds the longest gap between readings since a cell began.

    A stopped process shows in CLOCK_MONOTONIC; a suspended machine in CLOCK_BOOTTIME alone (man 2 clock_gettime).
    """

    def __init__(self, period_ns: int, clocks_ns: Callable[[], tuple[int, int]] | None = None) -> None:
        self._least_ns = GAP_PERIODS * period_ns
        self._clocks_ns = clocks_ns or _boot_and_monotonic_ns
        self.begin()

    def begin(self) -> None:
        """Forget what was before."""
        self._before = self._clocks_ns()
        self._longest = Gap(0.0)

    def note(self) -> None:
        """Note a reading."""
        self._longest, self._before = self.longest(), self._clocks_ns()

    def longest(self) -> Gap:
        """Return the longest gap, also one that lasts; 0 s if there was none."""
        boot_ns, monotonic_ns = (now - before for now, before in zip(self._clocks_ns(), self._before, strict=True))
        if boot_ns <= max(self._least_ns, self._longest.elapsed_s * 1e9):
            return self._longest
        # The two clocks are not read at the same instant.
        suspended_ns = boot_ns - monotonic_ns
        return Gap(boot_ns / 1e9, suspended_ns / 1e9 if suspended_ns >= self._least_ns / GAP_PERIODS else 0.0)


def _boot_and_monotonic_ns() -> tuple[int, int]:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.monotonic_ns()


class Sampler:
    """Takes a sample every period_s, at instants fixed from its start, until it is stopped.

    sink is called in the sampler's thread and must neither block nor raise. Without CPU shares or dirty pages there
    is no sample, and the next one's interval covers both; any other gauge that fails is absent from the sample.
    """

    def __init__(self, *, period_s: float, sink: Callable[[Sample], None], sources: Sources | None = None) -> None:
        self._period_ns = round(period_s * 1e9)
        self._sink = sink
        self.gauges = Gauges(sources or Sources())
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._place = SamplePlace()
        self._peak_dirty_bytes = 0
        self._stalls = StallClock()
        self._gaps = GapClock(self._period_ns)
        self._last_ns = 0

    def start(self) -> None:
        """Start; the first sample comes one period later, since rates need two readings."""
        self._thread.start()

    def stop(self) -> None:
        """Stop immediately and close all files; a second call does nothing."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.gauges.close()

    def set_place(self, cell: int | None, step: str) -> None:
        """Set the cell's index and the step's kind for the next samples."""
        with self._lock:
            self._place = SamplePlace(cell, step)

    def forget_gaps(self) -> None:
        """Forget gaps up to now: a cell, or a try of a pilot, begins."""
        with self._lock:
            self._gaps.begin()

    def longest_gap(self) -> Gap:
        """Return the longest gap between two readings since then; 0 s if there was none."""
        with self._lock:
            return self._gaps.longest()

    @property
    def gap_s(self) -> float:
        """Least length of a gap."""
        return GAP_PERIODS * self._period_ns / 1e9

    def tell_progress(self, progress: StepProgress) -> None:
        """Set the step's progress, for the next samples and for place_in_words()."""
        with self._lock:
            self._place = replace(self._place, progress=progress)

    def place_in_words(self) -> str:
        """Return the current step: "cell 3, mkfs", "cell 3, array sync, 42 %"; empty before the first one."""
        place = self._place
        cell = "" if place.cell is None else f"cell {place.cell + 1}"
        progress = "" if place.progress is None else f"{place.progress.done_percent:.0f} %"
        return ", ".join(filter(None, (cell, _STEPS.get(place.step, place.step), progress)))

    def reset_peak_dirty(self) -> None:
        """Restart the peak at what is dirty now, and the stalls at zero."""
        dirty_bytes = self.gauges.dirty_bytes()
        with self._lock:
            self._peak_dirty_bytes = dirty_bytes
            self._stalls.reset(time.monotonic_ns())

    def peak_dirty_bytes(self) -> int:
        """Return the highest Dirty + Writeback since the reset, with the present value."""
        self._note_dirty(self.gauges.dirty_bytes())
        with self._lock:
            return self._peak_dirty_bytes

    def stall_measurements(self) -> tuple[Measurement, ...]:
        """Return the load's stalled time since the reset; nothing without a usable sample."""
        with self._lock:
            stalled_s = self._stalls.stalled_s()
        return () if stalled_s is None else (Measurement(Metric.STALLS, stalled_s),)

    def _run(self) -> None:
        start_ns = self._last_ns = time.monotonic_ns()
        self.gauges.read(self._place, start_ns)
        while True:
            now_ns = time.monotonic_ns()
            due_ns = next_due_ns(start_ns, self._period_ns, now_ns)
            if self._stopping.wait((due_ns - now_ns) / 1e9):
                return
            with self._lock:
                self._gaps.note()
            sample = self.gauges.read(self._place, self._last_ns)
            if sample is not None:
                self._note_dirty(sample.writeback.pending_bytes)
                with self._lock:
                    self._stalls.note(sample)
                self._last_ns = sample.monotonic_ns
                self._sink(sample)

    def _note_dirty(self, dirty_bytes: int) -> None:
        with self._lock:
            self._peak_dirty_bytes = max(self._peak_dirty_bytes, dirty_bytes)


def next_due_ns(start_ns: int, period_ns: int, now_ns: int) -> int:
    """Return the schedule's first instant after now; missed ones are skipped."""
    return start_ns + ((now_ns - start_ns) // period_ns + 1) * period_ns
