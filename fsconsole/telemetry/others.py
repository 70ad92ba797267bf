"""CPU use and I/O of other processes between two passes over /proc: kernel threads, fsconsole's viewers, all others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.system.files import read_text, read_text_or
from fsconsole.system.processes import ProcessStat, numbers_in, read_stat
from fsconsole.telemetry.rates import kernel_number

_GONE = (FileNotFoundError, ProcessLookupError)
_Stats = Mapping[int, ProcessStat]


@dataclass(frozen=True, slots=True)
class Processes:
    """One pass over /proc, by pid."""

    stats: _Stats
    moved_bytes: Mapping[int, int]
    """Bytes read from devices and written to files by each, children that it has waited for included. Kernel threads and
    processes whose io file is not readable are absent (man 5 proc_pid_io)."""


def read_processes(proc: str = "/proc") -> Processes:
    """Return all processes in /proc."""
    # 5 ms of CPU for 150 processes: it is done before a load's clock starts and after it has stopped.
    stats, moved = dict[int, ProcessStat](), dict[int, int]()
    for pid in numbers_in(proc):
        with suppress(*_GONE):
            stats[pid] = read_stat(f"{proc}/{pid}")
            text = "" if stats[pid].is_kernel_thread else read_text_or(f"{proc}/{pid}/io", "")
            if text:
                moved[pid] = sum(kernel_number(text, name) or 0 for name in ("read_bytes: ", "write_bytes: "))
    return Processes(stats, moved)


@dataclass(frozen=True, slots=True)
class CpuUser:
    """A process and the CPU time that it used, with that of children that it has waited for."""

    name: str
    pid: int
    used_s: float

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU seconds between two passes, without the engine and its descendants."""

    kernel_s: float
    """Of kernel threads: writeback, journal, loop, md."""
    viewers_s: float
    """Of fsconsole's consoles and views."""
    others_s: float
    biggest: CpuUser | None
    """Of the others; None if none used any."""


def cpu_use(before: Processes, after: Processes, engine: int, viewers: Collection[int] = ()) -> CpuUse:
    """Return who used the CPUs; engine and viewers are pids.

    Includes the times of children that ended and were waited for, less what they had used before: without those a
    compilation showed 47 of its 89 %. Per-process times, since /proc/stat counts ticks: on busy CPUs it was off by up to
    4 %, close to the warning's limit. Not counted: kernel threads that ended, and processes that ended with nobody
    waiting for them (SIGCHLD ignored).
    """
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    known, stats = _known(before, after), after.stats
    own = _descendants(stats, engine)
    reaped = _reaped(before.stats, stats, known)
    kernel = viewing = 0
    used: Counter[int] = Counter()
    for pid, now in stats.items():
        was = known.get(pid)
        ticks = now.used_ticks - (was.used_ticks if was else 0)
        if now.is_kernel_thread:
            kernel += ticks
        elif pid not in own:
            ticks += reaped[pid]
            if pid in viewers:
                viewing += ticks
            else:
                used[pid] = ticks
    biggest = [CpuUser(stats[pid].name, pid, ticks / ticks_per_s) for pid, ticks in used.most_common(1) if ticks > 0]
    return CpuUse(
        kernel / ticks_per_s, viewing / ticks_per_s, used.total() / ticks_per_s, biggest[0] if biggest else None
    )


def most_io(before: Processes, after: Processes, engine: int) -> tuple[str, int]:
    """Return the process that moved most data in between, as text, and its bytes; empty and 0 if none did.

    The device is not known: the kernel counts writes when they enter the page cache.
    """
    known, own = _known(before, after), _descendants(after.stats, engine)
    moved = {
        pid: now - (before.moved_bytes.get(pid, 0) if pid in known else 0) for pid, now in after.moved_bytes.items()
    }
    most = max(moved.keys() - own, key=moved.__getitem__, default=0)
    if moved.get(most, 0) <= 0:
        return "", 0
    return f"{after.stats[most].name} (process {most})", moved[most]


def viewers_among(processes: Processes, proc: str = "/proc") -> frozenset[int]:
    """Return the pids of fsconsole's own command line and console, which show runs; no engine and no generator."""
    found = set()
    for pid, process in processes.stats.items():
        # By its arguments, which only an interpreter or an installed script of that name has.
        if process.name.startswith(("python", "fsconsole")):
            with suppress(*_GONE):
                words = read_text(f"{proc}/{pid}/cmdline").split("\0")[:4]
                if any(os.path.basename(word) == "fsconsole" for word in words):
                    found.add(pid)
    return frozenset(found)


def _known(before: Processes, after: Processes) -> _Stats:
    """Return the earlier readings of processes that are still there; a pid that was given again is another process."""
    return {
        pid: was
        for pid, was in before.stats.items()
        if pid in after.stats and after.stats[pid].started_ticks == was.started_ticks
    }


def _descendants(stats: _Stats, root: int) -> frozenset[int]:
    """Return a process with all below it; orphans of a PID namespace are children of its first process."""
    children: dict[int, list[int]] = {}
    for pid, process in stats.items():
        children.setdefault(process.parent, []).append(pid)
    found, waiting = {root}, [root]
    while waiting:
        below = [pid for pid in children.get(waiting.pop(), ()) if pid not in found]
        found.update(below)
        waiting += below
    return frozenset(found)


def _reaped(before: _Stats, after: _Stats, known: _Stats) -> dict[int, int]:
    """Return the ticks that ended children used since the first pass, by the process that has waited for them.

    Subtracts what a child had used before from its parent's ticks; the rest, if any, from the parent's parent: an orphan
    is waited for by init or a subreaper (man 2 prctl, PR_SET_CHILD_SUBREAPER).
    """
    ended = [(process, pid, False) for pid, process in before.items() if pid not in known]
    alive = [(process, pid, True) for pid, process in after.items()]
    found, owed = dict[int, int](), Counter[int]()
    # Children start after their parents.
    for process, pid, is_alive in sorted(
        (*ended, *alive), key=lambda one: (one[0].started_ticks, one[1]), reverse=True
    ):
        if is_alive:
            ticks = process.reaped_ticks - (known[pid].reaped_ticks if pid in known else 0)
            found[pid] = max(0, ticks - owed[pid])
            owed[process.parent] += max(0, owed[pid] - ticks)
        elif not process.is_kernel_thread:
            owed[process.parent] += process.used_ticks + process.reaped_ticks + owed[pid]
    return found
