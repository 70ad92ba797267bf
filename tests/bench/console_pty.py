"""A console on a pseudo-terminal of 80 x 24, for measurements: what it sends, when, and what it costs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

COLUMNS, LINES = 80, 24
LIMIT_S = 30.0


class Console:
    """A running console; bytes that it sends are kept with the instant at which they came."""

    def __init__(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        nice: int = 0,
        size: tuple[int, int] = (COLUMNS, LINES),
    ) -> None:
        self.started_s = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.nice(nice)
            os.execve(sys.executable, [sys.executable, "-m", "fsconsole", *words], dict(environ))  # noqa: S606 (in a child of pty.fork)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.received: list[tuple[float, bytes]] = []

    def read_for(self, seconds: float) -> int:
        """Read whatever comes for so long; returns how many bytes it was."""
        before = self.total_bytes
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)
        return self.total_bytes - before

    def read_until_told(self, told: TextIO) -> str:
        """Read whatever comes until another process has written a line; returns that line."""
        while not select.select([told], [], [], 0)[0]:
            self._read(0.1)
        return told.readline()

    def wait_for(self, text: str, since: int = 0) -> float:
        """Read until a text has been sent, after so many pieces; returns when its piece came. Raises TimeoutError."""
        wanted, deadline = text.encode(), time.monotonic() + LIMIT_S
        while wanted not in b"".join(piece for _, piece in self.received[since:]):
            if time.monotonic() > deadline:
                raise TimeoutError(f"'{text}' was not sent")
            self._read(0.5)
        return self.received[-1][0]

    def answer_s(self, key: bytes, settling_s: float = 0.05) -> float:
        """Press a key and return the seconds until the first bytes of its answer; what comes before is read for so long."""
        self.read_for(settling_s)
        pressed_s, since = time.monotonic(), len(self.received)
        os.write(self._fd, key)
        while len(self.received) == since:
            if time.monotonic() > pressed_s + LIMIT_S:
                raise TimeoutError(f"no answer to {key!r}")
            self._read(0.5)
        return self.received[since][0] - pressed_s

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._fd, key)

    @property
    def total_bytes(self) -> int:
        """All bytes so far."""
        return sum(len(piece) for _, piece in self.received)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the console itself, of all its threads (CPU clock of a process, by linux/posix-timers.h)."""
        return time.clock_gettime((~self.pid << 3) | 2)

    @property
    def rss_bytes(self) -> int:
        """What it holds in memory (man 5 proc_pid_statm)."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """Leave it, as its operator does, and wait for its end."""
        with contextlib.suppress(OSError):
            os.write(self._fd, b"q")
        deadline = time.monotonic() + LIMIT_S
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self.pid, 9)
            with contextlib.suppress(OSError):
                self._read(0.05)
        os.close(self._fd)

    def _read(self, timeout_s: float) -> None:
        if select.select([self._fd], [], [], timeout_s)[0]:
            self.received.append((time.monotonic(), os.read(self._fd, 65536)))


@contextlib.contextmanager
def console(
    *words: str, term: str = "linux", nice: int = 0, size: tuple[int, int] = (COLUMNS, LINES)
) -> Iterator[Console]:
    """Give a console of that TERM, which keeps its drafts in a directory of its own, and end it."""
    with tempfile.TemporaryDirectory() as state:
        environ = {**os.environ, "TERM": term, "LANG": "C.UTF-8", "XDG_STATE_HOME": state}
        environ.pop("NO_COLOR", None)
        shown = Console(words, environ, nice, size)
        try:
            yield shown
        finally:
            shown.close()


@contextlib.contextmanager
def compiled() -> Iterator[None]:
    """Let programs keep what Python compiled, as installed ones do, whatever the environment says."""
    kept = {name: os.environ.get(name) for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}
    with tempfile.TemporaryDirectory() as directory:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = directory
        try:
            yield
        finally:
            for name, value in kept.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
