"""The end of a child process: its own, or by force when its time is over."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass

from fsconsole.model.command import Usage
from fsconsole.system.capture import Follower
from fsconsole.system.children import Child

KILL_GRACE_S = 5.0
"""How long a killed process may take to end; one that waits inside the kernel (state D) may never."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended; note is what must stand beside its errors, for one that didn't."""

    exit_code: int
    usage: Usage
    timed_out: bool
    note: bytes = b""


def follow_to_end(child: Child, follower: Follower, deadline_s: float | None, grace_s: float) -> Ending:
    """Follow a child until it ends; at the deadline (of time.monotonic()) kill it with its whole process group.

    One that is not gone grace_s later is given up: exit code -9, and a note says so.
    """
    timed_out = not follower.ended_by(deadline_s)
    if timed_out:
        kill_group(child.pid)
        if not follower.ended_by(time.monotonic() + grace_s):
            usage = child.abandon(-signal.SIGKILL)
            note = (
                f"\n[fsconsole: process {child.pid} did not end within {grace_s:g} s of SIGKILL; given up]\n"
            )
            return Ending(-signal.SIGKILL, usage, timed_out, note.encode())
    exit_code, usage = child.collect()
    return Ending(exit_code, usage, timed_out)


def kill_group(pid: int) -> None:
    """Kill a process group by the pid of its leader, which must not have been waited for yet."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
