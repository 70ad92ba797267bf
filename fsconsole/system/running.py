"""A long-lived child that is talked with line by line, such as the host of a load generator."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from types import TracebackType
from typing import IO

from fsconsole.model.command import Command, CommandResult
from fsconsole.system.capture import OUTPUT_LIMIT_BYTES, Follower, Kept, cut_note
from fsconsole.system.children import Child, start_child
from fsconsole.system.ending import KILL_GRACE_S, follow_to_end, kill_group

_READ_BYTES = 65536


class RunningCommand:
    """A started program with its input and output as pipes; its errors go to a file that wait() reads.

    wait() or kill() and wait() must be called in the end; leaving the with block does both.
    """

    def __init__(self, command: Command, child: Child, errors: IO[bytes]) -> None:
        self.argv = command.argv
        self.pid = child.pid
        self._child = child
        self._errors = errors
        self._unread = bytearray()
        self._result: CommandResult | None = None

    @property
    def stdin(self) -> IO[bytes]:
        """The program's input, unbuffered."""
        return _present(self._child.process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """The program's output, unbuffered; receive() reads from it too."""
        return _present(self._child.process.stdout)

    def send(self, line: str) -> None:
        """Write one line to the program. Raises BrokenPipeError where it reads no more."""
        self.send_bytes(line.encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Write all of data to the program. Raises BrokenPipeError where it reads no more."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.stdin.fileno(), rest) :]

    def receive(self, timeout_s: float | None = None) -> str:
        """Return the program's next line without its end. Raises TimeoutError, and EOFError after the last one."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            if not select.select([self.stdout], [], [], left_s)[0]:
                raise TimeoutError(f"no line from {self.argv[0]} within {timeout_s} s")
            data = os.read(self.stdout.fileno(), _READ_BYTES)
            if not data:
                raise EOFError(f"{self.argv[0]} has closed its output")
            self._unread += data
        line, _, rest = bytes(self._unread).partition(b"\n")
        self._unread = bytearray(rest)
        return line.decode("utf-8", errors="backslashreplace")

    def kill(self) -> None:
        """Kill the program and its process group; it must still be waited for."""
        if self._result is None:
            kill_group(self.pid)

    def wait(self, timeout_s: float | None = None) -> CommandResult:
        """Close the program's input, wait for its end, and return what came of it and what it used.

        stdout is what receive() had not taken. After timeout_s it is killed with its group, and timed_out
        is set. A second call returns the same result.
        """
        if self._result is None:
            self._result = self._finish(timeout_s)
        return self._result

    def _finish(self, timeout_s: float | None) -> CommandResult:
        self.stdin.close()
        kept = Kept()
        kept.add(bytes(self._unread))
        follower = Follower(self._child, ((self.stdout, kept),))
        try:
            deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
            ending = follow_to_end(self._child, follower, deadline_s, KILL_GRACE_S)
            return CommandResult(
                argv=self.argv,
                exit_code=ending.exit_code,
                stdout=kept.whole(),
                stderr=_read_bounded(self._errors) + ending.note,
                usage=ending.usage,
                timed_out=ending.timed_out,
            )
        finally:
            follower.close()
            self.stdout.close()
            self._errors.close()

    def __enter__(self) -> RunningCommand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.wait()


def spawn(command: Command) -> RunningCommand:
    """Start a program to be talked with; command.stdin is sent to it first, its time limit is wait()'s matter.

    Raises ToolMissing, ToolFailed, and BrokenPipeError where it ended before it read command.stdin.
    """
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the program, wait() closes it
    try:
        child = start_child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors.fileno())
    except BaseException:
        errors.close()
        raise
    running = RunningCommand(command, child, errors)
    try:
        running.send_bytes(command.stdin)
    except BrokenPipeError:
        running.kill()
        running.wait()
        raise
    return running


def _present(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("started without this pipe")
    return pipe


def _read_bounded(file: IO[bytes]) -> bytes:
    size = os.fstat(file.fileno()).st_size
    kept = os.pread(file.fileno(), OUTPUT_LIMIT_BYTES, 0)
    return kept + (cut_note(size - len(kept)) if size > len(kept) else b"")
