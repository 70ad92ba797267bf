"""Processes that wait inside the kernel (state D) and can't be ended until what they wait for answers; and sleepers.

A few filesystems wait for their disk so that a signal would wake them (nilfs2's log writer: state S). Such a process
looks like one that waits for another program: it is told by all of them sleeping, with no CPU time used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.plaintext import decode
from fsconsole.system.processes import age_s, numbers_in, parse_stat, used_ticks_of, visible_pid
from fsconsole.system.text import read_text_or

_UNINTERRUPTIBLE, _INTERRUPTIBLE = "D", "S"
_ENDED = "ZX"
"""Ended, and not yet waited for (man 5 proc_pid_stat)."""
_INIT_PID = 1
_GONE = (FileNotFoundError, ProcessLookupError)


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
    """Return who waits in this process's own PID namespace, whose proc is mounted at proc.

    Of PID 1, which asks, only one task counts. Who ends meanwhile is passed over.
    """
    found = []
    for pid in numbers_in(proc):
        tasks = (own_task,) if pid == _INIT_PID else numbers_in(f"{proc}/{pid}/task")
        for said in _waiting_tasks(f"{proc}/{pid}", tasks):
            with suppress(*_GONE):
                found.append(Waiting(_outer_pid(pid), *said))
    return tuple(found)


class Sleepers:
    """Who sleeps in this process's own PID namespace, whose proc is mounted at proc, look after look."""

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._used: dict[int, int] = {}

    def asleep(self) -> tuple[Waiting, ...]:
        """Return who sleeps, those first that wait for no other process of ours; none while any has worked since.

        One that was stopped (state T) is nobody's hang, and what PID 1 does itself is not looked at.
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
    parents = dict(_parents())
    arguments = {pid: _arguments(pid) for pid in parents}
    roots = {pid for pid, words in arguments.items() if words[:1] == (program,) and word in words}
    below = [pid for pid in parents if not roots.isdisjoint(_ancestors(pid, parents))]
    return tuple(
        Waiting(pid, *said)
        for pid in below
        for said in _waiting_tasks(f"/proc/{pid}", numbers_in(f"/proc/{pid}/task"))
    )


def waits_of(program: str) -> dict[tuple[str, ...], float]:
    """Return how a program was called where it waits in the visible /proc, each call with the age of its oldest in s."""
    ages_s: dict[tuple[str, ...], float] = {}
    for pid in numbers_in("/proc"):
        if any(name == program for name, _ in _waiting_tasks(f"/proc/{pid}", (pid,))):
            argv = _arguments(pid)
            ages_s[argv] = max(age_s(pid), ages_s.get(argv, 0.0))
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


def _parents() -> Iterator[tuple[int, int]]:
    for pid in numbers_in("/proc"):
        with suppress(*_GONE), open(f"/proc/{pid}/stat", "rb") as file:
            yield pid, parse_stat(decode(file.read()))[2]


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid := parents.get(pid, 0):
        yield pid


def _arguments(pid: int) -> tuple[str, ...]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return tuple(decode(word) for word in file.read().split(b"\0")[:-1])
    except _GONE:
        return ()
