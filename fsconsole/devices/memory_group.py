"""The memory cgroup of a load: made with its limit, joined by the load's processes, removed with the setting.

Files: Documentation/admin-guide/cgroup-v2.rst (memory.max), cgroup-v1/memory.rst (memory.limit_in_bytes). Page cache
belongs to the group whose process touched it first; kernel threads that write it back stay outside.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import defaultdict

from fsconsole.system.files import opened, read_text, read_text_or
from fsconsole.system.processes import numbers_in, read_stat

NO_GROUP = "none"
"""Value of the setting while its group doesn't exist."""
_V1, _V2 = "/sys/fs/cgroup/memory", ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
GROUP_FILE = re.compile(
    r"/sys/fs/cgroup/(?:memory/fsconsole-[A-Za-z0-9!._-]+/memory\.limit_in_bytes"
    r"|(?:unified/)?fsconsole-[A-Za-z0-9!._-]+/memory\.max)"
)
"""A group at the top of the hierarchy, with a name that only fsconsole uses."""
_EMPTY_WAIT_S = 3.0
_POLL_S = 0.02


def limit_file(name: str, root: str = "") -> str:
    """Return the file of the limit of a device's group, in the hierarchy that has the memory controller; empty without one.

    Version 2 must have it enabled for the groups at the top (cgroup.subtree_control), as systemd does.
    """
    for place in _V2:
        if "memory" in read_text_or(f"{root}{place}/cgroup.subtree_control", "").split():
            return f"{place}/fsconsole-{name}/memory.max"
    return f"{_V1}/fsconsole-{name}/memory.limit_in_bytes" if os.path.exists(f"{root}{_V1}/cgroup.procs") else ""


def read_limit(path: str) -> str:
    """Return a group's limit in bytes, as text; NO_GROUP where there is no such group. Raises OSError."""
    return read_text(path) if os.path.isdir(os.path.dirname(path)) else NO_GROUP


def write_limit(path: str, value: str) -> None:
    """Set a group's limit, and make the group first; NO_GROUP removes it, once it is empty. Raises OSError."""
    group = os.path.dirname(path)
    if value == NO_GROUP:
        _remove(group)
        return
    if not os.path.isdir(group):
        os.mkdir(group)
    with opened(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW) as descriptor:
        os.write(descriptor, value.encode())


def join(path: str, pid: int, proc: str) -> int:
    """Move a process and all below it into the group of a limit's file; return how many there were.

    pids are those of proc, a proc of the caller's own namespace. One that has ended is passed over. Raises OSError.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for number in numbers_in(proc):
        try:
            children[read_stat(f"{proc}/{number}").parent].append(number)
        except (FileNotFoundError, ProcessLookupError):
            continue
    moved, waiting = 0, [pid]
    while waiting:
        process = waiting.pop()
        waiting += children[process]
        with opened(os.path.join(os.path.dirname(path), "cgroup.procs"), os.O_WRONLY) as descriptor:
            try:
                os.write(descriptor, str(process).encode())
            except ProcessLookupError:
                continue
        moved += 1
    return moved


def killed_in(path: str) -> int:
    """Return how many processes of the group the kernel killed because its limit was reached."""
    group = os.path.dirname(path)
    for name in ("memory.events", "memory.oom_control"):
        words = read_text_or(f"{group}/{name}", "").split()
        if "oom_kill" in words[:-1]:
            return int(words[words.index("oom_kill") + 1])
    return 0


def _remove(group: str) -> None:
    """Remove an empty group; processes that were killed leave it a little later. Raises OSError."""
    deadline_s = time.monotonic() + _EMPTY_WAIT_S
    while True:
        try:
            os.rmdir(group)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline_s:
                raise
            time.sleep(_POLL_S)
        else:
            return
