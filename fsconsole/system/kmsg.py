"""The kernel's log, read record by record (Documentation/ABI/testing/dev-kmsg).

mount(8) says the same words for nearly every refusal; the reason is in here only.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.system.files import Closing
from fsconsole.text import decode

_RECORD_BYTES = 16384
"""More than any record takes; a read with less room fails with EINVAL (kernel/printk/internal.h)."""
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_KERNEL_FACILITY = 0
_PRIORITY_BITS = 3


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One record: priority 0 (emergency) to 7 (debug), facility 0 for the kernel's own words (man 2 syslog)."""

    priority: int
    facility: int
    sequence: int
    timestamp_us: int
    message: str
    properties: tuple[tuple[str, str], ...] = ()
    """Continuation lines: ("SUBSYSTEM", "block"), ("DEVICE", "b7:0")."""


def parse_kmsg(raw: bytes) -> tuple[KernelRecord, ...]:
    """Return the records in what /dev/kmsg gave; a record is a line, with continuation lines that begin with a space.

    Raises ValueError on a line of another shape.
    """
    records: list[list[bytes]] = []
    for line in raw.split(b"\n"):
        if line.startswith(b" ") and records:
            records[-1].append(line[1:])
        elif line:
            records.append([line])
    return tuple(_record(lines) for lines in records)


class KernelLog(Closing):
    """The kernel's own log lines since a mark; always empty where /dev/kmsg may not be read."""

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self._path = path
        self._fd = -1
        with suppress(FileNotFoundError, PermissionError):
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._lines: list[str] = []
        self.mark()

    @property
    def readable(self) -> bool:
        """Return whether this process may read the log at all."""
        return self._fd >= 0

    def mark(self) -> None:
        """Forget what was logged until now."""
        self._lines.clear()
        if self.readable:
            os.lseek(self._fd, 0, os.SEEK_END)

    def lines(self) -> tuple[str, ...]:
        """Return what the kernel logged since the last mark, oldest first, as far as its buffer still holds it."""
        while self.readable:
            try:
                raw = os.read(self._fd, _RECORD_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                # Overwritten before it was read; the next read goes on with the oldest record there is.
                if error.errno == errno.EPIPE:
                    continue
                raise
            if not raw:
                break
            self._lines.extend(r.message for r in parse_kmsg(raw) if r.facility == _KERNEL_FACILITY)
        return tuple(self._lines)

    def another(self) -> KernelLog:
        """Return a log with a mark of its own, set now: two threads can't share one."""
        return KernelLog(self._path)

    def close(self) -> None:
        """Give the descriptor back; from now on the log is empty."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _record(lines: list[bytes]) -> KernelRecord:
    head, separator, message = lines[0].partition(b";")
    fields = head.split(b",")
    if not separator or len(fields) < 3:
        raise ValueError(f"not a kernel log record: {lines[0]!r}")
    level = int(fields[0])
    pairs = (line.partition(b"=") for line in lines[1:])
    return KernelRecord(
        priority=level & (2**_PRIORITY_BITS - 1),
        facility=level >> _PRIORITY_BITS,
        sequence=int(fields[1]),
        timestamp_us=int(fields[2]),
        message=_unescape(message),
        properties=tuple((_unescape(key), _unescape(value)) for key, _, value in pairs),
    )


def _unescape(raw: bytes) -> str:
    return decode(_ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw))
