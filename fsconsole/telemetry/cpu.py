"""CPU time from /proc/stat (man 5 proc_stat): shares over an interval, and busy seconds of a step."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

from fsconsole.model.sample import CpuShares, NumberedCpu
from fsconsole.system.text import read_text
from fsconsole.telemetry.rates import Unreadable, is_number

PROC_STAT = "/proc/stat"


class CpuTimes(NamedTuple):
    """Ticks (sysconf SC_CLK_TCK) since boot, in the file's order; guest time is part of user already.

    Before 2.5.41 there were only the first four (man 5 proc_stat): then 0. A tuple, since it is made five times
    as fast, and a box of 64 CPUs needs 130 of them for each sample.
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
    """The whole machine's times, and those of each CPU that is online, as (number, times)."""

    total: CpuTimes
    per_cpu: tuple[tuple[int, CpuTimes], ...]


@dataclass(frozen=True, slots=True)
class BusyTime:
    """CPU seconds over all CPUs: busy is all but idle, iowait and steal; available is all but steal."""

    busy_s: float
    available_s: float


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
            per_cpu.append((_number(name), _times(rest)))
    if total is None:
        raise Unreadable("no cpu line in /proc/stat")
    return CpuReading(total, tuple(per_cpu))


def cpu_shares(before: CpuTimes, after: CpuTimes) -> CpuShares:
    """Return the shares of the time between two readings; all 0 where no tick has passed."""
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


def per_cpu_shares(before: CpuReading, after: CpuReading) -> tuple[NumberedCpu, ...]:
    """Return each CPU's shares by its number; one that was not online before is left out."""
    known = dict(before.per_cpu)
    return tuple(
        NumberedCpu(number, cpu_shares(known[number], times))
        for number, times in after.per_cpu
        if number in known
    )


def cpu_snapshot() -> CpuTimes:
    """Return the machine's CPU times now. Raises OSError, Unreadable."""
    return parse_cpu(read_text(PROC_STAT)).total


def busy_between(before: CpuTimes, after: CpuTimes) -> BusyTime:
    """Return the CPU seconds between two snapshots: kernel writeback counts, waiting doesn't."""
    step = _difference(before, after)
    busy, ticks_per_s = _busy(step), os.sysconf("SC_CLK_TCK")
    return BusyTime(busy / ticks_per_s, (busy + step.idle + step.iowait) / ticks_per_s)


def _times(columns: str) -> CpuTimes:
    words = columns.split(None, _COLUMNS)[:_COLUMNS]
    try:
        return CpuTimes(*map(int, words))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a cpu line that begins with {len(words)} columns") from error


def _difference(before: CpuTimes, after: CpuTimes) -> CpuTimes:
    # The kernel corrects iowait and idle downwards by a little: such a step counts as none.
    user, nice, system, idle, iowait, irq, softirq = [
        last - first if last > first else 0 for first, last in zip(before[:7], after[:7], strict=True)
    ]
    steal = None if before.steal is None or after.steal is None else max(0, after.steal - before.steal)
    return CpuTimes(user, nice, system, idle, iowait, irq, softirq, steal)


def _number(name: str) -> int:
    number = name.removeprefix("cpu")
    if not is_number(number):
        raise Unreadable(f"a cpu line of {name!r}")
    return int(number)


def _busy(times: CpuTimes) -> int:
    return times.user + times.nice + times.system + times.irq + times.softirq
