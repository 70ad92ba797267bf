"""Commands and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fsconsole.text import decode

Watch = Callable[[str], bool]
"""Called with a child's directory in /proc while the child is stopped; true lets it go on alone."""


@dataclass(frozen=True, slots=True)
class Command:
    """One program call; never a shell line."""

    argv: tuple[str, ...]
    timeout_s: float | None = None
    stdin: bytes = b""
    environment: tuple[tuple[str, str], ...] = ()
    """Added to a clean environment (PATH, LANG=C, LC_ALL=C): outputs are parsed, so never translated."""
    inherit_fds: tuple[int, ...] = ()
    watch: Watch | None = field(default=None, compare=False)
    """Called at the program's exec and at each of its system calls, until it lets the program go; time counts from then."""


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Resources of a finished process and all its waited-for descendants (man 2 wait4, man 2 getrusage)."""

    elapsed_s: float
    user_s: float
    system_s: float
    max_rss_bytes: int
    written_bytes: int = 0
    """Writes that the kernel accounts to a process (man 5 proc_pid_io, write_bytes): no zeroed ranges, no discards."""
    stopped_s: float = 0.0
    """How long it was seen stopped by a signal; not of its descendants."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a program: exit_code is negative for a signal, as subprocess has it."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    usage: ResourceUsage
    timed_out: bool = False
    kernel_log: tuple[str, ...] = field(default=())
    """Lines that the kernel logged while it ran (man 4 kmsg)."""

    @property
    def out(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become escapes."""
        return decode(self.stdout)

    @property
    def err(self) -> str:
        """Standard error as text."""
        return decode(self.stderr)


class Executor(Protocol):
    """The one door to programs. Raises errors.ToolMissing where argv[0] is not to be found."""

    def run(self, command: Command) -> CommandResult:
        """Run to the end (or its time limit) and return what came of it, whatever the exit code."""
        ...
