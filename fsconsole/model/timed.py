"""Operations whose time the generator takes."""

from __future__ import annotations

from enum import Enum


class Timed(str, Enum):
    """Timed operations: a file operation as a whole, or each call that moves data."""

    CREATE = "create"
    """Making the empty file: the open."""
    WRITE = "write"
    APPEND = "append"
    READ = "read"
    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    STAT = "stat"
    DELETE = "delete"
    FSYNC = "fsync"
    FDATASYNC = "fdatasync"


CALLS = frozenset({Timed.WRITE, Timed.APPEND, Timed.READ, Timed.RANDOM_READ, Timed.RANDOM_WRITE})
"""Operations that move data: a load's latency figures are theirs, where it has any."""
SYNCS = frozenset({Timed.FSYNC, Timed.FDATASYNC})
