"""How much of a host filesystem a scratch file may take: never the last of the disk."""

from __future__ import annotations

import os

from fsconsole.errors import NoSpace
from fsconsole.units import GIB, format_bytes

KEEP_FREE_BYTES = GIB
KEEP_FREE_PERCENT = 5
"""What stays free in any case: the larger of the two. Logs, mail and databases of the host need room."""


def need_room(directory: str, size_bytes: int) -> None:
    """Raise NoSpace where a file of that size would leave less free than must be kept. Raises OSError."""
    found = os.statvfs(directory)
    free_bytes = found.f_bavail * found.f_frsize
    kept_bytes = kept_free(found.f_blocks * found.f_frsize)
    if size_bytes + kept_bytes > free_bytes:
        needed = f"{format_bytes(size_bytes)}, with {format_bytes(kept_bytes)} left free,"
        raise NoSpace(path=directory, needed=needed, free=format_bytes(free_bytes))


def kept_free(total_bytes: int) -> int:
    """Return the bytes that must stay free on a filesystem of that size."""
    return max(KEEP_FREE_BYTES, total_bytes * KEEP_FREE_PERCENT // 100)
