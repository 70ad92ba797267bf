"""Following a child process to its end: its input fed, its output kept, its memory watched."""

from __future__ import annotations

import os
import selectors
import time
from typing import IO

from fsconsole.system.children import Child

OUTPUT_LIMIT_BYTES = 16 * 2**20
_READ_BYTES = 2**20
"""The most that a pipe holds unless root raised it (man 7 pipe): one read takes all that is in it."""
_WRITE_BYTES = 65536
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.25


class Kept:
    """A stream's bytes up to a limit; what is beyond is counted, not kept."""

    def __init__(self, limit_bytes: int = OUTPUT_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._kept = bytearray()
        self._cut_bytes = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._limit_bytes - len(self._kept)
        self._kept += data[:room]
        self._cut_bytes += max(0, len(data) - room)

    def whole(self) -> bytes:
        """Return what was kept, with a line at its end that says how much was cut, if any was."""
        return bytes(self._kept) + (cut_note(self._cut_bytes) if self._cut_bytes else b"")


def cut_note(cut_bytes: int) -> bytes:
    """Return the line that stands for bytes that were not kept."""
    return f"\n[fsconsole: {cut_bytes} more bytes cut]\n".encode()


class Follower:
    """Moves bytes between a child and this process until it ends or a deadline passes.

    Whoever inherited the child's pipes and lives on is not waited for.
    """

    def __init__(
        self, child: Child, outputs: tuple[tuple[IO[bytes] | None, Kept], ...], stdin: bytes = b""
    ) -> None:
        self._child = child
        self._to_write = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._selector.register(child.pidfd, selectors.EVENT_READ)
        self._outputs: dict[int, Kept] = {}
        for file, kept in outputs:
            if file is not None:
                self._watch_output(file.fileno(), kept)
        if stdin and child.process.stdin is not None:
            os.set_blocking(child.process.stdin.fileno(), False)
            self._selector.register(child.process.stdin, selectors.EVENT_WRITE)

    def ended_by(self, deadline_s: float | None) -> bool:
        """Follow the child until it has ended (True) or time.monotonic() reaches the deadline (False)."""
        while deadline_s is None or time.monotonic() < deadline_s:
            if self._turn(self._pause_s(deadline_s)):
                for fd in tuple(self._outputs):
                    self._read(fd)
                return True
        return False

    def close(self) -> None:
        """Give back what following took; the child's own pipes are not closed."""
        self._selector.close()

    def _watch_output(self, fd: int, kept: Kept) -> None:
        os.set_blocking(fd, False)
        self._outputs[fd] = kept
        self._selector.register(fd, selectors.EVENT_READ)

    def _pause_s(self, deadline_s: float | None) -> float:
        pause_s = min(max(self._child.elapsed_s() / 8, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
        return pause_s if deadline_s is None else min(pause_s, max(0.0, deadline_s - time.monotonic()))

    def _turn(self, pause_s: float) -> bool:
        ready = {key.fd for key, _ in self._selector.select(pause_s)}
        self._child.memory.look()
        for fd in ready & self._outputs.keys():
            self._read(fd)
        stdin = self._child.process.stdin
        if stdin is not None and not stdin.closed and stdin.fileno() in ready:
            self._feed(stdin)
        return self._child.pidfd in ready

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        self._outputs[fd].add(data)
        if not data:
            del self._outputs[fd]
            self._selector.unregister(fd)

    def _feed(self, stdin: IO[bytes]) -> None:
        try:
            written = os.write(stdin.fileno(), self._to_write[:_WRITE_BYTES])
            self._to_write = self._to_write[written:]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # A program may end, or close its input, without having read all of it.
            self._to_write = self._to_write[:0]
        if not self._to_write:
            self._selector.unregister(stdin)
            stdin.close()
