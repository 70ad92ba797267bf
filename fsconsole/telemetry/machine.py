"""Machine-wide gauges: CPU (/proc/stat), dirty pages (/proc/meminfo, vmstat), bdi (debugfs), pressure (PSI)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fsconsole.model.sample import BdiStats, CpuShares, NumberedCpu, Pressure, Writeback
from fsconsole.system.files import read_text, read_text_or
from fsconsole.system.mounts import MountEntry, mounted_at
from fsconsole.telemetry.rates import (
    Unreadable,
    forward_delta,
    is_number,
    kernel_number,
    kernel_numbers,
    share_percent,
)
from fsconsole.text import KIB

_STATE = re.compile(r"^state:\s*([0-9a-f]{1,15})\s*$", re.MULTILINE)


def parse_bdi(text: str) -> BdiStats:
    """Return the figures of debugfs bdi/NAME/stats (mm/backing-dev.c), whose sizes are in KiB. Raises Unreadable.

    Unknown lines are skipped; a figure that the kernel lacks is None (BdiDirtied, BdiWritten and the bandwidth came
    with 3.2).
    """
    values = kernel_numbers(text, ":")
    sizes = {name: value * KIB for name, value in values.items()}
    state = _STATE.search(text)
    try:
        return BdiStats(
            writeback_bytes=sizes["BdiWriteback"],
            reclaimable_bytes=sizes["BdiReclaimable"],
            dirty_thresh_bytes=sizes.get("BdiDirtyThresh"),
            global_thresh_bytes=sizes.get("DirtyThresh"),
            background_thresh_bytes=sizes.get("BackgroundThresh"),
            dirtied_bytes=sizes.get("BdiDirtied"),
            written_bytes=sizes.get("BdiWritten"),
            bandwidth_bytes_s=sizes.get("BdiWriteBandwidth"),
            b_dirty=values.get("b_dirty"),
            b_io=values.get("b_io"),
            b_more_io=values.get("b_more_io"),
            b_dirty_time=values.get("b_dirty_time"),
            bdi_list=values.get("bdi_list"),
            # The bits of the state line alone are in hexadecimal.
            state=int(state[1], 16) if state else None,
        )
    except KeyError as error:
        raise Unreadable(f"no {error} in the bdi's stats") from error


PROC_STAT = "/proc/stat"


class CpuTimes(NamedTuple):
    """Ticks (sysconf SC_CLK_TCK) since boot, in the file's order (man 5 proc_stat); user includes guest time.

    A tuple, since it is made five times as fast, and 64 CPUs need 130 of them for each sample.
    """

    user: int
    nice: int
    system: int
    idle: int
    iowait: int = 0
    irq: int = 0
    softirq: int = 0
    steal: int | None = None
    """None before 2.6.11."""


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Times of all CPUs together, and (number, times) of each CPU that is online."""

    total: CpuTimes
    per_cpu: tuple[tuple[int, CpuTimes], ...]


_COLUMNS = len(CpuTimes._fields)


def parse_cpu(text: str) -> CpuReading:
    """Return the cpu lines of /proc/stat. Raises Unreadable."""
    total = None
    per_cpu = []
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if not name.startswith("cpu"):
            # The cpu lines come first; the interrupt counts after them are long.
            break
        if name == "cpu":
            total = _times(rest)
        else:
            number = name.removeprefix("cpu")
            if not is_number(number):
                raise Unreadable(f"a cpu line of {name!r}")
            per_cpu.append((int(number), _times(rest)))
    if total is None:
        raise Unreadable("no cpu line in /proc/stat")
    return CpuReading(total, tuple(per_cpu))


def cpu_shares(before: CpuTimes, after: CpuTimes) -> CpuShares:
    """Return the shares of the time between two readings; all 0 if no tick has passed."""
    user, nice, system, idle, iowait, irq, softirq, steal = _difference(before, after)
    available = user + nice + system + idle + iowait + irq + softirq
    factor = 100 / available if available else 0.0
    return CpuShares(
        user * factor,
        nice * factor,
        system * factor,
        iowait * factor,
        irq * factor,
        softirq * factor,
        idle * factor,
        None if steal is None else 100 * steal / max(1, available + steal),
    )


