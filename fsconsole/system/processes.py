"""Other processes: openers of devices and files, orphans to reap, tasks that wait in the kernel."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.system.files import read_text_or
from fsconsole.text import decode

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_INIT_PID = 1
_GONE = (FileNotFoundError, ProcessLookupError)
_CLOSED = (*_GONE, PermissionError)

Target = int | tuple[int, int]
"""A block device by its st_rdev, or a file by st_dev and st_ino."""
_TargetOf = Callable[[os.stat_result], Target]
"""Returns the target of a descriptor; 0 for none."""


@dataclass(frozen=True, slots=True)
class OpenDescriptor:
    """A process that has a target open: its pid in the visible /proc, its name, the path as it sees it."""

    pid: int
    command: str
    path: str
    target: Target


def holders_of(device_number: int, ignore_pids: frozenset[int]) -> tuple[OpenDescriptor, ...]:
    """Return who has the block device of that number (st_rdev) open, as holders_of_any() does."""
    return holders_of_any(frozenset({device_number}), ignore_pids)


def holders_of_any(
    targets: frozenset[Target], ignore_pids: frozenset[int], pids: Collection[int] = ()
) -> tuple[OpenDescriptor, ...]:
    """Return who has any of these devices and files open or mapped, one entry per descriptor, among all pids or some.

    Processes that have ended, and those that only root may inspect, are skipped.
    """

    def target_of(found: os.stat_result) -> Target:
        if stat.S_ISBLK(found.st_mode) and found.st_rdev in targets:
            return found.st_rdev
        return (found.st_dev, found.st_ino) if (found.st_dev, found.st_ino) in targets else 0

    return tuple(
        found
        for pid in pids or numbers_in("/proc")
        if pid not in ignore_pids
        for found in (*_matching_descriptors(pid, target_of), *_matching_mappings(pid, target_of))
    )


def own_pid_in_host_proc() -> int:
    """Return this process's pid as the visible /proc counts, which in a PID namespace is not os.getpid()."""
    return int(os.readlink("/proc/self"))


def reap_orphans(proc: str, own_children: frozenset[int]) -> tuple[int, ...]:
    """Reap ended children of a namespace's PID 1 but own_children; returns their pids. proc is the namespace's own."""
    reaped = []
    for pid in numbers_in(proc):
        if pid not in own_children:
            with suppress(*_GONE, ChildProcessError):
                with open(f"{proc}/{pid}/stat", "rb") as file:
                    _, state, parent = parse_stat(decode(file.read()))
                if (state, parent) == ("Z", _INIT_PID) and os.waitpid(pid, os.WNOHANG)[0] == pid:
                    reaped.append(pid)
    return tuple(reaped)


_UTIME, _STIME, _BEGUN = 11, 12, 19
"""Behind the name, from 0 (man 5 proc_pid_stat: fields 14, 15 and 22)."""


def parse_stat(text: str) -> tuple[str, str, int]:
    """Return name, state letter and parent pid from /proc/PID/stat (man 5 proc_pid_stat).

    The name stands in parentheses and may itself hold blanks and parentheses. Raises ValueError.
    """
    opening, closing = text.find("("), text.rfind(")")
    rest = text[closing + 1 :].split()
    if opening < 0 or closing < opening or len(rest) < 2:
        raise ValueError(f"not a process's stat line: {text!r}")
    return text[opening + 1 : closing], rest[0], int(rest[1])


def used_ticks_of(text: str) -> int:
    """Return the user and system CPU time in a stat line, of all tasks, in clock ticks. Raises ValueError."""
    rest = text[text.rfind(")") + 1 :].split()
    return int(rest[_UTIME]) + int(rest[_STIME])


def age_s(pid: int) -> float:
    """Return for how many seconds a process of the visible /proc has been there; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = decode(file.read())
    except _GONE:
        return 0.0
    begun_s = int(text[text.rfind(")") + 1 :].split()[_BEGUN]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - begun_s


def numbers_in(directory: str) -> tuple[int, ...]:
    """Return the pids in a proc, or the tasks of a process; none where it has ended."""
    try:
        return tuple(int(name) for name in os.listdir(directory) if name.isdigit())
    except _GONE:
        return ()


def visible_pid(pidfd: int) -> int:
    """Return the pid that the visible /proc knows a process by (man 2 pidfd_open: fdinfo); -1 once it is waited for."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields.get("Pid", "-1"))


def _matching_descriptors(pid: int, target_of: _TargetOf) -> Iterator[OpenDescriptor]:
    """Yield a process's descriptors of what is looked for; any may lead to a block device, whatever its path says."""
    try:
        directory = os.open(f"/proc/{pid}/fd", _DIRECTORY)
    except _CLOSED:
        return
    try:
        names: list[str] = []
        with suppress(*_CLOSED):
            names = os.listdir(directory)
        for name in names:
            with suppress(*_CLOSED):
                if target := target_of(os.stat(name, dir_fd=directory)):
                    yield OpenDescriptor(pid, _command(pid), os.readlink(name, dir_fd=directory), target)
    finally:
        os.close(directory)


