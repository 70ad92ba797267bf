"""Stalls of tasks that wait for I/O, CPU or memory, from /proc/pressure/* (Documentation/accounting/psi.rst)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from fsconsole.model.sample import Pressure
from fsconsole.system.text import KeptFile
from fsconsole.telemetry.rates import Unreadable, forward_delta, is_number, share_percent

PROC_PRESSURE = "/proc/pressure"
RESOURCES = ("io", "cpu", "memory")

Stalls = Mapping[str, int]
"""Microseconds since boot by "some" and "full"; full of the CPU says nothing of a whole machine (psi.rst)."""


def parse_stalls(text: str) -> Stalls:
    """Return the totals of a pressure file. Raises Unreadable."""
    totals = {}
    for line in text.splitlines():
        kind, *words = line.split() or [""]
        total = next((word[6:] for word in words if word.startswith("total=")), "")
        if not is_number(total):
            raise Unreadable(f"a line of pressure without a total: {line!r}")
        totals[kind] = int(total)
    if "some" not in totals:
        raise Unreadable("a file of pressure that doesn't say of some")
    return totals


def stalled_percent(before: Stalls, after: Stalls, kind: str, interval_s: float) -> float | None:
    """Return the share of an interval in which some task, or all of them, waited; None where it isn't told."""
    if kind not in before or kind not in after:
        return None
    return share_percent(forward_delta(before[kind], after[kind]) / 1e6, interval_s)


class StallGauge:
    """Shares of the time since the reading before, for one resource.

    The totals are brought up to date at each reading; the averages beside them only every 2 s (kernel/sched/psi.c).
    """

    def __init__(self, directory: str, resource: str) -> None:
        self._file = KeptFile(os.path.join(directory, resource))
        self._before: tuple[int, Stalls] | None = None

    def read(self) -> tuple[float | None, float | None] | None:
        """Return the shares of some and full; None the first time. Raises OSError (EOPNOTSUPP: psi=0), Unreadable."""
        now_ns, after = time.monotonic_ns(), parse_stalls(self._file.read().decode("ascii", errors="replace"))
        before, self._before = self._before, (now_ns, after)
        if before is None:
            return None
        interval_s = (now_ns - before[0]) / 1e9
        some, full = (stalled_percent(before[1], after, kind, interval_s) for kind in ("some", "full"))
        return some, full

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


Shares = tuple[float | None, float | None] | None


def pressure_of(io: Shares, cpu: Shares, memory: Shares) -> Pressure | None:
    """Return what three gauges read as one; None where none has anything to say."""
    if io is None and cpu is None and memory is None:
        return None
    nothing = (None, None)
    (io_some, io_full), (cpu_some, _), (memory_some, memory_full) = (
        io or nothing,
        cpu or nothing,
        memory or nothing,
    )
    return Pressure(io_some, io_full, cpu_some, memory_some, memory_full)
