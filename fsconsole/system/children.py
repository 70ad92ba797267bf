"""Starting child processes and waiting for each by its pid, also as PID 1 of a namespace."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import threading
import time

from fsconsole.errors import ToolFailed
from fsconsole.model.command import Command, Usage
from fsconsole.system.memory import PeakMemory
from fsconsole.system.processes import reap_orphans
from fsconsole.system.programs import clean_environment, find_program

_CANNOT_EXECUTE = 126
"""What a shell says of a program that is there and can't be executed (man 1p sh, EXIT STATUS)."""

_lock = threading.Lock()
_living: set[int] = set()


class Child:
    """A started program: leader of a session and process group of its own, not yet waited for."""

    def __init__(self, process: subprocess.Popen[bytes], started_ns: int) -> None:
        self.process = process
        self.pid = process.pid
        self.started_ns = started_ns
        self.pidfd = os.pidfd_open(process.pid)
        self.memory = PeakMemory(self.pidfd)

    def elapsed_s(self) -> float:
        """Return the seconds since it was started."""
        return (time.monotonic_ns() - self.started_ns) / 1e9

    def collect(self) -> tuple[int, Usage]:
        """Wait for the program's end and return its exit code and what it used.

        ru_maxrss of a program counts the memory of the process that started it, up to its exec
        (fs/exec.c, exec_mmap): a small program would show this process's size. Where it isn't above that,
        the highest VmHWM that was seen is given, 0 where the program ended before it could be looked at.
        """
        _, status, used = os.wait4(self.pid, 0)
        elapsed_s = self.elapsed_s()
        exit_code = os.waitstatus_to_exitcode(status)
        self._forget(exit_code)
        own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak_bytes = used.ru_maxrss * 1024 if used.ru_maxrss > own_peak else self.memory.peak_bytes
        return exit_code, Usage(elapsed_s, used.ru_utime, used.ru_stime, peak_bytes)

    def abandon(self, exit_code: int) -> Usage:
        """Leave a program that doesn't end to a thread that waits for it; returns the time spent on it."""
        pid = self.pid
        threading.Thread(target=lambda: os.waitpid(pid, 0), name=f"abandoned-{pid}", daemon=True).start()
        self._forget(exit_code)
        return Usage(self.elapsed_s(), 0.0, 0.0, 0)

    def _forget(self, exit_code: int) -> None:
        self.process.returncode = exit_code
        os.close(self.pidfd)
        self.memory.close()
        with _lock:
            _living.discard(self.pid)


def start_child(command: Command, *, stdin: int, stdout: int, stderr: int) -> Child:
    """Start a program; the streams are descriptors or subprocess's PIPE and DEVNULL.

    Raises ToolMissing where it isn't found, ToolFailed where the kernel can't execute it.
    """
    program = find_program(command.argv[0])
    started_ns = time.monotonic_ns()
    # Under the lock a child is never alive without being known as ours, not even between fork and here.
    with _lock:
        try:
            process = subprocess.Popen(
                command.argv,
                executable=program,
                bufsize=0,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=clean_environment(command.environment),
                close_fds=True,
                pass_fds=command.inherit_fds,
                start_new_session=True,
            )
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else str(error)
            raise ToolFailed(shlex.join(command.argv), _CANNOT_EXECUTE, said) from error
        _living.add(process.pid)
    return Child(process, started_ns)


def reap_strangers(proc: str) -> tuple[int, ...]:
    """Wait for ended processes that PID 1 inherited; children started here are left to who started them.

    proc is where the namespace's own proc is mounted. Returns the pids.
    """
    with _lock:
        return reap_orphans(proc, frozenset(_living))
