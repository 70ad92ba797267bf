"""One reading of the gauges at one instant, already as rates over the actual interval.

None means that this machine doesn't offer the source: absent is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """One block device over the interval (Documentation/block/stat.rst)."""

    name: str
    read_bytes_s: float
    write_bytes_s: float
    read_iops: float
    write_iops: float
    in_flight: int
    utilisation_percent: float
    latency_ms: float | None
    """Mean over the requests completed in the interval; None where none was."""


@dataclass(frozen=True, slots=True)
class CpuShares:
    """Shares of CPU time over the interval, in percent of all CPUs but stolen time (man 5 proc, /proc/stat)."""

    user: float
    nice: float
    system: float
    iowait: float
    irq: float
    softirq: float
    idle: float

    @property
    def busy(self) -> float:
        """All but idle and iowait."""
        return self.user + self.nice + self.system + self.irq + self.softirq


@dataclass(frozen=True, slots=True)
class Writeback:
    """Dirty pages in bytes, and the thresholds (man 5 proc: /proc/meminfo, /proc/vmstat)."""

    dirty_bytes: int
    writeback_bytes: int
    threshold_bytes: int | None = None
    background_threshold_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BdiStats:
    """The kernel's view of one filesystem's writeback (debugfs bdi/MAJ:MIN/stats, mm/backing-dev.c)."""

    writeback_bytes: int
    reclaimable_bytes: int
    dirty_thresh_bytes: int
    dirtied_bytes: int
    written_bytes: int
    bandwidth_bytes_s: int
    b_dirty: int
    b_io: int
    b_more_io: int


@dataclass(frozen=True, slots=True)
class Pressure:
    """Share of time in which some task waited, average over 10 s (Documentation/accounting/psi.rst)."""

    io_some_percent: float
    io_full_percent: float


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """The workload's own counters, summed over its threads."""

    bytes_done: int
    operations: int
    files_done: int
    threads_running: int
    bytes_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    """All gauges at one instant; interval_s is the measured time since the sample before."""

    monotonic_ns: int
    wall_ns: int
    interval_s: float
    cell: int | None
    step: str
    cpu: CpuShares
    per_cpu_busy: tuple[float, ...]
    writeback: Writeback
    devices: tuple[DeviceRates, ...] = ()
    bdi: BdiStats | None = None
    pressure: Pressure | None = None
    load: LoadProgress | None = None
