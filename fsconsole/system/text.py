"""Small kernel files as text: sysfs attributes, /proc files, and files kept open for sampling."""

from __future__ import annotations

import os
from types import TracebackType

from fsconsole.plaintext import decode

_READ_BYTES = 65536
_SURROUNDING = " \t\r\n\0"


def read_text(path: str) -> str:
    """Return a file's text without surrounding white space and NULs. Raises OSError.

    Sysfs attributes end in a newline, those that firmware fills in may end in blanks or NULs
    (Documentation/filesystems/sysfs.rst).
    """
    with open(path, "rb") as file:
        return decode(file.read()).strip(_SURROUNDING)


def read_text_or(path: str, default: str) -> str:
    """Return a file's text, or default where it can't be read: an attribute that this kernel or device lacks."""
    try:
        return read_text(path)
    except OSError:
        return default


def read_int_or(path: str, default: int) -> int:
    """Return a file's whole number, or default where there is no file or no number in it."""
    try:
        return int(read_text(path))
    except (OSError, ValueError):
        return default


class KeptFile:
    """A kernel file that is opened once and read many times, each time fresh from its start.

    A pread at offset 0 makes /proc and sysfs produce the file anew (fs/seq_file.c, fs/kernfs/file.c),
    at a fraction of the cost of opening it again.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Return the file as it is now, whole. Raises OSError (ENODEV: what it told about is gone)."""
        parts = [os.pread(self._fd, _READ_BYTES, 0)]
        offset = len(parts[0])
        while parts[-1]:
            # A short read is no end: seq_file hands out whole records, as many as fit a page.
            parts.append(os.pread(self._fd, _READ_BYTES, offset))
            offset += len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> KeptFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
