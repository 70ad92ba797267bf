"""Readers of one source each, with what they need of the reading before: every rate is over its own interval."""

from __future__ import annotations

import os
import time
from typing import Protocol

from fsconsole.model.counters import ThreadCounters, ThreadState
from fsconsole.model.sample import BdiStats, CpuShares, LoadProgress, NumberedCpu, Writeback
from fsconsole.system.text import KeptFile
from fsconsole.telemetry.bdi import parse_bdi
from fsconsole.telemetry.cpu import CpuReading, cpu_shares, parse_cpu, per_cpu_shares
from fsconsole.telemetry.meminfo import parse_writeback
from fsconsole.telemetry.rates import MOST, Unreadable


class Counters(Protocol):
    """Whatever counts a load, such as system.memfd.CounterPage."""

    def read(self) -> tuple[ThreadCounters, ...]:
        """Return the counters of every thread as they are now."""
        ...


class CpuGauge:
    """CPU shares since the reading before."""

    def __init__(self, path: str) -> None:
        self._file = KeptFile(path)
        self._before: CpuReading | None = None

    def read(self) -> tuple[CpuShares, tuple[NumberedCpu, ...]] | None:
        """Return the shares of all CPUs together and of each; None the first time. Raises OSError, Unreadable."""
        after = parse_cpu(_text(self._file))
        before, self._before = self._before, after
        if before is None:
            return None
        return cpu_shares(before.total, after.total), per_cpu_shares(before, after)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class WritebackGauge:
    """Dirty pages and thresholds."""

    def __init__(self, meminfo_path: str, vmstat_path: str) -> None:
        self._meminfo = KeptFile(meminfo_path)
        self._vmstat = KeptFile(vmstat_path) if os.path.exists(vmstat_path) else None

    def read(self) -> Writeback:
        """Return them as they are now. Raises OSError, Unreadable."""
        return parse_writeback(_text(self._meminfo), "" if self._vmstat is None else _text(self._vmstat))

    def close(self) -> None:
        """Give the files back."""
        self._meminfo.close()
        if self._vmstat is not None:
            self._vmstat.close()


class BdiGauge:
    """Writeback of the mounted filesystem."""

    def __init__(self, path: str) -> None:
        self._file = KeptFile(path)

    def read(self) -> BdiStats:
        """Return the kernel's figures. Raises OSError, Unreadable."""
        return parse_bdi(_text(self._file))

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class LoadGauge:
    """A load's progress; its first rate counts from the moment when the gauge was made."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._before = (time.monotonic_ns(), sum(thread.bytes_done for thread in counters.read()))

    def read(self) -> LoadProgress:
        """Return the sums over all threads. Raises ValueError where a counter holds what it can't."""
        now_ns, threads = time.monotonic_ns(), self._counters.read()
        bytes_done = sum(thread.bytes_done for thread in threads)
        if max(bytes_done, sum(thread.operations + thread.files_done for thread in threads)) > MOST:
            raise Unreadable("a load that has done more than can be done")
        (before_ns, bytes_before), self._before = self._before, (now_ns, bytes_done)
        return LoadProgress(
            bytes_done=bytes_done,
            operations=sum(thread.operations for thread in threads),
            files_done=sum(thread.files_done for thread in threads),
            threads_running=sum(thread.state is ThreadState.RUNNING for thread in threads),
            bytes_s=(bytes_done - bytes_before) / ((now_ns - before_ns) / 1e9),
        )

    def close(self) -> None:
        """Let go of the counters, which belong to somebody else."""


def _text(file: KeptFile) -> str:
    return file.read().decode("ascii", errors="replace")
