"""Other processes: openers of devices and files, orphans to reap, tasks that wait in the kernel."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from fsconsole.system.files import opened, read_text, read_text_or
from fsconsole.system.mounts import MountEntry, read_mounts
from fsconsole.text import decode

INIT_PID = 1
_GONE = (FileNotFoundError, ProcessLookupError)
_CLOSED = (*_GONE, PermissionError)

Target = int | tuple[int, int]
"""A block device by its st_rdev, or a file by st_dev and st_ino."""
_TargetOf = Callable[[os.stat_result], Target]
"""Returns the target of a descriptor; 0 for none."""
_AT_WORK = frozenset({"R", "D"})


@dataclass(frozen=True, slots=True)
class OpenDescriptor:
    """A process that has a target open: its pid in the visible /proc, its name, the path as it sees it."""

    pid: int
    command: str
    path: str
    target: Target
    link: str = ""
    """Leads to the target itself: /proc/PID/fd/N, or a mapping's."""


def holders_of(
    targets: frozenset[Target], ignore_pids: frozenset[int], pids: Collection[int] = ()
) -> tuple[OpenDescriptor, ...]:
    """Return who has any of these devices and files open or mapped, one entry per descriptor, among all pids or some.

    Processes that have ended, and those that only root may inspect, are skipped.
    """

    def target_of(found: os.stat_result) -> Target:
        if stat.S_ISBLK(found.st_mode) and found.st_rdev in targets:
            return found.st_rdev
        return (found.st_dev, found.st_ino) if (found.st_dev, found.st_ino) in targets else 0

    return _open_in(target_of, ignore_pids, pids)


def holders_of_sizes(sizes_bytes: Collection[int], ignore_pids: frozenset[int]) -> tuple[OpenDescriptor, ...]:
    """Return who has a regular file of any of these sizes open or mapped; otherwise as holders_of()."""

    def target_of(found: os.stat_result) -> Target:
        is_one = stat.S_ISREG(found.st_mode) and found.st_size in sizes_bytes
        return (found.st_dev, found.st_ino) if is_one else 0

    return _open_in(target_of, ignore_pids)


def _open_in(
    target_of: _TargetOf, ignore_pids: frozenset[int], pids: Collection[int] = ()
) -> tuple[OpenDescriptor, ...]:
    libraries = set[tuple[bytes, bytes]]()
    return tuple(
        replace(found, pid=pid)
        for pid in pids or numbers_in("/proc")
        if pid not in ignore_pids
        for task in (pid, *_apart(pid))
        for found in (*_matching_descriptors(task, target_of), *_matching_mappings(task, target_of, libraries))
    )


def mount_tables() -> Iterator[tuple[int, tuple[MountEntry, ...]]]:
    """Yield the mounts of every mount namespace that a process of the visible /proc is in, with such a process's pid.

    A process with a root of its own sees those below it alone: another root is another table.
    """
    seen = set[tuple[int, int, int]]()
    for pid in sorted(numbers_in("/proc")):
        with suppress(OSError, ValueError):
            root = os.stat(f"/proc/{pid}/root")
            table = (os.stat(f"/proc/{pid}/ns/mnt").st_ino, root.st_dev, root.st_ino)
            if table not in seen:
                mounts = read_mounts(str(pid))
                seen.add(table)
                yield pid, mounts


def _apart(pid: int) -> tuple[int, ...]:
    """Return a process's threads that have other descriptors than its first one, each of which has a /proc/TASK.

    A thread may have its own (man 2 unshare, CLONE_FILES), and a first thread that has ended shows none. As many are
    taken for the same: kcmp(2), which knows, counts pids of this process's own namespace.
    """
    tasks = numbers_in(f"/proc/{pid}/task")
    try:
        first = _descriptors(pid) if len(tasks) > 1 else 0
        return tuple(task for task in tasks if task != pid and _descriptors(task) != first)
    except PermissionError:
        return ()


def _descriptors(task: int) -> int:
    """Return how many descriptors a task has; before Linux 6.2 the folder's size doesn't tell (fs/proc/fd.c)."""
    try:
        return os.stat(f"/proc/{task}/fd").st_size or len(numbers_in(f"/proc/{task}/fd"))
    except _GONE:
        return 0


