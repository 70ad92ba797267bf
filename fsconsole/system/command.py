"""Running programs for real: argv, exit code, outputs, resources, and what the kernel logged meanwhile."""

from __future__ import annotations

import subprocess
import time

from fsconsole.model.command import Command, CommandResult
from fsconsole.system.capture import OUTPUT_LIMIT_BYTES, Follower, Kept
from fsconsole.system.children import reap_strangers, start_child
from fsconsole.system.ending import KILL_GRACE_S, Ending, follow_to_end
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.programs import find_program
from fsconsole.system.running import RunningCommand, spawn

__all__ = ["RealExecutor", "RunningCommand", "find_program", "reap_strangers", "spawn"]


class RealExecutor:
    """Runs programs to their end; may be called from several threads at once."""

    def __init__(
        self,
        kernel_log: KernelLog | None = None,
        *,
        kill_grace_s: float = KILL_GRACE_S,
        output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> None:
        self._kernel_log = kernel_log
        self._kill_grace_s = kill_grace_s
        self._output_limit_bytes = output_limit_bytes

    def run(self, command: Command) -> CommandResult:
        """Run a program to its end, or kill it with its process group at its time limit.

        Each output is kept up to a limit of 16 MiB, with a note where it was cut. The kernel's log lines are
        attached where a log was given. Raises ToolMissing, and ToolFailed where it can't be executed at all.
        """
        if self._kernel_log is None:
            return self._run(command, None)
        with self._kernel_log.another() as log:
            return self._run(command, log)

    def _run(self, command: Command, log: KernelLog | None) -> CommandResult:
        out, err = Kept(self._output_limit_bytes), Kept(self._output_limit_bytes)
        ending = self._follow(command, out, err)
        return CommandResult(
            argv=command.argv,
            exit_code=ending.exit_code,
            stdout=out.whole(),
            stderr=err.whole() + ending.note,
            usage=ending.usage,
            timed_out=ending.timed_out,
            kernel_log=() if log is None else log.lines(),
        )

    def _follow(self, command: Command, out: Kept, err: Kept) -> Ending:
        stdin = subprocess.PIPE if command.stdin else subprocess.DEVNULL
        child = start_child(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process = child.process
        follower = Follower(child, ((process.stdout, out), (process.stderr, err)), command.stdin)
        deadline_s = None if command.timeout_s is None else time.monotonic() + command.timeout_s
        try:
            return follow_to_end(child, follower, deadline_s, self._kill_grace_s)
        finally:
            follower.close()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
