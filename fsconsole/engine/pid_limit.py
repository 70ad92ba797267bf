"""Bounds the processes and threads of a load's programs, so that a fork bomb leaves the machine pids of its own.

RLIMIT_NPROC does not bound root (kernel/fork.c, copy_process).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress

from fsconsole.engine.work import CellWork
from fsconsole.model.workload import Workload
from fsconsole.plan.keys import MEMORY
from fsconsole.system import cgroups
from fsconsole.system.files import kernel_release, read_text, read_text_or
from fsconsole.system.processes import has_not_ended, processes_below, threads_of
from fsconsole.text import error_reason

PROGRAMS = 4096
"""Processes and threads that a load's programs may have at a time.

`make -j` of a large tree starts some 1,000 compilers, each below a shell; a small machine has 32,768 pids in all (pid_max)
and about 8,000 threads for each GiB of memory (threads-max).
"""
_A_THREAD = 2
"""More of them for each thread of the load: a program may have a helper for each writer."""
_NEAR = 0.9
"""Share of the limit by which the machine's threads must have grown before the load's own are counted, which takes longer."""
_PER_NAMESPACE = (6, 14)
"""Linux version from which on each PID namespace has a pid_max of its own; before, it is the machine's."""
_END_S, _POLL_S = 10.0, 0.01
_NAME = re.compile(r"[A-Za-z0-9-]+")


class PidLimit:
    """Limit of one load: by a pids cgroup, else by the pid_max of a PID namespace, else by counting."""

    def __init__(self, work: CellWork, workload: Workload) -> None:
        """Make the cgroup, if there can be one."""
        self.most = min(PROGRAMS + _A_THREAD * workload.threads, _machine_pids() // 2)
        self.reason = (
            f"'{workload.name}' reached the limit of {self.most} processes and threads for a load's programs: "
            "start fewer at a time"
        )
        self._proc = work.run.places.proc
        self._group, self._is_shared = "", False
        for group, is_shared in _groups(work):
            with suppress(OSError):
                cgroups.write_limit(f"{group}/pids.max", str(self.most))
                self._group, self._is_shared = group, is_shared
                break
        is_root = os.geteuid() == 0
        self.of_namespace = self.most if is_root and not self._group and has_pid_max_per_namespace() else 0
        """pid_max for the cage's PID namespace; 0: none."""
        self._pid = 0
        self._cage: tuple[int, ...] = ()
        """The cage's own processes: its first one, the programs' PID 1, ends after all of them (zap_pid_ns_processes)."""
        self._before = 0
        self._was_reached = False

    def hold(self, pid: int) -> None:
        """Put a load that is ready, a process and all below it, under the limit."""
        self._pid = pid
        self._cage = processes_below(pid, self._proc)
        if self._group and not self._is_shared:
            try:
                cgroups.join(self._group, pid, self._proc)
            except OSError:
                self._group = ""
        self._before = self._events() if self._group else _machine_threads()

    def is_reached(self) -> bool:
        """Return whether programs were refused another process, or have as many as they may."""
        if not self._was_reached:
            self._was_reached = self._events() > self._before if self._group else self._has_too_many()
        return self._was_reached

    def close(self) -> None:
        """Wait for the end of the load's processes, which have been killed, and remove the cgroup.

        Thousands take a while to end, and keep the filesystem busy. A later load removes a cgroup that stays.
        """
        deadline_s = time.monotonic() + _END_S
        while any(has_not_ended(pid, self._proc) for pid in self._cage) and time.monotonic() < deadline_s:
            time.sleep(_POLL_S)
        if self._group and not self._is_shared:
            with suppress(OSError):
                cgroups.remove(self._group)

    def _has_too_many(self) -> bool:
        if _machine_threads() - self._before < _NEAR * self.most:
            return False
        return sum(threads_of(pid, self._proc) for pid in processes_below(self._pid, self._proc)) >= self.most

    def _events(self) -> int:
        return cgroups.count_events(f"{self._group}/pids.events", "max")


def _groups(work: CellWork) -> Iterator[tuple[str, bool]]:
    """Yield the groups that may bound a load, each with whether it is the memory group of the cell.

    In version 2 a process is in one group only.
    """
    memory = next((held.taken.path for held in work.settings if held.taken.name == MEMORY and held.taken.new), "")
    group = cgroups.group_path("pids", _name(work.run.request.run_id))
    if os.path.basename(memory) == "memory.max" and os.path.dirname(os.path.dirname(memory)) == os.path.dirname(group):
        yield os.path.dirname(memory), True
    elif group:
        yield group, False


def _name(run_id: str) -> str:
    return f"pids-{run_id}"


def remove_left_group(run_id: str) -> Iterator[str]:
    """Remove the pids cgroup of a killed engine's run, and yield a clause if there was one."""
    group = cgroups.group_path("pids", _name(run_id)) if _NAME.fullmatch(run_id) else ""
    if not group or not os.path.isdir(group):
        return
    try:
        cgroups.remove(group)
        yield f"the pids cgroup {group} is removed"
    except OSError as error:
        yield f"the pids cgroup {group} could not be removed: {error_reason(error)}"


def has_pid_max_per_namespace() -> bool:
    """Return whether this kernel has a pid_max for each PID namespace (kernel/pid.c, pid_table)."""
    numbers = re.match(r"(\d+)\.(\d+)", kernel_release())
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= _PER_NAMESPACE


def _machine_pids() -> int:
    return min(int(read_text(f"/proc/sys/kernel/{name}")) for name in ("pid_max", "threads-max"))


def _machine_threads() -> int:
    """Return how many threads the machine has; 0 if that can't be read (man 5 proc_loadavg, the fourth field)."""
    fields = read_text_or("/proc/loadavg", "").split()
    return int(fields[3].partition("/")[2]) if len(fields) > 3 else 0
