"""Bounds of what a plan may ask for: wide enough for any real one, narrow enough to catch a slip."""

from __future__ import annotations

from fsconsole.units import GIB, MIB, TIB

MAX_PLAN_FILE_BYTES = MIB
MAX_CELLS = 10_000
MAX_THREADS = 4096
MAX_FILES = 10_000_000
MAX_FILE_SIZE_BYTES = 64 * TIB
MAX_BLOCK_SIZE_BYTES = 1024 * MIB
MAX_BLOCKS_BYTES = 16 * GIB
"""Of all threads together: a block is held in memory, and by readers once for each thread."""
MAX_DIRECTORIES = 1_000_000
MAX_FSYNC_EVERY = 2**40
MAX_WEIGHT = 1_000_000
MIN_DURATION_S, MAX_DURATION_S = 0.01, 30 * 86400.0
MAX_REPEATS = 1000
MAX_SEED = 2**63 - 1
MAX_NAME_CHARACTERS = 200
