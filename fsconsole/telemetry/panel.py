"""All gauges of a run on one panel: what is watched changes as the run goes on."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fsconsole.model.sample import (
    BdiStats,
    CpuShares,
    DeviceRates,
    LoadProgress,
    NumberedCpu,
    Pressure,
    Writeback,
)
from fsconsole.telemetry.cpu import PROC_STAT
from fsconsole.telemetry.gauges import BdiGauge, Counters, CpuGauge, LoadGauge, WritebackGauge
from fsconsole.telemetry.layers import SYS
from fsconsole.telemetry.meminfo import PROC_MEMINFO, PROC_VMSTAT
from fsconsole.telemetry.pressure import PROC_PRESSURE, RESOURCES, StallGauge, pressure_of
from fsconsole.telemetry.rack import DeviceRack

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """The kernel files that are read whatever is watched."""

    stat: str = PROC_STAT
    meminfo: str = PROC_MEMINFO
    vmstat: str = PROC_VMSTAT
    pressure: str = PROC_PRESSURE
    sys: str = SYS


@dataclass(frozen=True, slots=True)
class Readings:
    """What all gauges showed at one instant; None: not to be had here, or not this time."""

    cpu: tuple[CpuShares, tuple[NumberedCpu, ...]] | None
    writeback: Writeback | None
    devices: tuple[DeviceRates, ...]
    bdi: BdiStats | None
    pressure: Pressure | None
    load: LoadProgress | None


class Panel:
    """The gauges, safe to be read by one thread while another changes what is watched."""

    def __init__(self, sources: Sources) -> None:
        self._lock = threading.Lock()
        self._sources = sources
        self._problems: Counter[str] = Counter()
        self._cpu = self._opened("cpu", lambda: CpuGauge(sources.stat))
        self._writeback = self._opened("writeback", lambda: WritebackGauge(sources.meminfo, sources.vmstat))
        self._pressure = {name: self._opened_pressure(name) for name in RESOURCES}
        self._devices = DeviceRack(sources.sys)
        self._bdi: BdiGauge | None = None
        self._load: LoadGauge | None = None

    def watch_device(self, name: str) -> None:
        """Add a block device by its kernel name, with what it stands on; one that isn't there counts as a problem."""
        with self._lock:
            self._devices.watch(name)

    def unwatch_device(self, name: str) -> None:
        """Take a block device away."""
        with self._lock:
            self._devices.unwatch(name)

    def vanished(self) -> tuple[str, ...]:
        """Return which of the devices that were asked for were gone at the last reading."""
        with self._lock:
            return self._devices.vanished()

    def watch_bdi(self, path: str | None) -> None:
        """Watch the stats file of a mounted filesystem, or none any more."""
        with self._lock:
            if self._bdi is not None:
                self._bdi.close()
            self._bdi = None if path is None else self._opened("bdi", lambda: BdiGauge(path))

    def watch_load(self, counters: Counters | None) -> None:
        """Watch a load's counters, or none any more; once this returns the former ones may be unmapped."""
        with self._lock:
            self._load = None if counters is None else self._opened("load", lambda: LoadGauge(counters))

    def read(self) -> Readings:
        """Read all gauges. One that fails is None, and its reason is counted."""
        with self._lock:
            gauges = self._devices.gauges()
            rates = [self._try(gauge.device.name, gauge.read) for gauge in gauges]
            return Readings(
                cpu=self._try("cpu", self._cpu.read) if self._cpu else None,
                writeback=self._try("writeback", self._writeback.read) if self._writeback else None,
                devices=tuple(rate for rate in rates if rate is not None),
                bdi=self._try("bdi", self._bdi.read) if self._bdi else None,
                pressure=pressure_of(*(self._read_pressure(name) for name in RESOURCES)),
                load=self._try("load", self._load.read) if self._load else None,
            )

    def dirty_bytes(self) -> int:
        """Return Dirty + Writeback now; 0 where they can't be read."""
        with self._lock:
            writeback = self._try("writeback", self._writeback.read) if self._writeback else None
        return 0 if writeback is None else writeback.dirty_bytes + writeback.writeback_bytes

    def problems(self) -> tuple[tuple[str, int], ...]:
        """Return why gauges were absent, and how often each reason was met, the commonest first."""
        with self._lock:
            return tuple(self._problems.most_common())

    def close(self) -> None:
        """Give all files back; nothing can be read after that."""
        with self._lock:
            for gauge in (self._cpu, self._writeback, self._bdi, *self._pressure.values()):
                if gauge is not None:
                    gauge.close()
            self._cpu = self._writeback = self._bdi = self._load = None
            self._pressure.clear()
            self._devices.close()

    def _opened_pressure(self, resource: str) -> StallGauge | None:
        return self._opened(f"pressure {resource}", lambda: StallGauge(self._sources.pressure, resource))

    def _read_pressure(self, resource: str) -> tuple[float | None, float | None] | None:
        gauge = self._pressure.get(resource)
        return self._try(f"pressure {resource}", gauge.read) if gauge else None

    def _opened(self, name: str, make: Callable[[], T]) -> T | None:
        """Return a new gauge, or None where this machine lacks its source."""
        return self._try(name, make)

    def _try(self, name: str, act: Callable[[], T]) -> T | None:
        try:
            return act()
        except (OSError, ValueError) as error:
            self._problems[f"{name}: {_reason(error)}"] += 1
            return None


def _reason(error: OSError | ValueError) -> str:
    """Return a reason without the figures of the moment, so that equal reasons are counted as one."""
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno)
    return type(error).__name__
