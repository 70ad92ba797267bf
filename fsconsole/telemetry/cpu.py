"""CPU time from /proc/stat (man 5 proc_stat): shares over an interval, and busy seconds of a step."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from fsconsole.model.sample import CpuShares
from fsconsole.system.text import read_text
from fsconsole.telemetry.rates import Unreadable, forward_delta

PROC_STAT = "/proc/stat"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks (sysconf SC_CLK_TCK) since boot, in the file's order; guest time is part of user already.

    Before 2.6.11 there was no steal, before 2.5.41 only the first four (man 5 proc_stat): then 0.
    """

    user: int
    nice: int
    system: int
    idle: int
    iowait: int = 0
    irq: int = 0
    softirq: int = 0
    steal: int = 0


@dataclass(frozen=True, slots=True)
class CpuReading:
    """The whole machine's times, and those of each CPU that is online, as (number, times)."""

    total: CpuTimes
    per_cpu: tuple[tuple[int, CpuTimes], ...]


@dataclass(frozen=True, slots=True)
class BusyTime:
    """CPU seconds over all CPUs: busy is all but idle, iowait and steal; available is all but steal."""

    busy_s: float
    available_s: float


_COLUMNS = len(fields(CpuTimes))
_LEAST_COLUMNS = 4


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
            per_cpu.append((int(name[3:]), _times(rest)))
    if total is None:
        raise Unreadable("no cpu line in /proc/stat")
    return CpuReading(total, tuple(per_cpu))


def cpu_shares(before: CpuTimes, after: CpuTimes) -> CpuShares:
    """Return the shares of the time between two readings; all 0 where no tick has passed."""
    step = _difference(before, after)
    available = _busy(step) + step.idle + step.iowait
    factor = 100 / available if available else 0.0
    return CpuShares(
        user=step.user * factor,
        nice=step.nice * factor,
        system=step.system * factor,
        iowait=step.iowait * factor,
        irq=step.irq * factor,
        softirq=step.softirq * factor,
        idle=step.idle * factor,
    )


def per_cpu_busy(before: CpuReading, after: CpuReading) -> tuple[float, ...]:
    """Return each CPU's busy percentage, in the order of their numbers; one that was not online before is left out."""
    known = dict(before.per_cpu)
    return tuple(cpu_shares(known[number], times).busy for number, times in after.per_cpu if number in known)


def cpu_snapshot() -> CpuTimes:
    """Return the machine's CPU times now. Raises OSError, Unreadable."""
    return parse_cpu(read_text(PROC_STAT)).total


def busy_between(before: CpuTimes, after: CpuTimes) -> BusyTime:
    """Return the CPU seconds between two snapshots: kernel writeback counts, waiting doesn't."""
    step = _difference(before, after)
    busy, ticks_per_s = _busy(step), os.sysconf("SC_CLK_TCK")
    return BusyTime(busy / ticks_per_s, (busy + step.idle + step.iowait) / ticks_per_s)


def _times(columns: str) -> CpuTimes:
    values = [int(word) for word in columns.split()[:_COLUMNS]]
    if len(values) < _LEAST_COLUMNS:
        raise Unreadable(f"a cpu line with {len(values)} columns")
    return CpuTimes(*values)


def _difference(before: CpuTimes, after: CpuTimes) -> CpuTimes:
    return CpuTimes(
        *(
            forward_delta(getattr(before, field.name), getattr(after, field.name))
            for field in fields(CpuTimes)
        )
    )


def _busy(times: CpuTimes) -> int:
    return times.user + times.nice + times.system + times.irq + times.softirq
