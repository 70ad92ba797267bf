"""Sizes by name, and nothing else: for processes that are started for every cell, and shall start quickly."""

from __future__ import annotations

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
SECTOR_BYTES = 512
"""The unit of the kernel's sector counts, whatever the device's own sector (Documentation/block/stat.rst)."""
