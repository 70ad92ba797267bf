"""Control groups of fsconsole at the top of a hierarchy: made, joined, removed.

Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cgroups.rst.
"""

from __future__ import annotations

import errno
import os
import time

from fsconsole.system.files import opened, read_text_or
from fsconsole.system.processes import processes_below

_ROOT = "/sys/fs/cgroup"
_V2 = (_ROOT, f"{_ROOT}/unified")
_EMPTY_WAIT_S = 3.0
_POLL_S = 0.02


def group_path(controller: str, name: str, root: str = "") -> str:
    """Return the directory of a group, in the hierarchy that has the controller; empty if none has.

    Version 2 must have it enabled for the groups at the top (cgroup.subtree_control), as systemd does.
    """
    for place in _V2:
        if controller in read_text_or(f"{root}{place}/cgroup.subtree_control", "").split():
            return f"{place}/fsconsole-{name}"
    v1 = f"{_ROOT}/{controller}"
    return f"{v1}/fsconsole-{name}" if os.path.exists(f"{root}{v1}/cgroup.procs") else ""


def write_limit(path: str, value: str) -> None:
    """Write a limit's file, and make its group first. Raises OSError."""
    group = os.path.dirname(path)
    if not os.path.isdir(group):
        os.mkdir(group)
    with opened(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW) as descriptor:
        os.write(descriptor, value.encode())


def join(group: str, pid: int, proc: str) -> int:
    """Move a process and all below it into a group; return how many there were.

    pids are those of proc, a proc of the caller's own namespace. One that has ended is passed over. Raises OSError.
    """
    moved = 0
    for process in processes_below(pid, proc):
        with opened(os.path.join(group, "cgroup.procs"), os.O_WRONLY) as descriptor:
            try:
                os.write(descriptor, str(process).encode())
            except ProcessLookupError:
                continue
        moved += 1
    return moved


def count_events(path: str, word: str) -> int:
    """Return the number after a word in a group's events file; 0 if it is not there."""
    words = read_text_or(path, "").split()
    return int(words[words.index(word) + 1]) if word in words[:-1] else 0


def remove(group: str) -> None:
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
