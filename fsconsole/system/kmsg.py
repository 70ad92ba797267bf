"""The kernel's log, read record by record (Documentation/ABI/testing/dev-kmsg).

mount(8) says the same words for nearly every refusal; the reason is in here only.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress

from fsconsole.system.files import Closing
from fsconsole.text import decode

_RECORD_BYTES = 16384
"""More than any record takes; a read with less room fails with EINVAL (kernel/printk/internal.h)."""
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_KERNEL_FACILITY = 0
_PRIORITY_BITS = 3


def kernel_messages(raw: bytes) -> Iterator[str]:
    """Yield the kernel's own messages in what /dev/kmsg gave. Raises ValueError on a line of another shape.

    A record is a line "8 * facility + priority,sequence,microseconds,...;message"; lines that begin with a space
    continue it with properties.
    """
    for line in raw.split(b"\n"):
        if line and not line.startswith(b" "):
            head, separator, message = line.partition(b";")
            level, *others = head.split(b",")
            if not separator or len(others) < 2:
                raise ValueError(f"not a kernel log record: {line!r}")
            if int(level) >> _PRIORITY_BITS == _KERNEL_FACILITY:
                yield decode(_ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), message))


class KernelLog(Closing):
    """The kernel's own log lines since a mark; always empty where /dev/kmsg may not be read.

    is_whole: all that the buffer holds, until a mark is set.
    """

    def __init__(self, path: str = "/dev/kmsg", *, is_whole: bool = False) -> None:
        super().__init__(-1)
        self._path = path
        with suppress(FileNotFoundError, PermissionError):
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._lines: list[str] = []
        if not is_whole:
            self.mark()

    @property
    def readable(self) -> bool:
        """Return whether this process may read the log at all."""
        return self.fd >= 0

    def mark(self) -> None:
        """Forget what was logged until now."""
        self._lines.clear()
        if self.readable:
            os.lseek(self.fd, 0, os.SEEK_END)

    def lines(self) -> tuple[str, ...]:
        """Return what the kernel logged since the last mark, oldest first, as far as its buffer still holds it."""
        while self.readable:
            try:
                raw = os.read(self.fd, _RECORD_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                # Overwritten before it was read; the next read goes on with the oldest record there is.
                if error.errno == errno.EPIPE:
                    continue
                raise
            if not raw:
                break
            self._lines.extend(kernel_messages(raw))
        return tuple(self._lines)

    def another(self) -> KernelLog:
        """Return a log with a mark of its own, set now: two threads can't share one."""
        return KernelLog(self._path)
