"""The console on a terminal of its own: what it sends, byte for byte."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

LINES, COLUMNS = 24, 80
ESCAPES = re.compile(rb"\x1b\[[0-9;:?<>=$]*[A-Za-z]")
_START_LIMIT_S = 60.0
_OF_TERMINALS = (
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NO_COLOR",
    "COLORTERM",
    "LINES",
    "COLUMNS",
    "PYTHONUTF8",
)


@contextmanager
def terminal(
    environ: Mapping[str, str], *words: str, command: Sequence[str] = (), end: int = signal.SIGTERM
) -> Iterator[int]:
    """Give the master of a pty that the console, or another command, runs on, until a signal ends it.

    Of terminals its environment has only what is given.
    """
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
    others = {name: value for name, value in os.environ.items() if name not in _OF_TERMINALS}
    argv = command or [sys.executable, "-m", "fsconsole", *words]
    process = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env={**others, **environ}, start_new_session=True
    )
    os.close(slave)
    with closing(os.fdopen(master, "rb", buffering=0)):
        try:
            yield master
        finally:
            process.send_signal(end)
            read_for(master, 0.5)
            process.kill()
            process.wait()


def read_until(fd: int, awaited: bytes) -> bytes:
    """Return what was sent until something came of it. Raises TimeoutError."""
    found, end_s = b"", time.monotonic() + _START_LIMIT_S
    while awaited not in ESCAPES.sub(b"", found):
        if time.monotonic() > end_s:
            raise TimeoutError(f"{awaited!r} didn't come: {found[-2000:]!r}")
        found += read_for(fd, 0.05)
    return found


def read_for(fd: int, seconds: float) -> bytes:
    """Return what comes within so many seconds."""
    found, end_s = b"", time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 0:
        ready, _, _ = select.select([fd], [], [], left_s)
        if not ready:
            break
        try:
            piece = os.read(fd, 65536)
        except OSError:  # The other side is closed.
            break
        if not piece:
            break
        found += piece
    return found
