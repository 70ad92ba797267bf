"""Limits of one reading of a journal, whoever wrote it: memory, CPU time, rows, bytes.

Measured: a run of 12 hours with cells of 34 s has 1,300 cells, 160,000 events, 90 MB of their text, a request of 9 MB, and
86,400 samples: 290 MB on a machine with 64 CPUs and 12 member disks. The most cells that a plan may have, 10,000, make
1,250,000 events, 330 MB of text and a request of 70 MB.
"""

from __future__ import annotations

import sqlite3
import sys
import time

from fsconsole.text import MIB
from fsconsole.units import format_bytes

MAX_EVENTS = 2_000_000
MAX_EVENT_BYTES = 384 * MIB
"""Text of all events that one call reads."""
MAX_VALUE_BYTES = 128 * MIB
"""One value in a journal: the longest is a request."""
MAX_COMMAS = 4_000_000
"""In one value: an element of a list takes up to four times the memory of its text. A request of 10,000 cells has 2 million."""
MAX_NAME_CHARACTERS = 4096
"""A name in a sample: each is read with every row that refers to it."""
MAX_SAMPLE_COUNT = 2_000_000
"""At 2 Hz those of eleven days."""
MAX_SAMPLE_ROWS = 50_000_000
"""Rows of all samples' CPUs, or devices: 12 hours of 512 CPUs have 44 million."""
MAX_SAMPLE_ROWS_READ = 1_000_000
"""Such rows that one call reads, a batch of up to 2,000 samples."""
MAX_READ_S = 30.0
"""CPU time from opening to closing; the longest call on a run of 12 hours takes 2 s."""
TOO_SLOW = f"to read it takes more than {MAX_READ_S:g} s of CPU time"
HEAP_BYTES = 512 * MIB
"""All of SQLite in this process: values, sorting, page cache."""
TOO_LARGE = f"to read it takes more than {format_bytes(HEAP_BYTES)} of memory"
_CACHE_KIB = 8192
_STEPS = 10_000
"""Instructions of SQLite's between two looks at the clock: about a millisecond."""


class CpuBudget:
    """CPU time that the calling thread may take from now on."""

    def __init__(self, limit_s: float = MAX_READ_S) -> None:
        self._until_s = time.thread_time() + limit_s

    def is_spent(self) -> bool:
        """Return whether the thread has taken more."""
        return time.thread_time() > self._until_s


def restrict(connection: sqlite3.Connection) -> None:
    """Bound the memory and CPU time of a connection that was just opened, and let its schema run no functions.

    Called before the first query, since SQLite parses the schema then. Raises sqlite3.Error, MemoryError.
    """
    connection.set_progress_handler(CpuBudget().is_spent, _STEPS)
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    # Of the process, and never raised again (sqlite.org/pragma.html#pragma_hard_heap_limit).
    connection.execute(f"PRAGMA hard_heap_limit = {HEAP_BYTES}")
    # sqlite.org/security.html
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    # The file's header may ask for a cache of any size.
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
