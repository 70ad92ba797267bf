"""One reading of the gauges at one instant, already as rates over the actual interval.

None means that this machine doesn't offer the source: absent is not zero.
"""

from __future__ import annotations

from enum import Enum

from fsconsole.model.wire import Wire


class Role(str, Enum):
    """Why a device is in a sample; the values are stored."""

    TARGET = "target"
    """It was asked for. What was moved is the sum over targets alone."""
    MEMBER = "member"
    """The device above it (md, dm) is made of it: the same bytes again, and parity with them."""
    BELOW = "below"
    """The disk that holds the file or device below a loop device: the same bytes again, and other people's."""


class DeviceRates(Wire, frozen=True):
    """One block device over the interval (Documentation/block/stat.rst)."""

    name: str
    read_bytes_s: float
    write_bytes_s: float
    read_iops: float
    write_iops: float
    in_flight: int
    """Requests at the instant of the reading."""
    utilisation_percent: float
    latency_ms: float | None
    """Mean over the requests completed in the interval; None where none was."""
    queue_depth: float | None = None
    """Mean number of requests over the interval; None in journals older than the figure."""
    role: Role = Role.TARGET
    above: str = ""
    """The device that stands on this one; empty for a target."""


class CpuShares(Wire, frozen=True):
    """Shares of CPU time over the interval, in percent of all but stolen time (man 5 proc_stat).

    Only steal is in percent of all time: what the hypervisor gave to others. None before kernel 2.6.11.
    """

    user: float
    nice: float
    system: float
    iowait: float
    irq: float
    softirq: float
    idle: float
    steal: float | None = None

    @property
    def busy(self) -> float:
        """All but idle and iowait."""
        return self.user + self.nice + self.system + self.irq + self.softirq


class NumberedCpu(Wire, frozen=True):
    """One CPU by the kernel's number for it; numbers have gaps where CPUs are offline."""

    number: int
    shares: CpuShares


class Writeback(Wire, frozen=True):
    """Dirty pages in bytes, and the thresholds (man 5 proc: /proc/meminfo, /proc/vmstat)."""

    dirty_bytes: int
    writeback_bytes: int
    threshold_bytes: int | None = None
    background_threshold_bytes: int | None = None

    @property
    def pending_bytes(self) -> int:
        """All that is not on a device yet."""
        return self.dirty_bytes + self.writeback_bytes


class BdiStats(Wire, frozen=True):
    """The kernel's view of one filesystem's writeback (debugfs bdi/MAJ:MIN/stats, mm/backing-dev.c).

    Old kernels tell less, and the lists (b_...) hold inodes.
    """

    writeback_bytes: int
    reclaimable_bytes: int
    dirty_thresh_bytes: int | None = None
    """BdiDirtyThresh: this filesystem's share of the threshold."""
    global_thresh_bytes: int | None = None
    """DirtyThresh, of the whole machine."""
    background_thresh_bytes: int | None = None
    dirtied_bytes: int | None = None
    written_bytes: int | None = None
    bandwidth_bytes_s: int | None = None
    b_dirty: int | None = None
    b_io: int | None = None
    b_more_io: int | None = None
    b_dirty_time: int | None = None
    bdi_list: int | None = None
    state: int | None = None
    """Bits of enum wb_state (include/linux/backing-dev-defs.h)."""


class Pressure(Wire, frozen=True):
    """Share of the interval in which some task, or all, waited (Documentation/accounting/psi.rst)."""

    io_some_percent: float | None = None
    io_full_percent: float | None = None
    cpu_some_percent: float | None = None
    memory_some_percent: float | None = None
    memory_full_percent: float | None = None


class Temperature(Wire, frozen=True):
    """The hottest sensors, in degrees Celsius: of the targets' disks, and of the machine's thermal zones."""

    disk_c: float | None = None
    machine_c: float | None = None

    @property
    def highest_c(self) -> float | None:
        """The higher of both; None without any sensor."""
        return max((value for value in (self.disk_c, self.machine_c) if value is not None), default=None)


class LoadProgress(Wire, frozen=True):
    """The workload's own counters, summed over its threads."""

    bytes_done: int
    operations: int
    files_done: int
    threads_running: int
    bytes_s: float


class StepProgress(Wire, frozen=True):
    """Progress of the current step, where its program or the kernel reports it; left_s is the kernel's estimate."""

    done_percent: float
    left_s: float | None = None


class Sample(Wire, frozen=True):
    """All gauges at one instant; interval_s is the measured time since the sample before."""

    monotonic_ns: int
    wall_ns: int
    interval_s: float
    cell: int | None
    step: str
    cpu: CpuShares
    per_cpu: tuple[NumberedCpu, ...]
    writeback: Writeback
    devices: tuple[DeviceRates, ...] = ()
    """Targets, each followed by what it stands on."""
    bdi: BdiStats | None = None
    pressure: Pressure | None = None
    load: LoadProgress | None = None
    progress: StepProgress | None = None
    temperature: Temperature | None = None
    """None in journals of schema 1, too."""

    @property
    def targets(self) -> tuple[DeviceRates, ...]:
        """The devices that were asked for: only these may be added up."""
        return tuple(device for device in self.devices if device.role is Role.TARGET)