def own_pid_in_host_proc() -> int:
    """Return this process's pid as the visible /proc counts, which in a PID namespace is not os.getpid()."""
    return int(os.readlink("/proc/self"))


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One process or task, by its stat file (man 5 proc_pid_stat); times in clock ticks."""

    name: str
    state: str
    parent: int
    used_ticks: int
    """User and system CPU time of all tasks."""
    started_ticks: int
    """Since boot."""
    reaped_ticks: int = 0
    """The same of ended children that were waited for, and of theirs."""
    is_kernel_thread: bool = False


_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD (include/linux/sched.h)."""


def parse_stat(text: str) -> ProcessStat:
    """Return what a stat file says; a name may hold blanks and parentheses. Raises ValueError."""
    opening, closing = text.find("("), text.rfind(")")
    # From field 3 on.
    fields = text[closing + 1 :].split()
    if opening < 0 or closing < opening or len(fields) < 20:
        raise ValueError(f"not a process's stat line: {text!r}")
    return ProcessStat(
        name=text[opening + 1 : closing],
        state=fields[0],
        parent=int(fields[1]),
        used_ticks=int(fields[11]) + int(fields[12]),
        started_ticks=int(fields[19]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        is_kernel_thread=bool(int(fields[6]) & _KERNEL_THREAD),
    )


def read_stat(directory: str) -> ProcessStat:
    """Return what a process's or task's directory says of it. Raises FileNotFoundError, ProcessLookupError."""
    return parse_stat(read_text(f"{directory}/stat"))


def numbers_in(directory: str) -> tuple[int, ...]:
    """Return the pids in a proc, or the tasks of a process; none where it has ended."""
    try:
        return tuple(int(name) for name in os.listdir(directory) if name.isdigit())
    except _GONE:
        return ()


def processes_below(pid: int, proc: str) -> tuple[int, ...]:
    """Return a process and all below it, by their pids in a proc; what has ended meanwhile is left out."""
    children: dict[int, list[int]] = defaultdict(list)
    for number in numbers_in(proc):
        with suppress(*_GONE):
            children[read_stat(f"{proc}/{number}").parent].append(number)
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children[found[-1]]
    return tuple(found)


def threads_of(pid: int, proc: str) -> int:
    """Return how many threads a process has; 0 once it has ended."""
    # fs/proc/base.c, proc_task_getattr: a link for each thread, and two for the directory itself.
    with suppress(*_GONE):
        return os.stat(f"{proc}/{pid}/task").st_nlink - 2
    return 0


def is_running(name: str) -> bool:
    """Return whether a process or kernel thread of that name runs, by the visible /proc."""
    return any(read_text_or(f"/proc/{pid}/comm", "") == name for pid in numbers_in("/proc"))


def is_stopped(pid: int, proc: str) -> bool:
    """Return whether a signal has stopped a process (state T); no once it has ended."""
    with suppress(*_GONE):
        return read_stat(f"{proc}/{pid}").state == "T"
    return False


def has_not_ended(pid: int, proc: str) -> bool:
    """Return whether a process still runs; one that was killed and not yet waited for (state Z) has ended."""
    with suppress(*_GONE):
        return read_stat(f"{proc}/{pid}").state not in "ZX"
    return False


def is_at_work(pid: int) -> bool:
    """Return whether a thread of a process runs, wants a CPU (state R), or waits for a disk (state D); no once it has ended."""
    with suppress(*_GONE):
        directory = f"/proc/{pid}/task"
        return any(read_stat(f"{directory}/{task}").state in _AT_WORK for task in numbers_in(directory))
    return False


def visible_pid(pidfd: int) -> int:
    """Return the pid that the visible /proc knows a process by (man 2 pidfd_open: fdinfo); -1 once it is waited for."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields.get("Pid", "-1"))


def _matching_descriptors(pid: int, target_of: _TargetOf) -> Iterator[OpenDescriptor]:
    """Yield a process's descriptors of what is looked for; any may lead to a block device, whatever its path says."""
    with suppress(*_CLOSED), opened(f"/proc/{pid}/fd", os.O_DIRECTORY) as directory:
        for name in os.listdir(directory):
            with suppress(*_CLOSED):
                try:
                    found = os.stat(name, dir_fd=directory)
                except OSError as error:
                    if error.errno in _BROKEN and _has_no_devices(pid, mount_id=_mount_id(pid, name)):
                        continue
                    raise OSError(error.errno, error.strerror, f"/proc/{pid}/fd/{name}") from error
                if target := target_of(found):
                    path = os.readlink(name, dir_fd=directory)
                    yield OpenDescriptor(pid, _command(pid), path, target, f"/proc/{pid}/fd/{name}")
                elif found.st_dev == _anonymous_device() and "io_uring" in os.readlink(name, dir_fd=directory):
                    yield from _registered_files(pid, name, target_of)


_BROKEN = (errno.EIO, errno.ESHUTDOWN, errno.ENOTCONN, errno.ESTALE)
"""Errors of stat on a filesystem that shut itself down (xfs after an I/O error), or that lost its server."""


def _mount_id(pid: int, descriptor: str) -> int:
    """Return the mount that a descriptor came by, which is told without asking its filesystem (man 5 proc_pid_fdinfo)."""
    words = read_text(f"/proc/{pid}/fdinfo/{descriptor}").split()
    return int(words[words.index("mnt_id:") + 1])


def _has_no_devices(pid: int, *, mount_id: int = -1, number: int = -1) -> bool:
    """Return whether a process's mounts of that ID or device number have nodev: no file of them opens a device.

    One that has ended meanwhile has none open at all.
    """
    try:
        mounts = read_mounts(str(pid))
    except OSError as error:
        # EINVAL: a zombie has no mount namespace (fs/proc_namespace.c, mounts_open_common).
        if error.errno in (errno.ENOENT, errno.ESRCH, errno.EINVAL):
            return True
        raise
    found = [e for e in mounts if e.mount_id == mount_id or e.device_number == number]
    return bool(found) and all("nodev" in entry.options for entry in found)


@cache
def _anonymous_device() -> int:
    """Return st_dev of descriptors without a file, such as those of io_uring."""
    with select.epoll() as descriptor:
        return os.fstat(descriptor.fileno()).st_dev


def _registered_files(pid: int, ring: str, target_of: _TargetOf) -> Iterator[OpenDescriptor]:
    """Yield what of that is registered with an io_uring, which keeps it open when its descriptor is closed.

    fdinfo lists them as "0: /dev/sdb", older kernels by the last name alone (io_uring/fdinfo.c).
    """
    _, _, listed = read_text(f"/proc/{pid}/fdinfo/{ring}").partition("\nUserFiles:")
    for line in listed.partition("\nUserBufs:")[0].splitlines()[1:]:
        path = line.partition(": ")[2]
        with suppress(*_CLOSED):
            link = f"/proc/{pid}/root{path if path[:1] == '/' else '/dev/' + path}"
            if target := target_of(os.stat(link)):
                yield OpenDescriptor(pid, _command(pid), path, target, link)


def _matching_mappings(pid: int, target_of: _TargetOf, others: set[tuple[bytes, bytes]]) -> Iterator[OpenDescriptor]:
    """Yield what of that a process has mapped into its memory, which lasts when the descriptor is closed.

    /proc/PID/maps names a mapping's file by path alone, so that each is followed once (man 5 proc_pid_map_files). Files
    that are no targets go to others, by device and inode, and are not followed again: most processes share libraries.
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            lines = file.read().splitlines()
    except _CLOSED:
        return
    # Address, permissions, offset, device, inode, path; memory without a file has the inode 0.
    fields = [line.split(None, 5) for line in lines]
    mapped = {(f[3], f[4], f[5]): f[0] for f in fields if len(f) == 6 and f[4] != b"0"}
    for (device, inode, path), addresses in mapped.items():
        if (device, inode) in others:
            continue
        number = os.makedev(*(int(part, 16) for part in device.split(b":")))
        try:
            link = f"/proc/{pid}/map_files/{decode(addresses)}"
            found = os.stat(link)
            if target := target_of(found):
                yield OpenDescriptor(pid, _command(pid), decode(path), target, link)
            elif found.st_dev == number:
                # Elsewhere (btrfs, overlayfs) maps has another number, with which an inode is not the only one.
                others.add((device, inode))
        except _CLOSED:
            continue
        except OSError as error:
            if error.errno not in _BROKEN or not _has_no_devices(pid, number=number):
                raise


def _command(pid: int) -> str:
    return read_text(f"/proc/{pid}/comm")


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
        tasks = (own_task,) if pid == INIT_PID else numbers_in(f"{proc}/{pid}/task")
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
        alive = {}
        for pid in numbers_in(self._proc):
            with suppress(*_GONE):
                stat = read_stat(f"{self._proc}/{pid}")
                if pid != INIT_PID and stat.state not in _ENDED:
                    alive[pid] = stat
        before, self._used = self._used, {pid: stat.used_ticks for pid, stat in alive.items()}
        if self._used != before or any(stat.state != _INTERRUPTIBLE for stat in alive.values()):
            return ()
        found = []
        for pid in sorted(alive, key={stat.parent for stat in alive.values()}.__contains__):
            where = read_text_or(f"{self._proc}/{pid}/wchan", "").strip("0")
            with suppress(*_GONE):
                found.append(Waiting(_outer_pid(pid), alive[pid].name, where, is_asleep=True))
        return tuple(found)


def waiting_below(program: str, word: str) -> tuple[Waiting, ...]:
    """Return who waits below the processes of a program that has word among its arguments, in the visible /proc."""
    parents, roots = dict[int, int](), set[int]()
    for pid in numbers_in("/proc"):
        with suppress(*_GONE):
            parents[pid] = read_stat(f"/proc/{pid}").parent
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = [decode(argument) for argument in file.read().split(b"\0")[:-1]]
            if words[:1] == [program] and word in words:
                roots.add(pid)
    found = []
    for pid in parents:
        ancestor = parents[pid]
        while ancestor and ancestor not in roots:
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            tasks = numbers_in(f"/proc/{pid}/task")
            found += [Waiting(pid, *said) for said in _waiting_tasks(f"/proc/{pid}", tasks)]
    return tuple(found)


def stuck_tasks(program: str) -> dict[str, float]:
    """Return the names of the tasks that wait in the kernel in processes of that name, with their ages in s.

    Killed ones, too: their first task has ended, and the others keep their names.
    """
    ages_s: dict[str, float] = {}
    for pid in numbers_in("/proc"):
        if read_text_or(f"/proc/{pid}/comm", "") == program:
            for task in numbers_in(f"/proc/{pid}/task"):
                with suppress(*_GONE):
                    stat = read_stat(f"/proc/{pid}/task/{task}")
                    if stat.state == _UNINTERRUPTIBLE:
                        started_s = read_stat(f"/proc/{pid}").started_ticks / os.sysconf("SC_CLK_TCK")
                        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
                        ages_s[stat.name] = max(age_s, ages_s.get(stat.name, 0.0))
    return ages_s


def in_words(waiting: tuple[Waiting, ...]) -> str:
    """Return who waits, the first of them by name."""
    others = len(waiting) - 1
    more = f" and {others} more process{'es' if others > 1 else ''}" if others > 0 else ""
    return f"{waiting[0]}{more}" if waiting else "a process"


def _waiting_tasks(directory: str, tasks: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Yield name and place in the kernel of a process's first task that waits, if any does."""
    for task in tasks:
        with suppress(*_GONE):
            stat = read_stat(f"{directory}/task/{task}")
            if stat.state == _UNINTERRUPTIBLE:
                yield stat.name, read_text_or(f"{directory}/task/{task}/wchan", "").strip("0")
                return


def _outer_pid(pid: int) -> int:
    pidfd = os.pidfd_open(pid)
    try:
        return visible_pid(pidfd)
    finally:
        os.close(pidfd)
