"""Stops a child at its exec and at its system calls (man 2 ptrace), until its watcher lets it go."""

from __future__ import annotations

import ctypes
import os
import signal
import stat
from collections.abc import Callable
from contextlib import suppress

from fsconsole.model.command import Watch

_TRACEME, _DETACH, _SYSCALL, _SETOPTIONS = 0, 17, 24, 0x4200
_EVERY_CALL_MARKED, _AT_EXEC, _DIES_WITH_US = 0x1, 0x10, 0x100000
"""PTRACE_O_TRACESYSGOOD, PTRACE_O_TRACEEXEC, PTRACE_O_EXITKILL (include/uapi/linux/ptrace.h)."""
_CALL_STOP = signal.SIGTRAP | 0x80
_SIGNAL_BITS = 0xFF
_PR_SET_PDEATHSIG = 1
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def stop_at_exec(parent: int) -> Callable[[], None]:
    """Return what a new child calls between fork and exec, so that it stops before its program's first instruction.

    Nothing in there takes a lock, as other threads of the parent may hold any. It raises OSError if ptrace is refused.
    """

    def ask() -> None:
        # Before the exec no option of ptrace is in force yet: a parent that dies meanwhile takes the child along.
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        # The stop is a SIGTRAP: whoever started this process may have blocked it.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTRAP,))
        _ptrace(_TRACEME, 0)

    return ask


def follow(pid: int, directory: str, watch: Watch) -> None:
    """Call watch with the child's directory in /proc at its exec and at each system call, and let it go once that is true.

    Returns too when the child ends before. To be called by the thread that started it. Raises what watch raises: the
    child is stopped then.
    """
    reason = _next_stop(pid)
    with suppress(ProcessLookupError):  # killed while it was stopped
        if reason:
            _ptrace(_SETOPTIONS, pid, _EVERY_CALL_MARKED | _AT_EXEC | _DIES_WITH_US)
        while reason and not watch(directory):
            number = reason & _SIGNAL_BITS
            is_signal = number == reason and number not in (_CALL_STOP, signal.SIGTRAP)
            _ptrace(_SYSCALL, pid, number if is_signal else 0)
            reason = _next_stop(pid)
        if reason:
            _ptrace(_DETACH, pid)


def _next_stop(pid: int) -> int:
    """Wait for the child, and return why it stopped, 0 if it has ended; it can still be waited for."""
    stop = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return stop.si_status if stop is not None and stop.si_code in (os.CLD_TRAPPED, os.CLD_STOPPED) else 0


def _ptrace(request: int, pid: int, data: int = 0) -> None:
    if _libc.ptrace(request, pid, None, data) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def devices_open_for_writing(directory: str) -> frozenset[int]:
    """Return the numbers of the block devices that a process has open for writing, by its directory in /proc."""
    numbers = set[int]()
    with suppress(*_GONE):
        for name in os.listdir(f"{directory}/fd"):
            with suppress(*_GONE):
                found = os.stat(f"{directory}/fd/{name}")
                if stat.S_ISBLK(found.st_mode) and _access(f"{directory}/fdinfo/{name}") != os.O_RDONLY:
                    numbers.add(found.st_rdev)
    return frozenset(numbers)


def _access(info: str) -> int:
    with open(info, encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields["flags"], 8) & os.O_ACCMODE