def _matching_mappings(pid: int, target_of: _TargetOf) -> Iterator[OpenDescriptor]:
    """Yield what of that a process has mapped into its memory, which lasts when the descriptor is closed.

    /proc/PID/maps names a mapping's file by path alone, so that each is followed once (man 5 proc_pid_map_files).
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            lines = file.read().splitlines()
    except _CLOSED:
        return
    # Address, permissions, offset, device, inode, path; memory without a file has the inode 0.
    fields = [line.split(None, 5) for line in lines]
    mapped = {(f[3], f[4], f[5]): decode(f[0]) for f in fields if len(f) == 6 and f[4] != b"0"}
    for (_, _, path), addresses in mapped.items():
        try:
            if target := target_of(os.stat(f"/proc/{pid}/map_files/{addresses}")):
                yield OpenDescriptor(pid, _command(pid), decode(path), target)
        except _CLOSED:
            continue


def _command(pid: int) -> str:
    with open(f"/proc/{pid}/comm", "rb") as file:
        return decode(file.read()).rstrip("\n")


_UNINTERRUPTIBLE, _INTERRUPTIBLE = "D", "S"
_ENDED = "ZX"
"""Ended, and not yet waited for (man 5 proc_pid_stat)."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A process with a task that waits; where is the kernel's function, empty where it isn't told."""

    pid: int
    """As the operator's /proc counts."""
    name: str
    where: str
    is_asleep: bool = False
    """In state S, which a signal ends, and not D."""

    def __str__(self) -> str:
        where = f", in {self.where}" if self.where else ""
        return f"{self.name} (process {self.pid}{where})"


def waiting_in(proc: str, own_task: int) -> tuple[Waiting, ...]:
    """Return who waits in this process's PID namespace, whose proc is mounted at proc; of PID 1 only own_task counts."""
    found = []
    for pid in numbers_in(proc):
        tasks = (own_task,) if pid == _INIT_PID else numbers_in(f"{proc}/{pid}/task")
        for said in _waiting_tasks(f"{proc}/{pid}", tasks):
            with suppress(*_GONE):
                found.append(Waiting(_outer_pid(pid), *said))
    return tuple(found)


class Sleepers:
    """Processes that sleep in this process's own PID namespace, whose proc is mounted at proc, from poll to poll.

    Some filesystems wait for their disk in state S (nilfs2's log writer). Such a process looks like one that waits for
    another program: it is recognised when all of them sleep and use no CPU time.
    """

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._used: dict[int, int] = {}

    def asleep(self) -> tuple[Waiting, ...]:
        """Return who sleeps, parents last; none if any has used CPU time since, or is stopped (state T).

        PID 1 is not looked at.
        """
        seen = [state for pid in numbers_in(self._proc) if pid != _INIT_PID for state in self._state_of(pid)]
        alive = [process for process in seen if process.letter not in _ENDED]
        used = {process.pid: process.used_ticks for process in alive}
        before, self._used = self._used, used
        if used != before or any(process.letter != _INTERRUPTIBLE for process in alive):
            return ()
        parents = {process.parent for process in alive}
        alive.sort(key=lambda process: process.pid in parents)
        return tuple(one for process in alive for one in self._told(process))

    def _state_of(self, pid: int) -> Iterator[_State]:
        with suppress(*_GONE), open(f"{self._proc}/{pid}/stat", "rb") as file:
            text = decode(file.read())
            name, letter, parent = parse_stat(text)
            yield _State(pid, name, letter, parent, used_ticks_of(text))

    def _told(self, process: _State) -> Iterator[Waiting]:
        where = read_text_or(f"{self._proc}/{process.pid}/wchan", "").strip("0")
        with suppress(*_GONE):
            yield Waiting(_outer_pid(process.pid), process.name, where, is_asleep=True)


@dataclass(frozen=True, slots=True)
class _State:
    pid: int
    name: str
    letter: str
    parent: int
    used_ticks: int


def waiting_below(program: str, word: str) -> tuple[Waiting, ...]:
    """Return who waits below the processes of a program that has word among its arguments, in the visible /proc."""
    parents, roots = dict[int, int](), set[int]()
    for pid in numbers_in("/proc"):
        with suppress(*_GONE):
            with open(f"/proc/{pid}/stat", "rb") as file:
                parents[pid] = parse_stat(decode(file.read()))[2]
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = [decode(argument) for argument in file.read().split(b"\0")[:-1]]
            if words[:1] == [program] and word in words:
                roots.add(pid)
    below = [pid for pid in parents if not roots.isdisjoint(_ancestors(pid, parents))]
    return tuple(
        Waiting(pid, *said)
        for pid in below
        for said in _waiting_tasks(f"/proc/{pid}", numbers_in(f"/proc/{pid}/task"))
    )


def stuck_tasks(program: str) -> dict[str, float]:
    """Return the names of the tasks that wait in the kernel in processes of that name, with their ages in s.

    Killed ones, too: their first task has ended, and the others keep their names.
    """
    ages_s: dict[str, float] = {}
    for pid in numbers_in("/proc"):
        if read_text_or(f"/proc/{pid}/comm", "") == program:
            for task in numbers_in(f"/proc/{pid}/task"):
                for name, _ in _waiting_tasks(f"/proc/{pid}", (task,)):
                    ages_s[name] = max(age_s(pid), ages_s.get(name, 0.0))
    return ages_s


def in_words(waiting: tuple[Waiting, ...]) -> str:
    """Return who waits, the first of them by name."""
    others = len(waiting) - 1
    more = f" and {others} more process{'es' if others > 1 else ''}" if others > 0 else ""
    return f"{waiting[0]}{more}" if waiting else "a process"


def _waiting_tasks(directory: str, tasks: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Yield name and place in the kernel of a process's first task that waits, if any does."""
    for task in tasks:
        try:
            with open(f"{directory}/task/{task}/stat", "rb") as file:
                name, state, _ = parse_stat(decode(file.read()))
        except _GONE:
            continue
        if state == _UNINTERRUPTIBLE:
            where = read_text_or(f"{directory}/task/{task}/wchan", "")
            yield name, where.strip("0")
            return


def _outer_pid(pid: int) -> int:
    pidfd = os.pidfd_open(pid)
    try:
        return visible_pid(pidfd)
    finally:
        os.close(pidfd)


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid := parents.get(pid, 0):
        yield pid