def all_cpu_shares(
    before: CpuReading, after: CpuReading, _interval_s: float
) -> tuple[CpuShares, tuple[NumberedCpu, ...]]:
    """Return the shares of all CPUs together, and of each but one that was offline before."""
    known = dict(before.per_cpu)
    return cpu_shares(before.total, after.total), tuple(
        NumberedCpu(number, cpu_shares(known[number], times)) for number, times in after.per_cpu if number in known
    )


def cpu_snapshot() -> CpuTimes:
    """Return the machine's CPU times now. Raises OSError, Unreadable."""
    return parse_cpu(read_text(PROC_STAT)).total


def busy_between(before: CpuTimes, after: CpuTimes, elapsed_s: float) -> tuple[float, float]:
    """Return CPU seconds over all CPUs: all but idle, iowait and steal (writeback counts), and all but steal.

    Most kernels sample the busy columns at ticks, and miss what sleeps before the next one (5 % of a load that used 15 %).
    They keep exact idle times (CONFIG_NO_HZ, get_idle_time() in fs/proc/stat.c): whatever is missing was busy.
    """
    step = _difference(before, after)
    sampled = step.user + step.nice + step.system + step.irq + step.softirq
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    idle_s = (step.idle + step.iowait) / ticks_per_s
    by_clock_s = elapsed_s * (os.cpu_count() or 1) - (step.steal or 0) / ticks_per_s - idle_s
    busy_s = max(sampled / ticks_per_s, by_clock_s)
    return busy_s, busy_s + idle_s


def interrupts_between(before: CpuTimes, after: CpuTimes) -> float:
    """Return the CPU seconds of interrupts over all CPUs."""
    step = _difference(before, after)
    return (step.irq + step.softirq) / os.sysconf("SC_CLK_TCK")


def _times(columns: str) -> CpuTimes:
    words = columns.split(None, _COLUMNS)[:_COLUMNS]
    try:
        return CpuTimes(*map(int, words))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a cpu line that begins with {len(words)} columns") from error


def _difference(before: CpuTimes, after: CpuTimes) -> CpuTimes:
    # The kernel may correct iowait and idle downwards a little: that counts as zero.
    user, nice, system, idle, iowait, irq, softirq = [
        last - first if last > first else 0 for first, last in zip(before[:7], after[:7], strict=True)
    ]
    steal = None if before.steal is None or after.steal is None else max(0, after.steal - before.steal)
    return CpuTimes(user, nice, system, idle, iowait, irq, softirq, steal)


PROC_MEMINFO = "/proc/meminfo"
PROC_VMSTAT = "/proc/vmstat"


def parse_writeback(meminfo: str, vmstat: str) -> Writeback:
    """Parse /proc/meminfo and /proc/vmstat. Raises Unreadable.

    Dirty and Writeback are in kB of 1024 bytes (man 5 proc_meminfo); nr_dirty_threshold and
    nr_dirty_background_threshold are in pages, and absent from kernels before 2.6.37 (mm/vmstat.c).
    """
    dirty, writeback = kernel_number(meminfo, "Dirty:"), kernel_number(meminfo, "Writeback:")
    if dirty is None or writeback is None:
        raise Unreadable("no Dirty or no Writeback in /proc/meminfo")
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    threshold = kernel_number(vmstat, "nr_dirty_threshold ")
    background = kernel_number(vmstat, "nr_dirty_background_threshold ")
    return Writeback(
        dirty_bytes=dirty * KIB,
        writeback_bytes=writeback * KIB,
        threshold_bytes=None if threshold is None else threshold * page_bytes,
        background_threshold_bytes=None if background is None else background * page_bytes,
    )


def read_writeback() -> Writeback:
    """Return the dirty pages now. Raises OSError, Unreadable."""
    return parse_writeback(read_text(PROC_MEMINFO), read_text_or(PROC_VMSTAT, ""))


def bdi_stats_path(debug: str, mount_point: str) -> str | None:
    """Return the bdi stats file of a mounted filesystem, or None if this machine lacks it.

    debug is the mount point of debugfs, empty without one. Raises OSError if the mounts can't be read.
    """
    mounted = mounted_at(mount_point)
    if not debug or mounted is None:
        return None
    return _stats_path(debug, bdi_name(mounted))


def _stats_path(debug: str, name: str) -> str | None:
    path = os.path.join(debug, "bdi", name, "stats")
    return path if name and os.access(path, os.R_OK) else None


def bdi_name(entry: MountEntry, sys: str = "/sys") -> str:
    """Return the name of a mount's backing device info (bdi); empty if sysfs lacks it.

    It is MAJOR:MINOR of the whole disk; btrfs creates its own for each filesystem, btrfs-N (super_setup_bdi,
    fs/super.c), found through the mounted device.
    """
    if entry.filesystem == "btrfs":
        link = _btrfs_member_link(os.path.basename(os.path.realpath(entry.source)), sys)
    else:
        numbers = f"{os.major(entry.device_number)}:{os.minor(entry.device_number)}"
        link = _first_link(os.path.realpath(f"{sys}/dev/block/{numbers}"))
    return os.path.basename(os.readlink(link)) if link else ""


def _first_link(directory: str) -> str:
    # A partition's directory is in its disk's, which alone has the link.
    candidates = (f"{directory}/bdi", f"{os.path.dirname(directory)}/bdi")
    return next((link for link in candidates if os.path.islink(link)), "")


def _btrfs_member_link(member: str, sys: str) -> str:
    root = f"{sys}/fs/btrfs"
    filesystems = sorted(os.listdir(root)) if os.path.isdir(root) else []
    links = (f"{root}/{name}/bdi" for name in filesystems if os.path.exists(f"{root}/{name}/devices/{member}"))
    return next((link for link in links if os.path.islink(link)), "")


def device_bdi_path(debug: str, name: str, sys: str = "/sys") -> str | None:
    """Return the bdi stats file of a device, or None if this machine lacks it, or for others than root.

    A member of a mounted btrfs has the filesystem's; any other device its disk's. debug is the mount point of debugfs.
    """
    link = _btrfs_member_link(name, sys) or _first_link(os.path.realpath(f"{sys}/class/block/{name}"))
    return _stats_path(debug, os.path.basename(os.readlink(link)) if link else "")


PROC_PRESSURE = "/proc/pressure"
RESOURCES = ("io", "cpu", "memory")

Stalls = Mapping[str, int]
"""Microseconds since boot by "some" and "full" (Documentation/accounting/psi.rst); CPU "full" is undefined."""


def parse_stalls(text: str) -> Stalls:
    """Return the totals of a /proc/pressure file. Raises Unreadable."""
    totals = {}
    for line in text.splitlines():
        kind, *words = line.split() or [""]
        total = next((word[6:] for word in words if word.startswith("total=")), "")
        if not is_number(total):
            raise Unreadable(f"a pressure line without a total: {line!r}")
        totals[kind] = int(total)
    if "some" not in totals:
        raise Unreadable("a pressure file without a line 'some'")
    return totals


def stalled_shares(before: Stalls, after: Stalls, interval_s: float) -> tuple[float | None, float | None]:
    """Return the shares in percent of an interval in which some task, and all, waited; None if unknown.

    The totals are current at each reading; the averages are updated every 2 s only (kernel/sched/psi.c).
    """
    some, full = (
        share_percent(forward_delta(before[kind], after[kind]) / 1e6, interval_s)
        if kind in before and kind in after
        else None
        for kind in ("some", "full")
    )
    return some, full


Shares = tuple[float | None, float | None] | None


def pressure_of(io: Shares, cpu: Shares, memory: Shares) -> Pressure | None:
    """Return the three readings as one; None if all are."""
    if io is None and cpu is None and memory is None:
        return None
    of_io, of_cpu, of_memory = (shares or (None, None) for shares in (io, cpu, memory))
    return Pressure(*of_io, of_cpu[0], *of_memory)
